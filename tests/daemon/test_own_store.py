"""The stock daemon syncs the store of the library page between two homes while the program is not running."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import pytest
from tests.support.command_line import eventually, run, run_here
from tests.support.daemons import daemon, introduce

import lottisync as ls

PAGE = Path(__file__).parent.parent.parent / "docs" / "library.md"


def program() -> ModuleType:
    """The application of the page: its types and its schema, without what it does with them."""
    (source, *_) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    module = ModuleType("cookbook")
    exec(source.replace("anyio.run(main)", ""), module.__dict__)
    return module


@contextmanager
def running(folder: Path, name: str, cookbook: ModuleType) -> Iterator[ls.Home]:
    home = ls.open(folder, name=name, schemas=[cookbook.COOKBOOK])
    yield home
    home.close()


def recipes(folder: Path, cookbook: ModuleType) -> list[Any]:
    with running(folder, "?", cookbook) as home, home.read("cookbook") as book:
        return book.all(cookbook.Recipe)


def test_the_stock_daemon_syncs_a_programs_own_store(tmp_path: Path) -> None:
    """STORE-34, SYNC-62, CLI-8"""
    cookbook = program()
    laptop, phone = tmp_path / "laptop", tmp_path / "phone"
    with running(laptop, "laptop", cookbook) as here, running(phone, "phone", cookbook) as there:
        now = here.environment.now()
        here.members.add("phone", there.key.certificate, now)
        there.members.add("laptop", here.key.certificate, now)
        with here.write("cookbook", ls.HIGH) as tx:
            soup = tx.add(cookbook.Recipe(title="Soup"))
    with daemon(laptop) as first:
        introduce(phone, laptop, first.event("started")["port"])
        with daemon(phone) as second:
            second.event("connected")
            # The program does not run: only now, for a moment, to look.
            eventually(lambda: [each.title for each in recipes(phone, cookbook)] == ["Soup"], "the recipe")
            with running(phone, "phone", cookbook) as there, there.write("cookbook", ls.HIGH) as tx:
                tx.edit(soup, serves=6)
            eventually(lambda: [each.serves for each in recipes(laptop, cookbook)] == [6], "the edit")
            (peer,) = eventually(
                lambda: (found := run("status", "--json", home=phone).json["peers"])[0]["inStep"] and found, "in step"
            )
            assert peer["lacks"]["cookbook"] == 0


def test_store_955_the_stock_daemon_syncs_a_store_that_is_made_while_it_runs(tmp_path: Path) -> None:
    """STORE-955: the two daemons are connected before the program runs for the first time."""
    cookbook = program()
    laptop, phone = tmp_path / "laptop", tmp_path / "phone"
    with closing(ls.open(laptop, name="laptop")) as here, closing(ls.open(phone, name="phone")) as there:
        now = here.environment.now()
        here.members.add("phone", there.key.certificate, now)
        there.members.add("laptop", here.key.certificate, now)
    with daemon(laptop) as first:
        introduce(phone, laptop, first.event("started")["port"])
        with daemon(phone) as second:
            second.event("connected")
            with running(laptop, "laptop", cookbook) as here, here.write("cookbook", ls.HIGH) as tx:
                tx.add(cookbook.Recipe(title="Soup"))
            first.event("store-added")
            with running(phone, "phone", cookbook):
                pass
            second.event("store-added")
            eventually(lambda: [each.title for each in recipes(phone, cookbook)] == ["Soup"], "the recipe")
            assert run("status", "--json", home=phone).json["peers"][0]["refusals"] == []


async def synced(home: ls.Home) -> None:
    async with ls.syncing(home, ls.LOOPBACK, discover=False):
        pass


def test_cli_10942_a_program_does_not_sync_beside_a_daemon(tmp_path: Path) -> None:
    """CLI-10942: the other devices said that the home was copied to another machine."""
    with closing(ls.open(tmp_path / "laptop", name="laptop")) as home:
        with daemon(tmp_path / "laptop"):
            with pytest.raises(ls.Problem, match=r"a daemon is running for .*laptop already") as refused:
                anyio.run(synced, home)
            assert refused.value.code == "running"
        anyio.run(synced, home)


def test_cli_10942_a_daemon_does_not_sync_beside_a_program(tmp_path: Path) -> None:
    """CLI-10942: nor does another program."""

    async def scenario(home: ls.Home) -> None:
        async with ls.syncing(home, ls.LOOPBACK, discover=False):
            with pytest.raises(ls.Problem, match=r"another program syncs .*laptop, and only one at a time can"):
                await synced(home)
            arguments = ("daemon", "--no-discovery", "--listen", "127.0.0.1:0", "--json")
            second = await anyio.to_thread.run_sync(lambda: run(*arguments, home=home.path))
            assert (second.code, second.json["error"]["code"]) == (1, "running")
            assert "another program syncs" in second.json["error"]["message"]
            assert run_here("status", "--json", home=home.path).json["daemon"] is None

    with closing(ls.open(tmp_path / "laptop", name="laptop")) as home:
        anyio.run(scenario, home)
    with daemon(tmp_path / "laptop"):
        pass
