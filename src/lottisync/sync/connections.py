"""One connection with each device: which of several is kept, and which gives way (docs/specs/07-sync.md, section 7).

Both ends may dial at once. Of two connections between the same two running programs the one that the
device with the smaller id dialled is kept, by both, so they never close each other's. Of two that the
same end dialled the newer is kept: a device does not dial while it has a living connection.

A connection that was opened by a program that was started as another one takes over only if the old connection gives no
sign of life: else two programs run with one key (`lottisync.sync.duplicate_key`).
"""

from collections.abc import Callable, Collection

import anyio

from lottisync.net.address import Address
from lottisync.protocol import message as m
from lottisync.sync import duplicate_key
from lottisync.sync.connection import Connection

SETTLED_SECONDS = 10.0
"""A connection that lasted so long was no mistake: after it, the first pause is the short one again."""
TAKEN_OVER_SECONDS = 1.0
"""Within which it gives a sign of life when the other side dials although there is a connection."""
REVOKED = m.Close("revoked", "this device was revoked there: it is no longer one of the person's devices")


class Connections:
    """`device` is this device's id, `members` are the devices that may be connected with.

    `opened` is called with each connection that is kept, and the address that was dialled (None: the other side
    dialled). `closed` is called when it has ended, and with whether it had lasted. `duplicate` is called with the
    connection of a device whose key another program greets with, and with whether that is news."""

    def __init__(
        self,
        device: str,
        members: Collection[str],
        *,
        patience: float,
        opened: Callable[[Connection, Address | None], None],
        closed: Callable[[Connection, bool], None],
        duplicate: Callable[[Connection, bool], None],
    ) -> None:
        self.living: dict[str, Connection] = {}
        """The one connection with each device that has greeted, by device."""
        self._device, self._members, self._patience = device, members, patience
        self._opened, self._closed, self._duplicate = opened, closed, duplicate
        self._hosts: dict[Connection, str] = {}
        self._since: dict[str, float] = {}
        self._turned_away: set[tuple[str, bytes]] = set()

    # -- a connection comes

    def begin(self, connection: Connection, host: str) -> None:
        """A connection is made, and has not greeted yet. `host` is this machine's address of it."""
        self._hosts[connection] = host

    async def greet(self, connection: Connection, boot: bytes, address: Address | None) -> m.Close | None:
        """Does what `admit` does; but while the old connection lives, another program with the same key is turned
        away."""
        while (old := self.living.get(connection.device)) is not None and old.peer_boot != boot:
            lives = await old.lives(self._patience)
            if self.living.get(connection.device) is old:
                if lives:
                    return self._turn_away(old, boot)
                break
        old = self.living.get(connection.device)
        if old is not None and self._favoured(old) and not self._favoured(connection):
            # It would be kept; but the other side may have moved, and the old connection lead nowhere (MEET-17).
            await self.unless_it_lives(old, TAKEN_OVER_SECONDS)
        return self.admit(connection, boot, address)

    def admit(self, connection: Connection, boot: bytes, address: Address | None) -> m.Close | None:
        """Whether a connection that has greeted may go on; the last word for the peer if not."""
        if connection.device not in self._members:  # revoked since the handshake
            return REVOKED
        other = self.living.get(connection.device)
        if other is not None:
            if other.peer_boot == boot and self._favoured(other) and not self._favoured(connection):
                return m.Close("duplicate-connection", "there is a connection already")
            other.close("duplicate-connection", "a newer connection takes over")
        self.living[connection.device] = connection
        self._since[connection.device] = anyio.current_time()
        self._opened(connection, address)
        return None

    def _turn_away(self, old: Connection, boot: bytes) -> m.Close:
        news = (old.device, boot) not in self._turned_away
        self._turned_away.add((old.device, boot))
        old.say_duplicate_key(boot)
        self._duplicate(old, news)
        return m.Close("duplicate-key", str(duplicate_key.warning(None)))

    def _favoured(self, connection: Connection) -> bool:
        """Whether the device with the smaller id dialled it."""
        return (self._device < connection.device) is connection.dialled

    # -- a connection goes

    def end(self, connection: Connection) -> None:
        """A connection has ended, whether it had greeted or not."""
        del self._hosts[connection]
        self._forget(connection)

    def revoke(self, device: str) -> None:
        """End the connections of a device that is not the person's any more."""
        connection = self.living.pop(device, None)
        if connection is not None:
            connection.close(REVOKED.code, REVOKED.reason)

    def moved(self, hosts: set[str]) -> list[Connection]:
        """This machine has these addresses now. Connections from one that is gone are ended; the others, which are to
        be asked for a sign of life, are returned (MEET-16)."""
        connections = list(self.living.values())
        still = [connection for connection in connections if self._hosts.get(connection) in hosts]
        for connection in connections:
            if connection not in still:
                self._drop(connection)
        return still

    async def unless_it_lives(self, connection: Connection, seconds: float) -> None:
        """End a connection that gives no sign of life within so long."""
        if not await connection.lives(seconds):
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        """End a connection over which nothing comes any more; others may take its place at once."""
        connection.close("timeout", "the network has changed, and nothing comes over this connection any more")
        self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        device = connection.device
        if self.living.get(device) is connection:
            del self.living[device]
            lasted = anyio.current_time() - self._since.pop(device, 0.0) >= SETTLED_SECONDS
            self._closed(connection, lasted)
