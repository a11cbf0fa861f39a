"""Whether what a proposal cites came after what it wants to override (docs/specs/10-review.md, SOV-11 to SOV-14).

"From after the user's toggle" is asked of causality and never of clocks on walls: a phone that is a day
ahead would date every old note after every tick. Each entry that a user writes records what the
journal knew at that moment. If that covers the writes that the tick holds, its author had seen the
tick; nothing else shows it. The entry's own clock would not do: it counts writes to the entry.

    follows    every cited entry was written by someone who knew of the tick
    unknown    some were written beside it: may be proposed, and is shown as such
    before     one is older than the tick: its writer could not have meant it
    unfit      one is not here, of another task, deleted, or not the user's own words
    none       nothing is cited

That an entry is *older* can be told only within one host, whose writes are numbered. Of two hosts it
takes knowledge to say so, and a tick does not carry any; such an entry counts as written beside.
"""

from collections.abc import Iterable, Sequence

from lottisync.causality.vector_clock import Clock, Dot, Host, covers, has_seen
from lottisync.entities.entity import Entity, is_deleted
from lottisync.entities.view import view
from lottisync.journal.types import Entry
from lottisync.review.action import Cited, Grade
from lottisync.review.precedence import PERSON
from lottisync.store.reader import Reader


def grade(reader: Reader, target: Entity | None, task_id: str, cited: Sequence[str]) -> Grade:
    """What the entries `cited` are worth against the tick of `target`: the worst of them counts."""
    if target is None or not cited:
        return Grade.NONE
    if unfit(reader, task_id, cited) is not None:
        return Grade.UNFIT
    grades = {_grade(reader.entity(entry_id), toggle(target)) for entry_id in cited}
    return next(worst for worst in (Grade.BEFORE, Grade.UNKNOWN, Grade.FOLLOWS) if worst in grades)


def unfit(reader: Reader, task_id: str, cited: Iterable[str]) -> str | None:
    """Why a cited entry is no evidence whatever it was cited for, in words for the model."""
    for entry_id in cited:
        entry = reader.entity(entry_id)
        if entry is None or entry.type != "entry":
            return f"evidence {entry_id}: not found"
        if entry.value("taskId") != task_id:
            return f"evidence {entry_id}: wrong task"
        if is_deleted(entry):
            return f"evidence {entry_id}: it was deleted"
        written = entry.winner("text")
        if view(entry, Entry).author != "user" or written is None or written.stamp.precedence != PERSON:
            return f"evidence {entry_id}: it was not written by the user"
    return None


def written_after(reader: Reader, cited: Iterable[str], knowledge: Clock) -> bool:
    """Whether one of the entries was written by the user knowing all of `knowledge` and is not part of it."""
    for entry_id in cited:
        entity = reader.entity(entry_id)
        if entity is None or any(has_seen(knowledge, dot) for dot in entity.dots("text")):
            continue
        entry = view(entity, Entry)
        knew: dict[Host, int] = entry.knowledge  # type: ignore[assignment]
        if entry.author == "user" and covers(knew, knowledge):
            return True
    return False


def cited(reader: Reader, entry_ids: Iterable[str]) -> list[Cited]:
    """The entries as they read now; one that is not here or was deleted has no text."""
    found = []
    for entry_id in entry_ids:
        entity = reader.entity(entry_id)
        here = entity is not None and entity.type == "entry" and not is_deleted(entity)
        entry = view(entity, Entry) if here and entity is not None else Entry(entry_id)
        found.append(Cited(entry_id, entry.text, entry.at))
    return found


def toggle(item: Entity) -> frozenset[Dot]:
    """The writes that an entry has to follow: those of the tick, or of the item that never had one (S0-44)."""
    ticked = item.dots("isChecked") or item.dots("createdAt")
    return ticked or frozenset(Dot(host, counter) for host, counter in item.clock.items())


def _grade(entry: Entity | None, ticked: frozenset[Dot]) -> Grade:
    assert entry is not None
    knew: dict[Host, int] = view(entry, Entry).knowledge  # type: ignore[assignment]
    if all(has_seen(knew, dot) for dot in ticked):
        return Grade.FOLLOWS
    written = {dot.host: dot.counter for dot in entry.dots("text")}
    if any(written.get(dot.host, dot.counter) < dot.counter for dot in ticked):
        return Grade.BEFORE
    return Grade.UNKNOWN
