"""From a model's tool calls to change sets (docs/specs/10-review.md, section 4).

A wake has one builder. It takes each deferred call as it comes, answers the model at once, and writes
the change sets when the wake ends. Nothing a model says goes anywhere else: there is no overflow and
no fast path that skips the person.

A proposal that would waste a person's look is not queued, and the model is told why, so that it can
correct itself:

    invalid, or about something that this store does not hold     the context came from here: it was invented
    a tick that the user set, without a reason                    the guard; a new title passes
    a label that the model is not sure of, or a fourth one        three are what a person can weigh
    what is so already                                            ADR 0009
    a field that was written after the context was read           ADR 0009's own case: the old estimate
    what waits already, or was decided already in this run
    what the person rejected or let expire, and nothing has changed since

The last one is asked of the dots: a rejection records what the journal knew, so a field whose writes
it all knew is as it was. A rejected creation has no field; it is heard again once the person has
written something on that task that the rejection did not know. Confirming another proposal is not
that: the effect's receipt tells its writes from typed ones. A changed tick may also be proposed again
with evidence that the user wrote after the rejection.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from lottisync.causality.vector_clock import Clock, Dot, covers, has_seen
from lottisync.entities.entity import Entity
from lottisync.entities.view import view
from lottisync.journal.types import ChecklistItem, Entry, Label, Task
from lottisync.review import effect, evidence, guard, immediate, redundancy, retraction, tools
from lottisync.review.change import ChangeItem, ChangeSet, SeenField
from lottisync.review.effect import TASK, Sight
from lottisync.review.ledger import SET, Ledger, Placed, fields
from lottisync.review.precedence import AGENT, PERSON
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import created_id, digest, item_id, operation_id, set_id, summary
from lottisync.review.retraction import Staged
from lottisync.review.terms import Sovereignty, Terms, terms_of
from lottisync.review.tools import BadCall, ParsedCall
from lottisync.store.instant import iso
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

MAX_ITEMS = 10
"""Items of one set (S1-68): what a person can look over at once. The rest goes into a further set."""


class Draft(NamedTuple):
    """An item that will be in a set of this wake. `depends_on` names operations of this wake, or items of
    earlier ones."""

    tool: str
    args: dict[str, Any]
    summary: str
    digest: str
    operation: str
    target: str | None
    base: list[SeenField]
    registers: frozenset[tuple[str, str]]
    group_id: str | None = None
    depends_on: tuple[str, ...] = ()


class Answer(NamedTuple):
    """What became of one proposal: queued (`note` says what else), redundant, or refused."""

    outcome: str
    note: str | None = None


QUEUED, REDUNDANT, REFUSED, DONE = "queued", "redundant", "refused", "done"


class Builder:
    """Collects one wake's proposals on one task.

    `context_knowledge` is the journal's knowledge when the model's context was read, `context_beyond`
    the dots that were held beyond it (`Reader.held_beyond`, after a round that was cut off)."""

    def __init__(
        self,
        journal: Store,
        agents: Store,
        *,
        agent_id: str,
        task_id: str,
        run_key: str,
        thread_id: str,
        context_knowledge: Clock,
        context_beyond: Iterable[Dot] = (),
        sovereignty: Sovereignty = "reason",
    ) -> None:
        self._journal = journal
        self._agents = agents
        self._agent_id = agent_id
        self._task_id = task_id
        self._run_key = run_key
        self._thread_id = thread_id
        self._knowledge = dict(context_knowledge)
        self._beyond = frozenset(context_beyond)
        self._sovereignty = sovereignty
        self._drafts: list[Draft] = []
        self._staged: list[Staged] = []

    @property
    def has_items(self) -> bool:
        return bool(self._drafts)

    def queue(self, tool_name: str, args: Mapping[str, Any], now: int) -> str:
        """Consider a deferred call at `now` (ms), and say what became of it, in words for the model."""
        call = tools.checked_call(tool_name, dict(args))
        if isinstance(call, BadCall):
            return call.text
        if call.tool == "retract_suggestions":
            return self._retract(call, now)
        if call.tool not in tools.DEFERRED:
            return f"{call.tool} is not a change that is proposed."
        with self._agents.reading() as reader:
            ledger = Ledger.read(reader, now, self._task_id)
            terms = terms_of(reader, self._agent_id, self._sovereignty)
        answers = self._answers(call, ledger, terms, now)
        if call.tool in tools.EXPLODED:
            return redundancy.batch_answer(
                sum(answer.outcome == QUEUED for answer in answers),
                [answer.note or "" for answer in answers if answer.outcome == REDUNDANT],
                [answer.note or "" for answer in answers if answer.outcome == REFUSED],
                [answer.note for answer in answers if answer.outcome in (QUEUED, DONE) and answer.note],
            )
        [answer] = answers
        if answer.outcome == QUEUED:
            return redundancy.QUEUED + (f" {answer.note}" if answer.note else "")
        return redundancy.skipped(answer.note or "")

    def _answers(self, call: ParsedCall, ledger: Ledger, terms: Terms, now: int) -> list[Answer]:
        parts = tools.exploded(call)
        match call.tool:
            case "assign_task_labels":
                # `sorted` is stable: what the model is equally sure of stays in its order.
                parts = sorted(parts, key=lambda part: tools.CONFIDENCES.index(part.args["confidence"]))
            case "suggest_checklist_completion" if terms.auto_check:
                return [self._ticked(part, terms, now) or self._consider(part, ledger, terms) for part in parts]
        return [self._consider(part, ledger, terms) for part in parts]

    def _ticked(self, part: ParsedCall, terms: Terms, now: int) -> Answer | None:
        """A completion that the person wants ticked without being asked; None where they do want to be."""
        with self._journal.transaction(now, AGENT) as tx:
            said = immediate.update_item(tx, self._agent_id, self._task_id, part.args, terms, own_only=True)
        if said is None:
            return None
        return Answer(DONE if said.startswith("Updated") else REDUNDANT, said.removeprefix("Skipped: ").rstrip("."))

    def _retract(self, call: ParsedCall, now: int) -> str:
        with self._agents.reading() as reader:
            staged, said = retraction.considered(reader, self._agent_id, self._task_id, call.args["proposals"], now)
        self._staged += staged
        return said

    def build(self, tx: Transaction, now: int) -> list[str]:
        """Write the sets, inside a transaction of the agent store, and return their ids. What was retracted in
        this wake is retracted here.

        A run that is played again finds what it wrote before and adds only what is missing."""
        retraction.carry_out(tx, self._agent_id, self._task_id, self._staged, now)
        written: dict[str, str] = {}
        ordinal = 0
        while (earlier := tx.entity(self._set_id(tx, ordinal))) is not None:
            written |= {item.operation_id: item.id for item in view(earlier, ChangeSet).items}
            ordinal += 1
        drafts = [draft for draft in self._drafts if draft.operation not in written]
        ids = []
        for start in range(0, len(drafts), MAX_ITEMS):
            ids.append(self._write(tx, now, ordinal, drafts[start : start + MAX_ITEMS], written))
            ordinal += 1
        return ids

    def _set_id(self, tx: Transaction, ordinal: int) -> str:
        return set_id(self._agent_id, self._run_key, tx.host, ordinal)

    def _write(self, tx: Transaction, now: int, ordinal: int, drafts: list[Draft], written: dict[str, str]) -> str:
        """`written` maps the run's operations to their items, and learns those of this set."""
        ident = self._set_id(tx, ordinal)
        written |= {draft.operation: item_id(ident, index) for index, draft in enumerate(drafts)}
        change_set = ChangeSet(
            id=ident,
            agent_id=self._agent_id,
            task_id=self._task_id,
            thread_id=self._thread_id,
            run_key=self._run_key,
            items=[
                ChangeItem(
                    id=item_id(ident, index),
                    tool_name=draft.tool,
                    args=draft.args,
                    human_summary=draft.summary,
                    digest=draft.digest,
                    operation_id=draft.operation,
                    base=draft.base,
                    target=draft.target,
                    evidence=draft.args.get("evidenceEntryIds", []),
                    group_id=draft.group_id,
                    depends_on=[written.get(other, other) for other in draft.depends_on],
                )
                for index, draft in enumerate(drafts)
            ],
            journal_knowledge={str(host): known for host, known in self._knowledge.items()},
            created_at=iso(now),
        )
        tx.put(ident, SET, fields(change_set))
        return ident

    # -- one proposal

    def _consider(self, call: ParsedCall, ledger: Ledger, terms: Terms) -> Answer:
        args = dict(call.args)
        written = args.pop("humanSummary", None)
        relation = args.pop("relation", None) if call.tool == "create_follow_up_task" else None
        planned = self._planned(args, ledger) if call.tool == "link_task" else None
        sight = redundancy.looked_up(lambda: self._look(call.tool, args))
        label, kept_back = "", None
        if sight is not None:
            if planned is not None:
                # A task that will be made in the same category: this one stands in for it until then.
                sight = sight._replace(other=sight.task)
            hindrance = self._hindrance(sight, call.tool, args, terms)
            if hindrance is not None:
                place = f"{args['id']}: " if call.tool == "update_checklist_item" else ""
                return Answer(REFUSED, place + hindrance)
            label = self._label(sight, call.tool)
            kept_back = effect.objection(sight, args, terms) if "isChecked" in args else None
            if kept_back is not None:
                del args["isChecked"]
                args.pop("reason", None)
                if "title" not in args:
                    return Answer(REFUSED, label + kept_back)
            redundant = self._redundant(sight, call.tool, args)
            if redundant is not None:
                return Answer(REFUSED, label + kept_back) if kept_back else Answer(REDUNDANT, redundant)
            newer = self._newer(sight, call.tool, args)
            if newer is not None:
                return Answer(REFUSED, label + newer)
        draft = self._draft(call.tool, args, written, sight, planned)
        known = self._known(draft, ledger, sight)
        if known is not None:
            return Answer(REFUSED, label + known)
        replaced = [other for other in self._drafts if other.registers & draft.registers]
        self._drafts = [other for other in self._drafts if other not in replaced] + [draft]
        notes = [f"{label}only the title is queued. {kept_back}"] if kept_back else []
        notes += [f"It replaces what you proposed before: {other.summary}." for other in replaced]
        if sight is not None and "isChecked" in args and self._is_order_unknown(sight, args):
            notes.append(f"{label}what you cite was written beside the user's action, not after it; they are told so.")
        if call.tool == "create_follow_up_task":
            notes.append(self._follow_up(draft, relation, ledger, terms))
        return Answer(QUEUED, " ".join(notes) or None)

    def _follow_up(self, draft: Draft, relation: str | None, ledger: Ledger, terms: Terms) -> str:
        """The link that a follow-up was proposed with becomes an item that waits for the task's."""
        created = created_id(draft.operation, TASK)
        if relation is not None:
            link = ParsedCall("link_task", {"relation": relation, "targetTaskId": created})
            self._consider(link, ledger, terms)
        return f"If the user confirms it, its id is {created}."

    def _planned(self, args: Mapping[str, Any], ledger: Ledger) -> tuple[str, str | None, str] | None:
        """The follow-up task that a link leads to and that is not made yet: its operation or its item, its
        group, and its title."""
        target = args["targetTaskId"]
        for draft in self._drafts:
            if draft.tool == "create_follow_up_task" and created_id(draft.operation, TASK) == target:
                return draft.operation, draft.group_id, draft.args["title"]
        placed = ledger.making(target)
        if placed is None or placed.state.decided:
            return None
        return placed.item.id, placed.item.group_id, placed.item.args["title"]

    def _hindrance(self, sight: Sight, tool: str, args: Mapping[str, Any], terms: Terms) -> str | None:
        """Why this is nothing to propose at all."""
        if tool == "assign_task_label":
            assert sight.other is None or sight.other.id == args["id"]
            name = view(sight.other, Label).name if sight.other is not None and sight.other.type == "label" else ""
            if args["confidence"] == "low":
                return f'label "{name}": you are not sure enough of it'
            chosen = {draft.args["id"] for draft in self._drafts if draft.tool == tool} | {args["id"]}
            if len(chosen) > tools.MAX_LABELS:
                return f'label "{name}": {tools.MAX_LABELS} labels are proposed already'
        hindrance = effect.obstacle(sight, tool, args, self._task_id, terms)
        if hindrance is None:
            with self._journal.reading() as reader:
                hindrance = evidence.unfit(reader, self._task_id, args.get("evidenceEntryIds", ()))
        return hindrance

    def _is_order_unknown(self, sight: Sight, args: Mapping[str, Any]) -> bool:
        assert sight.target is not None
        item = view(sight.target, ChecklistItem)
        return guard.is_order_unknown(
            is_checked=item.is_checked, checked_by=item.checked_by, proposed=args["isChecked"], grade=sight.grade
        )

    def _look(self, tool: str, args: Mapping[str, Any]) -> Sight:
        with self._journal.reading() as reader:
            return effect.look(reader, tool, args, self._task_id)

    def _label(self, sight: Sight, tool: str) -> str:
        if tool != "update_checklist_item" or sight.target is None:
            return ""
        return f'"{view(sight.target, ChecklistItem).title}": '

    def _redundant(self, sight: Sight, tool: str, args: Mapping[str, Any]) -> str | None:
        if tool in effect.CREATES:
            place = "on the checklist" if tool == "add_checklist_item" else "linked with this task"
            return redundancy.addition(args["title"], effect.titles(sight), place)
        now = effect.current(sight, tool, args)
        match tool:
            case "update_checklist_item":
                return redundancy.checklist_item(args, now["title"], now["isChecked"])
            case "assign_task_label" if all(now.values()):
                assert sight.other is not None
                return f'label "{view(sight.other, Label).name}" is already assigned'
            case "link_task" if all(now.values()):
                assert sight.other is not None
                return f'"{view(sight.other, Task).title}" is already linked so'
            case "assign_task_label" | "link_task":
                return None
        return redundancy.task_field(tool, args, now)

    def _newer(self, sight: Sight, tool: str, args: Mapping[str, Any]) -> str | None:
        """What was written to the fields after the model's context was read (S4-14)."""
        for path in effect.proposed(tool, args):
            held = sight.target.dots(path) if sight.target is not None else frozenset()
            unseen = [dot for dot in held if not self._was_read(dot)]
            if unseen:
                value = effect.current(sight, tool, args)[path]
                name = {"due": "due date", "isChecked": "checked state"}.get(path, path.partition("/")[0])
                if tool in effect.MEMBERS:
                    return f"changed since your context was read: the user took it off the {name}"
                words = {True: "checked", False: "unchecked"}[value] if path == "isChecked" else None
                return f"changed since your context was read: {name} is now {words or redundancy.worded(path, value)}"
        return None

    def _was_read(self, dot: Dot) -> bool:
        return has_seen(self._knowledge, dot) or dot in self._beyond

    def _draft(
        self,
        tool: str,
        args: dict[str, Any],
        written: str | None,
        sight: Sight | None,
        planned: tuple[str, str | None, str] | None = None,
    ) -> Draft:
        target = None if tool in effect.CREATES else effect.target_of(tool, args, self._task_id)
        operation = operation_id(self._run_key, self._task_id, tool, args, [target] if target else [])
        name = planned[2] if planned else effect.named(sight) if sight else None
        group = planned[1] if planned else operation if tool == "create_follow_up_task" else None
        return Draft(
            tool,
            args,
            written or summary(tool, args, item_title=name),
            digest(tool, args),
            operation,
            target,
            effect.base(sight, tool, args, self._task_id) if sight else [],
            frozenset((target or "", path) for path in effect.proposed(tool, args)),
            group,
            (planned[0],) if planned else (),
        )

    # -- what was proposed before

    def _known(self, draft: Draft, ledger: Ledger, sight: Sight | None) -> str | None:
        if any(other.digest == draft.digest for other in self._drafts):
            return "you have proposed this already in this wake"
        for placed in ledger.placed():
            if placed.item.operation_id == draft.operation or placed.item.digest == draft.digest:
                known = self._answered(placed, draft, sight)
                if known is not None:
                    return known
        return None

    def _answered(self, placed: Placed, draft: Draft, sight: Sight | None) -> str | None:
        """Why `placed`, which proposed the same, leaves nothing to ask; None if it may be asked anew."""
        state, same_run = placed.state, placed.item.operation_id == draft.operation
        if state.open or state.status is ItemStatus.DEFERRED:
            return "this waits for the user already"
        refused = state.status is ItemStatus.REJECTED or state.undone
        if refused and (same_run or not self._heard_anew(placed, draft, sight)):
            reason = next((head.reason for head in reversed(state.heads) if head.reason), None)
            verb = "undid" if state.undone else "rejected"
            return f"the user {verb} this already" + (f' (reason: "{reason}")' if reason else "")
        if state.expired and not self._changed_since_proposed(placed, draft, sight):
            return "this was proposed already and the user did not decide on it"
        if same_run and state.decided:
            return f"this was {state.status} already"
        return None

    def _heard_anew(self, placed: Placed, draft: Draft, sight: Sight | None) -> bool:
        """Whether something has changed that every rejection of this had not seen."""
        refusals = (ItemStatus.REJECTED, ItemStatus.RETRACTED)
        rejections = [head for head in placed.state.heads if head.verdict in refusals and head.actor == "user"]
        return all(
            self._changed_since(_clock(head.journal_knowledge), draft, sight)
            or self._evidence_after(_clock(head.journal_knowledge), draft)
            for head in rejections
        )

    def _changed_since_proposed(self, placed: Placed, draft: Draft, sight: Sight | None) -> bool:
        return self._changed_since(_clock(placed.set.journal_knowledge), draft, sight)

    def _changed_since(self, knowledge: Clock, draft: Draft, sight: Sight | None) -> bool:
        if sight is None or sight.task is None:
            return True  # S4-13: whoever can't tell keeps the proposal
        if draft.tool not in effect.CREATES:
            if sight.target is None:
                return False
            held = {dot for path in effect.proposed(draft.tool, draft.args) for dot in sight.target.dots(path)}
            return not all(has_seen(knowledge, dot) for dot in held)
        with self._journal.reading() as reader:
            written = [sight.task, *reader.owned_by(self._task_id)]
        return any(not has_seen(knowledge, dot) for entity in written for dot in _typed(entity))

    def _evidence_after(self, knowledge: Clock, draft: Draft) -> bool:
        """Whether the proposal cites an entry that the user wrote knowing all that the rejection knew."""
        for entry_id in draft.args.get("evidenceEntryIds", ()):
            entity = self._journal.read(entry_id)
            if entity is None or any(has_seen(knowledge, dot) for dot in entity.dots("text")):
                continue
            entry = view(entity, Entry)
            if entry.author == "user" and covers(_clock(entry.knowledge), knowledge):
                return True
        return False


def _clock(document: Mapping[str, int]) -> Clock:
    return document  # type: ignore[return-value]


def _typed(entity: Entity) -> set[Dot]:
    """The dots of what a person wrote by hand."""
    by_user = {
        write.stamp.dot for writes in entity.registers.values() for write in writes if write.stamp.precedence == PERSON
    }
    return by_user - effect.effect_dots(entity)
