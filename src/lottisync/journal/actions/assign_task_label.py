"""One label for the task. A label that was rejected is not wanted on the task until the rejection is undone (REV-8)."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from lottisync.entities import path as paths
from lottisync.entities.entity import is_deleted
from lottisync.entities.view import view
from lottisync.journal.action import LABEL, Action, Topic, missing
from lottisync.journal.arguments import Arguments, EntityId
from lottisync.journal.language import marked
from lottisync.journal.types import Label, Task
from lottisync.review.action import Change, Sight
from lottisync.review.terms import Terms
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

MAX_LABELS = 3
"""Labels that one wake may propose; a task that is given more is not sorted by them."""
CONFIDENCES = ("very_high", "high", "medium", "low")
"""How sure a model says it is, the surest first."""


def _confidence(value: Any) -> Any:
    """An unknown word is `medium`: not a reason to drop a label, and none to prefer it."""
    return value if value in CONFIDENCES else "medium"


class LabelChoice(Arguments):
    id: EntityId = Field(description="The id of the label, out of those you may choose from.")
    confidence: Annotated[Literal["very_high", "high", "medium", "low"], BeforeValidator(_confidence)] = Field(
        default="medium", description="How sure you are that it fits. Labels with low confidence are not proposed."
    )


class AssignTaskLabel(LabelChoice, Action):
    tool: ClassVar[str] = "assign_task_label"
    topic: ClassVar[Topic] = Topic.LABELS
    purpose: ClassVar[str] = "Propose one label for the task."
    offered: ClassVar[bool] = False
    marks_rejection: ClassVar[bool] = True

    def arguments(self) -> dict[str, Any]:
        return Action.arguments(self)

    def is_about(self, entity_id: str) -> bool:
        return self.id == entity_id

    def values(self) -> dict[str, Any]:
        return {paths.join("labels", self.id): True}

    def look(self, reader: Reader, task_id: str) -> Sight:
        task = reader.entity(task_id)
        return Sight(task, task, other=reader.entity(self.id))

    def own_obstacle(self, sight: Sight, task_id: str, terms: Terms) -> str | None:
        fault = missing(sight.other, LABEL)
        assert sight.task is not None
        if fault is None and view(sight.task, Task).suppressed_labels.get(self.id):
            fault = "the user does not want it on this task"
        return fault and f"label {self.id}: {fault}"

    def hindrance(self, sight: Sight, task_id: str, terms: Terms, others: Sequence[object]) -> str | None:
        if self.confidence == "low":
            return f'label "{self.name(sight) or ""}": you are not sure enough of it'
        chosen = {other.id for other in others if isinstance(other, AssignTaskLabel)} | {self.id}
        if len(chosen) > MAX_LABELS:
            return f'label "{self.name(sight) or ""}": {MAX_LABELS} labels are proposed already'
        return super().hindrance(sight, task_id, terms, others)

    def current(self, sight: Sight) -> dict[str, Any]:
        held = sight.target if sight.target is not None and not is_deleted(sight.target) else None
        return {path: held is not None and held.value(path) is True for path in self.values()}

    def redundant(self, sight: Sight) -> str | None:
        return f'label "{self.name(sight) or ""}" is already assigned' if all(self.current(sight).values()) else None

    def newer(self, path: str, value: Any) -> str:
        return "the user took it off the labels"

    def name(self, sight: Sight) -> str | None:
        if sight.other is None or sight.other.type != LABEL:
            return None
        return view(sight.other, Label).name or None

    def changes(self, sight: Sight, name: str | None) -> list[Change]:
        there = all(self.current(sight).values())
        return [Change("labels", name or self.id if there else None, name or self.id)]

    def on_rejection(self, tx: Transaction, task_id: str, *, rejected: bool) -> None:
        register, value = paths.join("suppressedLabels", self.id), True if rejected else None
        task = tx.entity(task_id)
        if task is not None and not is_deleted(task) and task.value(register) != value:
            tx.put(task.id, task.type, {register: value})

    def summary(self, name: str | None = None, language: str = "en") -> str:
        return self.catalogue.say(marked('Assign label: "{name}"'), language, name=name or self.id[:8] + "…")
