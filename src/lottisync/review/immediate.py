"""What an agent changes without a verdict: the task's language (docs/specs/10-review.md, REV-6), and ticks
where the person has opted in (REV-9).

The language says which language the task is written in already, and right or wrong it changes nothing that a
person works with. Still the person comes first: a language that they chose stays, and the write has the
agent's precedence, so it loses against one that the user chose elsewhere at the same time.

`update_item` is the direct path: for programs that act for an agent without a model, and for completions
of an agent that may tick by itself. A model's call never comes here but through that setting.
"""

from collections.abc import Mapping
from typing import Any

from lottisync.entities.entity import is_deleted
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.journal.types import ChecklistItem, Task
from lottisync.review import effect, redundancy, tools
from lottisync.review.evidence import Grade
from lottisync.review.precedence import PERSON
from lottisync.review.redundancy import skipped
from lottisync.review.terms import Terms
from lottisync.review.tools import BadCall
from lottisync.store.instant import iso
from lottisync.store.transaction import Transaction


def set_language(tx: Transaction, task_id: str, args: Mapping[str, Any], terms: Terms | None = None) -> str:
    """Carry out `set_task_language` in a transaction of the journal; returns the answer for the model.

    A language is the user's if its source says so, and also if the write that holds it was a user's,
    whatever the source says. With `terms` the agent must be allowed in the task's category."""
    call = tools.checked_call("set_task_language", dict(args))
    if isinstance(call, BadCall):
        return call.text
    entity = tx.entity(task_id)
    if entity is None or entity.type != "task" or is_deleted(entity):
        return skipped("the task is not here, or was deleted")
    if terms is not None and not terms.allows(entity):
        return skipped("you are not allowed in the task's category")
    task, held, code = view(entity, Task), entity.winner("languageCode"), call.args["languageCode"]
    if call.args.get("confidence") == "low":
        return skipped("the language is recorded only when you are sure of it")
    if task.language_code == code:
        return skipped(f'language is already "{code}"')
    by_user = task.language_source != "agent" or (held is not None and held.stamp.precedence == PERSON)
    if task.language_code is not None and by_user:
        return skipped(f'the user chose the language "{task.language_code}"')
    tasks.edit_task(tx, task_id, {"languageCode": code, "languageSource": "agent"})
    return f'Language set to "{code}".'


def update_item(
    tx: Transaction, agent_id: str, task_id: str, args: Mapping[str, Any], terms: Terms, *, own_only: bool = False
) -> str | None:
    """`update_checklist_item` at once, in a transaction of the journal; returns the answer. The guard stands
    here as well; what the agent set it changes freely, in both directions (S0-08). With `own_only` an
    item that an agent did not set last is not touched at all, and the answer is None (S0-53)."""
    call = tools.checked_call("update_checklist_item", dict(args))
    if isinstance(call, BadCall):
        return call.text
    sight = effect.look(tx, call.tool, call.args, task_id)
    hindrance = effect.obstacle(sight, call.tool, call.args, task_id, terms)
    if hindrance is not None or sight.target is None:
        return skipped(hindrance or "checklist item: not found")
    item = view(sight.target, ChecklistItem)
    if own_only and item.set_by_user:
        return None
    so_already = redundancy.checklist_item(call.args, item.title, item.is_checked)
    if so_already is not None:
        return skipped(so_already)
    if sight.grade is Grade.UNKNOWN:  # for a person to judge, and there is none on this path
        sight = sight._replace(grade=Grade.UNFIT)
    withheld = effect.objection(sight, call.args, terms)
    fields: dict[str, Any] = {"title": call.args["title"]} if call.args.get("title", item.title) != item.title else {}
    checked = call.args.get("isChecked", item.is_checked)
    if checked != item.is_checked and withheld is None:
        fields |= {
            "isChecked": checked,
            "checkedBy": "agent",
            "checkedAt": iso(tx.now),
            "checkReason": call.args.get("reason"),
            "proposedBy": agent_id,
        }
    if not fields:
        return skipped(withheld or "nothing would change")
    tx.put(item.id, "checklistItem", fields)
    said = [] if "isChecked" not in fields else ["checked" if checked else "unchecked"]
    said += ["title"] if "title" in fields else []
    answer = f"Updated: {', '.join(said)}"
    if "isChecked" in fields and item.set_by_user:
        answer += " (override reason logged)"
    return f"{answer}. {withheld}" if withheld else answer
