"""What a person reads for each status and result of a proposal."""

from lottisync.language import marked, say

STATES = {
    "applied": marked("applied"),
    "no-op": marked("already so"),
    "stale": marked("changed since"),
    "failed": marked("could not be done"),
    "already": marked("left as it is"),
    "rejected": marked("rejected"),
    "deferred": marked("put off"),
    "undone": marked("undone"),
    "kept": marked("kept"),
    "pending": marked("waits"),
    "confirmed": marked("confirmed"),
    "retracted": marked("retracted"),
    "superseded": marked("another proposal took its place"),
    "expired": marked("expired, no decision"),
    "contested": marked("contested: devices decided differently"),
}


def word(state: str) -> str:
    """The word for a status or a result; one that this version does not know stays as it is."""
    return say(STATES.get(state, state))
