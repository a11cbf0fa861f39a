"""Time that was spent on a task, and the timer that runs (docs/specs/08-journal.md, section 4).

A time entry lasts from one instant to another. A timer is a time entry whose end is not known yet: data like any other,
so it can be started on one device and stopped on another. A person does one thing at a time, so a timer that starts
stops the one that runs. Two devices that do not see each other may still start one each. Then both run, are shown, and
can be stopped.

Each verb works inside a transaction that the caller opened, as those of `lottisync.journal.tasks` do.
"""

from collections.abc import Mapping
from typing import NamedTuple

from lottisync.causality.vector_clock import Dot
from lottisync.journal import task_values, tasks
from lottisync.journal.types import TIME, Entry
from lottisync.language import marked
from lottisync.problem import Problem
from lottisync.shown import quoted
from lottisync.store.instant import iso, millis, millis_or_none
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

ENTRY = "entry"
MAX_SPAN = task_values.MAX_MINUTES * 60_000
DEFAULT_TEXT = marked("Time spent")
"""What an entry says for which nothing was typed, in the language of that person."""


class Span(NamedTuple):
    """From when to when, as instants (ISO 8601, UTC). Without an end it goes on."""

    at: str
    end: str | None

    def fields(self) -> dict[str, str | None]:
        return {"at": self.at, "end": self.end}


def checked_instant(text: str) -> str:
    """An instant in its stored form, UTC; `Problem` if it has no offset or cannot be read."""
    if (found := instant(text)) is None:
        raise Problem(
            "bad-value", "a time is an instant like 2026-12-01T14:00:00+01:00; got {quoted}", quoted=quoted(text)
        )
    return found


def instant(text: str) -> str | None:
    """As `checked_instant`; None if the text is not an instant."""
    found = millis_or_none(text.strip())
    return None if found is None else iso(found)


def checked_span(at: str, end: str | None) -> Span:
    """A span of at most a day that does not end before it begins."""
    span = Span(checked_instant(at), None if end is None else checked_instant(end))
    if span.end is not None and not 0 <= millis(span.end) - millis(span.at) <= MAX_SPAN:
        raise Problem(
            "bad-value",
            "time is spent from a start to a later end, at most a day apart; got {at} to {end}",
            at=span.at,
            end=span.end,
        )
    return span


def read(reader: Reader, entry_id: str) -> Entry:
    """A live time entry; `Problem` if there is none of this id, or if it is a note."""
    entry = tasks.read(reader, entry_id, ENTRY, Entry)
    if entry.kind != TIME:
        raise Problem("unknown-id", "{entry_id} is a note, and no time that was spent", entry_id=entry_id)
    return entry


def running(reader: Reader) -> list[Entry]:
    """The timers that run, the oldest first."""
    found = [document.view(Entry) for document in reader.documents(ENTRY, subtype=TIME)]
    return sorted((entry for entry in found if entry.runs), key=lambda entry: (entry.at, entry.id))


def add(
    tx: Transaction,
    entry_id: str,
    task_id: str,
    text: str,
    span: Span,
    *,
    author: str = "user",
    extra: Mapping[str, object] = {},
) -> Dot:
    """Write down time that was spent; with a span that has no end, a timer that runs."""
    return tasks.add_entry(tx, entry_id, task_id, {**fields(text, span), **extra}, author)


def fields(text: str, span: Span) -> dict[str, str | None]:
    """What a time entry stores beside that which every entry does."""
    return {"kind": TIME, "text": task_values.checked_text(text), **span.fields()}


def start(tx: Transaction, entry_id: str, task_id: str, text: str, at: str) -> list[Entry]:
    """Start a timer at that instant. The timers that ran are stopped, and returned as they were."""
    stopped = running(tx)
    span = checked_span(at, None)
    for entry in stopped:
        stop(tx, entry.id, max(span.at, entry.at))
    add(tx, entry_id, task_id, text, span)
    return stopped


def stop(tx: Transaction, entry_id: str, end: str) -> Dot | None:
    """Stop a timer at that instant; None if it does not run any more. What ran for more than a day is cut to a day:
    the person forgot it, and `edit` says what was meant."""
    entry = read(tx, entry_id)
    if not entry.runs:
        return None
    last = iso(millis(entry.at) + MAX_SPAN)
    span = checked_span(entry.at, min(checked_instant(end), last))
    return tx.put(entry_id, ENTRY, span.fields())


def edit(tx: Transaction, entry_id: str, *, text: str | None = None, span: Span | None = None) -> Dot | None:
    """Change the words or the span of a time entry; None if it is so already."""
    entry = read(tx, entry_id)
    fields: dict[str, str | None] = {}
    if text is not None and task_values.checked_text(text) != entry.text:
        fields["text"] = task_values.checked_text(text)
    if span is not None and span != (entry.at, entry.end):
        fields |= span.fields()
    return tx.put(entry_id, ENTRY, fields) if fields else None


def remove(tx: Transaction, entry_id: str) -> Dot:
    """Delete a time entry."""
    read(tx, entry_id)
    return tx.delete(entry_id)
