"""What an agent looks up while it is awake (docs/specs/09-agents.md, section 7).

A model does not get a large task in full (`lottisync.agents.budget`). These two tools find the rest of it. They only
read, they see one task, and they are answered at once. An answer has a limit, and so have all answers of a wake
together.
"""

from collections.abc import Sequence
from typing import Any

from lottisync.agents import thread
from lottisync.agents.budget import chosen, size, squeezed, text
from lottisync.agents.toolbox import ReadEntries, SearchTask
from lottisync.journal import tasks
from lottisync.journal.tasks import TaskPage
from lottisync.journal.types import Entry
from lottisync.store.reader import Reader

MAX_ANSWER = 12_000
"""Bytes of one answer."""
MAX_RESULTS = 20
_AROUND = 200
"""Characters that a result shows on each side of what was found."""


class Lookups:
    """The look-ups of one wake about one task; `room` in bytes for all their answers."""

    def __init__(self, agent_id: str, task_id: str, room: int) -> None:
        self._agent_id, self._task_id, self._room = agent_id, task_id, room

    def answer(self, journal: Reader, agents: Reader, call: ReadEntries | SearchTask) -> str:
        """What the call asks for, as JSON."""
        if self._room < MAX_ANSWER // 4:
            return "Rejected: this wake has read as much as it may. Go on with what you know."
        page = tasks.page(journal, self._task_id)
        room = min(self._room, MAX_ANSWER) - MAX_ANSWER // 20
        if isinstance(call, ReadEntries):
            found = _entries(page, call, room)
        else:
            found = _search(_all_of(page, agents, self._agent_id), call, room)
        answer = text(found)
        self.spend(answer)
        return answer

    def spend(self, answer: str) -> None:
        """Count an answer that was given."""
        self._room -= len(answer.encode())


def _entries(page: TaskPage, call: ReadEntries, room: int) -> dict[str, Any]:
    """Entries by their ids, or the newest ones before an entry; how many are older than the first of these."""
    if call.ids:
        wanted = [entry for entry in page.entries if entry.id in call.ids]
        older = 0
    else:
        indexes = [index for index, entry in enumerate(page.entries) if entry.id == call.before]
        end = indexes[0] if indexes else len(page.entries)
        wanted = page.entries[max(0, end - MAX_RESULTS) : end]
        older = end - len(wanted)
    shown = [squeezed(_entry(entry, call.offset), room // (2 if len(wanted) == 1 else 8)) for entry in wanted]
    kept = chosen(shown, room, range(len(shown) - 1, -1, -1))
    return {"entries": [shown[index] for index in kept], "olderLeftOut": older + len(shown) - len(kept)}


def _entry(entry: Entry, offset: int = 0) -> dict[str, Any]:
    shown = {"type": "entry", "id": entry.id, "at": entry.at, "author": entry.author, "text": entry.text[offset:]}
    return shown if entry.minutes is None else shown | {"minutes": entry.minutes}


def _all_of(page: TaskPage, agents: Reader, agent_id: str) -> list[dict[str, Any]]:
    """All that can be found: log entries and items, the newest first, and the agent's own notes."""
    items = [
        {
            "type": "item",
            "id": item.id,
            "isChecked": item.is_checked,
            "checkedBy": item.checked_by,
            "archived": item.is_archived,
            "text": item.title,
        }
        for item in (*page.items, *page.archived)
    ]
    notes = [
        {"type": "note", "at": note.created_at, "text": thread.full_text(agents, note)}
        for note in thread.observations(agents, agent_id)
    ]
    return [*(_entry(entry) for entry in reversed(page.entries)), *items, *reversed(notes)]


def _search(candidates: Sequence[dict[str, Any]], call: SearchTask, room: int) -> dict[str, Any]:
    """The entries whose text has all the words, whatever the capitals. Without words, all."""
    words = call.words.casefold().split()
    found = [
        each
        for each in candidates
        if call.type in (None, each["type"]) and all(word in each["text"].casefold() for word in words)
    ]
    results: list[dict[str, Any]] = []
    for each in found[call.skip : call.skip + MAX_RESULTS]:
        shown = {**each, "text": _around(each["text"], words)}
        room -= size(shown)
        if room < 0:
            break
        results.append(shown)
    return {"found": len(found), "skipped": call.skip, "results": results}


def _around(found: str, words: Sequence[str]) -> str:
    """The part of a text that has the first word."""
    # A letter may have two in lower case, so the place is a close one.
    middle = found.casefold().find(words[0]) if words else 0
    start = max(0, middle - _AROUND)
    part = found[start : middle + _AROUND + (len(words[0]) if words else 0)]
    return ("…" if start else "") + part + ("…" if start + len(part) < len(found) else "")
