"""A new task for what goes beyond this one, in the same category. A `relation` becomes a link that waits for it."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field, StringConstraints

from lottisync.entities.entity import Entity, is_deleted
from lottisync.entities.view import view
from lottisync.journal import redundancy, tasks
from lottisync.journal.actions.link_task import LinkTask, Relation
from lottisync.journal.arguments import MAX_REASON, DueDate, Priority, TitleText
from lottisync.journal.task_action import TASK, TaskAction, Topic
from lottisync.journal.types import ENTRY_LINK, Task
from lottisync.language import marked
from lottisync.review.action import EffectWrite, FieldChange, TargetView
from lottisync.review.effect import receipt
from lottisync.review.proposal import created_id
from lottisync.store import lookups
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

WHERE = "linked with this task"


class CreateFollowUpTask(TaskAction):
    tool: ClassVar[str] = "create_follow_up_task"
    topic: ClassVar[Topic] = Topic.FURTHER
    purpose: ClassVar[str] = (
        "Propose a new task for what goes beyond this one. The answer names the id that it will have, for link_task."
    )
    when: ClassVar[str] = "When what was written names work that goes beyond this task."
    aliases: ClassVar[tuple[str, ...]] = ("create_followup_task",)
    creates: ClassVar[str | None] = TASK
    builds: ClassVar[bool] = True

    title: TitleText = Field(description="What is to be done in the new task.")
    due_date: DueDate | None = Field(default=None, description="The day, as YYYY-MM-DD.")
    priority: Priority | None = Field(default=None, description="P0 is the most urgent, P3 the least. P2 if left out.")
    description: Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_REASON)] | None = Field(
        default=None, description="What the person who does it has to know."
    )
    relation: Relation | None = Field(
        default=None, description="How this task stands to the new one; it is proposed as a link of its own."
    )

    def arguments(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True, exclude={"human_summary", "relation"})

    def identity(self) -> dict[str, Any]:
        return {"title": self.title}

    def created_name(self) -> str:
        return self.title

    def along(self, created: str) -> Sequence[TaskAction]:
        if self.relation is None:
            return ()
        return [LinkTask.model_construct(relation=self.relation, target_task_id=created)]

    def created_along(self, operation: str, task_id: str) -> Sequence[str]:
        return [created_id(operation, "entry")]

    def read_target(self, reader: Reader, task_id: str) -> TargetView:
        task = reader.entity(task_id)
        return TargetView(task, task, _linked(reader, task_id))

    def redundant(self, target_view: TargetView) -> str | None:
        return redundancy.addition(self.title, [view(entity, Task).title for entity in target_view.beside], WHERE)

    def holder(self, target_view: TargetView) -> Entity | None:
        there = [e for e in target_view.beside if redundancy.addition(self.title, [view(e, Task).title], WHERE)]
        return there[-1] if there else None

    def writes(self, target_view: TargetView) -> dict[str, Any]:
        return {} if self.holder(target_view) else {"title": self.title}

    def changes(self, target_view: TargetView, name: str | None) -> list[FieldChange]:
        details = {"due": self.due_date, "priority": self.priority, "description": self.description}
        given = [FieldChange(path, None, value) for path, value in details.items() if value is not None]
        return [FieldChange(TASK, None, self.title), *given]

    def carry_out(self, tx: Transaction, effect_write: EffectWrite) -> None:
        kept = receipt(self, effect_write.operation, None, effect_write.writes)
        there = self.holder(effect_write.target_view)
        if not effect_write.writes and there is not None:
            tx.put(there.id, TASK, kept)
            return
        assert effect_write.target_view.task is not None
        ident = created_id(effect_write.operation, TASK)
        fields = {
            "due": self.due_date,
            "priority": self.priority or "P2",
            "categoryId": view(effect_write.target_view.task, Task).category_id,
            "proposedBy": effect_write.agent_id,
            **kept,
        }
        tasks.add_task(tx, ident, self.title, {k: v for k, v in fields.items() if v is not None})
        if self.description is not None:
            [note] = self.created_along(effect_write.operation, effect_write.task_id)
            tasks.add_note(tx, note, ident, self.description, author="agent")

    def summary(self, name: str | None = None, language: str = "en") -> str:
        return self.catalogue.say(marked('Create follow-up task: "{title}"'), language, title=self.title)


def _linked(reader: Reader, task_id: str) -> list[Entity]:
    """The live tasks that a task is linked with, either way."""
    ends = [*lookups.ends_from(reader, task_id, ENTRY_LINK), *lookups.ends_to(reader, task_id, ENTRY_LINK)]
    found = [reader.entity(end) for end in ends]
    return [entity for entity in found if entity is not None and entity.type == TASK and not is_deleted(entity)]
