"""Several items that move to another task; the user decides on each of them."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from lottisync.journal.actions.migrate_checklist_item import MigrateChecklistItem, MovedItem
from lottisync.journal.arguments import MAX_BATCH, EntityIdText
from lottisync.journal.task_action import ActionBatch, TaskAction


class MigrateChecklistItems(ActionBatch):
    tool: ClassVar[str] = "migrate_checklist_items"
    purpose: ClassVar[str] = "Propose to move checklist items to another task; the user decides on each of them."
    when: ClassVar[str] = "When items belong to a follow-up task, or to a linked one, and not to this task."
    elements: ClassVar[str | None] = "items"

    items: list[MovedItem] = Field(min_length=1, max_length=MAX_BATCH, description="The items to move, in order.")
    target_task_id: EntityIdText = Field(
        description="The id of the other task; a follow-up task's is told when it is proposed."
    )

    def parts(self) -> Sequence[TaskAction]:
        target = self.target_task_id
        return [MigrateChecklistItem.model_construct(**dict(item), target_task_id=target) for item in self.items]
