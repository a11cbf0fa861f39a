"""Verdicts that were begun and not finished: cut off in the middle, or failed (docs/specs/10-review.md)."""

from typing import NamedTuple

from lottisync import wording
from lottisync.review import index, saga
from lottisync.review.item_names import name_of
from lottisync.store.reader import Reader
from lottisync.store.store import Store


class NotCarriedOut(NamedTuple):
    """The name of the item; why its effect failed, or None for a verdict that was begun, and will be finished."""

    item: str
    because: str | None


def not_carried_out(agent_store: Store, now: int) -> list[NotCarriedOut]:
    """The verdicts that were begun and are not finished; and those that failed, if the item still waits for a
    verdict."""
    with index.reading(agent_store, now) as reader:
        begun = [
            NotCarriedOut(name_of(reader, each.item), None) for _, each in saga.pending(reader) if each is not None
        ]
        return begun + _failed(reader, now)


def _failed(reader: Reader, now: int) -> list[NotCarriedOut]:
    """The items whose effects failed. The item is found by the operation's id, so also if the request cannot be
    read."""
    why = dict(
        reader.local(
            """select operation_id, last_error from saga_log
               where status = 'failed' or status = 'pending' and not json_valid(request)"""
        )
    )
    if not why:
        return []
    ledger = index.ledger_of(reader, {entry.set_id for entry in index.entries(reader, only_open=True)}, now)
    return [
        NotCarriedOut(name_of(reader, placed.item.id), wording.of_column(error) if error else None)
        for placed in ledger.placed()
        if placed.state.open and (error := why.get(placed.item.operation_id, "")) != ""
    ]
