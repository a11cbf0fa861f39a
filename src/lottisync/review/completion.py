"""Carrying out verdicts, from the saga's row to the decision (docs/specs/10-review.md, REV-40, REV-48 to REV-53).

The sagas of one act are carried out together: ONE journal transaction in which each effect is one write with its
receipt, then ONE transaction of the agent store with the decisions. If one of several effects fails, the transaction
is rolled back, and each effect is carried out in a transaction of its own, so that a failure does not stop the others.

Like `verdict`, this is for a person's side only.
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from lottisync.problem import Sentence
from lottisync.review import effect, effect_write, saga, undo
from lottisync.review.action import Unreadable
from lottisync.review.decision import decision_on
from lottisync.review.desk import Desk, Ledgers, ReviewTransaction, failed
from lottisync.review.ledger import Placed, one_set, unknown
from lottisync.review.outcome import Done, Outcome
from lottisync.review.precedence import PERSON
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import effective, undo_operation
from lottisync.review.saga import SagaRequest, Witness
from lottisync.store import chain
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

BUILDS = Sentence("it builds on another item of its set: confirm that first")


class Begun(NamedTuple):
    """A saga whose row is written: the item, and the person's request."""

    placed: Placed
    request: SagaRequest


class Sagas:
    """Carries out the sagas of one device."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def finish(self, begun: Sequence[Begun], now: int) -> list[Outcome]:
        """Carry out what was begun, in order."""
        if not begun:
            return []
        done = self._effects(begun, now)
        return self.settle(list(zip(begun, done, strict=True)), now)

    def finish_begun(self, item_ids: Iterable[str], now: int) -> dict[str, tuple[SagaRequest, Outcome]]:
        """Finish the sagas on these items that another process left open. Returns request and outcome by item."""
        with self._desk.agent_store.reading() as reader:
            ledgers, begun = Ledgers(reader, now), []
            for ident in dict.fromkeys(item_ids):
                item = next((item for item in one_set(reader, ident).items if item.id == ident), None)
                if item is None:
                    raise unknown(ident)
                request = saga.begun(reader, item)
                if request is not None:
                    begun.append(Begun(ledgers.find(ident), request))
        outcomes = self.finish(begun, now)
        return {one.placed.item.id: (one.request, out) for one, out in zip(begun, outcomes, strict=True)}

    # -- the effect

    def _effects(self, begun: Sequence[Begun], now: int) -> list[Done]:
        """Carry out all effects in one transaction; if that fails, each in its own."""
        if len(begun) > 1:
            # An error here occurs again below, where it is reported with its item.
            with contextlib.suppress(Exception), self._desk.journal.transaction(now, PERSON) as tx:
                return _in_order(begun, lambda one: self._effect(tx, one))
        return _in_order(begun, lambda one: self._effect_alone(one, now))

    def _effect_alone(self, begun: Begun, now: int) -> Done:
        try:
            with self._desk.journal.transaction(now, PERSON) as tx:
                return self._effect(tx, begun)
        except Exception as error:  # noqa: BLE001 - one item that fails must not keep others from being decided
            return Done(failed(begun.request.item, error), begun.request.args)

    def _effect(self, tx: Transaction, begun: Begun) -> Done:
        steps = {"confirm": self.take_effect, "undo": self.take_back, "keep": self.keep_effect, "mark": self.mark}
        return steps[begun.request.kind](tx, begun)

    def take_effect(self, tx: Transaction, begun: Begun) -> Done:
        with self._desk.agent_store.reading() as reader:
            policy = self._desk.policy(reader, begun.placed.set.agent_id)
        return effect_write.take_effect(tx, self._desk.actions, *begun, policy)

    def take_back(self, tx: Transaction, begun: Begun) -> Done:
        return effect_write.take_back(tx, self._desk.actions, *begun)

    def keep_effect(self, tx: Transaction, begun: Begun) -> Done:
        return effect_write.keep_effect(tx, self._desk.actions, begun.placed)

    def mark(self, tx: Transaction, begun: Begun) -> Done:
        effect_write.mark_rejection(tx, self._desk.actions, begun.placed, rejected=begun.request.rejected)
        return Done(Outcome(begun.request.item, "already", "its rejection is noted in the journal"), {})

    # -- the decision

    def settle(self, done: Sequence[tuple[Begun, Done]], now: int) -> list[Outcome]:
        """Write the decisions of the effects that were carried out, each once, even if another process runs the same
        saga. Sagas without an effect are closed."""
        witnesses = [self._witness(begun) if _came_about(begun, one) else None for begun, one in done]
        with self._desk.agent_store.transaction(now, PERSON) as tx:
            act = ReviewTransaction(self._desk, tx, now)
            return [self._settle(act, *one, witness) for one, witness in zip(done, witnesses, strict=True)]

    def _settle(self, act: ReviewTransaction, begun: Begun, done: Done, witness: Witness | None) -> Outcome:
        (placed, request), item = begun, begun.placed.item
        operation = request.operation(item)
        if request.kind == "mark":
            saga.forget(act.tx, operation)
            return done.outcome
        if not _came_about(begun, done):
            _give_up(act.tx, operation, request, done.outcome, act.now)
            return done.outcome
        if not saga.complete(act.tx, operation, request, witness, act.now):
            return Outcome(item.id, "already", "another process has finished it", request.decision)
        decision = msgspec.structs.replace(
            decision_on(
                placed,
                request.decision,
                ItemStatus.RETRACTED if request.kind == "undo" else ItemStatus.CONFIRMED,
                request.at,
                device=self._desk.device,
                seen=request.seen,
                knowledge=done.knowledge,
            ),
            args=done.args,
            human_summary=done.summary,
            result=done.result,
            edited=request.kind != "undo" and effective(done.args) != effective(item.args),
            undoes=request.undoes,
        )
        act.write(placed, decision, request.twins)
        return msgspec.structs.replace(done.outcome, decision=decision.id)

    def _witness(self, begun: Begun) -> Witness | None:
        with self._desk.journal.reading() as reader:
            return witness(reader, self._desk, begun)


def _in_order(begun: Sequence[Begun], step: Callable[[Begun], Done]) -> list[Done]:
    """Carry out the effects one after the other. An item that depends on a failed one is not tried."""
    done: list[Done] = []
    undone: set[str] = set()
    for one in begun:
        item = one.placed.item
        builds_on_nothing = one.request.kind == "confirm" and not undone.isdisjoint(item.depends_on)
        done.append(Done(Outcome(item.id, "failed", BUILDS), one.request.args) if builds_on_nothing else step(one))
        if done[-1].outcome.result in ("stale", "failed"):
            undone.add(item.id)
    return done


def witness(journal: Reader, desk: Desk, begun: Begun) -> Witness | None:
    """The write of the journal that holds the effect; None if there is none."""
    item, request = begun.placed.item, begun.request
    found = effect.effect_of(desk.actions, item, begun.placed.set.task_id)
    entity = None if isinstance(found, Unreadable) else undo.holder(journal, found)
    if entity is None:
        return None
    operation = undo_operation(item.operation_id) if request.kind == "undo" else item.operation_id
    for host, counter in sorted(entity.dots(effect.receipt_path(operation))):
        value = chain.value_at(journal, host, counter)
        if value is not None:
            return Witness(host, counter, value.hex())
    return None


def _came_about(begun: Begun, done: Done) -> bool:
    return begun.request.kind != "mark" and done.outcome.result not in ("stale", "failed")


def _give_up(tx: Transaction, operation: str, request: SagaRequest, outcome: Outcome, now: int) -> None:
    """Close a saga that had no effect. An error is kept, and shown with the item (S2-19)."""
    if outcome.result == "failed" and request.kind == "confirm":
        saga.fail(tx, operation, outcome.message, now)
    else:
        saga.forget(tx, operation)
