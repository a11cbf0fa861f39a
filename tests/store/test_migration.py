"""An older file is copied, then led to the present format; a step that fails changes nothing (STORE-19, STORE-60)."""

import threading
from pathlib import Path

import apsw
import pytest
from tests.support.event_loop import BOUND_SECONDS

from lottisync.problem import Problem
from lottisync.store.migration import upgrade


def synthetic(folder: Path) -> Path:
    """A file of a format 0 that never was: notes without a colour."""
    file = folder / "old.sqlite"
    connection = apsw.Connection(str(file))
    connection.execute("create table notes(text text); insert into notes values ('one'), ('two')").fetchall()
    connection.close()
    return file


def add_colour(connection: apsw.Connection) -> None:
    connection.execute("alter table notes add column colour text not null default 'blue'").fetchall()


def add_length(connection: apsw.Connection) -> None:
    connection.execute("alter table notes add column length integer").fetchall()
    connection.execute("update notes set length = length(text)").fetchall()


def rows(file: Path) -> list[tuple[object, ...]]:
    connection = apsw.Connection(str(file))
    try:
        return list(connection.execute("select * from notes").fetchall())
    finally:
        connection.close()


def test_a_file_of_format_0_is_led_through_every_step_and_its_copy_kept(tmp_path: Path) -> None:
    """STORE-19"""
    file = synthetic(tmp_path)
    connection = apsw.Connection(str(file))
    copy = upgrade(connection, file, 2, {0: add_colour, 1: add_length})
    assert connection.pragma("user_version") == 2
    connection.close()
    assert rows(file) == [("one", "blue", 3), ("two", "blue", 3)]
    assert copy is not None
    assert rows(copy) == [("one",), ("two",)]


def test_of_two_programs_that_open_the_file_at_once_one_leads_it_on(tmp_path: Path) -> None:
    """STORE-19: the other waits, finds it done, and leaves the backup of the file as it was alone."""
    file = synthetic(tmp_path)
    coming, led_on = threading.Event(), threading.Event()
    copies: list[Path | None] = []

    def add_colour_slowly(connection: apsw.Connection) -> None:
        add_colour(connection)
        other.start()
        assert coming.wait(BOUND_SECONDS)

    def waits(tries: int) -> bool:
        coming.set()
        return led_on.wait(BOUND_SECONDS)

    def second() -> None:
        connection = apsw.Connection(str(file))
        connection.set_busy_handler(waits)
        assert connection.pragma("user_version") == 0, "the first has not committed"
        try:
            copies.append(upgrade(connection, file, 1, {0: add_colour}))
        finally:
            coming.set()
            connection.close()

    other = threading.Thread(target=second)
    connection = apsw.Connection(str(file))
    connection.pragma("journal_mode", "wal")
    copies.append(upgrade(connection, file, 1, {0: add_colour_slowly}))
    led_on.set()
    other.join(BOUND_SECONDS)
    connection.close()
    copy = file.with_name("old.sqlite.format-0.backup")
    assert sorted(map(str, copies)) == sorted(map(str, [copy, None]))
    assert rows(file) == [("one", "blue"), ("two", "blue")]
    assert rows(copy) == [("one",), ("two",)]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".backup", ".sqlite"]


def test_a_file_of_the_present_format_is_left_alone(tmp_path: Path) -> None:
    file = synthetic(tmp_path)
    connection = apsw.Connection(str(file))
    connection.pragma("user_version", 2)
    assert upgrade(connection, file, 2, {0: add_colour}) is None
    connection.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old.sqlite"]


def test_a_step_that_fails_changes_nothing(tmp_path: Path) -> None:
    """STORE-19, STORE-60: the steps are one transaction, and the copy is there before the first."""
    file = synthetic(tmp_path)
    connection = apsw.Connection(str(file))

    def fail(connection: apsw.Connection) -> None:
        connection.execute("delete from notes").fetchall()
        raise RuntimeError("the power is gone")

    with pytest.raises(RuntimeError):
        upgrade(connection, file, 2, {0: add_colour, 1: fail})
    assert connection.pragma("user_version") == 0
    connection.close()
    assert rows(file) == [("one",), ("two",)]
    assert rows(tmp_path / "old.sqlite.format-0.backup") == [("one",), ("two",)]


def test_a_format_that_no_step_leads_away_from_is_refused_in_words(tmp_path: Path) -> None:
    file = synthetic(tmp_path)
    connection = apsw.Connection(str(file))
    with pytest.raises(Problem, match="has format 0"):
        upgrade(connection, file, 2, {1: add_length})
    connection.close()
    assert [path.name for path in tmp_path.iterdir()] == ["old.sqlite"]
