"""A day by which the task is to be done."""

from typing import Any, ClassVar

from pydantic import Field

from lottisync.journal.arguments import DueDate
from lottisync.journal.task_action import TaskField, Topic
from lottisync.language import marked


class UpdateTaskDueDate(TaskField):
    tool: ClassVar[str] = "update_task_due_date"
    topic: ClassVar[Topic] = Topic.PLAN
    purpose: ClassVar[str] = "Propose a due date for the task."
    when: ClassVar[str] = 'Only if the user wrote of a day. Reckon from today: "by Friday" is the next one.'
    aliases: ClassVar[tuple[str, ...]] = ("set_task_due_date",)
    register: ClassVar[str] = "due"
    noun: ClassVar[str] = "due date"

    due_date: DueDate = Field(description="The day, as YYYY-MM-DD.")

    def value(self) -> Any:
        return self.due_date

    def summary(self, name: str | None = None, language: str = "en") -> str:
        return self.catalogue.say(marked("Set due date to {day}"), language, day=self.due_date)
