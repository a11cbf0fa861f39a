"""What the actions of this product have in common: tasks, categories, fields, members of a set, creations.

Each tool is one class in one file of `lottisync.journal.actions`. It is an `Action` of the confirmation engine
(`lottisync.review.action`), and its arguments at once: read from a model's call, kept as they are, and written from.

    Action      about a task: categories, summaries, one write with its receipt
    Field       one register of the task gets a value
    Batch       several actions in one call
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

import msgspec
from pydantic import Field, StringConstraints

from lottisync.causality.vector_clock import Clock
from lottisync.entities.entity import Entity, is_deleted
from lottisync.entities.view import view
from lottisync.journal.arguments import MAX_SUMMARY, Call
from lottisync.journal.language import ACTIONS
from lottisync.journal.redundancy import same
from lottisync.journal.types import STATUS, TICK, Task
from lottisync.review.action import Change, Cited, Deed, Sight
from lottisync.review.effect import receipt
from lottisync.review.language import Catalogue
from lottisync.review.terms import Terms
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

TASK, ITEM, LABEL = "task", "checklistItem", "label"


class Topic(StrEnum):
    """What a proposal is about: the heading that it stands under, where a person looks through many of them."""

    STATUS = "status"
    CHECKLIST = "checklist"
    PLAN = "plan"
    LABELS = "labels"
    FURTHER = "further"


NOT_ALLOWED = "the agent is not allowed in its category"


def allows(terms: Terms, task: Entity) -> bool:
    """Whether an agent with these terms may touch a task. A task in no category is open to every agent."""
    category = task.value("categoryId")
    return category is None or (isinstance(category, str) and category in terms.categories)


def missing(entity: Entity | None, type_name: str) -> str | None:
    """Why an entity cannot be worked with: it is not here, or it was deleted."""
    if entity is None or entity.type != type_name:
        return "not found"
    return "it was deleted" if is_deleted(entity) else None


class Proposed(Call):
    human_summary: Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_SUMMARY)] | None = Field(
        default=None,
        description='A plain sentence for the user: what this change does, e.g. "Set estimate to 2 hours".',
    )


class Action(Proposed):
    """See `lottisync.review.action.Action` for what each method promises."""

    companions: ClassVar[Mapping[str, tuple[str, ...]]] = {group[0]: group[1:] for group in (STATUS, TICK)}
    creates: ClassVar[str | None] = None
    builds: ClassVar[bool] = False
    makes_target: ClassVar[bool] = False
    guarded: ClassVar[frozenset[str]] = frozenset()
    marks_rejection: ClassVar[bool] = False
    catalogue: ClassVar[Catalogue] = ACTIONS
    topic: ClassVar[Topic] = Topic.STATUS
    is_batch: ClassVar[bool] = False

    def arguments(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True, exclude={"human_summary"})

    def identity(self) -> dict[str, Any]:
        return self.arguments()

    # -- as a call

    def parts(self) -> Sequence["Action"]:
        return [self]

    def may_act(self, terms: Terms) -> bool:
        return False

    def at_once(self, tx: Transaction, part: object, task_id: str, agent_id: str, terms: Terms) -> str | None:
        return None

    # -- what it is

    def target(self, task_id: str) -> str:
        return task_id

    def values(self) -> dict[str, Any]:
        return {}

    def needs(self) -> str | None:
        return None

    def created_name(self) -> str:
        return ""

    def along(self, created: str) -> Sequence["Action"]:
        return ()

    def created_along(self, operation: str) -> Sequence[str]:
        return ()

    def is_about(self, entity_id: str) -> bool:
        return False

    # -- what is there

    def look(self, reader: Reader, task_id: str) -> Sight:
        task = reader.entity(task_id)
        return Sight(task, task)

    def obstacle(self, sight: Sight, task_id: str, terms: Terms) -> str | None:
        task = missing(sight.task, TASK)
        if task is not None:
            return f"task {task_id}: {task}"
        assert sight.task is not None
        if not allows(terms, sight.task):
            return f"task {task_id}: {NOT_ALLOWED}"
        return self.own_obstacle(sight, task_id, terms)

    def own_obstacle(self, sight: Sight, task_id: str, terms: Terms) -> str | None:
        """What stands against this kind of action, on a task that may be touched."""
        return None

    def hindrance(self, sight: Sight, task_id: str, terms: Terms, others: Sequence[object]) -> str | None:
        return self.obstacle(sight, task_id, terms) or sight.unfit

    def current(self, sight: Sight) -> dict[str, Any]:
        return {}

    def redundant(self, sight: Sight) -> str | None:
        return None

    def objection(self, sight: Sight, terms: Terms) -> str | None:
        return None

    def unguarded(self) -> Self | None:
        return None

    def order_unknown(self, sight: Sight) -> bool:
        return False

    def cited(self, reader: Reader) -> list[Cited]:
        return []

    def evidence_after(self, reader: Reader, knowledge: Clock) -> bool:
        return False

    def said_on(self, reader: Reader, task_id: str) -> Sequence[tuple[Entity, str]]:
        task = reader.entity(task_id)
        entries = [(entity, "text") for entity in reader.owned_by(task_id) if entity.type == "entry"]
        return [*([(task, "title")] if task is not None else []), *entries]

    # -- what is shown

    def newer(self, path: str, value: Any) -> str:
        return f"{path} is now {'empty' if value is None else value}"

    def heading(self, sight: Sight) -> str:
        return ""

    def name(self, sight: Sight) -> str | None:
        return None

    def summary(self, name: str | None = None, language: str = "en") -> str:
        raise NotImplementedError

    def changes(self, sight: Sight, name: str | None) -> list[Change]:
        now = self.current(sight)
        return [Change(path, now.get(path), value) for path, value in self.values().items()]

    # -- what it does

    def writes(self, sight: Sight) -> dict[str, Any]:
        now = self.current(sight)
        return {path: value for path, value in self.values().items() if not same(value, now.get(path))}

    def beside(self, writes: Mapping[str, Any], deed: Deed) -> dict[str, Any]:
        """The companions of what is written."""
        return {}

    def holder(self, sight: Sight) -> Entity | None:
        return None

    def carry_out(self, tx: Transaction, deed: Deed) -> None:
        target = deed.sight.target
        assert target is not None
        values = {**deed.writes, **self.beside(deed.writes, deed)}
        tx.put(target.id, target.type, {**values, **receipt(self, deed.operation, target, values)})

    def on_rejection(self, tx: Transaction, task_id: str, *, rejected: bool) -> None:
        return None


class TaskField(Action):
    """One register of the task gets a value. `register` is the field, `noun` its name in a sentence."""

    register: ClassVar[str]
    noun: ClassVar[str]

    def value(self) -> Any:
        """What the register is to hold."""
        raise NotImplementedError

    def said(self, value: Any) -> str:
        """A value of the field in a sentence for the model."""
        return "empty" if value is None else str(value)

    def values(self) -> dict[str, Any]:
        return {self.register: self.value()}

    def current(self, sight: Sight) -> dict[str, Any]:
        if sight.target is None:
            return {}
        return {self.register: msgspec.to_builtins(view(sight.target, Task))[self.register]}

    def redundant(self, sight: Sight) -> str | None:
        return self.redundancy(self.current(sight))

    def redundancy(self, current: Mapping[str, Any]) -> str | None:
        """`estimate is already 120 minutes`, or None if it would change something."""
        if not same(self.value(), current.get(self.register)):
            return None
        return f"{self.noun} is already {self.said(self.value())}"

    def newer(self, path: str, value: Any) -> str:
        return f"{self.noun} is now {self.said(value)}"


class Batch(Proposed):
    """Several actions in one call: each element becomes a proposal of its own."""

    is_batch: ClassVar[bool] = True

    def parts(self) -> Sequence[Action]:
        raise NotImplementedError

    def may_act(self, terms: Terms) -> bool:
        return False

    def at_once(self, tx: Transaction, part: object, task_id: str, agent_id: str, terms: Terms) -> str | None:
        return None
