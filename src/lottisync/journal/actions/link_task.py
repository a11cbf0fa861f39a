"""A link from this task to another. It is stored under one word and one id, whichever end says it (REV-7), so its
registers are compared as those of an entity that is there, also where the write makes it."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from lottisync.entities import path as paths
from lottisync.entities.entity import is_deleted
from lottisync.entities.schema import link_id
from lottisync.entities.view import view
from lottisync.journal.arguments import EntityIdText, rule
from lottisync.journal.permission import allows
from lottisync.journal.task_action import NOT_ALLOWED, TASK, TaskAction, Topic, missing
from lottisync.journal.types import ENTRY_LINK, INVERSES, RELATIONS, Task, link_ends
from lottisync.language import marked
from lottisync.problem import Marked, Problem, Sentence
from lottisync.review.action import EffectWrite, FieldChange, TargetView
from lottisync.review.effect import receipt
from lottisync.review.policy import Policy
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

SENTENCES: Mapping[str, Marked] = {
    "relates_to": marked("Link: this task relates to {name}"),
    "blocks": marked("Link: this task blocks {name}"),
    "is_blocked_by": marked("Link: this task is blocked by {name}"),
    "follows_up_on": marked("Link: this task follows up on {name}"),
    "has_follow_up": marked("Link: this task has the follow-up {name}"),
    "duplicates": marked("Link: this task duplicates {name}"),
    "is_duplicated_by": marked("Link: this task is duplicated by {name}"),
    "fixes": marked("Link: this task fixes {name}"),
    "is_fixed_by": marked("Link: this task is fixed by {name}"),
    "supersedes": marked("Link: this task supersedes {name}"),
    "is_superseded_by": marked("Link: this task is superseded by {name}"),
}


def _relation(text: str) -> str:
    relation = "_".join(text.lower().replace("-", " ").replace("_", " ").split())
    if relation not in (*RELATIONS, *INVERSES):
        raise Problem(
            "bad-value",
            "a relation is one of {value}; got {text!r}",
            value=", ".join((*RELATIONS, *INVERSES)),
            text=text,
        )
    return relation


Relation = Annotated[str, AfterValidator(rule(_relation)), Field(json_schema_extra={"enum": [*RELATIONS, *INVERSES]})]


class LinkTask(TaskAction):
    tool: ClassVar[str] = "link_task"
    topic: ClassVar[Topic] = Topic.FURTHER
    purpose: ClassVar[str] = "Propose a link from this task to another."
    when: ClassVar[str] = "When what was written says how this task stands to another one."
    makes_target: ClassVar[bool] = True
    subject: ClassVar[frozenset[str]] = frozenset({"targetTaskId"})

    relation: Relation = Field(description="How this task stands to the other: this task <relation> the other.")
    target_task_id: EntityIdText = Field(
        description="The id of the other task; a follow-up task's is told when it is proposed."
    )

    def target(self, task_id: str) -> str:
        _, from_id, to_id = link_ends(self.relation, task_id, self.target_task_id)
        return link_id(ENTRY_LINK, from_id, to_id)

    def values(self) -> dict[str, Any]:
        return {paths.join("relations", link_ends(self.relation, "", "")[0]): True}

    def needs(self) -> str | None:
        return self.target_task_id

    def read_target(self, reader: Reader, task_id: str) -> TargetView:
        other = reader.entity(self.target_task_id)
        return TargetView(reader.entity(task_id), reader.entity(self.target(task_id)), other=other)

    def own_obstacle(self, target_view: TargetView, task_id: str, policy: Policy) -> str | None:
        if self.target_task_id == task_id:
            return Sentence("a task is not linked with itself")
        fault = missing(target_view.other, TASK)
        if fault is None and target_view.other is not None and not allows(policy, target_view.other):
            fault = NOT_ALLOWED
        return fault and Sentence("task {task_id}: {fault}", task_id=self.target_task_id, fault=fault)

    def current(self, target_view: TargetView) -> dict[str, Any]:
        held = target_view.target if target_view.target is not None and not is_deleted(target_view.target) else None
        return {path: held is not None and held.value(path) is True for path in self.values()}

    def redundant(self, target_view: TargetView) -> str | None:
        return (
            f'"{self.name(target_view) or ""}" is already linked so'
            if all(self.current(target_view).values())
            else None
        )

    def newer(self, path: str, value: Any) -> str:
        return "the user took it off the relations"

    def name(self, target_view: TargetView) -> str | None:
        if target_view.other is None or target_view.other.type != TASK:
            return None
        return view(target_view.other, Task).title or None

    def changes(self, target_view: TargetView, name: str | None) -> list[FieldChange]:
        there = all(self.current(target_view).values())
        return [FieldChange("relations", name or self.target_task_id if there else None, name or self.target_task_id)]

    def carry_out(self, tx: Transaction, effect_write: EffectWrite) -> None:
        """Write the link. One that was deleted is brought back, without the relations that it had."""
        target = effect_write.target_view.target
        fields = {**effect_write.writes, **receipt(self, effect_write.operation, target, effect_write.writes)}
        if target is not None and not is_deleted(target):
            tx.put(target.id, ENTRY_LINK, fields)
            return
        _, from_id, to_id = link_ends(self.relation, effect_write.task_id, self.target_task_id)
        had = [path for path in target.registers if path.startswith("relations/")] if target is not None else []
        tx.link(ENTRY_LINK, from_id, to_id, dict.fromkeys(had) | fields)

    def summary(self, name: str | None = None, language: str = "en") -> str:
        task = self.mentioned(name, marked("task {id}…"), self.target_task_id, language)
        return self.catalogue.say(SENTENCES[self.relation], language, name=task)
