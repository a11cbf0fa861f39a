"""What the actions of this product have in common: tasks, categories, fields, members of a set, creations.

Each tool is one class in one file of `lottisync.journal.actions`. It is an `Action` of the confirmation engine
(`lottisync.review.action`), and its arguments at once: read from a model's call, kept as they are, and written from.

    TaskAction     about a task: categories, summaries, one write with its receipt
    TaskField      one register of the task gets a value
    ActionBatch    several actions in one call
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

import msgspec
from pydantic import Field, StringConstraints

from lottisync.causality.vector_clock import Clock
from lottisync.entities.entity import Entity, is_deleted
from lottisync.entities.view import view
from lottisync.journal import words
from lottisync.journal.arguments import MAX_SUMMARY, Call
from lottisync.journal.permission import allows
from lottisync.journal.redundancy import same
from lottisync.journal.types import STATUS, TICK, Task
from lottisync.language import OURS, Catalogue
from lottisync.problem import Marked, Sentence
from lottisync.review.action import Cited, EffectWrite, FieldChange, TargetView
from lottisync.review.effect import receipt
from lottisync.review.policy import Policy
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

TASK, ITEM, LABEL = "task", "checklistItem", "label"


class Topic(StrEnum):
    """What a proposal is about: the heading under which it is listed, where a person looks through many of them."""

    STATUS = "status"
    CHECKLIST = "checklist"
    PLAN = "plan"
    LABELS = "labels"
    FURTHER = "further"


NOT_ALLOWED = Sentence("the agent is not allowed in its category")


def missing(entity: Entity | None, type_name: str) -> Sentence | None:
    """Why an entity cannot be worked with: it is not here, or it was deleted."""
    if entity is None or entity.type != type_name:
        return Sentence("not found")
    return Sentence("it was deleted") if is_deleted(entity) else None


class Proposed(Call):
    human_summary: Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_SUMMARY)] | None = Field(
        default=None,
        description='A plain sentence for the user: what this change does, e.g. "Set estimate to 2 hours".',
    )


class TaskAction(Proposed):
    """The shared half of all actions: the usual answer to each question of the port
    (`lottisync.review.action.Action` says what each method promises). An action overrides those that it answers
    in another way."""

    companions: ClassVar[Mapping[str, tuple[str, ...]]] = {group[0]: group[1:] for group in (STATUS, TICK)}
    creates: ClassVar[str | None] = None
    builds: ClassVar[bool] = False
    makes_target: ClassVar[bool] = False
    guarded: ClassVar[frozenset[str]] = frozenset()
    titles: ClassVar[frozenset[str]] = frozenset({"title"})
    unit: ClassVar[str] = ""
    subject: ClassVar[frozenset[str]] = frozenset()
    marks_rejection: ClassVar[bool] = False
    catalogue: ClassVar[Catalogue] = OURS
    topic: ClassVar[Topic] = Topic.STATUS
    by_id: ClassVar[frozenset[str]] = frozenset()
    """The arguments besides `subject` that name something by its id. A person may change one, and is not asked to."""
    is_batch: ClassVar[bool] = False

    def arguments(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True, exclude={"human_summary"})

    def identity(self) -> dict[str, Any]:
        return self.arguments()

    # -- as a call

    def parts(self) -> Sequence["TaskAction"]:
        return [self]

    def may_act(self, policy: Policy) -> bool:
        return False

    def at_once(self, tx: Transaction, part: object, task_id: str, agent_id: str, policy: Policy) -> str | None:
        return None

    # -- identity

    def target(self, task_id: str) -> str:
        return task_id

    def values(self) -> dict[str, Any]:
        return {}

    def needs(self) -> str | None:
        return None

    def created_name(self) -> str:
        return ""

    def made_as(self) -> dict[str, Any]:
        return {"title": self.created_name()} if self.creates else {}

    def along(self, created: str) -> Sequence["TaskAction"]:
        return ()

    def created_along(self, operation: str, task_id: str) -> Sequence[str]:
        return ()

    def is_about(self, entity_id: str) -> bool:
        return False

    # -- present state

    def read_target(self, reader: Reader, task_id: str) -> TargetView:
        task = reader.entity(task_id)
        return TargetView(task, task)

    def planned(self, target_view: TargetView) -> TargetView:
        # The new task will have the same category, so the category of this task is checked in its place.
        return target_view._replace(other=target_view.task)

    def obstacle(self, target_view: TargetView, task_id: str, policy: Policy) -> str | None:
        task = missing(target_view.task, TASK)
        if task is not None:
            return Sentence("task {task_id}: {fault}", task_id=task_id, fault=task)
        assert target_view.task is not None
        if not allows(policy, target_view.task):
            return Sentence("task {task_id}: {fault}", task_id=task_id, fault=NOT_ALLOWED)
        return self.own_obstacle(target_view, task_id, policy)

    def own_obstacle(self, target_view: TargetView, task_id: str, policy: Policy) -> str | None:
        """Why this kind of action is impossible, on a task that may be changed."""
        return None

    def hindrance(self, target_view: TargetView, task_id: str, policy: Policy, others: Sequence[object]) -> str | None:
        return self.obstacle(target_view, task_id, policy) or target_view.unfit

    def current(self, target_view: TargetView) -> dict[str, Any]:
        return {}

    def redundant(self, target_view: TargetView) -> str | None:
        return None

    def objection(self, target_view: TargetView, policy: Policy) -> str | None:
        return None

    def unguarded(self) -> Self | None:
        return None

    def order_unknown(self, target_view: TargetView) -> bool:
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

    def heading(self, target_view: TargetView) -> str:
        return ""

    def name(self, target_view: TargetView) -> str | None:
        return None

    def mentioned(self, name: str | None, unnamed: Marked, ident: str, language: str) -> str:
        """What a summary is about: its name in the marks of the language, or `unnamed` with the beginning of its id."""
        if name:
            return OURS.say(words.QUOTED, language, name=name)
        return self.catalogue.say(unnamed, language, id=ident[:8])

    def summary(self, name: str | None = None, language: str = "en") -> str:
        raise NotImplementedError

    def changes(self, target_view: TargetView, name: str | None) -> list[FieldChange]:
        now = self.current(target_view)
        return [FieldChange(path, now.get(path), value) for path, value in self.values().items()]

    # -- effect

    def writes(self, target_view: TargetView) -> dict[str, Any]:
        now = self.current(target_view)
        return {path: value for path, value in self.values().items() if not same(value, now.get(path))}

    def beside(self, writes: Mapping[str, Any], effect_write: EffectWrite) -> dict[str, Any]:
        """The companions of the registers that are written."""
        return {}

    def holder(self, target_view: TargetView) -> Entity | None:
        return None

    def carry_out(self, tx: Transaction, effect_write: EffectWrite) -> None:
        target = effect_write.target_view.target
        assert target is not None
        values = {**effect_write.writes, **self.beside(effect_write.writes, effect_write)}
        tx.put(target.id, target.type, {**values, **receipt(self, effect_write.operation, target, values)})

    def on_rejection(self, tx: Transaction, task_id: str, *, rejected: bool) -> None:
        return None


class OwnedAction(TaskAction):
    """A change of one thing that the task owns: a checklist item, or time that was spent."""

    def owned_id(self) -> str:
        raise NotImplementedError

    def target(self, task_id: str) -> str:
        return self.owned_id()

    def is_about(self, entity_id: str) -> bool:
        return self.owned_id() == entity_id


class TaskField(TaskAction):
    """One register of the task gets a value. `register` is the field, `noun` its name in a sentence."""

    register: ClassVar[str]
    noun: ClassVar[str]

    def value(self) -> Any:
        """The proposed value of the register."""
        raise NotImplementedError

    def worded(self, value: Any) -> str:
        """A value of the field in a sentence for the model."""
        return "empty" if value is None else str(value)

    def values(self) -> dict[str, Any]:
        return {self.register: self.value()}

    def current(self, target_view: TargetView) -> dict[str, Any]:
        if target_view.target is None:
            return {}
        return {self.register: msgspec.to_builtins(view(target_view.target, Task))[self.register]}

    def redundant(self, target_view: TargetView) -> str | None:
        return self.redundancy(self.current(target_view))

    def redundancy(self, current: Mapping[str, Any]) -> str | None:
        """`estimate is already 120 minutes`, or None if it would change something."""
        if not same(self.value(), current.get(self.register)):
            return None
        return f"{self.noun} is already {self.worded(self.value())}"

    def newer(self, path: str, value: Any) -> str:
        return f"{self.noun} is now {self.worded(value)}"


class ActionBatch(Proposed):
    """Several actions in one call: each element becomes a proposal of its own."""

    is_batch: ClassVar[bool] = True

    def parts(self) -> Sequence[TaskAction]:
        raise NotImplementedError

    def may_act(self, policy: Policy) -> bool:
        return False

    def at_once(self, tx: Transaction, part: object, task_id: str, agent_id: str, policy: Policy) -> str | None:
        return None
