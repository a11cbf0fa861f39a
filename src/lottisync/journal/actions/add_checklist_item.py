"""One new item at the end of the task's checklist. An item of that title, whatever its capitals, makes it needless."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from lottisync.entities.entity import Entity
from lottisync.entities.view import view
from lottisync.journal import redundancy, tasks
from lottisync.journal.arguments import TitleText
from lottisync.journal.task_action import ITEM, TaskAction, Topic
from lottisync.journal.types import ChecklistItem
from lottisync.language import marked
from lottisync.review.action import EffectWrite, FieldChange, TargetView
from lottisync.review.effect import receipt
from lottisync.review.precedence import AGENT
from lottisync.review.proposal import created_id
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

WHERE = "on the checklist"
Checked = Annotated[bool | None, BeforeValidator(lambda value: True if value is True else None)]
"""True or nothing: an item that is not done says nothing of it."""


class AddChecklistItem(TaskAction):
    tool: ClassVar[str] = "add_checklist_item"
    topic: ClassVar[Topic] = Topic.CHECKLIST
    purpose: ClassVar[str] = "Propose one new checklist item."
    offered: ClassVar[bool] = False
    creates: ClassVar[str | None] = ITEM

    title: TitleText = Field(description="What is to be done.")
    is_checked: Checked = Field(default=None, description="True if it is done already.")

    def created_name(self) -> str:
        return self.title

    def read_target(self, reader: Reader, task_id: str) -> TargetView:
        task = reader.entity(task_id)
        return TargetView(task, task, [entity for entity in reader.owned_by(task_id) if entity.type == ITEM])

    def redundant(self, target_view: TargetView) -> str | None:
        return self.redundancy({"titles": [view(entity, ChecklistItem).title for entity in target_view.beside]})

    def redundancy(self, current: Mapping[str, Any]) -> str | None:
        """`"Milk" is already on the checklist`."""
        return redundancy.addition(self.title, current["titles"], WHERE)

    def holder(self, target_view: TargetView) -> Entity | None:
        there = [
            e for e in target_view.beside if redundancy.addition(self.title, [view(e, ChecklistItem).title], WHERE)
        ]
        return there[-1] if there else None

    def writes(self, target_view: TargetView) -> dict[str, Any]:
        return {} if self.holder(target_view) else {"title": self.title}

    def changes(self, target_view: TargetView, name: str | None) -> list[FieldChange]:
        added = FieldChange(ITEM, None, self.title)
        return [added, FieldChange("isChecked", None, after=True)] if self.is_checked else [added]

    def carry_out(self, tx: Transaction, effect_write: EffectWrite) -> None:
        kept = receipt(self, effect_write.operation, None, effect_write.writes)
        there = self.holder(effect_write.target_view)
        if not effect_write.writes and there is not None:
            tx.put(there.id, ITEM, kept)
            return
        tasks.default_checklist(tx, effect_write.task_id, precedence=AGENT)
        ident = created_id(effect_write.operation, ITEM)
        tasks.add_item(tx, ident, effect_write.task_id, self.title, {**self._tick(effect_write), **kept})

    def _tick(self, effect_write: EffectWrite) -> dict[str, Any]:
        tick = {"isChecked": True, "checkedAt": iso(effect_write.at)} if self.is_checked else {}
        return {"proposedBy": effect_write.agent_id, **tick}

    def summary(self, name: str | None = None, language: str = "en") -> str:
        text = marked('Add as done: "{title}"') if self.is_checked else marked('Add: "{title}"')
        return self.catalogue.say(text, language, title=self.title)
