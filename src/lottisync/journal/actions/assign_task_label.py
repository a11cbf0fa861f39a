"""One label for the task. A label that was rejected is not wanted on the task until the rejection is undone (REV-8)."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from lottisync.entities import path as paths
from lottisync.entities.entity import is_deleted
from lottisync.entities.view import view
from lottisync.journal.arguments import Arguments, EntityIdText
from lottisync.journal.task_action import LABEL, TaskAction, Topic, missing
from lottisync.journal.types import Label, Task
from lottisync.language import marked
from lottisync.problem import Sentence
from lottisync.review.action import FieldChange, TargetView
from lottisync.review.policy import Policy
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
    id: EntityIdText = Field(description="The id of the label, out of those you may choose from.")
    confidence: Annotated[Literal["very_high", "high", "medium", "low"], BeforeValidator(_confidence)] = Field(
        default="medium", description="How sure you are that it fits. Labels with low confidence are not proposed."
    )


class AssignTaskLabel(LabelChoice, TaskAction):
    tool: ClassVar[str] = "assign_task_label"
    topic: ClassVar[Topic] = Topic.LABELS
    purpose: ClassVar[str] = "Propose one label for the task."
    offered: ClassVar[bool] = False
    subject: ClassVar[frozenset[str]] = frozenset({"id"})
    marks_rejection: ClassVar[bool] = True

    def arguments(self) -> dict[str, Any]:
        return TaskAction.arguments(self)

    def is_about(self, entity_id: str) -> bool:
        return self.id == entity_id

    def values(self) -> dict[str, Any]:
        return {paths.join("labels", self.id): True}

    def read_target(self, reader: Reader, task_id: str) -> TargetView:
        task = reader.entity(task_id)
        return TargetView(task, task, other=reader.entity(self.id))

    def own_obstacle(self, target_view: TargetView, task_id: str, policy: Policy) -> str | None:
        fault = missing(target_view.other, LABEL)
        assert target_view.task is not None
        if fault is None and view(target_view.task, Task).suppressed_labels.get(self.id):
            fault = Sentence("the user does not want it on this task")
        return fault and Sentence("label {label}: {fault}", label=self.id, fault=fault)

    def hindrance(self, target_view: TargetView, task_id: str, policy: Policy, others: Sequence[object]) -> str | None:
        if self.confidence == "low":
            return f'label "{self.name(target_view) or ""}": you are not sure enough of it'
        chosen = {other.id for other in others if isinstance(other, AssignTaskLabel)} | {self.id}
        if len(chosen) > MAX_LABELS:
            return f'label "{self.name(target_view) or ""}": {MAX_LABELS} labels are proposed already'
        return super().hindrance(target_view, task_id, policy, others)

    def current(self, target_view: TargetView) -> dict[str, Any]:
        held = target_view.target if target_view.target is not None and not is_deleted(target_view.target) else None
        return {path: held is not None and held.value(path) is True for path in self.values()}

    def redundant(self, target_view: TargetView) -> str | None:
        return (
            f'label "{self.name(target_view) or ""}" is already assigned'
            if all(self.current(target_view).values())
            else None
        )

    def newer(self, path: str, value: Any) -> str:
        return "the user took it off the labels"

    def name(self, target_view: TargetView) -> str | None:
        if target_view.other is None or target_view.other.type != LABEL:
            return None
        return view(target_view.other, Label).name or None

    def changes(self, target_view: TargetView, name: str | None) -> list[FieldChange]:
        there = all(self.current(target_view).values())
        return [FieldChange("labels", name or self.id if there else None, name or self.id)]

    def on_rejection(self, tx: Transaction, task_id: str, *, rejected: bool) -> None:
        register, value = paths.join("suppressedLabels", self.id), True if rejected else None
        task = tx.entity(task_id)
        if task is not None and not is_deleted(task) and task.value(register) != value:
            tx.put(task.id, task.type, {register: value})

    def summary(self, name: str | None = None, language: str = "en") -> str:
        return self.catalogue.say(marked('Assign label: "{name}"'), language, name=name or self.id[:8] + "…")
