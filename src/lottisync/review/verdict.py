"""The person's word: confirm, reject, defer (docs/specs/10-review.md, section 5).

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

Only a person's side may import this module (an import contract says so): a model can't decide.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from lottisync.causality.vector_clock import Clock
from lottisync.entities.agent import ChangeDecision, ChangeItem, SeenField
from lottisync.entities.entity import AGENT, USER
from lottisync.entities.journal import ChecklistItem
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.problem import Problem
from lottisync.review import effect, tools
from lottisync.review.effect import CREATES, ITEM, Plan, Sight, StaleField
from lottisync.review.ledger import DECISION, Ledger, Placed, fields, one_set
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import created_id, effective, summary
from lottisync.review.redundancy import addition
from lottisync.review.tools import BadCall
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

MAX_REASON = 1_000
Result = Literal["applied", "no-op", "stale", "failed", "already", "rejected", "deferred"]
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
    `base` is what they were shown, `seen` the decisions they knew of, `at` the time in ms."""

    item: str
    decision: str
    args: dict[str, Any]
    guarded: bool
    base: list[SeenField]
    seen: list[str]
    twins: list[Twin]
    at: int


class Done(NamedTuple):
    """What the journal's transaction came to: the arguments that took effect, the sentence that says so,
    and the journal's knowledge after it."""

    outcome: Outcome
    args: dict[str, Any]
    said: str
    knowledge: Clock


class Verdicts:
    """A person's verdicts on one device. `new_id` mints decision ids from the time in ms."""

    def __init__(self, journal: Store, agents: Store, *, device_id: str, new_id: Callable[[int], str]) -> None:
        self._journal = journal
        self._agents = agents
        self._device = device_id
        self._new_id = new_id

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
            begun = self._begun(tx, placed) or self._begin(tx, placed, now, edited_args, against)
        if isinstance(begun, Outcome):
            return begun
        return self._finish(placed, begun, now)

    def reject(self, item_id: str, now: int, reason: str | None = None) -> Outcome:
        """Say no, with a reason that the agent will read. The item's twins are answered with it."""
        reason = (reason or "").strip() or None
        if reason is not None and len(reason) > MAX_REASON:
            raise Problem("bad-value", f"a reason has at most {MAX_REASON} characters; got {len(reason)}")
        return self._decide(item_id, now, ItemStatus.REJECTED, reason=reason)

    def defer(self, item_id: str, until: int, now: int) -> Outcome:
        """Put an item off until a time (ms): it leaves the inbox, and comes back then."""
        if until <= now:
            raise Problem("bad-value", f"an item is put off to a later time; {iso(until)} has passed")
        return self._decide(item_id, now, ItemStatus.DEFERRED, until=iso(until))

    def confirm_all(self, set_id: str, now: int) -> list[Outcome]:
        """Confirm what is pending in a set, in order; each item sees what the ones before it did (S2-20)."""
        with self._agents.reading() as reader:
            items = one_set(reader, f"{set_id}.0").items
        return [self.confirm(item.id, now) for item in items if self._is_pending(item.id, now)]

    def _is_pending(self, item_id: str, now: int) -> bool:
        with self._agents.reading() as reader:
            return _find(reader, item_id, now).state.status is ItemStatus.PENDING

    def recover(self, now: int) -> list[Outcome]:
        """Play again what a process that died left open; to be called once at start."""
        with self._agents.reading() as reader:
            open_sagas = [
                msgspec.json.decode(text, type=Request)
                for (text,) in reader.local(
                    "select request from saga_log where status = 'pending' order by created_at, operation_id"
                )
            ]
            placed = [_find(reader, request.item, now) for request in open_sagas]
        return [self._finish(where, request, now) for where, request in zip(placed, open_sagas, strict=True)]

    # -- the steps of a confirmation

    def _begun(self, tx: Transaction, placed: Placed) -> Request | None:
        """What a process that died, or another one, has begun on the operation."""
        rows = tx.execute(
            "select request from saga_log where operation_id = ? and status = 'pending'", (placed.item.operation_id,)
        )
        return msgspec.json.decode(rows[0][0], type=Request) if rows else None

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
        if any(not _is_confirmed(ledger, other) for other in item.depends_on):
            return Outcome(item.id, "failed", "it builds on another item of its set: confirm that first")
        args = _validated(item, edited_args)
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
                base=item.base if against == "base" else effect.base(sight, item.tool_name, args),
                seen=_ids(ledger, item),
                twins=self._twins(ledger, placed, now),
                at=now,
            )
            if effect.receipt(sight, item, reader) is None:
                refused = _refused(item, _plan(sight, placed, request))
                if refused is not None:
                    return refused
        tx.execute(
            """insert into saga_log(operation_id, run_key, phase, status, tool_name, created_at, updated_at, request)
               values (?, ?, 'journal_pending', 'pending', ?, ?, ?, ?)
               on conflict(operation_id) do update set phase = excluded.phase, status = excluded.status,
               last_error = null, updated_at = excluded.updated_at, request = excluded.request""",
            (
                item.operation_id,
                placed.set.run_key,
                item.tool_name,
                iso(now),
                iso(now),
                msgspec.json.encode(request).decode(),
            ),
        )
        return request

    def _finish(self, placed: Placed, request: Request, now: int) -> Outcome:
        try:
            done = self._take_effect(placed, request, now)
        except Problem as problem:
            done = Done(Outcome(request.item, "failed", problem.message), request.args, "", {})
        if done.outcome.result in ("stale", "failed"):
            self._give_up(placed, done.outcome, now)
            return done.outcome
        return self._settle(placed, request, done, now)

    def _take_effect(self, placed: Placed, request: Request, now: int) -> Done:
        """The journal's one transaction. Raises `Problem` if the effect fails; nothing is written then."""
        item = placed.item
        with self._journal.transaction(now) as tx:
            sight = effect.look(tx, item.tool_name, request.args, placed.set.task_id)
            said = _said(item, request.args, sight)
            held = effect.receipt(sight, item, tx)
            if held is not None:
                args = held.get("args", request.args)
                message = "its effect is here already"
                return Done(Outcome(item.id, "already", message), args, _said(item, args, sight), tx.knowledge())
            plan = _plan(sight, placed, request)
            refused = _refused(item, plan)
            if refused is not None:
                return Done(refused, request.args, said, {})
            result: Result = "no-op" if plan.satisfied else "applied"
            _write(tx, placed, request, plan, sight, result)
            message = plan.withheld or ("it was so already" if plan.satisfied else "")
            return Done(Outcome(item.id, result, message), request.args, said, tx.knowledge())

    def _settle(self, placed: Placed, request: Request, done: Done, now: int) -> Outcome:
        """The decision, once, whoever else plays the same saga."""
        item = placed.item
        with self._agents.transaction(now) as tx:
            [(phase,)] = tx.execute("select phase from saga_log where operation_id = ?", (item.operation_id,))
            if phase == "agent_done":
                return Outcome(item.id, "already", "another process has finished it", request.decision)
            decision = msgspec.structs.replace(
                self._decision(placed, request.decision, ItemStatus.CONFIRMED, request.at),
                args=done.args,
                human_summary=done.said,
                result="no-op" if done.outcome.result == "no-op" else "applied",
                edited=effective(done.args) != effective(item.args),
                seen=request.seen,
                journal_knowledge={str(host): known for host, known in done.knowledge.items()},
            )
            _write_decision(tx, decision, request.twins)
            tx.execute(
                "update saga_log set phase = 'agent_done', status = 'completed', updated_at = ? where operation_id = ?",
                (iso(now), item.operation_id),
            )
        return msgspec.structs.replace(done.outcome, decision=decision.id)

    def _give_up(self, placed: Placed, outcome: Outcome, now: int) -> None:
        """Close a saga that came to nothing. An error is kept, and shown with the item (S2-19)."""
        with self._agents.transaction(now) as tx:
            if outcome.result == "stale":
                tx.execute("delete from saga_log where operation_id = ?", (placed.item.operation_id,))
            else:
                tx.execute(
                    "update saga_log set status = 'failed', last_error = ?, updated_at = ? where operation_id = ?",
                    (outcome.message, iso(now), placed.item.operation_id),
                )

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
                sight = _sight(reader, placed)
                if self._begun(tx, placed) is not None or effect.receipt(sight, item, reader) is not None:
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


def _is_confirmed(ledger: Ledger, item_id: str) -> bool:
    return ledger.find(item_id).state.status is ItemStatus.CONFIRMED


def _already(placed: Placed) -> Outcome:
    message = f"it was {placed.state.status} already"
    return Outcome(placed.item.id, "already", message, placed.state.heads[-1].id)


def _validated(item: ChangeItem, edited_args: Mapping[str, Any] | None) -> dict[str, Any] | str:
    """The arguments to confirm with, checked against the tool's schema; or why they can't be taken. What a
    person leaves out of an edit's prose, and the target, stay as they were proposed."""
    if not effect.knows(item.tool_name):
        return f"this version does not know the tool {item.tool_name}; update it to confirm this"
    args = dict(item.args)
    if edited_args is not None:
        kept = {key: value for key, value in item.args.items() if key not in effective(item.args) or key == "id"}
        args = {**kept, **edited_args}
        if args.get("id") != item.args.get("id"):
            return "an edit changes the arguments, not what they are about"
    call = tools.checked_call(item.tool_name, args)
    if isinstance(call, BadCall):
        return call.fault or call.text
    call.args.pop("humanSummary", None)
    return call.args


def _sight(reader: Reader, placed: Placed) -> Sight:
    if not effect.knows(placed.item.tool_name):
        return Sight(None, None, [])
    return effect.look(reader, placed.item.tool_name, placed.item.args, placed.set.task_id)


def _plan(sight: Sight, placed: Placed, request: Request) -> Plan:
    return effect.plan(sight, placed.item, request.args, placed.set.task_id, request.base, guarded=request.guarded)


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
    title = view(sight.target, ChecklistItem).title if sight.target and sight.target.type == ITEM else None
    return summary(item.tool_name, args, item_title=title, written=item.human_summary)


def _write(tx: Transaction, placed: Placed, request: Request, plan: Plan, sight: Sight, result: Result) -> None:
    """The effect and its receipt, in one write by the user."""
    item, args, agent_id, task_id = placed.item, request.args, placed.set.agent_id, placed.set.task_id
    receipt = {effect.receipt_path(item.operation_id): {"args": effective(args), "result": result}}
    if item.tool_name in CREATES:
        if not plan.writes:
            [*_, there] = [
                entity for entity in sight.items if addition(args["title"], effect.titles(Sight(None, None, [entity])))
            ]
            tx.put(there.id, ITEM, receipt)
            return
        tasks.default_checklist(tx, task_id, precedence=AGENT)
        extra = {"proposedBy": agent_id, **receipt}
        tasks.add_item(tx, created_id(item.operation_id, ITEM), task_id, args["title"], extra, precedence=USER)
        return
    assert sight.target is not None
    values = dict(plan.writes)
    if "status" in values:
        values |= tasks.checked_status(args["status"], args.get("reason"))
    if "isChecked" in values:
        values |= {
            "checkedBy": "user",
            "checkedAt": iso(request.at),
            "checkReason": args.get("reason"),
            "proposedBy": agent_id,
        }
    tx.put(sight.target.id, sight.target.type, {**values, **receipt}, precedence=USER)


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
