"""Instants as text: UTC, milliseconds, so that they sort as they happened (docs/specs/03-entities.md, section 5)."""

from datetime import UTC, datetime


def iso(millis: int) -> str:
    """`1772316000000` -> `2026-02-28T22:00:00.000Z`."""
    moment = datetime.fromtimestamp(millis / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{millis % 1000:03d}Z"


def millis(text: str) -> int:
    """The inverse, for any ISO 8601 instant with an offset; `ValueError` for one without."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"an instant needs its offset from UTC, like 2026-02-28T22:00:00Z; got {text!r}")
    return round(moment.timestamp() * 1000)
