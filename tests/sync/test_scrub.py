"""The scrub, under trio's virtual clock: STORE-28, STORE-280 to STORE-282."""

from pathlib import Path

import anyio
import pytest
from tests.support import sqlite
from tests.support.household import inline
from tests.support.stores import NOON, dump, new_store
from trio.testing import MockClock

from lottisync.entities.entity import HIGH
from lottisync.store.check import damaged_rows
from lottisync.store.store import Store
from lottisync.sync.scrub import PAUSE_SECONDS, ROWS, Scrub

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


def filled(folder: Path, count: int) -> Store:
    store = new_store(folder)
    with store.transaction(NOON, HIGH) as tx:
        for number in range(count):
            tx.put(f"t{number}", "task", {"title": "Milk"})
    return store


def damage(store: Store, *ids: str) -> None:
    for ident in ids:
        sqlite.connection(store).execute(
            "update journal_entities set serialized = replace(serialized, 'Milk', 'Beer') where id = ?", (ident,)
        ).fetchall()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_store_28_every_damaged_row_is_found_whatever_the_stretch(tmp_path: Path) -> None:
    store = filled(tmp_path, 10)
    damage(store, "t0", "t4", "t9")
    for limit in (1, 2, 3, 5, 10, 11):
        found: list[str] = []
        after: int | None = -1
        with store.reading() as reader:
            while after is not None:
                some, after = damaged_rows(reader, after, limit)
                found += some
        assert found == ["t0", "t4", "t9"], limit


async def test_store_28_a_pass_finds_it_tells_it_once_and_forgets_it_when_it_is_mended(tmp_path: Path) -> None:
    """STORE-28, STORE-280, STORE-282"""
    store = filled(tmp_path, 2 * ROWS + 1)
    reports: list[tuple[str, str]] = []
    news: list[list[str]] = []
    scrub = Scrub(
        {"journal": store},
        inline,
        idle=lambda: True,
        report=lambda code, text: reports.append((code, text)),
        changed=lambda: news.append(scrub.damaged()),
    )
    pass_seconds = 3 * PAUSE_SECONDS
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scrub.run)
        await anyio.sleep(pass_seconds + 1)
        assert (reports, news) == ([], [])
        last = f"t{2 * ROWS}"
        damage(store, "t0", last)
        before = dump(store)
        await anyio.sleep(3 * pass_seconds)
        assert [code for code, _ in reports] == ["damaged", "damaged"]
        assert reports[0][1] == "journal: t0 is not what was stored"
        assert scrub.damaged() == ["journal/t0", f"journal/{last}"]
        assert dump(store) == before
        sqlite.connection(store).execute(
            "update journal_entities set serialized = replace(serialized, 'Beer', 'Milk')"
        ).fetchall()
        await anyio.sleep(2 * pass_seconds)
        assert scrub.damaged() == []
        assert news[-1] == []
        tasks.cancel_scope.cancel()


async def test_store_281_it_keeps_still_while_a_round_comes_in(tmp_path: Path) -> None:
    store = filled(tmp_path, 3)
    damage(store, "t1")
    idle = False
    scrub = Scrub({"journal": store}, inline, idle=lambda: idle, report=lambda code, text: None, changed=lambda: None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scrub.run)
        await anyio.sleep(100 * PAUSE_SECONDS)
        assert scrub.damaged() == []
        idle = True
        await anyio.sleep(2 * PAUSE_SECONDS)
        assert scrub.damaged() == ["journal/t1"]
        tasks.cancel_scope.cancel()


async def test_store_660_an_id_that_is_not_text_ends_no_pass(tmp_path: Path) -> None:
    """STORE-660, STORE-101, REL-D7: the sum at the end of a pass read every id as text, and the daemon ended."""
    store = filled(tmp_path, 3)
    sqlite.connection(store).execute(
        "update journal_entities set id = cast(x'ff00' as text) where id = 't1'"
    ).fetchall()
    reports: list[tuple[str, str]] = []
    scrub = Scrub(
        {"journal": store},
        inline,
        idle=lambda: True,
        report=lambda code, text: reports.append((code, text)),
        changed=lambda: None,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(scrub.run)
        await anyio.sleep(2 * PAUSE_SECONDS + 1)
        assert [code for code, _ in reports] == ["damaged"]
        damage(store, "t0")
        await anyio.sleep(2 * PAUSE_SECONDS)
        assert reports[1:] == [("damaged", "journal: t0 is not what was stored")]
        tasks.cancel_scope.cancel()
    store.close()
