"""A field of a browser that holds a day and a time, by the reader's clock, to the minute."""

import re
from datetime import datetime

from lottisync.problem import Problem
from lottisync.store.instant import from_there, iso, millis, there


def shown(instant: str | None) -> str:
    """An instant as the field holds it; '' for none."""
    try:
        return there(millis(instant or "")).strftime("%Y-%m-%dT%H:%M")
    except (ValueError, OverflowError):
        return ""


def instant(text: str) -> str:
    """The instant that the field says."""
    refused = Problem("bad-value", "write a day and a time, like 2026-12-01T14:00; got {text!r}", text=text[:40])
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?", text.strip(), re.ASCII):
        raise refused
    try:
        return iso(from_there(datetime.fromisoformat(text.strip())))
    except (ValueError, OverflowError):
        raise refused from None


def still(held: str | None, text: str) -> str | None:
    """The instant that the field says. If the person has not changed it, that is `held`, to the millisecond."""
    return held if text.strip() in ("", shown(held)) else instant(text)
