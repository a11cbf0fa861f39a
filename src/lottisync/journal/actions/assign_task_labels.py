"""Several labels for the task, the surest first."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from lottisync.journal.actions.assign_task_label import CONFIDENCES, MAX_LABELS, AssignTaskLabel, LabelChoice
from lottisync.journal.arguments import MAX_BATCH
from lottisync.journal.task_action import ActionBatch, TaskAction


class AssignTaskLabels(ActionBatch):
    tool: ClassVar[str] = "assign_task_labels"
    purpose: ClassVar[str] = f"Propose labels for the task, at most {MAX_LABELS}, out of those you may choose from."
    aliases: ClassVar[tuple[str, ...]] = ("assign_labels",)

    labels: list[LabelChoice] = Field(
        min_length=1, max_length=MAX_BATCH, description=f"The labels that fit best; at most {MAX_LABELS} are proposed."
    )

    def parts(self) -> Sequence[TaskAction]:
        # `sorted` is stable: what the model is equally sure of stays in its order.
        surest = sorted(self.labels, key=lambda label: CONFIDENCES.index(label.confidence))
        return [AssignTaskLabel.model_construct(**dict(label)) for label in surest]
