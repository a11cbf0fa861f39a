"""A file with corrupt pages, or on a disk that fails, met in a round: STORE-81, STORE-750, SYNC-883, REL-D7."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import NoReturn

import pytest
from tests.support import sqlite
from tests.support.engines import engine_of, introduce, running
from tests.support.event_loop import until
from tests.support.household import Member

from lottisync.entities.entity import HIGH
from lottisync.problem import Problem
from lottisync.store.doorbell import Bell
from lottisync.sync.engine import Engine
from lottisync.sync.verification_request import VerificationState, ask, requests

pytestmark = pytest.mark.anyio


def overwrite_rows(member: Member) -> None:
    """Garbage in the middle of the file, where the rows lie; and no page of it is in memory."""
    store = member.stores["journal"]
    sqlite.connection(store).execute("pragma wal_checkpoint(truncate)").fetchall()
    ((root,),) = (
        sqlite.connection(store)
        .execute("select rootpage from sqlite_schema where name = 'journal_entities'")
        .fetchall()
    )
    with store.file.open("r+b") as file:
        file.seek((int(str(root)) - 1) * 8192)
        file.write(b"\x99" * 8192)
    sqlite.connection(store).execute("pragma shrink_memory").fetchall()


async def test_rel_d7_a_corrupt_page_is_reported_once_and_the_other_stores_sync(members: list[Member]) -> None:
    """STORE-81, STORE-300"""
    a, b = members
    for number in range(50):
        a.put(f"t{number}", f"Milk {number}")
    overwrite_rows(a)
    first, second = engine_of(a), engine_of(b)
    async with running(second):
        introduce(a, b, second.port)
        async with running(first):
            await until(lambda: any("is damaged" in text for _, text in a.reports), "the report")
            with a.stores["agent"].transaction(a.now, HIGH) as tx:
                tx.put("x", "agentMessage", {"text": "beside the damage"})
            await until(lambda: b.stores["agent"].read("x") is not None, "the other store")
            with b.stores["agent"].transaction(b.now, HIGH) as tx:
                tx.put("y", "agentMessage", {"text": "and back"})
            await until(lambda: a.stores["agent"].read("y") is not None, "the other store, back")
    assert len([text for _, text in a.reports if "is damaged" in text]) == 1, a.reports
    assert [text for code, text in a.reports if code == "fault"] == []


@asynccontextmanager
async def connected(a: Member, b: Member) -> AsyncIterator[tuple[Engine, Engine]]:
    """Both run, and are connected; the first tries a file that failed again soon."""
    first, second = engine_of(a, again=0.02), engine_of(b)
    async with running(second):
        introduce(a, b, second.port)
        async with running(first):
            await until(lambda: b.device in first.connections, "the connection")
            yield first, second


@contextmanager
def failing(member: Member, name: str = "journal", refused: str = "transaction") -> Iterator[None]:
    """The disk under one of its stores answers nothing: to a `transaction`, or to `reading`."""
    store = member.stores[name]

    def fails(*_: object) -> NoReturn:
        raise Problem("disk-failed", "the disk failed at {path}", path=store.file)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, refused, fails)
        patch.setattr(store, "try_disk", fails)
        yield


async def test_store_750_a_store_whose_disk_fails_is_left_out_until_it_answers_again(members: list[Member]) -> None:
    """STORE-750, STORE-751, STORE-752: the others sync meanwhile, and it is said once."""
    a, b = members
    async with connected(a, b) as (first, _):
        with failing(a):
            b.put("t", "Milk")
            await until(lambda: "journal" in first.unusable(), "it is left out")
            with b.stores["agent"].transaction(b.now, HIGH) as tx:
                tx.put("x", "agentMessage", {"text": "beside it"})
            await until(lambda: a.stores["agent"].read("x") is not None, "the other store")
            assert "journal" in first.unusable()
            assert a.title("t") is None
        await until(lambda: a.title("t") == "Milk", "it takes part again")
        assert first.unusable() == {}
    codes = [(code, text) for code, text in a.reports if code in ("failed", "works-again", "fault")]
    assert [code for code, _ in codes] == ["failed", "works-again"], codes


async def test_store_944_a_failing_disk_under_the_roster_ends_no_engine(members: list[Member]) -> None:
    """STORE-944: a connection that ends has the addresses read again. The engine died of it, and took the daemon with
    it."""
    a, b = members
    async with connected(a, b) as (first, _):
        with failing(a, "space", "reading"):
            first.connections[b.device].close("failed", "the addresses are read again")
            await until(lambda: "space" in first.unusable(), "it is reported")
            await until(lambda: b.device in first.connections, "the addresses that were known count")
        await until(lambda: first.unusable() == {}, "the disk answers again")
        b.put("t", "Milk")
        await until(lambda: a.title("t") == "Milk", "they are in step")
    assert "fault" not in [code for code, _ in a.reports]


async def test_sync_884_a_store_that_is_left_out_is_not_shown_as_one_that_a_device_does_not_have(
    members: list[Member],
) -> None:
    """SYNC-883, SYNC-884, SYNC-885, MEND-880: both said that the other one, or this one, does not have it."""
    a, b = members
    async with connected(a, b) as (first, second):
        with failing(a):
            b.put("t", "Milk")
            await until(lambda: any(code == "stores-differ" for code, _ in b.reports), "the other side knows")
            (there,) = await second.snapshot()
            await until(lambda: b.device in first.connections, "the next connection")
            (here,) = await first.snapshot()
            assert (here.only_here, here.only_there, here.failing_there) == ([], [], [])
            assert (there.only_here, there.only_there, there.failing_there) == ([], [], ["journal"])
            assert "journal" not in there.in_step
            for asker, other in ((a, b), (b, a)):
                with contextlib.closing(Bell(asker.folder / "bells", "verify-milk")):
                    ask(asker.stores["space"], "verify-milk", [(other.device, "journal")], asker.now)
                    await until(
                        lambda asker=asker: (
                            [one.state for one in requests(asker.stores["space"])]  # type: ignore[misc]
                            == [VerificationState.LEFT_OUT]
                        ),
                        "what was asked for ends",
                    )
        await until(lambda: a.title("t") == "Milk", "it takes part again")
        (there,) = await second.snapshot()
        assert there.failing_there == []
    said = [text for code, text in b.reports if code == "stores-differ"]
    assert all("leaves out journal, because it cannot use the file there: everything else" in text for text in said)
    assert [text for code, text in a.reports if code == "stores-differ"] == []
