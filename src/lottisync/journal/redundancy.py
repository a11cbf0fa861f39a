"""Proposals that would change nothing, in words for the model (docs/specs/10-review.md, section 4, REV-20, REV-21).

The comparisons are pure: the current values are arguments, in the form of the journal's views."""

from collections.abc import Iterable
from typing import Any

from lottisync.review.proposal import plain


def same(proposed: Any, current: Any) -> bool:
    if isinstance(proposed, str) and isinstance(current, str):
        return proposed.strip() == current.strip()
    return type(proposed) is type(current) and bool(proposed == current)


def addition(title: str, existing: Iterable[str], where: str) -> str | None:
    """The sentence that an item with that title exists, ignoring capitals and white space; None if there is none."""
    if any(plain(title) == plain(other) for other in existing):
        return f'"{title}" is already {where}'
    return None
