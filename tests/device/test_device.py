"""What a program does with its stores: whole structs, one transaction, and a feed of what changes."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from tests.support.event_loop import BOUND_SECONDS

from lottisync.device.home import Home
from lottisync.device.typed import Writing
from lottisync.entities.entity import HIGH
from lottisync.entities.schema import EntityType, schema
from lottisync.problem import Problem


class Recipe(msgspec.Struct, frozen=True):
    id: str = ""
    title: str = ""


COOKBOOK = schema("cookbook", [EntityType("recipe", Recipe)])


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home.create(tmp_path / "home", "laptop", [COOKBOOK])
    yield made
    made.close()


def add(home: Home, title: str) -> str:
    with home.write("cookbook", HIGH) as tx:
        return tx.add(Recipe(title=title))


def test_a_transaction_is_whole_or_nothing(home: Home) -> None:
    def fails() -> None:
        with home.write("cookbook", HIGH) as tx:
            tx.add(Recipe(title="Soup"))
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    with home.read("cookbook") as reading:
        assert reading.all(Recipe) == []


def test_a_store_that_is_not_there_is_named(home: Home) -> None:
    with pytest.raises(Problem, match="there is no store 'music' here, only space, cookbook"), home.read("music"):
        pass


def test_changes_are_handed_on_once_and_in_order(home: Home) -> None:
    """At least once: a change is dealt with when the next one is asked for."""
    soup, bread = add(home, "Soup"), add(home, "Bread")
    assert [change.id for change in home.changes("cookbook", "printer")] == [soup, bread]
    assert list(home.changes("cookbook", "printer")) == []
    pie = add(home, "Pie")
    cake = add(home, "Cake")
    for change in home.changes("cookbook", "printer"):
        assert change.id == pie
        break  # killed while it works on the first
    assert [change.id for change in home.changes("cookbook", "printer")] == [pie, cake]
    assert len(list(home.changes("cookbook", "another"))) == 4


def test_following_goes_on_with_what_is_committed_later(home: Home) -> None:
    seen: list[str] = []

    async def scenario() -> None:
        soup = add(home, "Soup")
        arrived = anyio.Event()

        async def watch() -> None:
            async for change in home.follow("cookbook", "watcher"):
                seen.append(change.id)
                arrived.set()

        with anyio.fail_after(BOUND_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch)
                await arrived.wait()
                assert seen == [soup]
                arrived = anyio.Event()
                bread = add(home, "Bread")
                await arrived.wait()
                assert seen == [soup, bread]
                tasks.cancel_scope.cancel()

    anyio.run(scenario)


@pytest.mark.parametrize("consumer", ["a/b", "../../x", "/", ".", "x" * 64])
def test_store_1005_any_short_name_is_one_of_a_consumer(home: Home, consumer: str) -> None:
    """STORE-1005: `follow` made a file of that name."""
    soup = add(home, "Soup")

    async def first() -> str:
        with anyio.fail_after(BOUND_SECONDS):
            return (await anext(home.follow("cookbook", consumer))).id

    assert anyio.run(first) == soup
    assert [change.id for change in home.changes("cookbook", consumer)] == [soup]


@pytest.mark.parametrize("consumer", ["", "x" * 65, "a\nb", "\ud800", 5])
def test_store_1005_a_name_that_a_consumer_cannot_have_is_refused_where_it_is_given(home: Home, consumer: str) -> None:
    """STORE-1005: not when the first change is asked for."""
    for call in (home.changes, home.follow):
        with pytest.raises(Problem, match="a consumer of the feed has a name of 1 to 64 printable characters"):
            call("cookbook", consumer)


@pytest.mark.parametrize("outer", [lambda home: home.write("cookbook", HIGH), lambda home: home.read("cookbook")])
def test_store_1006_a_write_within_another_block_gets_a_sentence(
    home: Home, outer: Callable[[Home], AbstractContextManager[object]]
) -> None:
    """STORE-1006: it was an error of SQLite's. The outer block goes on."""
    with outer(home) as block:
        with pytest.raises(Problem, match="cookbook is being read or written in this thread already") as refused:
            add(home, "Soup")
        assert refused.value.code == "nested"
        if isinstance(block, Writing):
            block.add(Recipe(title="Bread"))
    with home.read("cookbook") as reading:
        assert [each.title for each in reading.all(Recipe)] == (["Bread"] if isinstance(block, Writing) else [])
    add(home, "Pie")


def test_a_block_closes_a_device_also_if_it_fails(tmp_path: Path) -> None:
    def fails() -> None:
        with Home.create(tmp_path / "home", "laptop", [COOKBOOK]) as device:
            add(device, "Soup")
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert not (tmp_path / "home" / "cookbook.sqlite-wal").exists()
    with Home.open(tmp_path / "home", [COOKBOOK]) as device, device.read("cookbook") as reading:
        assert [each.title for each in reading.all(Recipe)] == ["Soup"]


@pytest.mark.parametrize("precedence", [None, 7, True, "HIGH"])
def test_store_31_a_write_without_a_precedence_gets_a_sentence(home: Home, precedence: Any) -> None:
    with (
        pytest.raises(Problem, match="a write has the precedence HIGH or LOW, not"),
        home.write("cookbook", precedence),
    ):
        pytest.fail("it was opened")


def test_a_store_of_ones_own_cannot_have_the_name_of_one_that_every_device_has(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="every device has a store 'space' already"):
        Home.create(tmp_path / "other", "phone", [schema("space", [EntityType("recipe", Recipe)])])
