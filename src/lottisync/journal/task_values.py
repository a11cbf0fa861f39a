"""Values of tasks that a person or a tool gives: checked, and brought to the form in which they are stored
(docs/specs/08-journal.md).

Each function gives the stored form. It raises `Problem("bad-value", ...)`, with a sentence that says what fits.
"""

import contextlib
import re
from datetime import date

from lottisync.journal.types import LANGUAGES, PRIORITIES, STATUSES
from lottisync.problem import Problem
from lottisync.shown import quoted

MAX_TITLE = 400
MAX_TEXT = 100_000
MAX_MINUTES = 24 * 60
_DAY = re.compile(r"\A\d{4}-\d{2}-\d{2}\Z")


def checked_title(text: str) -> str:
    title = " ".join(text.split())
    if not 1 <= len(title) <= MAX_TITLE:
        raise Problem(
            "bad-value", "a title has 1 to {max_title} characters; got {count}", max_title=MAX_TITLE, count=len(title)
        )
    return title


def checked_text(text: str) -> str:
    text = text.strip()
    if not 1 <= len(text) <= MAX_TEXT:
        raise Problem(
            "bad-value", "a note has 1 to {max_text} characters; got {count}", max_text=MAX_TEXT, count=len(text)
        )
    return text


def checked_minutes(minutes: int) -> int:
    if not 1 <= minutes <= MAX_MINUTES:
        raise Problem(
            "bad-value", "minutes go from 1 to {max_minutes}; got {minutes}", max_minutes=MAX_MINUTES, minutes=minutes
        )
    return minutes


def checked_minutes_spent(minutes: int) -> int:
    """Checks the minutes of time that was spent. A timer that is stopped at once has none."""
    return checked_minutes(minutes) if minutes else 0


def checked_day(text: str) -> str:
    with contextlib.suppress(ValueError):
        if _DAY.match(text):
            return date.fromisoformat(text).isoformat()
    raise Problem("bad-value", "a due date is a day like 2026-12-01; got {quoted}", quoted=quoted(text))


def checked_priority(text: str) -> str:
    priority = text.strip().upper()
    if priority not in PRIORITIES:
        raise Problem(
            "bad-value",
            "a priority is one of {priorities}; got {quoted}",
            priorities=", ".join(PRIORITIES),
            quoted=quoted(text),
        )
    return priority


def checked_status_name(text: str) -> str:
    status = " ".join(text.upper().replace("_", " ").split())
    if status not in STATUSES:
        raise Problem(
            "bad-value",
            "a status is one of {statuses}; got {quoted}",
            statuses=", ".join(STATUSES),
            quoted=quoted(text),
        )
    return status


def checked_status(text: str, reason: str | None) -> dict[str, str | None]:
    """`status` and `statusReason`, which are written together; BLOCKED and ON HOLD need the reason."""
    status = checked_status_name(text)
    reason = (reason or "").strip() or None
    if status in ("BLOCKED", "ON HOLD") and reason is None:
        raise Problem("bad-value", "the status {status} needs a reason", status=status)
    return {"status": status, "statusReason": reason}


def checked_language(text: str) -> str:
    code = text.strip().lower()
    if code not in LANGUAGES:
        raise Problem(
            "bad-value", "a language is a code of ISO 639-1, like en or de; got {quoted}", quoted=quoted(text)
        )
    return code


def language_fields(text: str) -> dict[str, str | None]:
    """The language that a person says a task is written in, as its fields. With no text, it has none, and an agent may
    record it again."""
    return {"languageCode": checked_language(text) if text.strip() else None, "languageSource": "user"}
