"""How urgent the task is."""

from typing import Any, ClassVar

from pydantic import Field

from lottisync.journal.arguments import Priority
from lottisync.journal.task_action import TaskField
from lottisync.language import marked


class UpdateTaskPriority(TaskField):
    tool: ClassVar[str] = "update_task_priority"
    purpose: ClassVar[str] = "Propose a priority for the task."
    when: ClassVar[str] = "Only if the user wrote how urgent it is."
    aliases: ClassVar[tuple[str, ...]] = ("set_task_priority",)
    register: ClassVar[str] = "priority"
    noun: ClassVar[str] = "priority"

    priority: Priority = Field(description="P0 is the most urgent, P3 the least.")

    def value(self) -> Any:
        return self.priority

    def summary(self, name: str | None = None, language: str = "en") -> str:
        return self.catalogue.say(marked("Set priority to {priority}"), language, priority=self.priority)
