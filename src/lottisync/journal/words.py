"""What people call a register, a status and a relation between tasks, in their language."""

from typing import Any

import msgspec

from lottisync.language import marked, say, translated
from lottisync.problem import Sentence
from lottisync.shown import quoted
from lottisync.store.instant import holds_instant, to_the_minute

FIELDS = {
    "title": marked("Title"),
    "status": marked("Status"),
    "statusReason": marked("Reason"),
    "priority": marked("Priority"),
    "due": marked("Due date"),
    "estimate": marked("Estimate"),
    "remindAt": marked("Reminder"),
    "repeat": marked("Repeats"),
    "categoryId": marked("Category"),
    "languageCode": marked("Language"),
    "languageSource": marked("Language set by"),
    "isChecked": marked("Done"),
    "isArchived": marked("Archived"),
    "description": marked("Description"),
    "createdAt": marked("Created"),
    "deletedAt": marked("Deleted"),
    "text": marked("Text"),
    "minutes": marked("Time"),
    "rank": marked("Position"),
    "name": marked("Name"),
    "displayName": marked("Name"),
    "color": marked("Colour"),
    "neverSend": marked("Never sent"),
    "homeDevice": marked("Home device"),
    "lifecycle": marked("State"),
    "tokensADay": marked("Tokens a day"),
    "config/tokensADay": marked("Tokens a day"),
}
"""What people call a register. One that is not here is called by its own name."""
SPAN = {"entry": marked("Time"), "at": marked("From"), "end": marked("To")}
"""The fields of time that an agent proposes to write down."""
QUOTED = marked('"{name}"')
"""What a person wrote, within a sentence of ours."""
STATUSES = {
    "OPEN": marked("open"),
    "GROOMED": marked("groomed"),
    "IN PROGRESS": marked("in progress"),
    "BLOCKED": marked("blocked"),
    "ON HOLD": marked("on hold"),
    "DONE": marked("done"),
    "REJECTED": marked("rejected"),
}
RELATIONS = {
    "relates_to": marked("relates to"),
    "blocks": marked("blocks"),
    "follows_up_on": marked("follows up on"),
    "duplicates": marked("duplicates"),
    "fixes": marked("fixes"),
    "supersedes": marked("supersedes"),
    "is_blocked_by": marked("is blocked by"),
    "has_follow_up": marked("has the follow-up"),
    "is_duplicated_by": marked("is duplicated by"),
    "is_fixed_by": marked("is fixed by"),
    "is_superseded_by": marked("is superseded by"),
}


def field(path: str) -> str:
    """A register as people call it."""
    return say({**FIELDS, **SPAN}.get(path, path))


def value(path: str, held: Any) -> str:
    """What a register holds, as text within a line; an instant by this device's clock."""
    if held is None:
        return say("none")
    if isinstance(held, bool) and path == "isArchived":
        return say("archived") if held else say("not archived")
    if isinstance(held, bool):
        return say("done") if held else say("not done")
    if path == "status":
        return translated(status(str(held)))
    return to_the_minute(held) if isinstance(held, str) and holds_instant(path) else str(held)


def stored(held: Any) -> str:
    """What a register of a program's own store holds, as it is: nothing in a word, and a text in quotation marks if it
    would not be seen, or be taken for that word."""
    nothing = say("none")
    if held is None:
        return nothing
    plain = isinstance(held, str) and held.strip() and held != nothing
    return held if plain else msgspec.json.encode(held).decode()


def status(held: str) -> Sentence:
    """`in progress`; a status that is not known, in its own word."""
    return Sentence(STATUSES.get(held, held.lower()))


def linked(relation: str, title: str, *, on: bool) -> Sentence:
    """`blocks 'Breakfast'`, or that it no longer does."""
    ends: dict[str, object] = {"relation": Sentence(RELATIONS.get(relation, relation)), "title": quoted(title)}
    return Sentence("{relation} {title}", **ends) if on else Sentence("no longer: {relation} {title}", **ends)
