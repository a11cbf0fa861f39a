"""The invitations of this device (docs/specs/16-meeting.md, section 6).

An invitation is a row of a local table of `space`. A command writes it. The program that has this home serves it
(`lottisync.device.invitation_server`): a daemon, or the command itself where none runs. The row also says who joined.
So an invitation outlives the command that made it and the daemon that serves it, and every program of the home can say
what became of it: it is open, used or expired. A day after its end it is forgotten.
"""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from lottisync.identity.invitation import MAX_ADDRESSES, Invitation, InvitationOffer
from lottisync.identity.pairing import Paired
from lottisync.net.address import Address
from lottisync.net.interfaces import listened_on
from lottisync.problem import Problem
from lottisync.store.merge import Merge
from lottisync.store.store import Store

MAX_OPEN = 8
"""Open invitations at one time: each takes a port."""
MAX_ENDED = 8
"""Invitations that have ended and are still answered for: each takes a port, too. The oldest are forgotten first."""
REMEMBERED_MS = 24 * 60 * 60 * 1000
_ENDED_AT = "coalesce(joined_at, until)"


class Given(msgspec.Struct, frozen=True):
    """An invitation that was given out. Times are milliseconds of this device's clock. `port` is 0 until a program
    listens for it, first on `wanted`; `failure` says why none can. `takes_back` lets a device join that was revoked.
    Once it is used, `device` is the device that joined, `name` its name, `words` the words that both sides show."""

    number: int
    secret: bytes
    until: int
    host: str
    wanted: int
    port: int
    failure: str
    takes_back: int
    device: str | None
    name: str | None
    words: str | None
    joined_at: int | None

    def __repr__(self) -> str:
        # Without the secret: what is printed ends in a log.
        return f"Given(number={self.number}, until={self.until}, port={self.port}, device={self.device})"

    def state_at(self, now: int) -> Literal["open", "used", "expired"]:
        """`open`, `used` or `expired`."""
        if self.device is not None:
            return "used"
        return "open" if now < self.until else "expired"

    def invitation(self, device: str) -> Invitation:
        """The invitation as `device` hands it over, with the addresses that this machine has now."""
        reached = sorted(listened_on(self.host), key=lambda each: (each.link_local, each.host))
        at = tuple(dict.fromkeys(str(Address(each.host, self.port)) for each in reached))[:MAX_ADDRESSES]
        return Invitation(device, self.secret, self.until // 1000, at)

    def offer(self, device: str) -> InvitationOffer:
        """The offer for one run of pairing. It refuses with `used` or `expired` when the invitation was used or has
        expired."""
        offer = InvitationOffer(Invitation(device, self.secret, self.until // 1000, ()), self.until)
        offer.used = self.device is not None
        return offer


def give_out(space: Store, secret: bytes, until: int, listen: Address, now: int, *, takes_back: bool = False) -> Given:
    """Write an invitation down. Raises `Problem` if too many are open."""
    with space.transaction(now, None) as tx:
        _forget(tx, now)
        if sum(each.state_at(now) == "open" for each in _read(tx.execute)) >= MAX_OPEN:
            raise Problem(
                "too-many-invitations", "{count} invitations are open already", hint="take-back", count=MAX_OPEN
            )
        tx.execute(
            "insert into invitations(secret, until, host, wanted, takes_back) values (?, ?, ?, ?, ?)",
            (secret, until, *listen, int(takes_back)),
        )
        tx.changed = True
        return _read(tx.execute)[-1]


def given_out(space: Store, now: int) -> list[Given]:
    """All that are open or ended less than a day ago, the oldest first."""
    with space.reading() as reader:
        return [each for each in _read(reader.local) if _remembered(each, now)]


def given(space: Store, number: int) -> Given | None:
    """One invitation, None if it is forgotten."""
    with space.reading() as reader:
        return next((each for each in _read(reader.local) if each.number == number), None)


def take_back(space: Store, number: int, now: int) -> None:
    """End an invitation: it has expired now. Raises `Problem` if it is not open."""
    with space.transaction(now, None) as tx:
        if not any(each.number == number and each.state_at(now) == "open" for each in _read(tx.execute)):
            raise Problem(
                "unknown-invitation", "there is no open invitation {number}", hint="invitations", number=number
            )
        tx.execute("update invitations set until = ? where number = ?", (now, number))
        tx.changed = True


def note_listening(space: Store, number: int, port: int, failure: str, now: int) -> None:
    """Note where the invitation is answered, or why it cannot be."""
    with space.transaction(now, None) as tx:
        tx.execute("update invitations set port = ?, failure = ? where number = ?", (port, failure, number))
        tx.changed = True


def note_joined(space: Store, number: int, paired: Paired, now: int) -> bool:
    """Use an invitation up; False if another device has used it before."""
    with space.transaction(now, None) as tx:
        used = tx.execute(
            "update invitations set device = ?, name = ?, words = ?, joined_at = ?"
            " where number = ? and device is null returning number",
            (paired.peer_id, paired.peer_name, " ".join(paired.words), now, number),
        )
        tx.changed = True
        return bool(used)


def note_not_joined(space: Store, number: int, now: int) -> None:
    """Note that the device that used the invitation could not be taken in: the invitation can be used again."""
    with space.transaction(now, None) as tx:
        tx.execute(
            "update invitations set device = null, name = null, words = null, joined_at = null where number = ?",
            (number,),
        )
        tx.changed = True


def forget_old(space: Store, now: int) -> None:
    """Forget those that ended a day ago."""
    with space.transaction(now, None) as tx:
        _forget(tx, now)


def _forget(tx: Merge, now: int) -> None:
    tx.execute(
        f"delete from invitations where {_ENDED_AT} <= ?1 and ({_ENDED_AT} <= ?2 or number not in"
        f" (select number from invitations where {_ENDED_AT} <= ?1 order by {_ENDED_AT} desc limit ?3))",
        (now, now - REMEMBERED_MS, MAX_ENDED),
    )


def _remembered(each: Given, now: int) -> bool:
    return now - (each.joined_at or each.until) < REMEMBERED_MS


def _read(rows: Callable[[str], list[tuple[Any, ...]]]) -> list[Given]:
    columns = ", ".join(Given.__struct_fields__)
    return [Given(*row) for row in rows(f"select {columns} from invitations order by number")]
