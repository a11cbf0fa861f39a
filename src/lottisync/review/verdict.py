"""The person's word: confirm, reject, defer, undo, keep (docs/specs/10-review.md, section 5).

A confirmed proposal changes the journal and leaves a decision in the agent store. Those are two files,
and two files can't commit as one. So the effect carries its own witness:

    agent.sqlite     saga_log: journal_pending             local; what the person said, word for word
    journal.sqlite   ONE transaction: compare with the base again, ask the guard again, then ONE write:
                     the effect and the register receipts/<operation id>
    agent.sqlite     ONE transaction: the decision, saga_log: agent_done

A process that dies between two of them leaves an open saga; `recover` plays it again at the next
start. It compares with the base again, because edits may have been synced in since, and a receipt that
is there is returned and not repeated. The receipt is a register of the entity that the effect changes
or creates, in the same write: it can't arrive anywhere without the effect. Nor can two files be put
back as one: where the journal alone was restored from a backup, the sagas know what it has lost, and
`recover` plays that again.

Two devices that cannot see each other may confirm the same item. Both run it, and the state is that of
one run: effects write absolute values, what is created has an id that is derived from the operation.
The claim is "exactly-once effect", not "exactly-once execution".

An undo is played the same way, under an operation of its own; so is the settling of a contest, and what
an action notes in the journal when it is rejected.

    what is said            confirmation, rejection, taking_back
    until it is done        saga (the row), completion (the steps), recovery (after a death)
    what is written         deed and undo (in the journal), record (the decision)

Only a person's side may import these modules (an import contract says so): a model can't decide.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lottisync.review import confirmation, recovery, rejection, taking_back
from lottisync.review.action import Actions
from lottisync.review.completion import Sagas
from lottisync.review.confirmation import Against
from lottisync.review.desk import UNSEEN, Desk, Shown
from lottisync.review.ledger import one_set, unknown
from lottisync.review.outcome import Outcome
from lottisync.review.terms import Sovereignty
from lottisync.store.store import Store


class Verdicts:
    """A person's verdicts on one device. `new_id` mints decision ids from the time in ms; `sagas` is given by tests
    that kill a process in the middle. Each verb raises `Problem` for an id that is unknown."""

    def __init__(
        self,
        journal: Store,
        agents: Store,
        actions: Actions,
        *,
        device_id: str,
        new_id: Callable[[int], str],
        sovereignty: Sovereignty = "reason",
        sagas: Callable[[Desk], Sagas] = Sagas,
    ) -> None:
        self._desk = Desk(journal, agents, actions, device_id, new_id, sovereignty)
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
        """Do what an item proposes, once. `against="current"` is for a person who was shown that it is
        stale and wants it over what is there now. `edited_args` are all the arguments in the person's
        words; tool and target stay. `shown` is `ItemView.shown` of what the person saw: if anything in it has changed
        since, nothing is done, and the outcome has the new view."""
        seen = {item_id: shown} if shown is not None else {}
        [outcome] = confirmation.confirm(
            self._desk, self._sagas, [item_id], now, edited_args=edited_args, against=against, shown=seen
        )
        return outcome

    def confirm_all(self, set_id: str, now: int) -> list[Outcome]:
        """Confirm what waits in a set, in order; each item sees what the ones before it did (S2-20). What has
        expired does not wait: it takes a word of its own."""
        return confirmation.confirm(self._desk, self._sagas, self._items(set_id), now, only_open=True)

    def confirm_selected(
        self, item_ids: Iterable[str], now: int, *, against: Against = "base", shown: Shown = UNSEEN
    ) -> list[Outcome]:
        """Confirm some items as one act (S1-43). They go in the order of their sets, whatever order they were picked
        in, so that what builds on another comes after it."""
        in_order = self._in_order(item_ids)
        return confirmation.confirm(self._desk, self._sagas, in_order, now, against=against, shown=shown)

    def reject(self, item_id: str, now: int, reason: str | None = None) -> Outcome:
        """Say no, with a reason that the agent will read. The item's twins are answered with it, and what builds
        on it is rejected along, all in one transaction."""
        return self.reject_selected([item_id], now, reason)[0]

    def reject_selected(
        self, item_ids: Iterable[str], now: int, reason: str | None = None, *, shown: Shown = UNSEEN
    ) -> list[Outcome]:
        """Say no to some items as one act."""
        wanted = list(dict.fromkeys(item_ids))
        return rejection.reject(self._desk, self._sagas, wanted, now, reason, shown=shown)

    def dismiss(self, set_id: str, now: int, reason: str | None = None) -> list[Outcome]:
        """Reject what waits in a set, with one decision each and in one transaction (S1-44); each can be undone
        like any other."""
        return rejection.reject(self._desk, self._sagas, self._items(set_id), now, reason, only_open=True)

    def defer(self, item_id: str, until: int, now: int) -> Outcome:
        """Put an item off until a time (ms): it leaves the inbox, and comes back then."""
        return self.defer_selected([item_id], until, now)[0]

    def defer_selected(self, item_ids: Iterable[str], until: int, now: int, *, shown: Shown = UNSEEN) -> list[Outcome]:
        """Put some items off as one act."""
        wanted = list(dict.fromkeys(item_ids))
        return rejection.defer(self._desk, self._sagas, wanted, until, now, shown=shown)

    def undo(self, item_id: str, now: int) -> Outcome:
        """Take a verdict back. What was confirmed is written back where nobody has written since, and the item
        counts as retracted by the user; what was rejected, put off or retracted is pending again."""
        return taking_back.take_back(self._desk, self._sagas, item_id, now)

    def keep(self, item_id: str, now: int) -> Outcome:
        """Settle a contested item in favour of its effect (REV-58)."""
        return confirmation.keep(self._desk, self._sagas, item_id, now)

    def recover(self, now: int) -> list[Outcome]:
        """Play again what a process that died left open, and what the journal has lost since; to be called at start.
        One that cannot be played is reported, and stops no other."""
        return recovery.recover(self._desk, self._sagas, now)

    def _items(self, set_id: str) -> list[str]:
        with self._desk.agents.reading() as reader:
            return [item.id for item in one_set(reader, f"{set_id}.0").items]

    def _in_order(self, item_ids: Iterable[str]) -> list[str]:
        wanted = list(dict.fromkeys(item_ids))
        with self._desk.agents.reading() as reader:
            sets = {change_set.id: change_set for change_set in (one_set(reader, ident) for ident in wanted)}
        in_order = sorted(sets.values(), key=lambda change_set: change_set.order)
        order = [item.id for change_set in in_order for item in change_set.items]
        for ident in wanted:
            if ident not in order:
                raise unknown(ident)
        return sorted(wanted, key=order.index)
