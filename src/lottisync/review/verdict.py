"""The person's verdicts: confirm, reject, defer, undo, keep (docs/specs/10-review.md, section 5).

A confirmed proposal changes the journal and leaves a decision in the agent store. These are two files,
and two files cannot commit as one. So the effect carries its own receipt:

    agent.sqlite     saga_log: journal_pending             local; the person's complete request
    journal.sqlite   ONE transaction: compare with the base again, check the guard again, then ONE write:
                     the effect and the register receipts/<operation id>
    agent.sqlite     ONE transaction: the decision, saga_log: agent_done

A process that dies between two of them leaves an open saga; `recover` runs it again at the next start. It
compares with the base again, because edits may have arrived by sync since. If the receipt is there, the
effect is not repeated. The receipt is a register of the entity that the effect changes or creates, in the
same write, so it cannot arrive anywhere without the effect. A backup may also restore one of the two files
alone. If it was the journal, the sagas know the lost effects, and `recover` repeats them.

Two devices that cannot see each other may confirm the same item. Both carry it out, and the state is that
of one run: effects write absolute values, and created entities have an id that is derived from the
operation. The claim is "exactly-once effect", not "exactly-once execution".

An undo is carried out in the same way, under an operation of its own. So are `keep`, which settles a
contest, and the record of a rejection in the journal.

    verdicts                confirmation, rejection, taking_back
    sagas                   saga (the row), completion (the steps), recovery (after a crash)
    writes                  effect_write and undo (in the journal), record (the decision)

Only the person's side may import these modules (an import contract): a model cannot decide.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lottisync.review import confirmation, recovery, rejection, taking_back
from lottisync.review.action import Actions
from lottisync.review.completion import Sagas
from lottisync.review.confirmation import Against
from lottisync.review.desk import UNSEEN, Desk, Shown
from lottisync.review.ledger import one_set, unknown
from lottisync.review.outcome import Outcome
from lottisync.review.policy import Sovereignty
from lottisync.store.store import Store

Note = Callable[[str, Sequence[str], int], None]
"""Is called after a verdict that was carried out, with a word for it (`confirmed`, `rejected`, `put off`, `undone`),
the items on which it was, and the time (ms)."""


def unnoted(verb: str, items: Sequence[str], now: int) -> None:
    """Notes nothing: for verdicts that are not noted as acts."""


_DONE = ("applied", "no-op", "rejected", "deferred", "undone")


class Verdicts:
    """A person's verdicts on one device. `new_id` makes decision ids from the time in ms. Tests pass `sagas` to kill a
    process in the middle. Each verb raises `Problem` for an unknown id."""

    def __init__(
        self,
        journal: Store,
        agent_store: Store,
        actions: Actions,
        *,
        device_id: str,
        new_id: Callable[[int], str],
        sovereignty: Sovereignty = "reason",
        sagas: Callable[[Desk], Sagas] = Sagas,
        note: Note = unnoted,
    ) -> None:
        self._note = note
        self._desk = Desk(journal, agent_store, actions, device_id, new_id, sovereignty)
        self._sagas = sagas(self._desk)

    def confirm(
        self,
        item_id: str,
        now: int,
        *,
        edited_args: Mapping[str, Any] | None = None,
        against: Against = "base",
        shown: str | None = None,
    ) -> Outcome:
        """Carry out an item, once. `against="current"` is for a person who was shown that it is stale, and wants to
        overwrite the present value. `edited_args` are all the arguments, as the person edited them; tool and target
        stay. `shown` is `ItemView.shown` of the view that the person saw: if it has changed since, nothing is done, and
        the outcome has the new view."""
        seen = {item_id: shown} if shown is not None else {}
        outcomes = confirmation.confirm(
            self._desk, self._sagas, [item_id], now, edited_args=edited_args, against=against, shown=seen
        )
        return self._noted("confirmed", outcomes, now)[0]

    def confirm_all(self, set_id: str, now: int) -> list[Outcome]:
        """Confirm the open items of a set, in order; each item sees the effects of the ones before it (S2-20). Expired
        items are not open: they need a verdict of their own."""
        outcomes = confirmation.confirm(self._desk, self._sagas, self._items(set_id), now, only_open=True)
        return self._noted("confirmed", outcomes, now)

    def confirm_selected(
        self, item_ids: Iterable[str], now: int, *, against: Against = "base", shown: Shown = UNSEEN
    ) -> list[Outcome]:
        """Confirm some items as one act (S1-43), always in the order of their sets, so that an item comes after those
        on which it depends."""
        in_order = self._in_order(item_ids)
        outcomes = confirmation.confirm(self._desk, self._sagas, in_order, now, against=against, shown=shown)
        return self._noted("confirmed", outcomes, now)

    def reject(self, item_id: str, now: int, reason: str | None = None) -> Outcome:
        """Reject an item, with a reason that the agent will read. Its twins are decided with it, and items that depend
        on it are rejected too, in one transaction."""
        return self.reject_selected([item_id], now, reason)[0]

    def reject_selected(
        self, item_ids: Iterable[str], now: int, reason: str | None = None, *, shown: Shown = UNSEEN
    ) -> list[Outcome]:
        """Reject some items as one act."""
        wanted = list(dict.fromkeys(item_ids))
        outcomes = rejection.reject(self._desk, self._sagas, wanted, now, reason, shown=shown)
        return self._noted("rejected", outcomes, now)

    def dismiss(self, set_id: str, now: int, reason: str | None = None) -> list[Outcome]:
        """Reject the open items of a set, with one decision each, in one transaction (S1-44). Each can be undone."""
        outcomes = rejection.reject(self._desk, self._sagas, self._items(set_id), now, reason, only_open=True)
        return self._noted("rejected", outcomes, now)

    def defer(self, item_id: str, until: int, now: int) -> Outcome:
        """Put an item off until a time (ms): it leaves the inbox, and comes back then."""
        return self.defer_selected([item_id], until, now)[0]

    def defer_selected(self, item_ids: Iterable[str], until: int, now: int, *, shown: Shown = UNSEEN) -> list[Outcome]:
        """Put some items off as one act."""
        wanted = list(dict.fromkeys(item_ids))
        return self._noted("put off", rejection.defer(self._desk, self._sagas, wanted, until, now, shown=shown), now)

    def undo(self, item_id: str, now: int, *, shown: str | None = None) -> Outcome:
        """Take a verdict back. A confirmed item is retracted by the user, and the old values are written back where
        nobody has written since. A rejected, deferred or retracted item is pending again."""
        seen = {item_id: shown} if shown is not None else {}
        return self._noted("undone", [taking_back.take_back(self._desk, self._sagas, item_id, now, shown=seen)], now)[0]

    def undo_selected(self, item_ids: Iterable[str], now: int) -> list[Outcome]:
        """Take the verdicts on some items back, the last one of a set first: it may build on one before it."""
        in_order = self._in_order(item_ids)
        outcomes = [taking_back.take_back(self._desk, self._sagas, ident, now) for ident in reversed(in_order)]
        return self._noted("undone", outcomes[::-1], now)

    def keep(self, item_id: str, now: int, *, shown: str | None = None) -> Outcome:
        """Settle a contested item in favour of its effect (REV-58)."""
        seen = {item_id: shown} if shown is not None else {}
        return confirmation.keep(self._desk, self._sagas, item_id, now, shown=seen)

    def recover(self, now: int) -> list[Outcome]:
        """Finish the sagas that a dead process left open, and repeat effects that the journal has lost. To be called at
        start. A saga that cannot be finished is reported, and does not stop the others."""
        return recovery.recover(self._desk, self._sagas, now)

    def _noted(self, verb: str, outcomes: list[Outcome], now: int) -> list[Outcome]:
        if done := [outcome.item for outcome in outcomes if outcome.result in _DONE]:
            self._note(verb, done, now)
        return outcomes

    def _items(self, set_id: str) -> list[str]:
        with self._desk.agent_store.reading() as reader:
            return [item.id for item in one_set(reader, f"{set_id}.0").items]

    def _in_order(self, item_ids: Iterable[str]) -> list[str]:
        wanted = list(dict.fromkeys(item_ids))
        with self._desk.agent_store.reading() as reader:
            sets = {change_set.id: change_set for change_set in (one_set(reader, ident) for ident in wanted)}
        in_order = sorted(sets.values(), key=lambda change_set: change_set.order)
        order = [item.id for change_set in in_order for item in change_set.items]
        for ident in wanted:
            if ident not in order:
                raise unknown(ident)
        return sorted(wanted, key=order.index)
