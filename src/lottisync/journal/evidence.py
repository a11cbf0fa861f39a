"""Whether the cited evidence is later than the tick to override (docs/specs/10-review.md, SOV-11 to SOV-14).

"Later than the user's tick" is decided by causality, and never by wall clocks: a phone whose clock is a day
ahead would date every old note after every tick. Each entry that a user writes records the journal's
knowledge at that moment. If this knowledge covers the writes of the tick, its author had seen the tick. The
entry's own clock would not do: it counts writes to the entry.

    follows    the authors of all cited entries knew the tick
    unknown    some entries are concurrent with it: may be proposed, and is shown as such
    before     one is older than the tick: its author could not have meant it
    unfit      one is not here, of another task, deleted, or not written by the user
    none       nothing is cited

That an entry is *older* is visible only within one host, whose writes are numbered. Between two hosts one
would need the knowledge of the tick, which a tick does not record. Such an entry counts as concurrent.
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
    """The grade of the entries `cited` against the tick of `target`: the worst one counts."""
    if target is None or not cited:
        return Grade.NONE
    if unfit(reader, task_id, cited) is not None:
        return Grade.UNFIT
    grades = {_grade(reader.entity(entry_id), toggle(target)) for entry_id in cited}
    return next(worst for worst in (Grade.BEFORE, Grade.UNKNOWN, Grade.FOLLOWS) if worst in grades)


def unfit(reader: Reader, task_id: str, cited: Iterable[str]) -> str | None:
    """Why a cited entry cannot be evidence at all, as an answer for the model; None if each can."""
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
    """True if one of the entries is the user's, is not covered by `knowledge`, and its author knew all of
    `knowledge`."""
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
    """The entries with their present text; without one if it is not here or was deleted."""
    found = []
    for entry_id in entry_ids:
        entity = reader.entity(entry_id)
        here = entity is not None and entity.type == "entry" and not is_deleted(entity)
        entry = view(entity, Entry) if here and entity is not None else Entry(entry_id)
        found.append(Cited(entry_id, entry.text, entry.at) if here else Cited(entry_id, None, None))
    return found


def toggle(item: Entity) -> frozenset[Dot]:
    """The writes that an entry must follow: those of the tick; if there never was one, the item's creation (S0-44)."""
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
