"""One item that moves to the first checklist of another task, with its tick. The other task may be one that is still to
be created (`needs`)."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.journal.arguments import Arguments, EntityIdText, TitleText
from lottisync.journal.permission import allows
from lottisync.journal.task_action import ITEM, NOT_ALLOWED, TASK, OwnedAction, TaskAction, missing
from lottisync.journal.types import POSITION, ChecklistItem, Task
from lottisync.language import marked
from lottisync.problem import Sentence
from lottisync.review.action import EffectWrite, FieldChange, TargetView
from lottisync.review.effect import receipt
from lottisync.review.policy import Policy
from lottisync.review.precedence import AGENT
from lottisync.review.proposal import plain
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


class MovedItem(Arguments):
    id: EntityIdText = Field(description="The id of the checklist item.")
    title: TitleText = Field(description="The item's title, as it is on the checklist.")


class MigrateChecklistItem(MovedItem, OwnedAction):
    tool: ClassVar[str] = "migrate_checklist_item"
    purpose: ClassVar[str] = "Propose to move one checklist item to another task."
    offered: ClassVar[bool] = False
    subject: ClassVar[frozenset[str]] = frozenset({"id", "title"})
    by_id: ClassVar[frozenset[str]] = frozenset({"targetTaskId"})
    companions: ClassVar[Mapping[str, tuple[str, ...]]] = {POSITION[0]: POSITION[1:]}

    target_task_id: EntityIdText = Field(description="The id of the other task.")

    def arguments(self) -> dict[str, Any]:
        return TaskAction.arguments(self)

    def owned_id(self) -> str:
        return self.id

    def values(self) -> dict[str, Any]:
        return {"taskId": self.target_task_id}

    def needs(self) -> str | None:
        return self.target_task_id

    def read_target(self, reader: Reader, task_id: str) -> TargetView:
        other = reader.entity(self.target_task_id)
        return TargetView(reader.entity(task_id), reader.entity(self.id), other=other)

    def own_obstacle(self, target_view: TargetView, task_id: str, policy: Policy) -> str | None:
        if self.target_task_id == task_id:
            return Sentence(
                "checklist item {item}: {fault}", item=self.id, fault=Sentence("it is on this task already")
            )
        fault = missing(target_view.other, TASK)
        if fault is None and target_view.other is not None and not allows(policy, target_view.other):
            fault = NOT_ALLOWED
        if fault is not None:
            return Sentence("task {task_id}: {fault}", task_id=self.target_task_id, fault=fault)
        fault = missing(target_view.target, ITEM)
        if fault is None and target_view.target is not None:
            fits = target_view.target.value("taskId") in (task_id, self.target_task_id)
            fault = None if fits else Sentence("wrong task")
        return fault and Sentence("checklist item {item}: {fault}", item=self.id, fault=fault)

    def hindrance(self, target_view: TargetView, task_id: str, policy: Policy, others: object) -> str | None:
        hindrance = self.obstacle(target_view, task_id, policy)
        if hindrance is None and target_view.target is not None:
            held = view(target_view.target, ChecklistItem).title
            hindrance = None if plain(held) == plain(self.title) else f'checklist item {self.id}: it is called "{held}"'
        return hindrance

    def current(self, target_view: TargetView) -> dict[str, Any]:
        return {"taskId": view(target_view.target, ChecklistItem).task_id} if target_view.target is not None else {}

    def redundant(self, target_view: TargetView) -> str | None:
        return None if self.writes(target_view) else f'"{self.title}" is on that task already'

    def newer(self, path: str, value: Any) -> str:
        return "the user moved it"

    def heading(self, target_view: TargetView) -> str:
        return f'"{self.title}": '

    def name(self, target_view: TargetView) -> str | None:
        if target_view.other is None or target_view.other.type != TASK:
            return None
        return view(target_view.other, Task).title or None

    def changes(self, target_view: TargetView, name: str | None) -> list[FieldChange]:
        held = target_view.target if target_view.target is not None and target_view.target.type == ITEM else None
        title = view(held, ChecklistItem).title if held is not None else self.title
        there = (
            view(target_view.task, Task).title if target_view.task is not None and self.writes(target_view) else name
        )
        return [FieldChange(ITEM, title, title), FieldChange(TASK, there, name or self.target_task_id)]

    def carry_out(self, tx: Transaction, effect_write: EffectWrite) -> None:
        item = effect_write.target_view.target
        assert item is not None
        position: dict[str, Any] = {}
        if effect_write.writes:
            checklist = tasks.default_checklist(tx, self.target_task_id, precedence=AGENT)
            position = dict(tasks.position_in(tx, self.target_task_id, checklist))
        tx.put(item.id, ITEM, {**position, **receipt(self, effect_write.operation, item, position)})

    def summary(self, name: str | None = None, language: str = "en") -> str:
        task = self.mentioned(name, marked("task {id}…"), self.target_task_id, language)
        return self.catalogue.say(marked('Move "{title}" to {name}'), language, title=self.title, name=task)
