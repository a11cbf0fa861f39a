"""Earlier proposals of the same, and what the person has said to them (docs/specs/10-review.md, section 4).

The person is not asked the same again while nothing has changed. The rule compares dots. A rejection records the
knowledge of the journal, so a field has not changed if that knowledge covers all its writes. A rejected creation has no
field. It may be proposed again after the person has written something on that task that the rejection did not know. The
effect of another proposal does not count: its receipt distinguishes it from what a person typed. What cites
evidence that the user wrote after the rejection may be proposed again, too.
"""

from collections.abc import Set as AbstractSet

from lottisync.causality.vector_clock import Clock, Dot, has_seen
from lottisync.entities.entity import DELETED_AT, Entity, is_deleted
from lottisync.entities.registers import Stamp
from lottisync.review import effect
from lottisync.review.action import Action, Actions, TargetView, Unreadable
from lottisync.review.draft import Draft, identity_of, registers_of
from lottisync.review.ledger import Placed
from lottisync.review.precedence import PERSON
from lottisync.review.projection import ItemStatus
from lottisync.review.proposal import created_id, likeness, plain
from lottisync.store.store import Store


class EarlierProposals:
    """Compares the drafts of one wake of an agent on a task with what the ledger holds. `waiting` are the agent's own
    proposals (item ids) that its context said were waiting."""

    def __init__(
        self, journal: Store, actions: Actions, *, agent_id: str, task_id: str, waiting: AbstractSet[str]
    ) -> None:
        self._journal, self._actions = journal, actions
        self._agent_id, self._task_id, self._waiting = agent_id, task_id, waiting

    def is_same(self, placed: Placed, draft: Draft) -> bool:
        """Whether an item proposes the same as the draft, whatever the capitals of its title and its details."""
        if placed.item.tool_name != draft.action.tool:
            return False
        action = self._actions.read(placed.item.tool_name, placed.item.args)
        return not isinstance(action, Unreadable) and identity_of(action) == draft.identity

    def is_superseded(self, placed: Placed, draft: Draft) -> bool:
        """Whether an item of this agent that waits, as the context said, has its place taken by a draft: it would write
        no other register, or is the same with other details."""
        item = placed.item
        if item.id not in self._waiting or placed.set.agent_id != self._agent_id or not placed.state.open:
            return False
        titles = draft.action.titles
        if likeness(item.tool_name, item.args, titles) == likeness(draft.action.tool, draft.args, titles):
            return False
        if self.is_same(placed, draft):
            return True
        action = self._actions.read(item.tool_name, item.args)
        registers = frozenset() if isinstance(action, Unreadable) else registers_of(action, item.target)
        return bool(registers) and registers <= draft.registers

    def answer(self, placed: Placed, draft: Draft, target_view: TargetView | None) -> str | None:
        """Why the person need not be asked again after `placed`, which proposed the same. None if they may be asked."""
        state, same_run = placed.state, placed.item.operation_id == draft.operation
        if state.status is ItemStatus.CONFIRMED and not same_run:
            return self._answered_by_hand(placed, draft, target_view)
        refused = state.status is ItemStatus.REJECTED or state.undone
        if refused and (same_run or not self._has_news(placed, draft, target_view)):
            reason = next((head.reason for head in reversed(state.heads) if head.reason), None)
            verb = "undid" if state.undone else "rejected"
            return f"the user {verb} this already" + (f' (reason: "{reason}")' if reason else "")
        if state.expired and not self._changed_since_proposed(placed, draft, target_view):
            return "this was proposed already and the user did not decide on it"
        if same_run and state.decided:
            return f"this was {state.status} already"
        return None

    def _answered_by_hand(self, placed: Placed, draft: Draft, target_view: TargetView | None) -> str | None:
        """The answer if the user has undone by hand what they had confirmed: they deleted it, renamed it or took it
        off, which is a no."""
        action = draft.action
        if action.marks_rejection:
            return "the user took this off already"  # it is off, or it would be redundant
        if action.creates is None:
            return None
        with self._journal.reading() as reader:
            made = reader.entity(created_id(placed.item.operation_id, action.creates))
            words = action.said_on(reader, self._task_id)
        if made is None:
            return None
        said = _no_by_hand(made, action)
        if said is None:
            return "the user confirmed this already" if action.builds else None
        verb, at = said
        stamps = [write.stamp for entity, path in words for write in entity.registers.get(path, ())]
        if any(stamp.precedence == PERSON and _age(stamp) > at for stamp in stamps):
            return None
        return f"the user {verb} this already"

    def _has_news(self, placed: Placed, draft: Draft, target_view: TargetView | None) -> bool:
        """Whether something has changed since each rejection of the same proposal."""
        refusals = (ItemStatus.REJECTED, ItemStatus.RETRACTED)
        rejections = [head for head in placed.state.heads if head.verdict in refusals and head.actor == "user"]
        return all(
            self._changed_since(head.journal_knowledge, draft, target_view)
            or self._evidence_after(head.journal_knowledge, draft)
            for head in rejections
        )

    def _changed_since_proposed(self, placed: Placed, draft: Draft, target_view: TargetView | None) -> bool:
        return self._changed_since(placed.set.journal_knowledge, draft, target_view)

    def _changed_since(self, knowledge: Clock, draft: Draft, target_view: TargetView | None) -> bool:
        if target_view is None or target_view.task is None:
            return True  # S4-13: if it cannot be looked up, the proposal is kept
        if not draft.action.creates:
            if target_view.target is None:
                return False
            held = {dot for path in draft.action.values() for dot in target_view.target.dots(path)}
            return not all(has_seen(knowledge, dot) for dot in held)
        with self._journal.reading() as reader:
            words = draft.action.said_on(reader, self._task_id)
        return any(not has_seen(knowledge, dot) for entity, path in words for dot in _typed(entity, path))

    def _evidence_after(self, knowledge: Clock, draft: Draft) -> bool:
        """True if the proposal cites an entry of the user whose author knew all that the rejection knew."""
        with self._journal.reading() as reader:
            return draft.action.evidence_after(reader, knowledge)


def _typed(entity: Entity, path: str) -> set[Dot]:
    """The dots of what a person wrote to a register by hand."""
    by_user = {write.stamp.dot for write in entity.registers.get(path, ()) if write.stamp.precedence == PERSON}
    return by_user - effect.effect_dots(entity)


def _no_by_hand(made: Entity, action: Action) -> tuple[str, tuple[int, int]] | None:
    """What a person did to what was created as they had confirmed, and when: `deleted`, `renamed` or `changed`; None if
    it is as it was made."""
    if is_deleted(made):
        return "deleted", max(_age(write.stamp) for write in made.registers[DELETED_AT])
    for path, value in action.made_as().items():
        if plain(made.value(path)) != plain(value):
            verb = "renamed" if value == action.created_name() else "changed"
            return verb, max((_age(write.stamp) for write in made.registers.get(path, ())), default=(0, 0))
    return None


def _age(stamp: Stamp) -> tuple[int, int]:
    return stamp.hlc
