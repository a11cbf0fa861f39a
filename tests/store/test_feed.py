"""The change feed misses nothing and repeats what was not finished (STORE-18)."""

from pathlib import Path

import pytest
from tests.support.stores import NOON, minting, new_store, send

from lottisync.entities.entity import HIGH
from lottisync.journal.types import JOURNAL
from lottisync.problem import Problem
from lottisync.store.feed import Feed
from lottisync.store.store import Store


def ids(feed: Feed) -> list[str]:
    return [change.id for change in feed.take()]


def test_a_new_consumer_sees_all_that_is_there_in_order(tmp_path: Path) -> None:
    """STORE-18"""
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("b", "task", {"title": "x"})
        tx.put("a", "task", {"title": "y"})
        tx.delete("b")
    feed = Feed(store, "page")
    changes = feed.take()
    assert [(c.id, c.type, c.deleted) for c in changes] == [("a", "task", False), ("b", "task", True)]
    assert feed.take(limit=1) == changes[:1]


def test_what_was_taken_and_not_finished_comes_again(tmp_path: Path) -> None:
    """STORE-18: also after the consumer was killed in between."""
    store = new_store(tmp_path)
    for ident in "abc":
        with store.transaction(NOON, HIGH) as tx:
            tx.put(ident, "task", {"title": "x"})
    first = Feed(store, "page").take()
    Feed(store, "page").done(first[0], NOON)
    store.close()
    again = Store.open(tmp_path / "journal-1.sqlite", JOURNAL, minting(1))
    assert ids(Feed(again, "page")) == ["b", "c"]
    assert ids(Feed(again, "another")) == ["a", "b", "c"]


def test_changes_by_peers_and_by_other_processes_are_changes(tmp_path: Path) -> None:
    """STORE-18"""
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    feed = Feed(b, "page")
    with a.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "x"})
    send(a, b)
    assert ids(feed) == ["t"]
    feed.done(feed.take()[-1], NOON)
    send(a, b)
    assert ids(feed) == []
    other = Store.open(tmp_path / "journal-2.sqlite", JOURNAL, minting(2))
    with other.transaction(NOON, HIGH) as tx:
        tx.put("u", "task", {"title": "x"})
        tx.put("t", "task", {"title": "y"})
    assert ids(feed) == ["u", "t"]


def test_the_cursor_never_goes_back(tmp_path: Path) -> None:
    """STORE-18: two programs under one name at worst repeat."""
    store = new_store(tmp_path)
    with store.transaction(NOON, HIGH) as tx:
        tx.put("a", "task", {"title": "x"})
        tx.put("b", "task", {"title": "x"})
    feed = Feed(store, "page")
    first, second = feed.take()
    feed.done(second, NOON)
    feed.done(first, NOON)
    assert ids(feed) == []


def test_a_join_that_changes_nothing_is_not_a_change(tmp_path: Path) -> None:
    a, b = new_store(tmp_path, 1), new_store(tmp_path, 2)
    with a.transaction(NOON, HIGH) as tx:
        tx.put("t", "task", {"title": "x"})
    send(a, b)
    feed = Feed(a, "page")
    feed.done(feed.take()[-1], NOON)
    send(b, a)
    assert ids(feed) == []


@pytest.mark.parametrize("name", ["", "x" * 65])
def test_a_consumer_has_a_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(Problem):
        Feed(new_store(tmp_path), name)
