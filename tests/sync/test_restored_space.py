"""A device whose `space` alone is put back from a backup: it has forgotten whose the hosts are that wrote what it
holds, and perhaps under which host it writes itself (docs/specs/13-copies.md, section 4)."""

import shutil
from pathlib import Path

import pytest
from tests.support import sqlite
from tests.support.household import Member, in_step, meet

from lottisync.device.membership import bind_hosts
from lottisync.entities.entity import HIGH
from lottisync.protocol import message as m

pytestmark = pytest.mark.anyio


def back_up(member: Member) -> Path:
    file = member.folder / "space.sqlite"
    sqlite.connection(member.stores["space"]).execute("pragma wal_checkpoint(truncate)").fetchall()
    return Path(shutil.copy(file, file.with_suffix(".backup")))


def with_space_restored(member: Member, backup: Path) -> Member:
    """The device after its next start, at which the engine binds its hosts (SYNC-42)."""
    member.close()
    for file in member.folder.glob("space.sqlite-*"):
        file.unlink()
    shutil.copy(backup, member.folder / "space.sqlite")
    again = Member(member.folder, member.number)
    bind_hosts(again.stores, again.key, again.now)
    return again


async def test_copy_12_its_own_hosts_are_bound_again(three: list[Member]) -> None:
    """COPY-12, COPY-23, COPY-24, SYNC-42: the journal went on under another host. The restored space lacks it."""
    a, b, c = three
    await meet(a, b)
    backup = back_up(a)
    with a.stores["journal"].transaction(a.now, HIGH) as tx:
        tx.rolled_back()
    bind_hosts(a.stores, a.key, a.now)
    a.put("one", "Milk")
    a = three[0] = with_space_restored(a, backup)
    await meet(a, c)
    assert in_step(a, c)
    assert c.title("one") == "Milk"
    await meet(b, c)
    await meet(a, b)
    assert in_step(a, b, c)


async def test_copy_12_hosts_of_others_are_unknown_until_somebody_brings_them(three: list[Member]) -> None:
    """COPY-12, COPY-23, COPY-24: a peer that never met their device refuses them. It takes them when it has met that
    device, or when the restored one has. Nothing is lost."""
    a, b, c = three
    backup = back_up(a)
    b.put("one", "Bread")
    await meet(a, b)
    a = three[0] = with_space_restored(a, backup)
    cable = await meet(a, c)
    last = cable.said(1)[-1]
    assert isinstance(last, m.Close)
    assert last.code == "unknown-host"
    assert c.title("one") is None
    await meet(a, b)
    await meet(a, c)
    await meet(b, c)
    await meet(a, b)
    assert in_step(a, b, c)
    assert c.title("one") == "Bread"
