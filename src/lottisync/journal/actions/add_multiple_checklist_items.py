"""Several new checklist items at once; the user decides on each of them."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from lottisync.journal.actions.add_checklist_item import AddChecklistItem, Checked
from lottisync.journal.arguments import MAX_BATCH, Arguments, TitleText
from lottisync.journal.task_action import ActionBatch, TaskAction


class NewItem(Arguments):
    title: TitleText = Field(description="What is to be done.")
    is_checked: Checked = Field(default=None, description="True if it is done already.")


class AddMultipleChecklistItems(ActionBatch):
    tool: ClassVar[str] = "add_multiple_checklist_items"
    purpose: ClassVar[str] = "Propose new checklist items; the user decides on each of them."
    when: ClassVar[str] = "When what was written names a step that is not on the list."
    aliases: ClassVar[tuple[str, ...]] = ("add_checklist_items",)
    elements: ClassVar[str | None] = "items"

    items: list[NewItem] = Field(min_length=1, max_length=MAX_BATCH, description="The items to add, in order.")

    def parts(self) -> Sequence[TaskAction]:
        return [AddChecklistItem.model_construct(**dict(item)) for item in self.items]
