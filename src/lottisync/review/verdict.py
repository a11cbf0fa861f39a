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
a verdict on a label leaves on the task, that the person does not want it there. What was said until it
is done is `lottisync.review.saga`'s; how a decision is written down, `lottisync.review.decision`'s.

Only a person's side may import this module (an import contract says so): a model can't decide.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from lottisync.causality.vector_clock import Clock, Host, covers
from lottisync.problem import Problem
from lottisync.review import deed, effect, saga, tools, undo
from lottisync.review.change import ChangeDecision, ChangeItem
from lottisync.review.decision import answered_along, decision_on, in_one_breath, known, said, twins, write
from lottisync.review.ledger import Ledger, Placed, one_set, place, unknown
from lottisync.review.outcome import Done, Outcome
from lottisync.review.precedence import PERSON
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import effective, undo_operation
from lottisync.review.saga import Request, Witness
from lottisync.review.terms import Sovereignty, terms_of
from lottisync.review.tools import BadCall
from lottisync.store import chain, fork
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

MAX_REASON = 1_000
LATEST = 253_402_300_799_000
"""The end of the year 9999, in ms: the last time that can be written down."""
Against = Literal["base", "current"]
DECIDED = {
    "confirmed": "it was confirmed already",
    "rejected": "it was rejected already",
    "retracted": "the agent has taken it back already",
    "undone": "it was undone already",
    "contested": "devices decided differently on it: keep it or undo it",
}
"""Why what has this fate is not decided anew."""


class Verdicts:
    """A person's verdicts on one device. `new_id` mints decision ids from the time in ms."""

    def __init__(
        self,
        journal: Store,
        agents: Store,
        *,
        device_id: str,
        new_id: Callable[[int], str],
        sovereignty: Sovereignty = "reason",
    ) -> None:
        self._journal = journal
        self._agents = agents
        self._device = device_id
        self._new_id = new_id
        self._sovereignty = sovereignty

    # -- what a person can say

    def confirm(
        self,
        item_id: str,
        now: int,
        *,
        edited_args: Mapping[str, Any] | None = None,
        against: Against = "base",
    ) -> Outcome:
        """Do what an item proposes, once. `against="current"` is for a person who was shown that it is
        stale and wants it over what is there now. `edited_args` are all the arguments in the person's
        words; tool and target stay. Raises `Problem` for an id that is none."""
        earlier = self._finish_begun(item_id, now)
        if earlier is not None and earlier[0].kind == "confirm":
            return earlier[1]
        with self._agents.transaction(now, PERSON) as tx:
            placed = place(tx, item_id, now)
            begun = self._begin(tx, placed, now, edited_args, against)
        return begun if isinstance(begun, Outcome) else self._finish(placed, begun, now)

    def reject(self, item_id: str, now: int, reason: str | None = None) -> Outcome:
        """Say no, with a reason that the agent will read. The item's twins are answered with it, and what builds
        on it falls with it, all in one transaction."""
        reason = _checked_reason(reason)
        self._finish_begun(item_id, now)
        with self._agents.transaction(now, PERSON) as tx:
            outcome = self._reject(tx, item_id, now, reason)
        self._settle_labels(now)
        return outcome

    def _reject(self, tx: Transaction, item_id: str, now: int, reason: str | None) -> Outcome:
        outcome = self._decide(tx, item_id, now, ItemStatus.REJECTED, reason=reason)
        falling = [item_id] if outcome.result == "rejected" else []
        while falling:
            for other in _ledger(tx, item_id, now).building_on(falling.pop()):
                if not other.state.decided:
                    self._decide(tx, other.item.id, now, ItemStatus.REJECTED, reason=reason)
                    falling.append(other.item.id)
        return outcome

    def defer(self, item_id: str, until: int, now: int) -> Outcome:
        """Put an item off until a time (ms): it leaves the inbox, and comes back then."""
        if until > LATEST:
            raise Problem("bad-value", f"an item is put off to {iso(LATEST)} at the latest; got {until} ms")
        if until <= now:
            raise Problem("bad-value", f"an item is put off to a later time; {iso(until)} has passed")
        self._finish_begun(item_id, now)
        with self._agents.transaction(now, PERSON) as tx:
            return self._decide(tx, item_id, now, ItemStatus.DEFERRED, until=iso(until))

    def confirm_all(self, set_id: str, now: int) -> list[Outcome]:
        """Confirm what waits in a set, in order; each item sees what the ones before it did (S2-20). What has
        expired does not wait: it takes a word of its own."""
        return [self.confirm(ident, now) for ident in self._items(set_id) if self._is_open(ident, now)]

    def confirm_selected(self, item_ids: Iterable[str], now: int) -> list[Outcome]:
        """Confirm some items (S1-43). They go in the order of their sets, whatever order they were picked in,
        so that what builds on another comes after it."""
        wanted = list(dict.fromkeys(item_ids))
        with self._agents.reading() as reader:
            sets = {change_set.id: change_set for change_set in (one_set(reader, ident) for ident in wanted)}
        in_order = sorted(sets.values(), key=lambda change_set: (change_set.created_at, change_set.id))
        order = [item.id for change_set in in_order for item in change_set.items]
        for ident in wanted:
            if ident not in order:
                raise unknown(ident)
        return [self.confirm(ident, now) for ident in sorted(wanted, key=order.index)]

    def dismiss(self, set_id: str, now: int, reason: str | None = None) -> list[Outcome]:
        """Reject what waits in a set, with one decision each and in one transaction (S1-44); each can be undone
        like any other."""
        reason = _checked_reason(reason)
        for ident in self._items(set_id):
            self._finish_begun(ident, now)
        with self._agents.transaction(now, PERSON) as tx:
            waiting = [ident for ident in self._items(set_id) if self._is_open(ident, now)]
            outcomes = [self._reject(tx, ident, now, reason) for ident in waiting]
        self._settle_labels(now)
        return outcomes

    def undo(self, item_id: str, now: int) -> Outcome:
        """Take a verdict back. What was confirmed is written back where nobody has written since, and the item
        counts as retracted by the user; what was rejected, put off or retracted is pending again."""
        self._finish_begun(item_id, now)
        with self._agents.transaction(now, PERSON) as tx:
            placed = place(tx, item_id, now)
            begun = self._begin_undo(tx, placed, now)
        if isinstance(begun, Outcome):
            self._settle_labels(now)
            return begun
        return self._finish(placed, begun, now)

    def keep(self, item_id: str, now: int) -> Outcome:
        """Settle a contested item in favour of its effect (REV-58)."""
        self._finish_begun(item_id, now)
        with self._agents.transaction(now, PERSON) as tx:
            placed = place(tx, item_id, now)
            if not placed.state.contested:
                return Outcome(item_id, "already", "nothing about it is contested")
            seen = known(Ledger.read(tx, now, placed.set.task_id), placed.item)
            request = Request("keep", item_id, now, self._new_id(now), seen=seen)
            saga.begin(tx, placed, request, now)
        return self._finish(placed, request, now)

    def _items(self, set_id: str) -> list[str]:
        with self._agents.reading() as reader:
            return [item.id for item in one_set(reader, f"{set_id}.0").items]

    def _is_open(self, item_id: str, now: int) -> bool:
        with self._agents.reading() as reader:
            return place(reader, item_id, now).state.open

    def _finish_begun(self, item_id: str, now: int) -> tuple[Request, Outcome] | None:
        """Finish what a process has begun on this item and did not finish; what it was, and what came of it."""
        with self._agents.reading() as reader:
            placed = place(reader, item_id, now)
            request = saga.begun(reader, placed.item)
        return None if request is None else (request, self._finish(placed, request, now))

    def recover(self, now: int) -> list[Outcome]:
        """Play again what a process that died left open, and what the journal has lost since; to be called at start."""
        self._begin_lost_again(now)
        with self._agents.reading() as reader:
            requests = saga.pending(reader)
        return [self._play(request, now) for request in requests]

    def _play(self, request: Request, now: int) -> Outcome:
        """Finish a saga, also where the set was removed meanwhile: the person's word stands."""
        try:
            with self._agents.reading() as reader:
                placed = place(reader, request.item, now, even_removed=True)
        except Problem as problem:
            return Outcome(request.item, "failed", problem.message)
        return self._finish(placed, request, now)

    def _begin_lost_again(self, now: int) -> None:
        """Where the journal was put back without the agent store, the person's word stands and its effect is gone
        (REV-61). The journal goes on under a new host, unless it has written since: the chains find that."""
        with self._agents.reading() as reader, self._journal.reading() as journal:
            lost = saga.lost(reader, lambda witness: _is_here(journal, witness))
        if not lost:
            return
        with self._journal.transaction(now, PERSON) as tx:
            for _, request in lost:
                if request.witness is not None and request.witness.host == tx.host:
                    fork.mint_if_behind(tx, request.witness.counter)
        for operation, request in lost:
            with self._agents.transaction(now, PERSON) as tx:
                self._begin_again(tx, operation, request, now)

    def _begin_again(self, tx: Transaction, operation: str, request: Request, now: int) -> None:
        """Unless nobody holds to it any more, or the effect is there under another name; what its task has yet to
        come for waits."""
        try:
            placed = place(tx, request.item, now, even_removed=True)
        except Problem:
            saga.attest(tx, operation, request, None)
            return
        witness = self._witness(placed, request)
        if witness is not None or request.decision not in {head.id for head in placed.state.heads}:
            saga.attest(tx, operation, request, witness)
        elif self._journal.read(placed.set.task_id) is not None:
            saga.begin(tx, placed, msgspec.structs.replace(request, witness=None), now)

    # -- the steps of a confirmation

    def _begin(
        self,
        tx: Transaction,
        placed: Placed,
        now: int,
        edited_args: Mapping[str, Any] | None,
        against: Against,
    ) -> Request | Outcome:
        """Log what the person said; or, with nothing written, why it can't be done."""
        item, task_id = placed.item, placed.set.task_id
        if (begun := saga.begun(tx, item)) is not None:
            return begun
        if placed.state.decided:
            return _already(placed)
        ledger = Ledger.read(tx, now, task_id)
        if not all(ledger.is_confirmed(other) for other in item.depends_on):
            return Outcome(item.id, "failed", "it builds on another item of its set: confirm that first")
        args = _validated(item, edited_args, task_id)
        terms = terms_of(tx, placed.set.agent_id, self._sovereignty)
        if isinstance(args, str):
            return Outcome(item.id, "failed", args)
        with self._journal.reading() as reader:
            sight = effect.look(reader, item.tool_name, args, task_id)
            own_words = args.get("isChecked") != item.args.get("isChecked")
            request = Request(
                "confirm",
                item.id,
                now,
                self._new_id(now),
                args=args,
                guarded=against == "base" and not own_words,
                base=item.base if against == "base" else effect.base(sight, item.tool_name, args, task_id),
                seen=known(ledger, item),
                twins=twins(ledger, placed, lambda: self._new_id(now)),
            )
            if effect.receipt(sight, item, reader) is None:
                refused = deed.refusal(item, deed.planned(sight, placed, request, terms))
                if refused is not None:
                    return refused
        saga.begin(tx, placed, request, now)
        return request

    def _begin_undo(self, tx: Transaction, placed: Placed, now: int) -> Request | Outcome:
        """Log that an effect is to be taken back; a verdict without effect is taken back here and now."""
        item, state = placed.item, placed.state
        if (begun := saga.begun(tx, item)) is not None:
            return begun
        if state.status is ItemStatus.PENDING:
            return Outcome(item.id, "failed", "nothing was decided on it")
        if state.undone:
            return _already(placed)
        ledger = Ledger.read(tx, now, placed.set.task_id)
        along = answered_along(ledger, placed, lambda: self._new_id(now))
        if state.status is not ItemStatus.CONFIRMED:
            return self._reopen(tx, placed, ledger, now)
        if any(other.state.status is ItemStatus.CONFIRMED for other in ledger.building_on(item.id)):
            return Outcome(item.id, "failed", "another item that was confirmed builds on it: undo that first")
        with self._journal.reading() as reader:
            if not effect.understands(item.tool_name, item.args):
                return Outcome(item.id, "failed", f"this version does not know the tool {item.tool_name}")
            restoration = undo.undoing(reader, item, placed.set.task_id)
            if restoration.holder is None and not _has_been_here(reader, state.heads):
                return Outcome(item.id, "failed", "its effect is not here; synchronise first")
        if restoration.stale and restoration.empty:
            return Outcome(item.id, "stale", "it was changed since it was confirmed", stale=restoration.stale)
        request = Request(
            "undo",
            item.id,
            now,
            self._new_id(now),
            args=state.heads[-1].args,
            base=deed.undo_base(restoration.holder, item),
            seen=known(ledger, item),
            twins=along,
            undoes=next(head.id for head in reversed(state.heads) if head.verdict == ItemStatus.CONFIRMED),
        )
        saga.begin(tx, placed, request, now)
        return request

    def _reopen(self, tx: Transaction, placed: Placed, ledger: Ledger, now: int) -> Outcome:
        """An item that is pending again, with the seven days of one that comes back from having been put off;
        and with it what fell with it."""
        item, last = placed.item, placed.state.heads[-1]
        decision = msgspec.structs.replace(
            self._decision(placed, ledger, ItemStatus.DEFERRED, now),
            human_summary=last.human_summary,
            until=iso(now),
            journal_knowledge=last.journal_knowledge,
            undoes=last.id,
        )
        write(tx, decision, answered_along(ledger, placed, lambda: self._new_id(now)))
        if item.tool_name == "assign_task_label":
            self._log_label(tx, placed, now, wanted=True)
        for other in ledger.building_on(item.id):
            if in_one_breath(other, placed) and not place(tx, other.item.id, now).state.open:
                self._reopen(tx, other, ledger, now)
        return Outcome(item.id, "undone", "it waits for you again", decision.id)

    def _finish(self, placed: Placed, request: Request, now: int) -> Outcome:
        if request.kind == "suppress":
            return self._mark_label(placed, request, now)
        steps = {"confirm": self._take_effect, "undo": self._take_back, "keep": self._let_stand}
        try:
            done = steps[request.kind](placed, request, now)
        except Problem as problem:
            done = Done(Outcome(request.item, "failed", problem.message), request.args)
        if done.outcome.result in ("stale", "failed"):
            self._give_up(placed, request, done.outcome, now)
            return done.outcome
        return self._settle(placed, request, done, now)

    def _take_effect(self, placed: Placed, request: Request, now: int) -> Done:
        with self._agents.reading() as reader:
            terms = terms_of(reader, placed.set.agent_id, self._sovereignty)
        with self._journal.transaction(now, PERSON) as tx:
            return deed.take_effect(tx, placed, request, terms)

    def _take_back(self, placed: Placed, request: Request, now: int) -> Done:
        with self._journal.transaction(now, PERSON) as tx:
            return deed.take_back(tx, placed, request)

    def _let_stand(self, placed: Placed, request: Request, now: int) -> Done:
        with self._journal.transaction(now, PERSON) as tx:
            return deed.let_stand(tx, placed)

    def _settle(self, placed: Placed, request: Request, done: Done, now: int) -> Outcome:
        """The decision, once, whoever else plays the same saga."""
        item, verdict = placed.item, ItemStatus.RETRACTED if request.kind == "undo" else ItemStatus.CONFIRMED
        witness = self._witness(placed, request)
        with self._agents.transaction(now, PERSON) as tx:
            if not saga.complete(tx, request.operation(item), request, witness, now):
                return Outcome(item.id, "already", "another process has finished it", request.decision)
            decision = msgspec.structs.replace(
                decision_on(
                    placed,
                    request.decision,
                    verdict,
                    request.at,
                    actor="user",
                    device=self._device,
                    seen=request.seen,
                    knowledge=done.knowledge,
                ),
                args=done.args,
                human_summary=done.said,
                result=done.result,
                edited=request.kind != "undo" and effective(done.args) != effective(item.args),
                undoes=request.undoes,
            )
            write(tx, decision, request.twins)
        return msgspec.structs.replace(done.outcome, decision=decision.id)

    def _witness(self, placed: Placed, request: Request) -> Witness | None:
        """The write of the journal that what was said is in; None if it is in none."""
        operation = placed.item.operation_id
        path = effect.receipt_path(undo_operation(operation) if request.kind == "undo" else operation)
        with self._journal.reading() as reader:
            entity = undo.holder(reader, placed.item, placed.set.task_id)
            dots = entity.dots(path) if entity is not None else frozenset()
            for host, counter in sorted(dots):
                value = chain.value_at(reader, host, counter)
                if value is not None:
                    return Witness(host, counter, value.hex())
        return None

    def _give_up(self, placed: Placed, request: Request, outcome: Outcome, now: int) -> None:
        """Close a saga that came to nothing. An error is kept, and shown with the item (S2-19)."""
        operation = request.operation(placed.item)
        with self._agents.transaction(now, PERSON) as tx:
            if outcome.result == "failed" and request.kind == "confirm":
                saga.fail(tx, operation, outcome.message, now)
            else:
                saga.forget(tx, operation)

    # -- labels that the person does not want

    def _log_label(self, tx: Transaction, placed: Placed, now: int, *, wanted: bool) -> None:
        if not effect.understands(placed.item.tool_name, placed.item.args):
            return
        args = {"id": placed.item.args.get("id"), "suppressed": not wanted}
        saga.begin(tx, placed, Request("suppress", placed.item.id, now, args=args), now)

    def _settle_labels(self, now: int) -> None:
        """Carry out what verdicts on labels have left to do on their tasks."""
        with self._agents.reading() as reader:
            requests = [request for request in saga.pending(reader) if request.kind == "suppress"]
        for request in requests:
            self._play(request, now)

    def _mark_label(self, placed: Placed, request: Request, now: int) -> Outcome:
        with self._journal.transaction(now, PERSON) as tx:
            deed.mark_label(tx, placed, request)
        with self._agents.transaction(now, PERSON) as tx:
            saga.forget(tx, request.operation(placed.item))
        return Outcome(request.item, "already", "the task's labels are marked")

    # -- decisions

    def _decide(
        self,
        tx: Transaction,
        item_id: str,
        now: int,
        verdict: Literal[ItemStatus.REJECTED, ItemStatus.DEFERRED],
        *,
        reason: str | None = None,
        until: str | None = None,
    ) -> Outcome:
        """A verdict that leaves the journal as it is, checked in the transaction of the agent store that writes it."""
        placed = place(tx, item_id, now)
        item = placed.item
        if placed.state.decided:
            return _already(placed)
        ledger = Ledger.read(tx, now, placed.set.task_id)
        with self._journal.reading() as reader:
            sight = deed.seen(reader, placed)
            if saga.begun(tx, item) is not None:
                return Outcome(item_id, "already", "another process is confirming it")
            if effect.receipt(sight, item, reader) is not None:
                return Outcome(
                    item_id, "already", "it was confirmed on another device, whose decision is still to come"
                )
            knowledge = reader.knowledge()
        decision = msgspec.structs.replace(
            self._decision(placed, ledger, verdict, now, knowledge),
            human_summary=said(item, item.args, sight),
            reason=reason,
            until=until,
        )
        write(tx, decision, twins(ledger, placed, lambda: self._new_id(now)))
        if verdict is ItemStatus.REJECTED and item.tool_name == "assign_task_label":
            self._log_label(tx, placed, now, wanted=False)
        return Outcome(item_id, "rejected" if verdict is ItemStatus.REJECTED else "deferred", decision=decision.id)

    def _decision(
        self, placed: Placed, ledger: Ledger, verdict: ItemStatus, now: int, knowledge: Clock | None = None
    ) -> ChangeDecision:
        return decision_on(
            placed,
            self._new_id(now),
            verdict,
            now,
            actor="user",
            device=self._device,
            seen=known(ledger, placed.item),
            knowledge=knowledge,
        )


def _checked_reason(reason: str | None) -> str | None:
    reason = (reason or "").strip() or None
    if reason is not None and len(reason) > MAX_REASON:
        raise Problem("bad-value", f"a reason has at most {MAX_REASON} characters; got {len(reason)}")
    return reason


def _ledger(reader: Reader, item_id: str, now: int) -> Ledger:
    return Ledger.read(reader, now, one_set(reader, item_id).task_id)


def _is_here(journal: Reader, witness: Witness) -> bool:
    value = chain.value_at(journal, witness.host, witness.counter)
    return value is not None and value.hex() == witness.value


def _has_been_here(journal: Reader, heads: Iterable[ChangeDecision]) -> bool:
    """Whether this journal knows all that was known where an item was confirmed: if its effect is nowhere, it was
    forgotten."""
    knowledge = journal.knowledge()
    return all(covers(knowledge, _clock(head.journal_knowledge)) for head in heads)


def _clock(knowledge: Mapping[str, int]) -> Clock:
    return {Host(host): counter for host, counter in knowledge.items()}


def _already(placed: Placed) -> Outcome:
    return Outcome(placed.item.id, "already", DECIDED[placed.state.fate], placed.state.heads[-1].id)


def _validated(item: ChangeItem, edited_args: Mapping[str, Any] | None, task_id: str) -> dict[str, Any] | str:
    """The arguments to confirm with, checked against the tool's schema; or why they can't be taken. What a
    person leaves out of an edit's prose, and the target, stay as they were proposed."""
    if not effect.knows(item.tool_name):
        return f"this version does not know the tool {item.tool_name}; update it to confirm this"
    args = dict(item.args)
    if edited_args is not None:
        args = {**deed.prose(item), **({"id": item.args["id"]} if "id" in item.args else {}), **edited_args}
        if args.get("id") != item.args.get("id"):
            return "an edit changes the arguments, not what they are about"
    call = tools.checked_call(item.tool_name, args)
    if isinstance(call, BadCall):
        return call.fault or call.text
    call.args.pop("humanSummary", None)
    if edited_args is not None and effect.target_of(item.tool_name, call.args, task_id) != (
        effect.target_of(item.tool_name, item.args, task_id)
    ):
        return "an edit changes the arguments, not what they are about"
    return call.args
