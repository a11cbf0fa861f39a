"""Several labels for the task, the surest first."""

from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field, model_validator

from lottisync.journal.actions.assign_task_label import CONFIDENCES, MAX_LABELS, AssignTaskLabel, LabelChoice
from lottisync.journal.arguments import MAX_BATCH
from lottisync.journal.task_action import ActionBatch, TaskAction


class AssignTaskLabels(ActionBatch):
    tool: ClassVar[str] = "assign_task_labels"
    purpose: ClassVar[str] = f"Propose labels for the task, at most {MAX_LABELS}, out of those you may choose from."
    when: ClassVar[str] = "Only labels of labelsToChooseFrom that clearly fit."
    aliases: ClassVar[tuple[str, ...]] = ("assign_labels",)
    elements: ClassVar[str | None] = "labels"

    labels: list[LabelChoice] = Field(
        min_length=1, max_length=MAX_BATCH, description=f"The labels that fit best; at most {MAX_LABELS} are proposed."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_ids(cls, given: Any) -> Any:
        """`labelIds`, the older form: a list of ids, or text with commas, without a confidence."""
        if not isinstance(given, dict) or "labelIds" not in given or "labels" in given:
            return given
        ids = given["labelIds"]
        listed = [one.strip(' "') for one in ids.strip(" []").split(",")] if isinstance(ids, str) else ids
        rest = {name: value for name, value in given.items() if name != "labelIds"}
        return {**rest, "labels": [{"id": one} for one in listed]} if isinstance(listed, list) else given

    def parts(self) -> Sequence[TaskAction]:
        # `sorted` is stable: what the model is equally sure of stays in its order.
        surest = sorted(self.labels, key=lambda label: CONFIDENCES.index(label.confidence))
        return [AssignTaskLabel.model_construct(**dict(label)) for label in surest]
