"""A time estimate for the task, in minutes."""

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field

from lottisync.journal.arguments import rule, whole_number
from lottisync.journal.task_action import TaskField, Topic
from lottisync.journal.task_values import MAX_MINUTES, checked_minutes


class UpdateTaskEstimate(TaskField):
    tool: ClassVar[str] = "update_task_estimate"
    topic: ClassVar[Topic] = Topic.PLAN
    purpose: ClassVar[str] = "Propose a time estimate for the task."
    when: ClassVar[str] = "Only if the task has no estimate, or the user named or asked for another one."
    aliases: ClassVar[tuple[str, ...]] = ("set_task_estimate",)
    register: ClassVar[str] = "estimate"
    noun: ClassVar[str] = "estimate"
    unit: ClassVar[str] = "min"

    minutes: Annotated[
        int,
        BeforeValidator(whole_number),
        AfterValidator(rule(checked_minutes)),
        Field(json_schema_extra={"minimum": 1, "maximum": MAX_MINUTES}),
    ] = Field(description="The whole effort in minutes.")

    def value(self) -> Any:
        return self.minutes

    def worded(self, value: Any) -> str:
        if not isinstance(value, int):
            return super().worded(value)
        return "1 minute" if value == 1 else f"{value} minutes"

    def summary(self, name: str | None = None, language: str = "en") -> str:
        said = self.catalogue.words(language)
        text = said.ngettext("Set estimate to {count} minute", "Set estimate to {count} minutes", self.minutes)
        return text.format(count=self.minutes)
