"""What no model is ever told (docs/specs/08-journal.md, section 7).

The person marks a task, a label or a category with `neverSend`. A task is withheld if it is marked itself, or has such
a label, or is in such a category. The mark is a field that replicates like all others.
"""

from typing import NamedTuple

import msgspec

from lottisync.entities.entity import Entity, is_deleted
from lottisync.entities.version import Damaged
from lottisync.entities.view import view
from lottisync.journal.types import Task
from lottisync.problem import Problem, Sentence
from lottisync.shown import quoted
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

MARKED = ("task", "label", "category")
"""The types that a person can mark."""


def withheld_because(reader: Reader, task: Task) -> Sentence | None:
    """Why no model is told of the task, in words for its person; None if it may be told."""
    if task.never_send:
        return Sentence("the task is marked so")
    try:
        for label_id in sorted(ident for ident, on in task.labels.items() if on):
            if is_marked(entity := reader.entity(label_id)):
                return Sentence("its label {name} is marked so", name=quoted(_name(entity)))
        if task.category_id and is_marked(entity := reader.entity(task.category_id)):
            return Sentence("its category {name} is marked so", name=quoted(_name(entity)))
    except Damaged:
        return Sentence("a label or category of it is damaged, and may be marked so")
    return None


def is_withheld(reader: Reader, entity_id: str) -> bool:
    """Whether the entity of that id is a task, a label or a category of which no model is told. A deleted one stays
    withheld."""
    entity = reader.entity(entity_id)
    if entity is not None and entity.type == "task":
        return withheld_because(reader, view(entity, Task)) is not None
    return is_marked(entity)


def is_marked(entity: Entity | None) -> bool:
    """Whether the entity itself has the mark. The mark of a deleted label or category counts until it is taken off."""
    return entity is not None and entity.type in MARKED and entity.value("neverSend") is True


class Marked(NamedTuple):
    """Something that has the mark itself; `name` is the title of a task."""

    id: str
    type: str
    name: str


def all_marked(reader: Reader) -> list[Marked]:
    """All tasks, labels and categories that have the mark, by type and name."""
    found = [
        Marked(one.id, kind, one.title or one.name)
        for kind in MARKED
        for one in reader.views(kind, _Markable)[0]
        if one.never_send
    ]
    return sorted(found, key=lambda one: (one.type, one.name.casefold(), one.id))


class _Markable(msgspec.Struct, frozen=True, rename="camel", gc=False):
    id: str
    title: str = ""
    name: str = ""
    never_send: bool = False


def mark(tx: Transaction, entity_id: str, *, never: bool) -> bool:
    """Mark a task, a label or a category, or take the mark off; False if it is so already."""
    entity = tx.entity(entity_id)
    if entity is None or entity.type not in MARKED or is_deleted(entity):
        raise Problem("unknown-id", "there is no task, label or category {quoted}", quoted=quoted(entity_id))
    if is_marked(entity) == never:
        return False
    tx.put(entity_id, entity.type, {"neverSend": never})
    return True


def _name(entity: Entity | None) -> str:
    return str(entity.value("name") or "") if entity is not None else ""
