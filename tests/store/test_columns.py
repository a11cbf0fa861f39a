"""The columns that are filled from a document: the same whatever way a row came to be."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.stores import NOON, new_store, send

from lottisync.entities.entity import HIGH
from lottisync.store.store import Store


def columns(store: Store) -> list[tuple[Any, ...]]:
    with store.reading() as reader:
        return reader.local("select id, task_id, subtype, created_at from journal_entities")


@pytest.mark.parametrize(
    "writes",
    [
        [{"title": "a", "taskId": "t1"}, {"taskId": "t2"}],
        [{"title": "a", "taskId": "t1"}, {"title": "b"}],
        [{"title": "a", "taskId": "t1"}, {"taskId": None}],
        [{"title": "a", "taskId": "t1"}, {"createdAt": "2025-01-01T00:00:00.000Z"}],
        [{"title": "a", "createdAt": "2025-01-01T00:00:00.000Z"}, {"title": "b"}],
        [{"title": "a", "createdAt": "2025-01-01T00:00:00.000Z"}, {"createdAt": None}],
        [{"taskId": "t1", "createdAt": "2025-01-01T00:00:00.000Z"}, {"taskId": "t2"}],
        [{"title": "a", "createdAt": "2025-01-01T00:00:00.000Z"}, {"createdAt": "2024-01-01T00:00:00.000Z"}],
        [{"title": "a", "createdAt": None}, {"title": "b", "createdAt": None}],
        [{"title": "a", "createdAt": 5}, {"title": "b", "createdAt": 5}],
        [{"title": "a"}, {"title": "b"}],
        [{"title": "a"}, {"createdAt": None}, {"title": "b"}],
        [{"title": "a"}, {"createdAt": 5}, {"title": "b"}],
    ],
)
def test_an_edited_row_is_filled_like_one_that_came_whole(tmp_path: Path, writes: list[dict[str, Any]]) -> None:
    """STORE-30: also where the text that says when it was made is missing, and its stamps tell it."""
    edited, followed, fresh = (new_store(tmp_path, number) for number in (1, 2, 3))
    for number, fields in enumerate(writes):
        with edited.transaction(NOON + number * 60_000, HIGH) as tx:
            tx.put("i1", "checklistItem", fields)
        send(edited, followed)
    send(edited, fresh)
    assert columns(edited) == columns(followed) == columns(fresh)
