"""A new title for the task."""

from typing import Any, ClassVar

from pydantic import Field

from lottisync.journal.arguments import TitleText
from lottisync.journal.task_action import TaskField
from lottisync.language import marked


class SetTaskTitle(TaskField):
    tool: ClassVar[str] = "set_task_title"
    purpose: ClassVar[str] = "Propose a new title for the task."
    when: ClassVar[str] = "Only if the task has no title, or the user asked for another one in what they wrote."
    aliases: ClassVar[tuple[str, ...]] = ("update_task_title",)
    register: ClassVar[str] = "title"
    noun: ClassVar[str] = "title"

    title: TitleText = Field(description="The new title.")

    def value(self) -> Any:
        return self.title

    def worded(self, value: Any) -> str:
        return "empty" if value is None else f'"{value}"'

    def summary(self, name: str | None = None, language: str = "en") -> str:
        return self.catalogue.say(marked('Set title to "{title}"'), language, title=self.title)
