"""The language that the task is written in: recorded at once, without a verdict (docs/specs/10-review.md, REV-6).

It says which language the task is written in already, and right or wrong it changes nothing that a person works with.
Still the person comes first: a language that they chose stays, and the write has the agent's precedence, so it loses
against one that the user chose elsewhere at the same time.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from lottisync.entities.entity import is_deleted
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.journal.arguments import ImmediateCall, rule
from lottisync.journal.permission import allows
from lottisync.journal.task_values import checked_language
from lottisync.journal.types import Task
from lottisync.review.policy import Policy
from lottisync.review.precedence import PERSON
from lottisync.review.tool_answer import skipped
from lottisync.store.transaction import Transaction


class SetTaskLanguage(ImmediateCall):
    tool: ClassVar[str] = "set_task_language"
    purpose: ClassVar[str] = (
        "Record the language that the task is written in. A language that the user chose is never changed."
    )
    when: ClassVar[str] = "Only if the task has no language yet."
    aliases: ClassVar[tuple[str, ...]] = ("update_task_language",)

    language_code: Annotated[str, AfterValidator(rule(checked_language))] = Field(
        description="The language that the task is written in, as a code like en or de."
    )
    confidence: Literal["high", "medium", "low"] | None = Field(default=None, description="How sure you are.")

    def at_once(self, tx: Transaction, task_id: str, policy: Policy | None = None) -> str:
        """A language is the user's if its source says so, and also if the write that holds it was a user's, whatever
        the source says."""
        entity = tx.entity(task_id)
        if entity is None or entity.type != "task" or is_deleted(entity):
            return skipped("the task is not here, or was deleted")
        if policy is not None and not allows(policy, entity):
            return skipped("you are not allowed in the task's category")
        task, held, code = view(entity, Task), entity.winner("languageCode"), self.language_code
        if self.confidence == "low":
            return skipped("the language is recorded only when you are sure of it")
        if task.language_code == code:
            return skipped(f'language is already "{code}"')
        by_user = task.language_source != "agent" or (held is not None and held.stamp.precedence == PERSON)
        if task.language_code is not None and by_user:
            return skipped(f'the user chose the language "{task.language_code}"')
        tasks.edit_task(tx, task_id, {"languageCode": code, "languageSource": "agent"})
        return f'Language set to "{code}".'
