"""What people call a status and a relation between tasks, as sentences that can be said in their language."""

from lottisync.language import marked
from lottisync.problem import Sentence
from lottisync.shown import quoted

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


def status(held: str) -> Sentence:
    """`in progress`; a status that is not known, in its own word."""
    return Sentence(STATUSES.get(held, held.lower()))


def linked(relation: str, title: str, *, on: bool) -> Sentence:
    """`blocks 'Breakfast'`, or that it no longer does."""
    ends: dict[str, object] = {"relation": Sentence(RELATIONS.get(relation, relation)), "title": quoted(title)}
    return Sentence("{relation} {title}", **ends) if on else Sentence("no longer: {relation} {title}", **ends)
