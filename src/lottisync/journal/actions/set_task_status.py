"""A status of the task, with its reason. DONE and REJECTED are the user's own to say: an agent cannot propose them, and
a person who edits a proposal can set them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from lottisync.journal import repetition, words
from lottisync.journal.arguments import EDITED, INCOMPLETE, ReasonText
from lottisync.journal.task_action import TaskField
from lottisync.journal.task_values import checked_status, checked_status_name
from lottisync.journal.types import CLOSED
from lottisync.language import marked
from lottisync.problem import Problem
from lottisync.review.action import EffectWrite, FieldChange, TargetView
from lottisync.review.effect import receipt
from lottisync.store.transaction import Transaction

PROPOSED_STATUSES = ("OPEN", "GROOMED", "IN PROGRESS", "BLOCKED", "ON HOLD")
"""What a model may propose."""


def _settable(status: str, info: ValidationInfo) -> str:
    """The status, if its writer may set it: a receipt and a person's edit may have each."""
    try:
        known = checked_status_name(status)
    except Problem as problem:
        raise ValueError(problem.sentence) from None
    context = info.context or {}
    if known in PROPOSED_STATUSES or context.get(INCOMPLETE) or context.get(EDITED) is not None:
        return known
    refusal = Problem(
        "bad-value",
        "only the user sets {known}; propose one of {proposed_statuses}",
        known=known,
        proposed_statuses=", ".join(PROPOSED_STATUSES),
    )
    raise ValueError(refusal.sentence)


class SetTaskStatus(TaskField):
    tool: ClassVar[str] = "set_task_status"
    purpose: ClassVar[str] = (
        "Propose a status for the task. BLOCKED and ON HOLD need a reason. Only the user sets DONE and REJECTED."
    )
    when: ClassVar[str] = (
        "Only on evidence in what was written: IN PROGRESS when time was spent or a step was done, "
        "BLOCKED or ON HOLD when a reason is named. DONE and REJECTED are the user's."
    )
    aliases: ClassVar[tuple[str, ...]] = ("update_task_status",)
    register: ClassVar[str] = "status"
    noun: ClassVar[str] = "status"

    status: Annotated[str, AfterValidator(_settable), Field(json_schema_extra={"enum": list(PROPOSED_STATUSES)})] = (
        Field(description="The new status. Only the user sets DONE and REJECTED.")
    )
    reason: ReasonText | None = Field(default=None, description="Required for BLOCKED and ON HOLD: what it waits for.")

    @model_validator(mode="after")
    def _own_reason(self, info: ValidationInfo) -> Self:
        """The agent's reason was for another status: it does not explain why the person closes the task."""
        proposed = (info.context or {}).get(EDITED) or {}
        if self.status in CLOSED and self.reason is not None and self.reason == proposed.get("reason"):
            return self.model_copy(update={"reason": None})
        return self

    @model_validator(mode="after")
    def _explained(self, info: ValidationInfo) -> Self:
        if info.context and info.context[INCOMPLETE]:
            return self
        try:
            checked_status(self.status, self.reason)
        except Problem as problem:
            raise ValueError(problem.sentence) from None
        return self

    def value(self) -> Any:
        return self.status

    def redundant(self, target_view: TargetView) -> str | None:
        return None if self._says_more(target_view) else super().redundant(target_view)

    def writes(self, target_view: TargetView) -> dict[str, Any]:
        return self.values() if self._says_more(target_view) else super().writes(target_view)

    def _says_more(self, target_view: TargetView) -> bool:
        """Whether the call gives another reason for the status that the task has: that is a change, too."""
        if self.reason is None or target_view.target is None or target_view.target.value("status") != self.status:
            return False
        return bool(target_view.target.value("statusReason") != self.reason)

    def beside(self, writes: Mapping[str, Any], effect_write: EffectWrite) -> dict[str, Any]:
        return dict(checked_status(self.status, self.reason)) if writes else {}

    def changes(self, target_view: TargetView, name: str | None) -> list[FieldChange]:
        before = target_view.target.value("statusReason") if target_view.target is not None else None
        changes = [] if self._says_more(target_view) else super().changes(target_view, name)
        if before is None and self.reason is None:
            return changes
        return [*changes, FieldChange("statusReason", before, self.reason)]

    def created_along(self, operation: str, task_id: str) -> Sequence[str]:
        return [repetition.next_id(task_id)]

    def carry_out(self, tx: Transaction, effect_write: EffectWrite) -> None:
        target = effect_write.target_view.target
        was = target.value("status") if target is not None else None
        super().carry_out(tx, effect_write)
        if effect_write.writes and repetition.finishes(was, self.status):
            kept = receipt(self, effect_write.operation, None, {})
            repetition.finished(tx, effect_write.task_id, at=effect_write.at, kept=kept)

    def summary(self, name: str | None = None, language: str = "en") -> str:
        status = self.catalogue.say(words.STATUSES[self.status], language)
        return self.catalogue.say(marked("Set status to {status}"), language, status=status)
