"""Another start, end or text for time that was spent. A timer that runs is stopped by giving it an end."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from lottisync.entities.view import view
from lottisync.journal import time_entry
from lottisync.journal.arguments import MAX_SUMMARY, Id, rule
from lottisync.journal.task_action import OwnedAction, missing
from lottisync.journal.time_entry import ENTRY, checked_instant
from lottisync.journal.types import TIME, Entry
from lottisync.language import marked
from lottisync.problem import Problem, Sentence
from lottisync.review.action import EffectWrite, FieldChange, TargetView
from lottisync.review.policy import Policy
from lottisync.store.reader import Reader

Instant = Annotated[str, AfterValidator(rule(checked_instant))]
Summary = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_SUMMARY)]
OFFSET = "ISO 8601 with the offset, like 2026-03-01T14:00:00+01:00."


class TimeChange(OwnedAction):
    """A change of one time entry. Its registers are those for which a value is given."""

    def read_target(self, reader: Reader, task_id: str) -> TargetView:
        return TargetView(reader.entity(task_id), reader.entity(self.owned_id()))

    def own_obstacle(self, target_view: TargetView, task_id: str, policy: Policy) -> str | None:
        fault = missing(target_view.target, ENTRY)
        if fault is None and target_view.target is not None:
            if target_view.target.value("taskId") != task_id:
                fault = Sentence("wrong task")
            elif view(target_view.target, Entry).kind != TIME:
                fault = Sentence("it is a note")
        if fault is None:
            return self._misfit(target_view)
        return Sentence("time entry {entry}: {fault}", entry=self.owned_id(), fault=fault)

    def _misfit(self, target_view: TargetView) -> str | None:
        """Why the change does not fit the entry as it is."""
        return None

    def current(self, target_view: TargetView) -> dict[str, Any]:
        if target_view.target is None:
            return {}
        held = view(target_view.target, Entry)
        return {"at": held.at, "end": held.end, "text": held.text}

    def redundant(self, target_view: TargetView) -> str | None:
        return None if self.writes(target_view) else f'the time entry "{self.name(target_view) or ""}" is so already'

    def newer(self, path: str, value: Any) -> str:
        return f"its {path} is now {'open' if value is None else value}"

    def beside(self, writes: Mapping[str, Any], effect_write: EffectWrite) -> dict[str, Any]:
        """Start and end are one value. Words that an agent wrote do not become the user's by a confirmation."""
        now = self.current(effect_write.target_view)
        span = (
            {path: now[path] for path in ("at", "end") if path not in writes} if writes.keys() & {"at", "end"} else {}
        )
        return span | ({"author": "agent"} if "text" in writes else {})

    def name(self, target_view: TargetView) -> str | None:
        if target_view.target is None or target_view.target.type != ENTRY:
            return None
        return view(target_view.target, Entry).text[:80] or None

    def changes(self, target_view: TargetView, name: str | None) -> list[FieldChange]:
        now = self.current(target_view)
        return [FieldChange(path, now.get(path), value) for path, value in self.values().items()]

    def called(self, name: str | None, language: str) -> str:
        """The entry in a sentence."""
        return self.mentioned(name, marked("entry {id}…"), self.owned_id(), language)


class UpdateTimeEntry(TimeChange):
    tool: ClassVar[str] = "update_time_entry"
    purpose: ClassVar[str] = "Propose another start, end or text for a time entry."
    when: ClassVar[str] = "When the user wrote that a time entry is wrong. An end stops a timer that runs."
    subject: ClassVar[frozenset[str]] = frozenset({"entryId"})

    id: Id = Field(alias="entryId", description="The id of the time entry.")
    start_time: Instant | None = Field(default=None, description=f"The new start: {OFFSET}")
    end_time: Instant | None = Field(default=None, description=f"The new end: {OFFSET}")
    text: Summary | None = Field(default=None, alias="summary", description="What was done.")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.start_time is None and self.end_time is None and self.text is None:
            raise ValueError(Sentence("an update changes startTime, endTime or summary"))
        return self

    def owned_id(self) -> str:
        return self.id

    def values(self) -> dict[str, Any]:
        given = {"at": self.start_time, "end": self.end_time, "text": self.text}
        return {path: value for path, value in given.items() if value is not None}

    def _misfit(self, target_view: TargetView) -> str | None:
        held = self.current(target_view)
        try:
            time_entry.checked_span(self.start_time or held["at"], self.end_time or held["end"])
        except Problem as problem:
            return problem.sentence
        return None

    def summary(self, name: str | None = None, language: str = "en") -> str:
        moved = [
            self.catalogue.say(part, language)
            for part, given in ((marked("start"), self.start_time), (marked("end"), self.end_time))
            if given
        ]
        changes = ", ".join([*moved, *([f'"{self.text}"'] if self.text else [])])
        entry = self.called(name, language)
        return self.catalogue.say(marked("Change time entry {name}: {changes}"), language, name=entry, changes=changes)
