"""Labels and categories by name (docs/specs/08-journal.md).

Names are compared without capitals. A new label gets an id that is derived from its name. So if two devices create the
same label at the same time, there is one.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from lottisync.entities.schema import derived_id
from lottisync.journal.task_values import checked_title
from lottisync.journal.tasks import read, word_of
from lottisync.journal.types import Task
from lottisync.problem import Problem
from lottisync.shown import quoted
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

NamedType = Literal["label", "category"]


class _Name(msgspec.Struct, frozen=True, gc=False):
    id: str
    name: str = ""


def of_all(reader: Reader, type_name: NamedType) -> dict[str, str]:
    """What the live labels or categories are called, by id. A damaged one is left out."""
    return {one.id: one.name for one in reader.views(type_name, _Name)[0]}


def find(reader: Reader, type_name: NamedType, name: str) -> str | None:
    """The id of the live label or category of this name. If there are several, the first."""
    wanted = " ".join(name.split()).casefold()
    return min((one.id for one in reader.views(type_name, _Name)[0] if one.name.casefold() == wanted), default=None)


def find_known(reader: Reader, type_name: NamedType, name: str) -> str:
    """As `find`; an unknown name is a `Problem`."""
    found = find(reader, type_name, name)
    if found is None:
        raise Problem("unknown-id", "there is no {word} {quoted}", word=word_of(type_name), quoted=quoted(name))
    return found


def find_or_make(tx: Transaction, type_name: NamedType, name: str) -> str:
    """The id of the label or category of this name. It is created if missing, and restored if it was deleted."""
    name = checked_title(name)
    found = find(tx, type_name, name)
    if found is not None:
        return found
    ident = derived_id(type_name, name.casefold())
    if tx.version(ident) is not None:
        tx.undelete(ident)
        tx.put(ident, type_name, {"name": name})
    else:
        tx.put(ident, type_name, {"name": name, "createdAt": iso(tx.now)})
    return ident


def label_task(tx: Transaction, task_id: str, labels: Sequence[str], *, on: bool = True) -> bool:
    """Put labels, by id, on a task, or take them off; False if nothing changes. A label that a person puts on is no
    longer suppressed (REV-8)."""
    task = read(tx, task_id, "task", Task)
    wanted = {ident: True if on else None for ident in labels if bool(task.labels.get(ident)) != on}
    fields: dict[str, object] = {"labels": wanted} if wanted else {}
    unwanted = {ident: None for ident in wanted if on and task.suppressed_labels.get(ident)}
    if unwanted:
        fields["suppressedLabels"] = unwanted
    if fields:
        tx.put(task_id, "task", fields)
    return bool(fields)
