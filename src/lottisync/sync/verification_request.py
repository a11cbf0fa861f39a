"""Requests to compare stores, and their states (docs/specs/15-mending.md, section 4).

A command asks, and the engine compares (`lottisync.sync.verification`). Between them is a local table of `space`. The
command writes its request there and listens to a bell. Nothing else passes between the two, so either may be killed at
any moment.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from lottisync.store.reader import Reader
from lottisync.store.store import Store

TABLE = """
create table if not exists verifications (bell text not null, device text not null, store text not null,
    state text not null, done integer not null default 0, total integer not null default 0,
    mended integer not null default 0,
    primary key (bell, device, store)) strict, without rowid;
"""
"""What was asked to be compared, how far it is and how it ended."""


class VerificationState(StrEnum):
    """The state of a request."""

    ASKED = "asked"
    """There is no connection with the device."""
    WAITING = "waiting"
    """There is one, and the two do not know the same yet."""
    COMPARING = "comparing"
    EQUAL = "equal"
    DIFFERS = "differs"
    """Something was found that could not be mended."""
    UNSETTLED = "unsettled"
    """They were written to all the time."""
    NOT_SHARED = "not-shared"
    """The other device does not have the store."""
    LEFT_OUT = "left-out"
    """One of the two cannot use its file of the store now."""
    REFUSED = "refused"
    """The other device does not compare now."""


OPEN = (VerificationState.ASKED, VerificationState.WAITING, VerificationState.COMPARING)


class VerificationRequest(NamedTuple):
    """One store to be compared with one device's. `done` of `total` entities have been read here; `mended` of them
    differed, here and there together."""

    bell: str
    device: str
    store: str
    state: VerificationState
    done: int
    total: int
    mended: int

    @property
    def open(self) -> bool:
        return self.state in OPEN


def ask(space: Store, bell: str, wanted: Iterable[tuple[str, str]], now: int) -> None:
    """Ask for (device, store) to be compared. `bell` names the one to which the asker listens, from now on."""
    with space.transaction(now, None) as tx:
        for device, store in wanted:
            tx.execute(
                "insert into verifications(bell, device, store, state) values (?, ?, ?, ?)",
                (bell, device, store, VerificationState.ASKED),
            )
        tx.changed = True


def is_kept(space: Reader) -> bool:
    """Whether there is a table of requests. A home that a program on the library has made has none until a command
    opens it that may ask."""
    return bool(space.local("select exists (select 1 from sqlite_schema where name = 'verifications')")[0][0])


def requests(space: Store, bell: str | None = None) -> list[VerificationRequest]:
    """What was asked for, by everybody or by the one who listens to `bell`."""
    with space.reading() as reader:
        rows = reader.local(
            "select bell, device, store, state, done, total, mended from verifications where ?1 is null or bell = ?1",
            (bell,),
        )
    return [
        VerificationRequest(bell, device, store, VerificationState(state), *counts)
        for bell, device, store, state, *counts in rows
    ]


def withdraw(space: Store, bells: Iterable[str], now: int) -> None:
    with space.transaction(now, None) as tx:
        for bell in bells:
            tx.execute("delete from verifications where bell = ?", (bell,))
