"""Checklists, and the place of an item: moved to another checklist, put away, taken out again
(docs/specs/08-journal.md, section 3).

An item names its task, its checklist and its rank, and these three are one value: a move writes all of them. So two
devices that move one item at the same time leave it in one of the two positions.

Each verb works inside a transaction that the caller opened, as those of `lottisync.journal.tasks` do.
"""

from lottisync.causality.vector_clock import Dot
from lottisync.journal import task_values, tasks
from lottisync.journal.types import Checklist, ChecklistItem
from lottisync.problem import Problem, Sentence, counted
from lottisync.shown import quoted
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


def find(reader: Reader, task_id: str, named: str) -> str:
    """The id of the checklist of a task that a person named, by its id or its title, whatever the capitals. `Problem`
    if none or several fit."""
    there = tasks.page(reader, task_id).checklists
    wanted = " ".join(named.split()).casefold()
    fitting = [each.id for each in there if named == each.id or each.title.casefold() == wanted]
    if len(fitting) == 1:
        return fitting[0]
    raise Problem(
        "unknown-id" if not fitting else "ambiguous-id",
        "{checklists} of the task are called {quoted}; it has: {titles}",
        checklists=counted("{count} checklist", "{count} checklists", len(fitting))
        if fitting
        else Sentence("no checklists"),
        quoted=quoted(named),
        titles=", ".join(f"{quoted(each.title)} ({each.id[-8:]})" for each in there) or "none",
    )


def move_item(tx: Transaction, item_id: str, task_id: str, checklist_id: str) -> Dot | None:
    """Put an item at the end of a checklist, of its own task or of another; None if it is there already."""
    item = tasks.read(tx, item_id, "checklistItem", ChecklistItem)
    tasks.read(tx, checklist_id, "checklist", Checklist)
    if (item.task_id, item.checklist_id) == (task_id, checklist_id):
        return None
    return tx.put(item_id, "checklistItem", tasks.position_in(tx, task_id, checklist_id))


def archive_item(tx: Transaction, item_id: str, archived: bool = True) -> Dot | None:
    """Put an item away, or take it out again; None if it is so already. Its tick stays as it is (S0-24)."""
    if tasks.read(tx, item_id, "checklistItem", ChecklistItem).is_archived == archived:
        return None
    return tx.put(item_id, "checklistItem", {"isArchived": archived})


def rename(tx: Transaction, checklist_id: str, title: str) -> Dot | None:
    """Give a checklist another title; None if it is so already."""
    if tasks.read(tx, checklist_id, "checklist", Checklist).title == task_values.checked_title(title):
        return None
    return tx.put(checklist_id, "checklist", {"title": task_values.checked_title(title)})
