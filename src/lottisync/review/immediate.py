"""The one change that an agent makes without a verdict: the task's language (docs/specs/10-review.md, REV-6).

It says which language the task is written in already, and right or wrong it changes nothing that a
person works with. Still the person comes first: a language that they chose stays, and the write has the
agent's precedence, so it loses against one that the user chose elsewhere at the same time.
"""

from collections.abc import Mapping
from typing import Any

from lottisync.entities.entity import AGENT, USER, is_deleted
from lottisync.entities.journal import Task
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.review import tools
from lottisync.review.redundancy import skipped
from lottisync.review.tools import BadCall
from lottisync.store.transaction import Transaction


def set_language(tx: Transaction, task_id: str, args: Mapping[str, Any]) -> str:
    """Carry out `set_task_language` in a transaction of the journal; returns the answer for the model.

    A language is the user's if its source says so, and also if the write that holds it was a user's,
    whatever the source says."""
    call = tools.checked_call("set_task_language", dict(args))
    if isinstance(call, BadCall):
        return call.text
    entity = tx.entity(task_id)
    if entity is None or entity.type != "task" or is_deleted(entity):
        return skipped("the task is not here, or was deleted")
    task, held, code = view(entity, Task), entity.winner("languageCode"), call.args["languageCode"]
    if call.args.get("confidence") == "low":
        return skipped("the language is recorded only when you are sure of it")
    if task.language_code == code:
        return skipped(f'language is already "{code}"')
    by_user = task.language_source != "agent" or (held is not None and held.stamp.precedence == USER)
    if task.language_code is not None and by_user:
        return skipped(f'the user chose the language "{task.language_code}"')
    tasks.edit_task(tx, task_id, {"languageCode": code, "languageSource": "agent"}, precedence=AGENT)
    return f'Language set to "{code}".'
