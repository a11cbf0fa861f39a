"""From a model's calls to change sets (docs/specs/10-review.md, section 4).

A wake has one builder. It takes each deferred call as it comes, answers the model at once, and writes
the change sets when the wake ends. A model's proposal has no other way into the stores: there is no
overflow, and no fast path without the person.

A proposal that would waste the person's time is not queued. The model gets the reason, so that it can
correct itself:

    invalid, or about an entity that this store does not hold     the context came from here, so the id was invented
    what its action objects to                                    only the rest of it passes
    what its action finds pointless: too unsure, or too many      a person can weigh a few
    a value that is set already                                   there is nothing to decide
    a field that was written after the context was read           the model saw an old value
    a proposal that waits already, or was decided in this run
    a proposal that was rejected or has expired, and nothing has changed since

`lottisync.review.earlier_proposals` says when something has changed.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lottisync.causality.vector_clock import Clock, Dot, has_seen
from lottisync.entities.view import view
from lottisync.review import effect, retraction
from lottisync.review.action import Action, Actions, Proposable, TargetView
from lottisync.review.change import ChangeItem, ChangeSet
from lottisync.review.draft import Draft, identity_of, registers_of
from lottisync.review.earlier_proposals import EarlierProposals
from lottisync.review.ledger import SET, Ledger, Placed, fields
from lottisync.review.policy import Policy, Sovereignty, policy_of
from lottisync.review.precedence import AGENT
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import created_id, digest, item_id, likeness, operation_id, set_id
from lottisync.review.retraction import Staged
from lottisync.review.tool_answer import QUEUED as PROPOSED
from lottisync.review.tool_answer import batch_answer, looked_up, skipped
from lottisync.store.instant import iso
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

MAX_ITEMS = 10
"""Items of one set (S1-68): as many as a person can look over at once. Further items go into a further set."""


class Planned(NamedTuple):
    """The proposal that creates an entity which another one needs: its operation or item, its group, and the name of
    the new entity."""

    maker: str
    group_id: str | None
    name: str


class Considered(NamedTuple):
    """The result for one proposal: queued (perhaps with a note), redundant, or refused."""

    outcome: str
    note: str | None = None


QUEUED, REDUNDANT, REFUSED, DONE = "queued", "redundant", "refused", "done"


class Builder:
    """Collects one wake's proposals on one task.

    `context_knowledge` is the journal's knowledge when the model's context was read, `context_beyond`
    the dots that were held beyond it (`Reader.held_beyond`, after a round that was cut off), `context_waiting` the
    agent's own proposals (item ids) that the context said were waiting."""

    def __init__(
        self,
        journal: Store,
        agent_store: Store,
        *,
        agent_id: str,
        task_id: str,
        run_key: str,
        thread_id: str,
        actions: Actions,
        context_knowledge: Clock,
        context_beyond: Iterable[Dot] = (),
        context_waiting: Iterable[str] = (),
        sovereignty: Sovereignty = "reason",
    ) -> None:
        self._journal = journal
        self._agent_store = agent_store
        self._agent_id = agent_id
        self._task_id = task_id
        self._run_key = run_key
        self._thread_id = thread_id
        self._actions = actions
        self._knowledge = dict(context_knowledge)
        self._beyond = frozenset(context_beyond)
        self._earlier = EarlierProposals(
            journal, actions, agent_id=agent_id, task_id=task_id, waiting=frozenset(context_waiting)
        )
        self._sovereignty = sovereignty
        self._drafts: list[Draft] = []
        self._staged: list[Staged] = []

    def propose(self, call: Proposable, now: int) -> str:
        """Consider a call at `now` (ms). Returns the answer for the model."""
        with self._agent_store.reading() as reader:
            ledger = Ledger.read(reader, now, self._task_id)
            policy = policy_of(reader, self._agent_id, self._sovereignty)
        answers = [self._answered_call(call, part, ledger, policy, now) for part in call.parts()]
        if call.is_batch:
            return batch_answer(
                sum(answer.outcome == QUEUED for answer in answers),
                [answer.note or "" for answer in answers if answer.outcome == REDUNDANT],
                [answer.note or "" for answer in answers if answer.outcome == REFUSED],
                [answer.note for answer in answers if answer.outcome in (QUEUED, DONE) and answer.note],
            )
        [answer] = answers
        if answer.outcome == QUEUED:
            return PROPOSED + (f" {answer.note}" if answer.note else "")
        return skipped(answer.note or "")

    def retract(self, proposals: Iterable[Staged], now: int) -> str:
        """Retract own proposals at the end of the wake. Returns the answer for the model."""
        with self._agent_store.reading() as reader:
            staged, said = retraction.considered(reader, self._agent_id, self._task_id, proposals, now)
        self._staged += staged
        return said

    def _answered_call(self, call: Proposable, part: Action, ledger: Ledger, policy: Policy, now: int) -> Considered:
        done = self._at_once(call, part, policy, now) if call.may_act(policy) else None
        return done or self._consider(part, call.human_summary if not call.is_batch else None, ledger, policy)

    def _at_once(self, call: Proposable, part: Action, policy: Policy, now: int) -> Considered | None:
        """Carry out a part for which the person does not want to be asked. None if they do."""
        with self._journal.transaction(now, AGENT) as tx:
            said = call.at_once(tx, part, self._task_id, self._agent_id, policy)
        if said is None:
            return None
        return Considered(DONE if said.startswith("Updated") else REDUNDANT, said.removeprefix("Skipped: ").rstrip("."))

    def build(self, tx: Transaction, now: int) -> list[str]:
        """Write the sets and the retractions of this wake, in a transaction of the agent store. Returns the ids of
        the sets.

        A run that is started again finds its earlier sets, and adds only the missing items."""
        retraction.carry_out(tx, self._agent_id, self._task_id, self._staged, now)
        written: dict[str, str] = {}
        ordinal = 0
        while (earlier := tx.entity(self._set_id(tx, ordinal))) is not None:
            written |= {item.operation_id: item.id for item in view(earlier, ChangeSet).items}
            ordinal += 1
        drafts = [draft for draft in self._drafts if draft.operation not in written]
        ledger = Ledger.read(tx, now, self._task_id)
        ids = []
        for start in range(0, len(drafts), MAX_ITEMS):
            ids.append(self._write(tx, now, ordinal, drafts[start : start + MAX_ITEMS], written))
            ordinal += 1
        self._supersede(tx, ledger, drafts, written, now)
        return ids

    def _supersede(
        self, tx: Transaction, ledger: Ledger, drafts: list[Draft], written: Mapping[str, str], now: int
    ) -> None:
        """Take back what drafts take the place of, and what builds on that."""
        staged = []
        for draft in drafts:
            by = written[draft.operation]
            falling = list(draft.supersedes)
            while falling:
                staged.append(Staged(ident := falling.pop(), "superseded", by))
                falling += [other.item.id for other in ledger.building_on(ident)]
        retraction.carry_out(tx, self._agent_id, self._task_id, staged, now)

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
            ordinal=ordinal,
            items=[
                ChangeItem(
                    id=item_id(ident, index),
                    tool_name=draft.action.tool,
                    args=draft.args,
                    human_summary=draft.summary,
                    digest=draft.digest,
                    operation_id=draft.operation,
                    base=draft.base,
                    target=draft.target,
                    evidence=draft.args.get("evidenceEntryIds", []),
                    group_id=draft.group_id,
                    depends_on=[written.get(other, other) for other in draft.depends_on],
                    supersedes=list(draft.supersedes),
                )
                for index, draft in enumerate(drafts)
            ],
            journal_knowledge=self._knowledge,
            created_at=iso(now),
        )
        tx.put(ident, SET, fields(change_set))
        return ident

    # -- one proposal

    def _consider(self, action: Action, written: str | None, ledger: Ledger, policy: Policy) -> Considered:
        planned = self._planned(action, ledger)
        target_view = looked_up(lambda: self._read_target(action))
        heading, withheld = "", None
        if target_view is not None:
            if planned is not None:
                target_view = action.planned(target_view)
            hindrance = action.hindrance(target_view, self._task_id, policy, [draft.action for draft in self._drafts])
            if hindrance is not None:
                return Considered(REFUSED, hindrance)
            heading = action.heading(target_view)
            withheld = action.objection(target_view, policy)
            if withheld is not None:
                allowed = action.unguarded()
                if allowed is None:
                    return Considered(REFUSED, heading + withheld)
                action = allowed
            redundant = action.redundant(target_view)
            if redundant is not None:
                return Considered(REFUSED, heading + withheld) if withheld else Considered(REDUNDANT, redundant)
            newer = self._newer(target_view, action)
            if newer is not None:
                return Considered(REFUSED, heading + newer)
        draft = self._draft(action, written, target_view, planned)
        known = self._asked_before(draft, ledger, target_view)
        if known is not None:
            return Considered(REFUSED, heading + known)
        superseded = [placed for placed in ledger.placed() if self._earlier.is_superseded(placed, draft)]
        draft = draft._replace(supersedes=tuple(placed.item.id for placed in superseded))
        replaced = [
            other for other in self._drafts if other.registers & draft.registers or other.identity == draft.identity
        ]
        gone = {other.operation for other in replaced}
        self._drafts = [
            other for other in self._drafts if other.operation not in gone and not gone & set(other.depends_on)
        ]
        self._drafts.append(draft)
        notes = [f"{heading}the rest is queued, but not this. {withheld}"] if withheld else []
        notes += [f"It takes the place of what waits: {placed.item.human_summary}." for placed in superseded]
        notes += [f"It replaces what you proposed before: {other.summary}." for other in replaced]
        if target_view is not None and action.order_unknown(target_view):
            notes.append(
                f"{heading}what you cite was written beside the user's action, not after it; they are told so."
            )
        if action.builds:
            notes.append(self._along(draft, ledger, policy))
        return Considered(QUEUED, " ".join(notes) or None)

    def _along(self, draft: Draft, ledger: Ledger, policy: Policy) -> str:
        """The actions that come with a creation become items that wait for it."""
        created = created_id(draft.operation, draft.action.creates or "")
        for other in draft.action.along(created):
            self._consider(other, None, ledger, policy)
        return f"If the user confirms it, its id is {created}."

    def _planned(self, action: Action, ledger: Ledger) -> Planned | None:
        """The proposal that will create the entity that `action` needs."""
        needed = action.needs()
        if needed is None:
            return None
        for draft in self._drafts:
            if draft.action.builds and created_id(draft.operation, draft.action.creates or "") == needed:
                return Planned(draft.operation, draft.group_id, draft.action.created_name())
        making = ledger.making(needed, self._actions)
        if making is None or making.placed.state.decided:
            return None
        return Planned(making.placed.item.id, making.placed.item.group_id, making.action.created_name())

    def _read_target(self, action: Action) -> TargetView:
        with self._journal.reading() as reader:
            return action.read_target(reader, self._task_id)

    def _newer(self, target_view: TargetView, action: Action) -> str | None:
        """A field that was written after the model's context was read, as a sentence; None if there is none (S4-14)."""
        for path in action.values():
            held = target_view.target.dots(path) if target_view.target is not None else frozenset()
            if not all(self._was_read(dot) for dot in held):
                value = action.current(target_view)[path]
                return f"changed since your context was read: {action.newer(path, value)}"
        return None

    def _was_read(self, dot: Dot) -> bool:
        return has_seen(self._knowledge, dot) or dot in self._beyond

    def _draft(
        self, action: Action, written: str | None, target_view: TargetView | None, planned: Planned | None
    ) -> Draft:
        target = None if action.creates else action.target(self._task_id)
        args = action.arguments()
        operation = operation_id(self._run_key, self._task_id, action.tool, args, [target] if target else [])
        name = planned.name if planned else action.name(target_view) if target_view else None
        group = planned.group_id if planned else operation if action.builds else None
        return Draft(
            action,
            args,
            written or action.summary(name),
            digest(action.tool, args),
            operation,
            target,
            effect.base(action, target_view, self._task_id) if target_view else [],
            registers_of(action, target),
            identity_of(action),
            group,
            (planned.maker,) if planned else (),
        )

    # -- earlier proposals

    def _asked_before(self, draft: Draft, ledger: Ledger, target_view: TargetView | None) -> str | None:
        alike = likeness(draft.action.tool, draft.args, draft.action.titles)
        if any(likeness(other.action.tool, other.args, other.action.titles) == alike for other in self._drafts):
            return "you have proposed this already in this wake"
        for placed in ledger.placed():
            if placed.item.operation_id == draft.operation or self._earlier.is_same(placed, draft):
                known = self._asked_by(placed, draft, target_view)
                if known is not None:
                    return known
        return None

    def _asked_by(self, placed: Placed, draft: Draft, target_view: TargetView | None) -> str | None:
        """Why the person need not be asked again after `placed`, which proposed the same. None if they may be asked."""
        if not (placed.state.open or placed.state.status is ItemStatus.DEFERRED):
            return self._earlier.answer(placed, draft, target_view)
        return None if self._earlier.is_superseded(placed, draft) else self._waits(placed)

    def _waits(self, placed: Placed) -> str:
        """The answer where the same waits. What is proposed again in the wake that took it back is not taken back."""
        staged = [one for one in self._staged if one.item != placed.item.id]
        if staged == self._staged:
            return "this waits for the user already"
        self._staged = staged
        return "this waits for the user already, and is not taken back"
