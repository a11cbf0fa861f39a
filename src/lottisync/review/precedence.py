"""Whose word a write is: the two precedences of the data layer, by the names that they have here.

A transaction is opened with one of them. One that is opened with `AGENT` cannot write with `PERSON`: code that acts for
a model has no way to speak for the person, by mistake or otherwise.
"""

from lottisync.entities.entity import DELETED_AT, HIGH, LOW

PERSON, AGENT = HIGH, LOW


def is_persons(path: str, precedence: int) -> bool:
    """Whether a person is behind a write in the store that proposals change. A deletion always is, whatever its
    precedence: an agent deletes nothing by itself, and what a person takes back is deleted with `AGENT`, so that what
    somebody writes to it elsewhere keeps it alive."""
    return precedence >= PERSON or path == DELETED_AT
