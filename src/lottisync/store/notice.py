"""What a person is shown about copies and restored backups (docs/specs/13-copies.md, section 5).

A notice names the last write before the copy: of which host, at which counter, and when that was. The
writes kept since are counted when the notice is read, because the branches arrive one after the other. The notice
is shown again when more writes have come. Notices belong to this device and never replicate.
"""

from typing import NamedTuple

from lottisync.causality.vector_clock import Host
from lottisync.entities import version
from lottisync.entities.version import BadVersion, Damaged
from lottisync.store import chain
from lottisync.store.reader import Reader

LOOKED_AT = 16
"""How many of a host's last entities are looked at for the time of its last write: the first nearly always has it."""


class Notice(NamedTuple):
    """`host` was copied or restored as it was at write `counter`, made at `at` (ms; None if nothing from then is
    left); `kept` writes have been made behind that, on all branches. `noticed` is when it was found out (ms)."""

    host: Host
    counter: int
    at: int | None
    kept: int
    noticed: int
    shown: bool


def record(reader: Reader, execute: chain.Execute, host: Host, counter: int, now: int) -> None:
    """Note for the person that `host` was copied or restored as it was at write `counter`. Each is shown once."""
    execute(
        "insert or ignore into copies values (?, ?, ?, ?, null)", (host, counter, _written(reader, host, counter), now)
    )


def _written(reader: Reader, host: Host, counter: int) -> int | None:
    """Wall time of the latest write of `host` up to `counter`, as far as any of them is left here."""
    found = [
        millis
        for (millis,) in reader.local(
            "select max(millis) from history where host = ? and counter <= ?", (host, counter)
        )
        if millis is not None
    ]
    for (raw,) in reader.local(
        """select cast(r.id as blob) from components c join hosts h on h.n = c.host join rows r on r.n = c.n
           where h.host = ? and c.counter <= ? order by c.counter desc limit ?""",
        (host, counter, LOOKED_AT),
    ):
        try:
            made = reader.version(raw.decode())
            assert made is not None
            entity = version.open_foreign(made)
        except (BadVersion, Damaged, UnicodeDecodeError):  # it tells no time
            continue
        found += [
            held.stamp.millis
            for writes in entity.registers.values()
            for held in writes
            if held.stamp.host == host and held.stamp.counter <= counter
        ]
    return max(found, default=None)


def read_notices(reader: Reader) -> list[Notice]:
    """All notices, in the order in which they were found out."""
    logs = chain.logs(reader)
    return [
        Notice(
            Host(host), counter, at, kept := _kept(logs, host, counter), noticed, shown is not None and shown >= kept
        )
        for host, counter, at, noticed, shown in reader.local(
            "select host, counter, at, noticed, shown from copies order by noticed, host, counter"
        )
    ]


def _kept(logs: dict[Host, chain.HostLog], host: str, counter: int) -> int:
    """How many writes there are behind a notice: in the log of its host, and in all branches from there."""
    behind = max(0, logs[Host(host)].end.end - counter) if host in logs else 0
    return behind + sum(
        _kept(logs, branch, log.end.first - 1)
        for branch, log in logs.items()
        if log.parent == host and log.end.first > counter
    )


def mark_shown(reader: Reader, execute: chain.Execute) -> None:
    """Note that the person was shown all that `read_notices` says now."""
    for notice in read_notices(reader):
        execute(
            "update copies set shown = ? where host = ? and counter = ?", (notice.kept, notice.host, notice.counter)
        )
