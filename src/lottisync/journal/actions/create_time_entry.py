"""Time that was spent, with its start and end. An agent starts no timer: the person may confirm days later."""

from typing import Any, ClassVar, Self

from pydantic import Field, ValidationInfo, model_validator

from lottisync.entities.entity import Entity
from lottisync.entities.view import view
from lottisync.journal import time_entry
from lottisync.journal.actions.update_time_entry import OFFSET, Instant, Summary
from lottisync.journal.arguments import INCOMPLETE
from lottisync.journal.task_action import TaskAction
from lottisync.journal.time_entry import ENTRY, Span, checked_span
from lottisync.journal.types import TIME, Entry
from lottisync.language import marked
from lottisync.problem import Problem
from lottisync.review.action import EffectWrite, FieldChange, TargetView
from lottisync.review.effect import receipt
from lottisync.review.proposal import created_id
from lottisync.store.instant import millis
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


class CreateTimeEntry(TaskAction):
    tool: ClassVar[str] = "create_time_entry"
    purpose: ClassVar[str] = "Propose to write down time that was spent on the task."
    when: ClassVar[str] = "When the user wrote from when to when they worked, and it is not among the log entries."
    creates: ClassVar[str | None] = ENTRY

    start_time: Instant = Field(description=f"When it began: {OFFSET}")
    end_time: Instant = Field(description=f"When it ended: {OFFSET}")
    text: Summary = Field(alias="summary", description="What was done.")

    @model_validator(mode="after")
    def _in_order(self, info: ValidationInfo) -> Self:
        if info.context and info.context[INCOMPLETE]:
            return self
        try:
            checked_span(self.start_time, self.end_time)
        except Problem as problem:
            raise ValueError(problem.sentence) from None
        return self

    def created_name(self) -> str:
        return self.text

    def made_as(self) -> dict[str, Any]:
        return {"text": self.text, **self._span().fields()}

    def read_target(self, reader: Reader, task_id: str) -> TargetView:
        task = reader.entity(task_id)
        entries = [entity for entity in reader.owned_by(task_id) if entity.type == ENTRY]
        return TargetView(task, task, [entity for entity in entries if view(entity, Entry).kind == TIME])

    def redundant(self, target_view: TargetView) -> str | None:
        return "this time is written down already" if self.holder(target_view) else None

    def holder(self, target_view: TargetView) -> Entity | None:
        """The entry of the same start and end."""
        held = ((entity, view(entity, Entry)) for entity in target_view.beside)
        return next((entity for entity, each in held if (each.at, each.end) == self._span()), None)

    def _span(self) -> Span:
        return Span(self.start_time, self.end_time)

    def writes(self, target_view: TargetView) -> dict[str, Any]:
        return {} if self.holder(target_view) else {"text": self.text}

    def changes(self, target_view: TargetView, name: str | None) -> list[FieldChange]:
        return [
            FieldChange(ENTRY, None, self.text),
            FieldChange("at", None, self.start_time),
            FieldChange("end", None, self.end_time),
        ]

    def carry_out(self, tx: Transaction, effect_write: EffectWrite) -> None:
        kept = receipt(self, effect_write.operation, None, effect_write.writes)
        there = self.holder(effect_write.target_view)
        if not effect_write.writes and there is not None:
            tx.put(there.id, ENTRY, kept)
            return
        ident = created_id(effect_write.operation, ENTRY)
        time_entry.add(tx, ident, effect_write.task_id, self.text, self._span(), author="agent", extra=kept)

    def summary(self, name: str | None = None, language: str = "en") -> str:
        """How long, and what for. The start and the end are shown beside it, in the zone of the device that shows
        them."""
        spent = round((millis(self.end_time) - millis(self.start_time)) / 60_000)
        say = self.catalogue.say
        return say(marked('Time: {minutes} min, "{summary}"'), language, minutes=spent, summary=self.text)
