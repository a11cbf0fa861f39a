"""One item that moves to the first checklist of another task, with its tick. The other task may be one that is still to
be created (`needs`)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.journal.action import ITEM, NOT_ALLOWED, TASK, Action, allows, missing
from lottisync.journal.arguments import Arguments, EntityId, Title
from lottisync.journal.language import marked
from lottisync.journal.types import PLACE, ChecklistItem, Task
from lottisync.review.action import Change, Deed, Sight
from lottisync.review.effect import receipt
from lottisync.review.precedence import AGENT
from lottisync.review.proposal import plain
from lottisync.review.terms import Terms
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


class MovedItem(Arguments):
    id: EntityId = Field(description="The id of the checklist item.")
    title: Title = Field(description="The item's title, as it is on the checklist.")


class MigrateChecklistItem(MovedItem, Action):
    tool: ClassVar[str] = "migrate_checklist_item"
    purpose: ClassVar[str] = "Propose to move one checklist item to another task."
    offered: ClassVar[bool] = False
    companions: ClassVar[Mapping[str, tuple[str, ...]]] = {PLACE[0]: PLACE[1:]}

    target_task_id: EntityId = Field(description="The id of the other task.")

    def arguments(self) -> dict[str, Any]:
        return Action.arguments(self)

    def target(self, task_id: str) -> str:
        return self.id

    def is_about(self, entity_id: str) -> bool:
        return self.id == entity_id

    def values(self) -> dict[str, Any]:
        return {"taskId": self.target_task_id}

    def needs(self) -> str | None:
        return self.target_task_id

    def look(self, reader: Reader, task_id: str) -> Sight:
        other = reader.entity(self.target_task_id)
        return Sight(reader.entity(task_id), reader.entity(self.id), other=other)

    def own_obstacle(self, sight: Sight, task_id: str, terms: Terms) -> str | None:
        if self.target_task_id == task_id:
            return f"checklist item {self.id}: it is on this task already"
        fault = missing(sight.other, TASK)
        if fault is None and sight.other is not None and not allows(terms, sight.other):
            fault = NOT_ALLOWED
        if fault is not None:
            return f"task {self.target_task_id}: {fault}"
        fault = missing(sight.target, ITEM)
        if fault is None and sight.target is not None:
            fault = None if sight.target.value("taskId") in (task_id, self.target_task_id) else "wrong task"
        return fault and f"checklist item {self.id}: {fault}"

    def hindrance(self, sight: Sight, task_id: str, terms: Terms, others: object) -> str | None:
        hindrance = self.obstacle(sight, task_id, terms)
        if hindrance is None and sight.target is not None:
            held = view(sight.target, ChecklistItem).title
            hindrance = None if plain(held) == plain(self.title) else f'checklist item {self.id}: it is called "{held}"'
        return hindrance

    def current(self, sight: Sight) -> dict[str, Any]:
        return {"taskId": view(sight.target, ChecklistItem).task_id} if sight.target is not None else {}

    def redundant(self, sight: Sight) -> str | None:
        return None if self.writes(sight) else f'"{self.title}" is on that task already'

    def newer(self, path: str, value: Any) -> str:
        return "the user moved it"

    def heading(self, sight: Sight) -> str:
        return f'"{self.title}": '

    def name(self, sight: Sight) -> str | None:
        if sight.other is None or sight.other.type != TASK:
            return None
        return view(sight.other, Task).title or None

    def changes(self, sight: Sight, name: str | None) -> list[Change]:
        held = sight.target if sight.target is not None and sight.target.type == ITEM else None
        title = view(held, ChecklistItem).title if held is not None else self.title
        there = view(sight.task, Task).title if sight.task is not None and self.writes(sight) else name
        return [Change(ITEM, title, title), Change(TASK, there, name or self.target_task_id)]

    def carry_out(self, tx: Transaction, deed: Deed) -> None:
        item = deed.sight.target
        assert item is not None
        place: dict[str, Any] = {}
        if deed.writes:
            checklist = tasks.default_checklist(tx, self.target_task_id, precedence=AGENT)
            place = dict(tasks.place_in(tx, self.target_task_id, checklist))
        tx.put(item.id, ITEM, {**place, **receipt(self, deed.operation, item, place)})

    def summary(self, name: str | None = None, language: str = "en") -> str:
        task = f'"{name}"' if name else self.catalogue.say(marked("task {id}…"), language, id=self.target_task_id[:8])
        return self.catalogue.say(marked('Move "{title}" to {name}'), language, title=self.title, name=task)
