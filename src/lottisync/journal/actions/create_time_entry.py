"""Time that was spent, with its start and end. An agent starts no timer: the person may confirm days later."""

from typing import Any, ClassVar, Self

from pydantic import Field, ValidationInfo, model_validator

from lottisync.entities.entity import Entity
from lottisync.entities.view import view
from lottisync.journal import time_entry
from lottisync.journal.action import Action
from lottisync.journal.actions.update_time_entry import OFFSET, Instant, Summary, spanned
from lottisync.journal.arguments import INCOMPLETE
from lottisync.journal.language import marked
from lottisync.journal.time_entry import ENTRY, Span, checked_span
from lottisync.journal.types import TIME, Entry
from lottisync.problem import Problem
from lottisync.review.action import Change, Deed, Sight
from lottisync.review.effect import receipt
from lottisync.review.proposal import created_id
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


class CreateTimeEntry(Action):
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
            raise ValueError(problem.message) from None
        return self

    def created_name(self) -> str:
        return self.text

    def look(self, reader: Reader, task_id: str) -> Sight:
        task = reader.entity(task_id)
        entries = [entity for entity in reader.owned_by(task_id) if entity.type == ENTRY]
        return Sight(task, task, [entity for entity in entries if view(entity, Entry).kind == TIME])

    def redundant(self, sight: Sight) -> str | None:
        return "this time is written down already" if self.holder(sight) else None

    def holder(self, sight: Sight) -> Entity | None:
        """The entry of the same start and end."""
        held = ((entity, view(entity, Entry)) for entity in sight.beside)
        return next((entity for entity, each in held if (each.at, each.end) == self._span()), None)

    def _span(self) -> Span:
        return Span(self.start_time, self.end_time)

    def writes(self, sight: Sight) -> dict[str, Any]:
        return {} if self.holder(sight) else {"text": self.text}

    def changes(self, sight: Sight, name: str | None) -> list[Change]:
        return [Change(ENTRY, None, self.text), Change("at", None, self.start_time), Change("end", None, self.end_time)]

    def carry_out(self, tx: Transaction, deed: Deed) -> None:
        kept = receipt(self, deed.operation, None, deed.writes)
        there = self.holder(deed.sight)
        if not deed.writes and there is not None:
            tx.put(there.id, ENTRY, kept)
            return
        ident = created_id(deed.operation, ENTRY)
        time_entry.add(tx, ident, deed.task_id, self.text, self._span(), author="agent", extra=kept)

    def summary(self, name: str | None = None, language: str = "en") -> str:
        span = spanned(self.start_time, self.end_time)
        return self.catalogue.say(marked('Time: {span}, "{summary}"'), language, span=span, summary=self.text)
