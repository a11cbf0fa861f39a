"""One new item at the end of the task's checklist. An item of that title, whatever its capitals, makes it needless."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from lottisync.entities.entity import Entity
from lottisync.entities.view import view
from lottisync.journal import redundancy, tasks
from lottisync.journal.action import ITEM, Action, Topic
from lottisync.journal.arguments import Title
from lottisync.journal.language import marked
from lottisync.journal.types import ChecklistItem
from lottisync.review.action import Change, Deed, Sight
from lottisync.review.effect import receipt
from lottisync.review.precedence import AGENT
from lottisync.review.proposal import created_id
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

PLACE = "on the checklist"
Checked = Annotated[bool | None, BeforeValidator(lambda value: True if value is True else None)]
"""True or nothing: an item that is not done says nothing of it."""


class AddChecklistItem(Action):
    tool: ClassVar[str] = "add_checklist_item"
    topic: ClassVar[Topic] = Topic.CHECKLIST
    purpose: ClassVar[str] = "Propose one new checklist item."
    offered: ClassVar[bool] = False
    creates: ClassVar[str | None] = ITEM

    title: Title = Field(description="What is to be done.")
    is_checked: Checked = Field(default=None, description="True if it is done already.")

    def created_name(self) -> str:
        return self.title

    def look(self, reader: Reader, task_id: str) -> Sight:
        task = reader.entity(task_id)
        return Sight(task, task, [entity for entity in reader.owned_by(task_id) if entity.type == ITEM])

    def redundant(self, sight: Sight) -> str | None:
        return self.redundancy({"titles": [view(entity, ChecklistItem).title for entity in sight.beside]})

    def redundancy(self, current: Mapping[str, Any]) -> str | None:
        """`"Milk" is already on the checklist`."""
        return redundancy.addition(self.title, current["titles"], PLACE)

    def holder(self, sight: Sight) -> Entity | None:
        there = [e for e in sight.beside if redundancy.addition(self.title, [view(e, ChecklistItem).title], PLACE)]
        return there[-1] if there else None

    def writes(self, sight: Sight) -> dict[str, Any]:
        return {} if self.holder(sight) else {"title": self.title}

    def changes(self, sight: Sight, name: str | None) -> list[Change]:
        added = Change(ITEM, None, self.title)
        return [added, Change("isChecked", None, after=True)] if self.is_checked else [added]

    def carry_out(self, tx: Transaction, deed: Deed) -> None:
        kept = receipt(self, deed.operation, None, deed.writes)
        there = self.holder(deed.sight)
        if not deed.writes and there is not None:
            tx.put(there.id, ITEM, kept)
            return
        tasks.default_checklist(tx, deed.task_id, precedence=AGENT)
        ident = created_id(deed.operation, ITEM)
        tasks.add_item(tx, ident, deed.task_id, self.title, {**self._tick(deed), **kept})

    def _tick(self, deed: Deed) -> dict[str, Any]:
        tick = {"isChecked": True, "checkedAt": iso(deed.at)} if self.is_checked else {}
        return {"proposedBy": deed.agent_id, **tick}

    def summary(self, name: str | None = None, language: str = "en") -> str:
        text = marked('Add as done: "{title}"') if self.is_checked else marked('Add: "{title}"')
        return self.catalogue.say(text, language, title=self.title)
