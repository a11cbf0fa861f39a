"""All proposals and decisions, read at one moment of the agent store (docs/specs/10-review.md, section 6).

The builder reads from it what waits already and what was rejected; verdicts, inbox and history read the items and
their states.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from lottisync.entities.entity import Entity
from lottisync.entities.version import BadVersion, validated_id
from lottisync.entities.view import view
from lottisync.problem import Problem, Sentence
from lottisync.review import proposal
from lottisync.review.action import Action, Actions, TargetView, Unreadable
from lottisync.review.change import ChangeDecision, ChangeItem, ChangeSet
from lottisync.review.projection import ItemState, ItemStatus, SetState, project
from lottisync.store import damage
from lottisync.store.damage import Unread
from lottisync.store.reader import Reader

SET, DECISION = "changeSet", "changeDecision"
UNDECIDABLE = Sentence(
    "a decision on this is damaged on this device. It cannot be decided until another device has supplied it"
)


class UnreadDecision(NamedTuple):
    """A decision that the disk has damaged. `operations` are those of the task that its bytes still name; if there is
    none, it may be on any of the task."""

    id: str
    task_id: str
    operations: frozenset[str]


class Placed(NamedTuple):
    """An item with its set, its number in the set, and its state."""

    set: ChangeSet
    ordinal: int
    item: ChangeItem
    state: ItemState

    @property
    def taken(self) -> ChangeItem:
        """The item as it was confirmed: with the values that the person gave it."""
        edited = next((head for head in self.state.heads if head.verdict == "confirmed" and head.edited), None)
        return self.item if edited is None else msgspec.structs.replace(self.item, args=edited.args)

    def proposal(self) -> dict[str, Any]:
        """The fields of `ChangeDecision` in which a decision repeats the proposal."""
        return {
            "agent_id": self.set.agent_id,
            "task_id": self.set.task_id,
            "change_set_id": self.set.id,
            "item_id": self.item.id,
            "item_index": self.ordinal,
            "operation_id": self.item.operation_id,
            "tool_name": self.item.tool_name,
            "args": self.item.args,
            "human_summary": self.item.human_summary,
        }


def shows_all(placed: Placed) -> bool:
    """Hides nothing: for readers from which nothing is withheld."""
    return False


class Making(NamedTuple):
    """An item that creates an entity, with its action."""

    placed: Placed
    action: Action


class Ledger:
    """The sets, oldest first, and their states at `now` (ms). `unread` are the decisions that the disk has damaged.
    What they say is not known, so their items cannot be decided (REV-131)."""

    def __init__(
        self, sets: list[ChangeSet], decisions: list[ChangeDecision], now: int, unread: Collection[UnreadDecision] = ()
    ) -> None:
        self.sets = sorted(sets, key=lambda change_set: change_set.order)
        self.decisions = sorted(decisions, key=lambda decision: (decision.created_at, decision.id))
        self.states: dict[str, SetState] = project(sets, decisions, now)
        self.unread = unread
        self._now = now
        self._makings: dict[str, Making] | None = None

    @staticmethod
    def read(reader: Reader, now: int, task_id: str | None = None) -> "Ledger":
        """The ledger of one task or of all, from a reader of the agent store."""
        decided, damaged = damage.sorted_out(reader, DECISION, subtype=task_id)
        sets = [change_set(entity) for entity in reader.by_type(SET, subtype=task_id)]
        unread = [_unread(one, sets) for one in damaged]
        return Ledger(sets, [view(entity, ChangeDecision) for entity in decided], now, unread)

    def undecidable(self, placed: Placed) -> str | None:
        """Why an item cannot be decided now; None if it can."""
        operation, task_id = placed.item.operation_id, placed.set.task_id
        unsure = any(one.task_id == task_id and operation in (one.operations or {operation}) for one in self.unread)
        return UNDECIDABLE if unsure else None

    def placed(self) -> Iterator[Placed]:
        for change_set in self.sets:
            state = self.states[change_set.id]
            for ordinal, item in enumerate(change_set.items):
                yield Placed(change_set, ordinal, item, state.items[item.id])

    @cached_property
    def _by_id(self) -> dict[str, Placed]:
        return {placed.item.id: placed for placed in self.placed()}

    @cached_property
    def _by_operation(self) -> dict[str, list[ChangeDecision]]:
        found: dict[str, list[ChangeDecision]] = {}
        for decision in self.decisions:
            found.setdefault(decision.operation_id, []).append(decision)
        return found

    def find(self, item_id: str) -> Placed:
        """The item; `Problem` if it is not here."""
        if item_id not in self._by_id:
            raise unknown(item_id)
        return self._by_id[item_id]

    def is_confirmed(self, item_id: str) -> bool:
        """True if that item is here and was confirmed. Its set may not have arrived yet."""
        placed = self._by_id.get(item_id)
        return placed is not None and placed.state.status is ItemStatus.CONFIRMED

    def add(self, decision: ChangeDecision) -> None:
        """Add a decision that was just written, without reading again."""
        self.decisions = sorted([*self.decisions, decision], key=lambda one: (one.created_at, one.id))
        for name in ("_by_id", "_by_operation", "_open"):
            self.__dict__.pop(name, None)
        concerned = [one for one in self.sets if any(item.operation_id == decision.operation_id for item in one.items)]
        known = [d for one in concerned for item in one.items for d in self.on_operation(item.operation_id)]
        self.states |= project(concerned, known, self._now)

    def on_operation(self, operation: str) -> list[ChangeDecision]:
        """Every decision on an operation, oldest first."""
        return self._by_operation.get(operation, [])

    def decision_ids(self, item: ChangeItem) -> list[str]:
        """The decisions on an item's operation."""
        return [decision.id for decision in self.on_operation(item.operation_id)]

    def making(self, entity_id: str, actions: Actions) -> "Making | None":
        """The newest item whose effect would create `entity_id`, for others to build on."""
        if self._makings is None:
            self._makings = {}
            for placed in self.placed():
                action = actions.read(placed.item.tool_name, placed.item.args)
                if not isinstance(action, Unreadable) and action.builds:
                    created = proposal.created_id(placed.item.operation_id, action.creates or "")
                    self._makings[created] = Making(placed, action)
        return self._makings.get(entity_id)

    def planned_name(self, action: Action, actions: Actions) -> str | None:
        """The name of an entity that an action needs and that another item would create."""
        needed = action.needs()
        making = self.making(needed, actions) if needed is not None else None
        return making.action.created_name() if making is not None else None

    def summary(
        self,
        actions: Actions,
        item: ChangeItem,
        target_view: TargetView | None = None,
        *,
        language: str = "en",
        edits: Mapping[str, Any] | None = None,
    ) -> str:
        """The sentence that a person reads. It is rendered from the arguments, so that it cannot differ from the
        effect; `edits` are those that were proposed, if the item has a person's edit of them. If this version cannot
        read the item, it is the model's own sentence."""
        action = actions.read(item.tool_name, item.args, edits=edits)
        if isinstance(action, Unreadable):
            return proposal.unreadable(item.tool_name, item.args, item.human_summary)
        name = (action.name(target_view) if target_view is not None else None) or self.planned_name(action, actions)
        return action.summary(name, language)

    def building_on(self, item_id: str) -> list[Placed]:
        """The items that wait for this one (`dependsOn`)."""
        return [placed for placed in self.placed() if item_id in placed.item.depends_on]

    def twins(self, placed: Placed) -> list[Placed]:
        """The other open items that propose the same for the same task: a person is shown one of them,
        and answers them all."""
        alike = self._open.get((placed.set.task_id, placed.item.digest), [])
        return [other for other in alike if other.item.id != placed.item.id]

    @cached_property
    def _open(self) -> dict[tuple[str, str], list[Placed]]:
        found: dict[tuple[str, str], list[Placed]] = {}
        for placed in self.placed():
            if placed.state.open:
                found.setdefault((placed.set.task_id, placed.item.digest), []).append(placed)
        return found

    def is_shown(self, placed: Placed) -> bool:
        """True unless an older open twin is shown in its place. Items that are not open are always shown."""
        if not placed.state.open:
            return True
        return not any(_age(other) < _age(placed) for other in self.twins(placed))


def _unread(damaged: Unread, sets: Iterable[ChangeSet]) -> UnreadDecision:
    known = {item.operation_id for one in sets if one.task_id == damaged.subtype for item in one.items}
    named = frozenset(operation for operation in known if operation.encode() in damaged.stored)
    return UnreadDecision(damaged.id, damaged.subtype, named)


def _age(placed: Placed) -> tuple[tuple[str, str, str, int, str], int]:
    return placed.set.order, placed.ordinal


def change_set(entity: Entity) -> ChangeSet:
    """The set that an entity holds. An item whose id does not fit its index, as another program may write it, is left
    out: no decision on it could be written. Digests are computed here and not read, because a copied digest would make
    an item a twin of another one, and it would be decided with it."""
    held = view(entity, ChangeSet)
    items = [
        msgspec.structs.replace(item, digest=proposal.digest(item.tool_name, item.args))
        for ordinal, item in enumerate(held.items)
        if item.id == proposal.item_id(held.id, ordinal)
    ]
    return msgspec.structs.replace(held, items=items)


def one_set(reader: Reader, item_id: str) -> ChangeSet:
    """The set that an item's id names, also if it was removed; `Problem` if it was never here."""
    try:
        entity = reader.entity(validated_id(proposal.set_of(item_id)))
    except BadVersion:
        raise unknown(item_id) from None
    if entity is None or entity.type != SET:
        raise unknown(item_id)
    return change_set(entity)


def unknown(item_id: str) -> Problem:
    return Problem("unknown-id", "there is no proposal {item_id!r}", hint="review", item_id=item_id[:80])


def fields(document: ChangeSet | ChangeDecision) -> dict[str, Any]:
    """A set or a decision as fields for a store, without the absent ones."""
    built: dict[str, Any] = msgspec.to_builtins(document)
    return {name: value for name, value in built.items() if name != "id" and value is not None}
