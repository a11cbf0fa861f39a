"""A file with corrupt pages, or on a disk that fails, met in a round: STORE-81, STORE-750, REL-D7."""

from typing import NoReturn

import pytest
from tests.support.engines import engine_of, introduce, running
from tests.support.household import Member, until

from lottisync.entities.entity import HIGH
from lottisync.problem import Problem

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def overwrite_rows(member: Member) -> None:
    """Garbage in the middle of the file, where the rows lie; and no page of it is in memory."""
    store = member.stores["journal"]
    store._connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    ((root,),) = store._connection.execute(
        "select rootpage from sqlite_schema where name = 'journal_entities'"
    ).fetchall()
    with store.file.open("r+b") as file:
        file.seek((int(str(root)) - 1) * 8192)
        file.write(b"\x99" * 8192)
    store._connection.execute("pragma shrink_memory").fetchall()


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


async def test_store_750_a_store_whose_disk_fails_is_left_out_until_it_answers_again(
    members: list[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    """STORE-750, STORE-751, STORE-752: the others sync meanwhile, and it is said once."""
    a, b = members
    journal = a.stores["journal"]

    def fails(*_: object) -> NoReturn:
        raise Problem("disk-failed", "the disk failed at {path}", path=journal.file)

    first, second = engine_of(a, again=0.02), engine_of(b)
    async with running(second):
        introduce(a, b, second.port)
        async with running(first):
            await until(lambda: b.device in first.connections, "the connection")
            with monkeypatch.context() as failing:
                failing.setattr(journal, "transaction", fails)
                failing.setattr(journal, "try_disk", fails)
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
