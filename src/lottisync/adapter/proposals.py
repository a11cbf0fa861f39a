"""The operations on proposals (level 3): what a wake leaves, and what people say to it.

A replica stands for a device with its person and its agent. The agent's calls go through the same builder as a model's,
and the person's verdicts through the same sagas. So a runner may kill the process in the middle of one: `open`
recovers, as a device does at its next start.

Ids come from the store's host and counter and not from a clock or from chance. A repeated run makes
them again, and no two writes of one store share one.
"""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import msgspec

from lottisync.adapter import request as r
from lottisync.adapter.replica import Replica
from lottisync.adapter.request import Request
from lottisync.adapter.wire_entity import BadRequest
from lottisync.agents.toolbox import TOOLBOX, RetractSuggestions
from lottisync.causality.vector_clock import Dot
from lottisync.entities.schema import derived_id
from lottisync.journal import guard, task_values, tasks
from lottisync.journal.actions.add_checklist_item import AddChecklistItem
from lottisync.journal.actions.update_checklist_item import UpdateChecklistItem
from lottisync.journal.arguments import ImmediateCall
from lottisync.journal.task_action import ActionBatch, TaskAction, TaskField
from lottisync.journal.toolbox import ACTIONS, BadCall
from lottisync.review import precedence, proposal, retraction
from lottisync.review.action import Grade
from lottisync.review.builder import Builder
from lottisync.review.change import ChangeDecision, ChangeSet
from lottisync.review.inbox import Inbox
from lottisync.review.ledger import Ledger, one_set
from lottisync.review.outcome import Outcome
from lottisync.review.precedence import PERSON
from lottisync.review.projection import project
from lottisync.review.proposal_record import decisions
from lottisync.review.retraction import open_proposals
from lottisync.review.verdict import Verdicts
from lottisync.store import lookups
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

AGENT = "adapter-agent"
"""Who proposes, unless a request names another `agent`."""
CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "title": task_values.checked_title,
    "priority": task_values.checked_priority,
    "due": lambda value: None if value is None else task_values.checked_day(value),
    "estimate": lambda value: None if value is None else task_values.checked_minutes(value),
    "categoryId": lambda value: value,
}
"""The fields of `task.edit`, beside `status` and `labels`."""

Operation = Callable[[Request], Any]


def _digest(request: Request) -> str:
    return proposal.digest(r.text(request, "tool"), r.mapping(request, "args"))


def _operation(request: Request) -> str:
    run, task, tool = r.text(request, "run"), r.text(request, "task"), r.text(request, "tool")
    return proposal.operation_id(run, task, tool, r.mapping(request, "args"), r.texts(request, "targets"))


def _guard(request: Request) -> str | None:
    return guard.objection(
        is_checked=r.field(request, "isChecked"),
        checked_by=r.field(request, "checkedBy"),
        checked_at=r.field(request, "checkedAt"),
        proposed=r.field(request, "proposed"),
        reason=r.optional_text(request, "reason"),
        grade=Grade(request.get("grade", "none")),
        sovereignty=request.get("sovereignty", "reason"),
    )


def _redundancy(request: Request) -> str | None:
    call = ACTIONS.checked(r.text(request, "tool"), r.mapping(request, "args"))
    if isinstance(call, BadCall):
        raise BadRequest(call.text)
    if not isinstance(call, TaskField | AddChecklistItem | UpdateChecklistItem):
        raise BadRequest(f"redundancy is asked of a field or an item; got {call.tool}")
    current = r.mapping(request, "current")
    if isinstance(call, AddChecklistItem):
        r.texts(current, "titles")
    return call.redundancy(current)


def _normal_form(request: Request) -> list[dict[str, Any]]:
    """What a call proposes, one action for each element of a batch."""
    call = ACTIONS.checked(r.text(request, "tool"), r.mapping(request, "args"))
    if not isinstance(call, TaskAction | ActionBatch):
        raise BadRequest(call.text if isinstance(call, BadCall) else f"{call.tool} proposes nothing")
    actions = call.parts() if isinstance(call, ActionBatch) else [call]
    return [{"tool": one.tool, "args": one.arguments()} for one in actions]


def _project(request: Request) -> dict[str, Any]:
    empty = {"humanSummary": "", "digest": ""}
    sets = [
        one | {"items": [empty | item for item in msgspec.convert(one.get("items", []), list[dict[str, Any]])]}
        for one in msgspec.convert(r.field(request, "sets"), list[dict[str, Any]])
    ]
    states = project(
        msgspec.convert(sets, list[ChangeSet]),
        msgspec.convert(r.field(request, "decisions"), list[ChangeDecision]),
        r.now(request),
    )
    return {
        ident: {
            "status": state.status,
            "items": {
                item: {"status": one.status, "contested": one.contested, "expired": one.expired}
                for item, one in state.items.items()
            },
        }
        for ident, state in states.items()
    }


PURE: Mapping[str, Operation] = {
    "proposal.digest": _digest,
    "proposal.operation": _operation,
    "proposal.guard": _guard,
    "proposal.redundancy": _redundancy,
    "proposal.normal_form": _normal_form,
    "proposal.project": _project,
}
"""What needs no replica."""


class ProposalOperations:
    """`find` names the replica of a request; `others` are the operations that open and close one."""

    def __init__(self, find: Callable[[Request], Replica], others: Mapping[str, Operation]) -> None:
        self._find = find
        self._others = dict(others)
        self._sovereignty: dict[str, Any] = {}
        self._numbers = count()
        self.operations: dict[str, Operation] = {
            "open": self._open,
            "task.create": self._task_create,
            "task.read": self._task_read,
            "task.check": self._task_check,
            "task.edit": self._task_edit,
            "note.add": self._note_add,
            "propose": self._propose,
            "inbox": self._inbox,
            "confirm": self._confirm,
            "reject": lambda q: _outcome(self._verdicts(q).reject(r.text(q, "item"), r.now(q), q.get("reason"))),
            "defer": lambda q: _outcome(self._verdicts(q).defer(r.text(q, "item"), r.whole(q, "until"), r.now(q))),
            "undo": lambda q: _outcome(self._verdicts(q).undo(r.text(q, "item"), r.now(q))),
            "keep": lambda q: _outcome(self._verdicts(q).keep(r.text(q, "item"), r.now(q))),
            "confirm_all": lambda q: [
                _outcome(one) for one in self._verdicts(q).confirm_all(r.text(q, "changeSet"), r.now(q))
            ],
            "dismiss": lambda q: [_outcome(one) for one in self._verdicts(q).dismiss(r.text(q, "changeSet"), r.now(q))],
            "retract": self._retract,
            "decisions": lambda q: msgspec.to_builtins(decisions(self._agents(q), r.text(q, "task")), enc_hook=str),
            "expire": self._expire,
            **PURE,
        }

    # -- the device

    def _open(self, request: Request) -> Any:
        sovereignty = request.get("sovereignty", "reason")
        if sovereignty not in ("reason", "evidence"):
            raise BadRequest(f"'sovereignty' is reason or evidence; got {sovereignty!r}")
        opened = self._others["open"](request)
        self._sovereignty[r.text(request, "replica")] = sovereignty
        self._verdicts(request).recover(r.now(request))
        return opened

    def _journal(self, request: Request) -> Store:
        return self._find(request).store("journal")

    def _agents(self, request: Request) -> Store:
        return self._find(request).store("agent")

    def _strictness(self, request: Request) -> Any:
        return self._sovereignty.get(r.text(request, "replica"), "reason")

    def _verdicts(self, request: Request) -> Verdicts:
        agents = self._agents(request)

        def new_id(now: int) -> str:
            with agents.reading() as reader:
                return derived_id("decision", reader.host, str(reader.counter), str(now), str(next(self._numbers)))

        return Verdicts(
            self._journal(request),
            agents,
            ACTIONS,
            device_id=r.text(request, "replica"),
            new_id=new_id,
            sovereignty=self._strictness(request),
        )

    # -- the person's tasks

    def _task_create(self, request: Request) -> dict[str, Any]:
        titles = request.get("checklist") or []
        if not isinstance(titles, list) or not all(isinstance(title, str) for title in titles):
            raise BadRequest("'checklist' is a list of titles")
        with self._journal(request).transaction(r.now(request), PERSON) as tx:
            task_id = _next_id(tx, "task")
            tasks.add_task(tx, task_id, r.text(request, "title"))
            items = []
            for title in titles:
                items.append(_next_id(tx, "checklistItem"))
                tasks.add_item(tx, items[-1], task_id, title)
        return {"task": task_id, "items": items}

    def _task_read(self, request: Request) -> dict[str, Any]:
        with self._journal(request).reading() as reader:
            page = tasks.page(reader, r.text(request, "task"))
        whole = tasks.as_json(page)
        task = page.task
        return {
            "title": task.title,
            "status": task.status,
            "priority": task.priority,
            "due": task.due,
            "estimate": task.estimate,
            "labels": [label.name for label in page.labels],
            "checklist": [item for checklist in whole["checklists"] for item in checklist["items"]],
        }

    def _task_check(self, request: Request) -> None:
        checked = r.field(request, "isChecked")
        if not isinstance(checked, bool):
            raise BadRequest("'isChecked' is true or false")
        with self._journal(request).transaction(r.now(request), PERSON) as tx:
            tasks.check_item(tx, r.text(request, "item"), checked)

    def _task_edit(self, request: Request) -> None:
        task_id, values = r.text(request, "task"), r.mapping(request, "set")
        fields: dict[str, Any] = {}
        with self._journal(request).transaction(r.now(request), PERSON) as tx:
            for name, value in values.items():
                if name == "status":
                    fields |= task_values.checked_status(value, values.get("statusReason") or request.get("reason"))
                elif name == "labels":
                    fields |= self._labels(tx, task_id, value)
                elif name in CHECKS:
                    fields[name] = CHECKS[name](value)
                elif name != "statusReason":
                    raise BadRequest(f"a task has the fields status, labels, {', '.join(CHECKS)}; got {name!r}")
            tasks.edit_task(tx, task_id, fields)

    def _labels(self, tx: Transaction, task_id: str, wanted: Any) -> dict[str, Any]:
        """The labels of a task by their ids. One that is not there yet is made; its id is its name."""
        if not isinstance(wanted, list) or not all(isinstance(label, str) for label in wanted):
            raise BadRequest("'labels' is a list of ids")
        for label in wanted:
            if tx.version(label) is None:
                tx.put(label, "label", {"name": label})
        held = tasks.page(tx, task_id).task.labels
        return {"labels": {label: True if label in wanted else None for label in {*held, *wanted}}}

    def _note_add(self, request: Request) -> str:
        author = "user" if r.precedence(request) else "agent"
        with self._journal(request).transaction(r.now(request), r.precedence(request)) as tx:
            entry_id = _next_id(tx, "entry")
            tasks.add_note(tx, entry_id, r.text(request, "task"), r.text(request, "text"), author=author)
        return entry_id

    # -- the agent

    def _propose(self, request: Request) -> dict[str, Any]:
        """One wake: its context is read now, its calls are answered in turn, its sets are written."""
        journal, agents = self._journal(request), self._agents(request)
        task_id, now = r.text(request, "task"), r.now(request)
        calls = r.field(request, "calls")
        if not isinstance(calls, list) or not all(isinstance(call, dict) and "tool" in call for call in calls):
            raise BadRequest("'calls' is a list of {tool, args}")
        with journal.reading() as reader:
            tasks.page(reader, task_id)
            knowledge = reader.knowledge()
            beyond = [Dot(host, counter) for host, counter, _ in lookups.held_beyond(reader)]
        with agents.reading() as reader:
            run = request.get("run") or f"run-{reader.host}-{reader.counter}"
        agent_id = request.get("agent", AGENT)
        builder = Builder(
            journal,
            agents,
            agent_id=agent_id,
            task_id=task_id,
            run_key=str(run),
            thread_id=str(run),
            actions=ACTIONS,
            context_knowledge=knowledge,
            context_beyond=beyond,
            context_waiting=[
                one.id for one in open_proposals(agents, ACTIONS, now, agent_id=agent_id, task_id=task_id)
            ],
            sovereignty=self._strictness(request),
        )
        feedback = [self._answer(journal, builder, task_id, call, now) for call in calls]
        with agents.transaction(now, precedence.AGENT) as tx:
            built = builder.build(tx, now)
        with agents.reading() as reader:
            items = [item for ident in built for item in one_set(reader, f"{ident}.0").items]
        return {
            "changeSet": built[0] if built else None,
            "changeSets": built,
            "items": [{"id": item.id, "summary": item.human_summary} for item in items],
            "feedback": feedback,
        }

    def _answer(self, journal: Store, builder: Builder, task_id: str, call: dict[str, Any], now: int) -> str:
        raw = call.get("args", {})
        text = raw if isinstance(raw, str) else msgspec.json.encode(raw).decode()
        match TOOLBOX.parse(str(call["tool"]), text):
            case BadCall() as bad:
                return bad.text
            case ImmediateCall() as immediate:
                with journal.transaction(now, precedence.AGENT) as tx:
                    return immediate.at_once(tx, task_id)
            case TaskAction() | ActionBatch() as proposed:
                return builder.propose(proposed, now)
            case RetractSuggestions() as own:
                return builder.retract([retraction.Staged(one.id, one.reason) for one in own.proposals], now)
            case other:
                return f"{other.tool}: noted."

    def _retract(self, request: Request) -> dict[str, Any]:
        agents, item_id, now = self._agents(request), r.text(request, "item"), r.now(request)
        staged = [retraction.Staged(item_id, str(request.get("reason") or "no longer needed"))]
        with agents.transaction(now, precedence.AGENT) as tx:
            change_set = one_set(tx, item_id)
            Ledger.read(tx, now, change_set.task_id).find(item_id)
            device = r.text(request, "replica")
            written = retraction.carry_out(tx, change_set.agent_id, change_set.task_id, staged, now, device)
        return {"item": item_id, "result": "retracted" if written else "already"}

    # -- the person's word

    def _inbox(self, request: Request) -> list[dict[str, Any]]:
        inbox = Inbox(self._journal(request), self._agents(request), ACTIONS, sovereignty=self._strictness(request))
        sets = inbox.unsettled_sets(r.now(request), request.get("task"))
        return [
            {
                "changeSet": one.id,
                "task": one.task_id,
                "status": one.status,
                "items": [
                    {
                        "id": item.id,
                        "tool": item.tool,
                        "args": item.args,
                        "summary": item.summary,
                        "status": item.status,
                        "stale": item.stale,
                        "satisfied": item.satisfied,
                        "contested": item.contested,
                        "expired": item.expired,
                        "orderUnknown": item.order_unknown,
                        "dependsOn": item.depends_on,
                        "error": None if item.failure is None else str(item.failure),
                    }
                    for item in one.items
                ],
            }
            for one in sets
        ]

    def _confirm(self, request: Request) -> dict[str, Any]:
        edited, against = request.get("edited_args"), request.get("against", "base")
        if edited is not None and not isinstance(edited, dict):
            raise BadRequest("'edited_args' is an object")
        if against not in ("base", "current"):
            raise BadRequest(f"'against' is base or current; got {against!r}")
        outcome = self._verdicts(request).confirm(
            r.text(request, "item"), r.now(request), edited_args=edited, against=against
        )
        return _outcome(outcome)

    def _expire(self, request: Request) -> list[dict[str, Any]]:
        """The expired items at that time, by set, from the projection. Nothing is written."""
        now = r.now(request)
        with self._agents(request).reading() as reader:
            placed = [one for one in Ledger.read(reader, now).placed() if one.state.expired]
        sets: dict[str, list[str]] = {}
        for one in placed:
            sets.setdefault(one.set.id, []).append(one.item.id)
        return [{"changeSet": ident, "items": items} for ident, items in sets.items()]


def _outcome(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(outcome, enc_hook=str)
    for field in found.get("stale", ()):
        field["entity"] = field.pop("entityId")
    return found


def _next_id(tx: Transaction, type_name: str) -> str:
    """An id for what the next write makes."""
    return derived_id(type_name, tx.host, str(tx.counter + 1))
