"""Changes of several checklist items at once; the user decides on each of them."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from lottisync.journal.actions.update_checklist_item import SOVEREIGNTY, ItemChange, UpdateChecklistItem
from lottisync.journal.arguments import MAX_BATCH
from lottisync.journal.task_action import ActionBatch, TaskAction


class UpdateChecklistItems(ActionBatch):
    tool: ClassVar[str] = "update_checklist_items"
    purpose: ClassVar[str] = f"Update one or more existing checklist items. {SOVEREIGNTY}"
    when: ClassVar[str] = (
        "When what was written says that a step is done or not, when a title is misspelt, or to archive "
        "one of two that say the same."
    )
    elements: ClassVar[str | None] = "items"

    items: list[ItemChange] = Field(min_length=1, max_length=MAX_BATCH, description="The items to change.")

    def parts(self) -> Sequence[TaskAction]:
        return [UpdateChecklistItem.of(item) for item in self.items]
