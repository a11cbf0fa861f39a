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
or creates, in the same write: it can't arrive anywhere without the effect.

Two devices that cannot see each other may confirm the same item. Both run it, and the state is that of
one run: effects write absolute values, what is created has an id that is derived from the operation.
The claim is "exactly-once effect", not "exactly-once execution".

An undo is played the same way, under an operation of its own; so is what a verdict on a label leaves
on the task, that the person does not want it there.

Only a person's side may import this module (an import contract says so): a model can't decide.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from lottisync.causality.vector_clock import Clock
from lottisync.entities import path
from lottisync.entities.agent import ChangeDecision, ChangeItem, SeenField
from lottisync.entities.entity import USER, Entity, is_deleted
from lottisync.problem import Problem
from lottisync.review import deed, effect, tools, undo
from lottisync.review.effect import Plan, Sight, StaleField
from lottisync.review.ledger import DECISION, Ledger, Placed, fields, one_set
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import effective, summary, undo_operation
from lottisync.review.terms import Sovereignty, Terms, terms_of
from lottisync.review.tools import BadCall
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

MAX_REASON = 1_000
Result = Literal["applied", "no-op", "stale", "failed", "already", "rejected", "deferred", "undone", "kept"]
Against = Literal["base", "current"]


class Outcome(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What became of a verdict on one item. `message` says why where nothing was done; `stale` shows
    what was, is and was proposed; `decision` is the id of the decision that stands."""

    item: str
    result: Result
    message: str = ""
    decision: str | None = None
    stale: list[StaleField] = []


class Twin(msgspec.Struct, frozen=True):
    """Another operation that proposes the same and is answered along: its item, the id of its decision,
    and the decisions on it that were known."""

    item: str
    decision: str
    seen: list[str]


class Request(msgspec.Struct, frozen=True):
    """What the person said, as the saga keeps it: a replay looks nothing up that may have changed since.
    `base` is what they were shown, `seen` the decisions they knew of, `at` the time in ms. An undo's base
    is the register of its receipt; `undoes` is the decision that it takes back."""

    item: str
    decision: str
    args: dict[str, Any]
    guarded: bool
    base: list[SeenField]
    seen: list[str]
    twins: list[Twin]
    at: int
    kind: Literal["confirm", "undo", "suppress"] = "confirm"
    undoes: str | None = None

    def operation(self, item: ChangeItem) -> str:
        """The saga's key."""
        if self.kind == "confirm":
            return item.operation_id
        return undo_operation(item.operation_id) if self.kind == "undo" else f"suppress-{item.operation_id}"


class Done(NamedTuple):
    """What the journal's transaction came to: the arguments that took effect, the sentence that says so,
    and the journal's knowledge after it."""

    outcome: Outcome
    args: dict[str, Any]
    said: str
    knowledge: Clock


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
        with self._agents.transaction(now) as tx:
            placed = _find(tx, item_id, now)
            begun = _begun(tx, placed.item.operation_id) or self._begin(tx, placed, now, edited_args, against)
        if isinstance(begun, Outcome):
            return begun
        return self._finish(placed, begun, now)

    def reject(self, item_id: str, now: int, reason: str | None = None) -> Outcome:
        """Say no, with a reason that the agent will read. The item's twins are answered with it."""
        reason = (reason or "").strip() or None
        if reason is not None and len(reason) > MAX_REASON:
            raise Problem("bad-value", f"a reason has at most {MAX_REASON} characters; got {len(reason)}")
        outcome = self._decide(item_id, now, ItemStatus.REJECTED, reason=reason)
        if outcome.result == "rejected":
            for dependent in self._building_on(item_id, now):
                self._decide(dependent, now, ItemStatus.REJECTED, reason=reason)
        return outcome

    def _building_on(self, item_id: str, now: int) -> list[str]:
        with self._agents.reading() as reader:
            ledger = Ledger.read(reader, now, one_set(reader, item_id).task_id)
        return [other.item.id for other in ledger.building_on(item_id) if not other.state.decided]

    def defer(self, item_id: str, until: int, now: int) -> Outcome:
        """Put an item off until a time (ms): it leaves the inbox, and comes back then."""
        if until <= now:
            raise Problem("bad-value", f"an item is put off to a later time; {iso(until)} has passed")
        return self._decide(item_id, now, ItemStatus.DEFERRED, until=iso(until))

    def confirm_all(self, set_id: str, now: int) -> list[Outcome]:
        """Confirm what is pending in a set, in order; each item sees what the ones before it did (S2-20)."""
        return [self.confirm(ident, now) for ident in self._items(set_id) if self._is_pending(ident, now)]

    def confirm_selected(self, item_ids: Iterable[str], now: int) -> list[Outcome]:
        """Confirm some items (S1-43). They go in the order of their sets, whatever order they were picked in,
        so that what builds on another comes after it."""
        wanted = list(dict.fromkeys(item_ids))
        with self._agents.reading() as reader:
            order = [placed.item.id for placed in Ledger.read(reader, now).placed()]
        place = {ident: number for number, ident in enumerate(order)}
        return [self.confirm(ident, now) for ident in sorted(wanted, key=lambda ident: place.get(ident, -1))]

    def dismiss(self, set_id: str, now: int, reason: str | None = None) -> list[Outcome]:
        """Reject what is pending in a set, with one decision each (S1-44); each can be undone like any other."""
        return [self.reject(ident, now, reason) for ident in self._items(set_id) if self._is_pending(ident, now)]

    def undo(self, item_id: str, now: int) -> Outcome:
        """Take a verdict back. What was confirmed is written back where nobody has written since, and the item
        counts as retracted by the user; what was rejected, put off or retracted is pending again."""
        begun = self._interrupted(item_id, now)
        if begun is not None:
            self._finish(*begun, now)
        with self._agents.transaction(now) as tx:
            placed = _find(tx, item_id, now)
            request = self._begin_undo(tx, placed, now)
        if isinstance(request, Outcome):
            self._settle_labels(now)
            return request
        return self._finish(placed, request, now)

    def keep(self, item_id: str, now: int) -> Outcome:
        """Settle a contested item in favour of its effect (REV-58)."""
        with self._agents.reading() as reader:
            placed = _find(reader, item_id, now)
        if not placed.state.contested:
            return Outcome(item_id, "already", "nothing about it is contested")
        with self._journal.transaction(now) as tx:
            args = undo.stand(tx, placed.item, placed.set.task_id)
            said, knowledge = _said(placed.item, args or placed.item.args, _look(tx, placed)), tx.knowledge()
        if args is None:
            return Outcome(item_id, "failed", "its effect has not arrived here yet; synchronise first")
        with self._agents.transaction(now) as tx:
            placed = _find(tx, item_id, now)
            ledger = Ledger.read(tx, now, placed.set.task_id)
            decision = msgspec.structs.replace(
                self._decision(placed, self._new_id(now), ItemStatus.CONFIRMED, now),
                args={**_prose(placed.item), **args},
                human_summary=said,
                result="applied",
                edited=effective(args) != effective(placed.item.args),
                seen=_ids(ledger, placed.item),
                journal_knowledge={str(host): known for host, known in knowledge.items()},
            )
            _write_decision(tx, decision, [])
        return Outcome(item_id, "kept", decision=decision.id)

    def _items(self, set_id: str) -> list[str]:
        with self._agents.reading() as reader:
            return [item.id for item in one_set(reader, f"{set_id}.0").items]

    def _is_pending(self, item_id: str, now: int) -> bool:
        with self._agents.reading() as reader:
            return _find(reader, item_id, now).state.status is ItemStatus.PENDING

    def _interrupted(self, item_id: str, now: int) -> tuple[Placed, Request] | None:
        """A confirmation or an undo of this item that a process began and did not finish."""
        with self._agents.reading() as reader:
            placed = _find(reader, item_id, now)
            for operation in (placed.item.operation_id, undo_operation(placed.item.operation_id)):
                request = _begun(reader, operation)
                if request is not None:
                    return placed, request
        return None

    def recover(self, now: int) -> list[Outcome]:
        """Play again what a process that died left open; to be called once at start."""
        return [self._finish(placed, request, now) for placed, request in self._open_sagas(now)]

    def _open_sagas(self, now: int) -> list[tuple[Placed, Request]]:
        with self._agents.reading() as reader:
            rows = reader.local(
                "select request from saga_log where status = 'pending' order by created_at, operation_id"
            )
            requests = [msgspec.json.decode(text, type=Request) for (text,) in rows]
            return [(_find(reader, request.item, now), request) for request in requests]

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
                item=item.id,
                decision=self._new_id(now),
                args=args,
                guarded=against == "base" and not own_words,
                base=item.base if against == "base" else effect.base(sight, item.tool_name, args, task_id),
                seen=_ids(ledger, item),
                twins=self._twins(ledger, placed, now),
                at=now,
            )
            if effect.receipt(sight, item, reader) is None:
                refused = _refused(item, _plan(sight, placed, request, terms))
                if refused is not None:
                    return refused
        self._log(tx, placed, request, now)
        return request

    def _begin_undo(self, tx: Transaction, placed: Placed, now: int) -> Request | Outcome:
        """Log that an effect is to be taken back; a verdict without effect is taken back here and now."""
        item, state = placed.item, placed.state
        if state.status is ItemStatus.PENDING:
            return Outcome(item.id, "failed", "nothing was decided on it")
        if state.undone:
            return Outcome(item.id, "already", "it was undone already", state.heads[-1].id)
        ledger = Ledger.read(tx, now, placed.set.task_id)
        along = self._answered_along(ledger, placed, now)
        if state.status is not ItemStatus.CONFIRMED:
            return self._reopen(tx, placed, ledger, along, now)
        if any(other.state.status is ItemStatus.CONFIRMED for other in ledger.building_on(item.id)):
            return Outcome(item.id, "failed", "another item that was confirmed builds on it: undo that first")
        with self._journal.reading() as reader:
            if not effect.understands(item.tool_name, item.args):
                return Outcome(item.id, "failed", f"this version does not know the tool {item.tool_name}")
            restoration = undo.undoing(reader, item, placed.set.task_id)
        if restoration.stale and restoration.empty:
            return Outcome(item.id, "stale", "it was changed since it was confirmed", stale=restoration.stale)
        request = Request(
            item=item.id,
            decision=self._new_id(now),
            args=state.heads[-1].args,
            guarded=False,
            base=_undo_base(restoration.holder, item),
            seen=_ids(ledger, item),
            twins=along,
            at=now,
            kind="undo",
            undoes=next(head.id for head in reversed(state.heads) if head.verdict == ItemStatus.CONFIRMED),
        )
        self._log(tx, placed, request, now)
        return request

    def _reopen(self, tx: Transaction, placed: Placed, ledger: Ledger, along: list[Twin], now: int) -> Outcome:
        """An item that is pending again, with the seven days of one that comes back from having been put off."""
        item, last = placed.item, placed.state.heads[-1]
        decision = msgspec.structs.replace(
            self._decision(placed, self._new_id(now), ItemStatus.DEFERRED, now),
            args=item.args,
            human_summary=last.human_summary,
            until=iso(now),
            seen=_ids(ledger, item),
            journal_knowledge=last.journal_knowledge,
            undoes=last.id,
        )
        _write_decision(tx, decision, along)
        if item.tool_name == "assign_task_label":
            self._log_label(tx, placed, now, wanted=True)
        return Outcome(item.id, "undone", "it waits for you again", decision.id)

    def _answered_along(self, ledger: Ledger, placed: Placed, now: int) -> list[Twin]:
        """The twins that were decided in one breath with this item, and are taken back with it."""
        at = {(head.device, head.created_at, head.verdict) for head in placed.state.heads}
        alike = [
            other
            for other in ledger.placed()
            if other.item.digest == placed.item.digest and other.item.operation_id != placed.item.operation_id
        ]
        return [
            Twin(other.item.id, self._new_id(now), _ids(ledger, other.item))
            for other in {one.item.operation_id: one for one in alike}.values()
            if other.state.heads and {(h.device, h.created_at, h.verdict) for h in other.state.heads} <= at
        ]

    def _log(self, tx: Transaction, placed: Placed, request: Request, now: int) -> None:
        tx.execute(
            """insert into saga_log(operation_id, run_key, phase, status, tool_name, created_at, updated_at, request)
               values (?, ?, 'journal_pending', 'pending', ?, ?, ?, ?)
               on conflict(operation_id) do update set phase = excluded.phase, status = excluded.status,
               last_error = null, updated_at = excluded.updated_at, request = excluded.request""",
            (
                request.operation(placed.item),
                placed.set.run_key,
                placed.item.tool_name,
                iso(now),
                iso(now),
                msgspec.json.encode(request).decode(),
            ),
        )

    def _finish(self, placed: Placed, request: Request, now: int) -> Outcome:
        if request.kind == "suppress":
            return self._mark_label(placed, request, now)
        try:
            done = (self._take_effect if request.kind == "confirm" else self._take_back)(placed, request, now)
        except Problem as problem:
            done = Done(Outcome(request.item, "failed", problem.message), request.args, "", {})
        if done.outcome.result in ("stale", "failed"):
            self._give_up(placed, request, done.outcome, now)
            return done.outcome
        return self._settle(placed, request, done, now)

    def _terms(self, placed: Placed) -> Terms:
        with self._agents.reading() as reader:
            return terms_of(reader, placed.set.agent_id, self._sovereignty)

    def _take_effect(self, placed: Placed, request: Request, now: int) -> Done:
        """The journal's one transaction. Raises `Problem` if the effect fails; nothing is written then."""
        item, terms = placed.item, self._terms(placed)
        with self._journal.transaction(now) as tx:
            sight = effect.look(tx, item.tool_name, request.args, placed.set.task_id)
            said = _said(item, request.args, sight)
            held = effect.receipt(sight, item, tx)
            if held is not None:
                args = held.get("args", request.args)
                message = "its effect is here already"
                return Done(Outcome(item.id, "already", message), args, _said(item, args, sight), tx.knowledge())
            plan = _plan(sight, placed, request, terms)
            refused = _refused(item, plan)
            if refused is not None:
                return Done(refused, request.args, said, {})
            result: Result = "no-op" if plan.satisfied else "applied"
            deed.carry_out(tx, placed.set, item, request.args, plan, sight, request.at)
            message = plan.withheld or ("it was so already" if plan.satisfied else "")
            return Done(Outcome(item.id, result, message), request.args, said, tx.knowledge())

    def _take_back(self, placed: Placed, request: Request, now: int) -> Done:
        """The journal's one transaction of an undo. That the undo's receipt moved since the person spoke means
        that the old value is back already."""
        item, task_id = placed.item, placed.set.task_id
        with self._journal.transaction(now) as tx:
            restoration = undo.undoing(tx, item, task_id)
            said = _said(item, request.args, _look(tx, placed))
            outcome = Outcome(item.id, "undone", stale=restoration.stale)
            if _undo_base(restoration.holder, item) != request.base:
                return Done(msgspec.structs.replace(outcome, stale=[]), request.args, said, tx.knowledge())
            if restoration.stale and restoration.empty:
                message = "it was changed since it was confirmed"
                return Done(msgspec.structs.replace(outcome, result="stale", message=message), request.args, said, {})
            if not restoration.empty:
                undo.take_back(tx, item, restoration)
            message = "what was changed since was left as it is" if restoration.stale else ""
            if restoration.empty:
                message = "there was nothing to write back"
            return Done(msgspec.structs.replace(outcome, message=message), request.args, said, tx.knowledge())

    def _settle(self, placed: Placed, request: Request, done: Done, now: int) -> Outcome:
        """The decision, once, whoever else plays the same saga."""
        item, operation, is_undo = placed.item, request.operation(placed.item), request.kind == "undo"
        with self._agents.transaction(now) as tx:
            [(phase,)] = tx.execute("select phase from saga_log where operation_id = ?", (operation,))
            if phase == "agent_done":
                return Outcome(item.id, "already", "another process has finished it", request.decision)
            verdict = ItemStatus.RETRACTED if is_undo else ItemStatus.CONFIRMED
            decision = msgspec.structs.replace(
                self._decision(placed, request.decision, verdict, request.at),
                args=done.args,
                human_summary=done.said,
                result=None if is_undo else "no-op" if done.outcome.result == "no-op" else "applied",
                edited=not is_undo and effective(done.args) != effective(item.args),
                seen=request.seen,
                journal_knowledge={str(host): known for host, known in done.knowledge.items()},
                undoes=request.undoes,
            )
            _write_decision(tx, decision, request.twins)
            tx.execute(
                "update saga_log set phase = 'agent_done', status = 'completed', updated_at = ? where operation_id = ?",
                (iso(now), operation),
            )
        return msgspec.structs.replace(done.outcome, decision=decision.id)

    def _give_up(self, placed: Placed, request: Request, outcome: Outcome, now: int) -> None:
        """Close a saga that came to nothing. An error is kept, and shown with the item (S2-19)."""
        operation = request.operation(placed.item)
        with self._agents.transaction(now) as tx:
            if outcome.result == "stale":
                tx.execute("delete from saga_log where operation_id = ?", (operation,))
            else:
                tx.execute(
                    "update saga_log set status = 'failed', last_error = ?, updated_at = ? where operation_id = ?",
                    (outcome.message, iso(now), operation),
                )

    # -- labels that the person does not want

    def _log_label(self, tx: Transaction, placed: Placed, now: int, *, wanted: bool) -> None:
        if not effect.understands(placed.item.tool_name, placed.item.args):
            return
        args = {"id": placed.item.args.get("id"), "suppressed": not wanted}
        self._log(
            tx,
            placed,
            Request(
                item=placed.item.id,
                decision="",
                args=args,
                guarded=False,
                base=[],
                seen=[],
                twins=[],
                at=now,
                kind="suppress",
            ),
            now,
        )

    def _settle_labels(self, now: int) -> None:
        """Carry out what verdicts on labels have left to do on their tasks."""
        for placed, request in self._open_sagas(now):
            if request.kind == "suppress":
                self._mark_label(placed, request, now)

    def _mark_label(self, placed: Placed, request: Request, now: int) -> Outcome:
        register = path.join("suppressedLabels", str(request.args["id"]))
        value = True if request.args["suppressed"] else None
        with self._journal.transaction(now) as tx:
            task = tx.entity(placed.set.task_id)
            if task is not None and not is_deleted(task) and task.value(register) != value:
                tx.put(task.id, task.type, {register: value}, precedence=USER)
        with self._agents.transaction(now) as tx:
            tx.execute("delete from saga_log where operation_id = ?", (request.operation(placed.item),))
        return Outcome(request.item, "already", "the task's labels are marked")

    # -- decisions

    def _decide(
        self, item_id: str, now: int, verdict: ItemStatus, *, reason: str | None = None, until: str | None = None
    ) -> Outcome:
        """A verdict that leaves the journal as it is: one transaction of the agent store, checked in it."""
        with self._agents.transaction(now) as tx:
            placed = _find(tx, item_id, now)
            item = placed.item
            if placed.state.decided:
                return _already(placed)
            ledger = Ledger.read(tx, now, placed.set.task_id)
            with self._journal.reading() as reader:
                sight = _look(reader, placed)
                if _begun(tx, item.operation_id) is not None or effect.receipt(sight, item, reader) is not None:
                    return Outcome(item_id, "already", "it was confirmed and has taken effect")
                knowledge = reader.knowledge()
            decision = msgspec.structs.replace(
                self._decision(placed, self._new_id(now), verdict, now),
                args=item.args,
                human_summary=_said(item, item.args, sight),
                reason=reason,
                until=until,
                seen=_ids(ledger, item),
                journal_knowledge={str(host): known for host, known in knowledge.items()},
            )
            _write_decision(tx, decision, self._twins(ledger, placed, now))
            if verdict is ItemStatus.REJECTED and item.tool_name == "assign_task_label":
                self._log_label(tx, placed, now, wanted=False)
        if item.tool_name == "assign_task_label":
            self._settle_labels(now)
        return Outcome(item_id, "rejected" if verdict is ItemStatus.REJECTED else "deferred", decision=decision.id)

    def _decision(self, placed: Placed, ident: str, verdict: ItemStatus, at: int) -> ChangeDecision:
        return ChangeDecision(
            id=ident,
            agent_id=placed.set.agent_id,
            task_id=placed.set.task_id,
            change_set_id=placed.set.id,
            item_id=placed.item.id,
            item_index=placed.ordinal,
            operation_id=placed.item.operation_id,
            tool_name=placed.item.tool_name,
            verdict=verdict,
            actor="user",
            device=self._device,
            created_at=iso(at),
        )

    def _twins(self, ledger: Ledger, placed: Placed, now: int) -> list[Twin]:
        """Twins of one operation share its decisions; those of another get one each."""
        others = {other.item.operation_id: other.item for other in ledger.twins(placed)}
        others.pop(placed.item.operation_id, None)
        return [Twin(item.id, self._new_id(now), _ids(ledger, item)) for item in others.values()]


def _find(reader: Reader, item_id: str, now: int) -> Placed:
    change_set = one_set(reader, item_id)
    return Ledger.read(reader, now, change_set.task_id).find(item_id)


def _ids(ledger: Ledger, item: ChangeItem) -> list[str]:
    return [decision.id for decision in ledger.on_operation(item.operation_id)]


def _already(placed: Placed) -> Outcome:
    message = f"it was {placed.state.status} already"
    return Outcome(placed.item.id, "already", message, placed.state.heads[-1].id)


def _begun(reader: Reader, operation: str) -> Request | None:
    """What a process that died, or another one, has begun on an operation."""
    rows = reader.local("select request from saga_log where operation_id = ? and status = 'pending'", (operation,))
    return msgspec.json.decode(rows[0][0], type=Request) if rows else None


def _undo_base(entity: Entity | None, item: ChangeItem) -> list[SeenField]:
    """The register of the undo's receipt, by its dots."""
    if entity is None:
        return []
    register = effect.receipt_path(undo_operation(item.operation_id))
    dots = sorted((dot.host, dot.counter) for dot in entity.dots(register))
    return [SeenField(entity.id, register, None, [(str(host), counter) for host, counter in dots])]


def _validated(item: ChangeItem, edited_args: Mapping[str, Any] | None, task_id: str) -> dict[str, Any] | str:
    """The arguments to confirm with, checked against the tool's schema; or why they can't be taken. What a
    person leaves out of an edit's prose, and the target, stay as they were proposed."""
    if not effect.knows(item.tool_name):
        return f"this version does not know the tool {item.tool_name}; update it to confirm this"
    args = dict(item.args)
    if edited_args is not None:
        args = {**_prose(item), **({"id": item.args["id"]} if "id" in item.args else {}), **edited_args}
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


def _prose(item: ChangeItem) -> dict[str, Any]:
    return {key: value for key, value in item.args.items() if key not in effective(item.args)}


def _look(reader: Reader, placed: Placed) -> Sight:
    return effect.look(reader, placed.item.tool_name, placed.item.args, placed.set.task_id)


def _plan(sight: Sight, placed: Placed, request: Request, terms: Terms) -> Plan:
    item, task_id = placed.item, placed.set.task_id
    return effect.plan(sight, item, request.args, task_id, request.base, terms, guarded=request.guarded)


def _refused(item: ChangeItem, plan: Plan) -> Outcome | None:
    """Why a plan is not carried out: somebody has written since, or it can't be done at all."""
    if plan.stale:
        message = plan.obstacle or "it was changed since this was proposed"
        return Outcome(item.id, "stale", message, stale=plan.stale)
    if plan.obstacle is not None:
        return Outcome(item.id, "failed", plan.obstacle)
    if plan.withheld is not None and not plan.writes:
        return Outcome(item.id, "failed", plan.withheld)
    return None


def _said(item: ChangeItem, args: Mapping[str, Any], sight: Sight) -> str:
    """The summary as it reads now, for a decision to keep."""
    return summary(item.tool_name, args, item_title=effect.named(sight), written=item.human_summary)


def _write_decision(tx: Transaction, decision: ChangeDecision, twins: list[Twin]) -> None:
    tx.put(decision.id, DECISION, fields(decision), precedence=USER)
    for twin in twins:
        change_set = one_set(tx, twin.item)
        [(index, item)] = [(i, item) for i, item in enumerate(change_set.items) if item.id == twin.item]
        along = msgspec.structs.replace(
            decision,
            id=twin.decision,
            agent_id=change_set.agent_id,
            change_set_id=change_set.id,
            item_id=item.id,
            item_index=index,
            operation_id=item.operation_id,
            seen=twin.seen,
            result="no-op" if decision.result else None,
        )
        tx.put(along.id, DECISION, fields(along), precedence=USER)
