"""A damaged record of `space` stops neither the roster nor the engine, and brings no revoked device back (REL-D7).

STORE-42, STORE-53, ROSTER-21."""

from pathlib import Path

import apsw
import pytest
from tests.support.engines import engine_of, running
from tests.support.event_loop import until
from tests.support.household import Member, household

from lottisync.device.addresses import read_reach
from lottisync.device.membership import bind_hosts, read_roster
from lottisync.identity.statement import MembershipRecord

pytestmark = pytest.mark.anyio
COLUMNS = ("serialized", "stamps", "clock")


def damage(member: Member, n: int, column: str) -> None:
    """Bytes in one cell that are not text, as a disk leaves them."""
    with apsw.Connection(str(member.stores["space"].file)) as connection:
        connection.execute(f"update space_entities set {column} = cast(x'ff00' as text) where n = ?", (n,))
    connection.close()


@pytest.mark.parametrize("column", COLUMNS)
async def test_rel_d7_one_damaged_record_of_space_hides_no_other(tmp_path: Path, column: str) -> None:
    """STORE-42, STORE-72, STORE-53"""
    a, b = household(tmp_path, 2)
    a.admit(b)
    with a.space.reading() as reader:
        n = reader.local(
            "select n from space_entities where type = 'membership' and instr(serialized, ?)", (b.device,)
        )[0][0]
        whole = read_roster(reader, a.key.certificate)
    assert b.device in whole.members
    damage(a, n, column)
    bind_hosts(a.stores, a.key, a.now)
    with a.space.reading() as reader:
        left = read_roster(reader, a.key.certificate)
        read_reach(reader)
    assert left == whole
    engine = engine_of(a)
    async with running(engine):
        await until(lambda: engine.port > 0)
    a.close()
    b.close()


@pytest.mark.parametrize(
    "damaging", [*(f"{column} = cast(x'ff00' as text)" for column in (*COLUMNS, "id", "type")), ""]
)
@pytest.mark.parametrize("kind", ["revoked", "added"])
async def test_a_damaged_record_brings_no_revoked_device_back(tmp_path: Path, kind: str, damaging: str) -> None:
    """ROSTER-21, ROSTER-300: b has revoked c; then the row of the revocation, or the one that makes b a member, is
    damaged."""
    a, b, c = household(tmp_path, 3)
    a.admit(b)
    a.admit(c)
    a.sign(MembershipRecord.revoking(b.key, device=c.device, at_ms=20))
    about = c.device if kind == "revoked" else b.device
    with apsw.Connection(str(a.space.file)) as connection:
        change = f"update space_entities set {damaging}" if damaging else "delete from space_entities"
        connection.execute(
            f"{change} where type = 'membership' and subtype = ? and instr(serialized, ?)", (kind, about)
        )
        assert connection.changes() == 1
    connection.close()
    with a.space.reading() as reader:
        roster = read_roster(reader, a.key.certificate)
    assert roster.members[c.device].status == "revoked"
    assert roster.members[b.device].status == "active"
    for member in (a, b, c):
        member.close()


def test_a_second_copy_that_is_damaged_as_well_counts_as_absent(tmp_path: Path) -> None:
    """STORE-42"""
    a, b = household(tmp_path, 2)
    a.admit(b)
    with a.space.reading() as reader:
        (held,) = reader.local("select id from space_entities where instr(serialized, ?)", (b.device,))
    for odd in ("cast(x'ff00' as text)", "'7'", "'[]'", "'{\"a//b\": 1}'"):
        with apsw.Connection(str(a.space.file)) as connection:
            connection.execute(f"update statements set fields = {odd} where id = ?", held)
            connection.execute("delete from space_entities where id = ?", held)
        connection.close()
        with a.space.reading() as reader:
            assert b.device not in read_roster(reader, a.key.certificate).members
    a.close()
    b.close()


async def test_rel_d7_any_damaged_record_of_space_leaves_the_engine_running(tmp_path: Path) -> None:
    """STORE-42, STORE-53, in a copied home, where nobody has mended it yet."""
    a, b = household(tmp_path, 2)
    a.admit(b)
    b.close()
    with a.space.reading() as reader:
        numbers = [n for (n,) in reader.local("select n from space_entities order by n")]
    failed = []
    for n in numbers:
        for column in COLUMNS:
            copy = a.copied(tmp_path / f"copy-{n}-{column}")
            damage(copy, n, column)
            try:
                engine = engine_of(copy)
                async with running(engine):
                    pass
            except Exception as error:  # noqa: BLE001 - all of them are collected
                failed.append((n, column, repr(error)))
            copy.close()
            a = Member(a.folder, a.number)
    a.close()
    assert failed == []
