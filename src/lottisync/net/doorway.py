"""A listener that strangers cannot close (docs/specs/12-transport.md, section 1).

A peer that connects takes a slot until it has proved who it is. The slots are few, or strangers would use up our file
descriptors. So that one stranger cannot take them all, an address gets `EACH` of them (in IPv6 a /64 counts as one
address: a host there has as many addresses as it likes), and `KEPT` of them are for addresses where a device of
this person was reached before. Such an address has a separate share, because a stranger may be in the same /64. A
connection that gets no slot is closed; its owner may try again.

A machine that has no free descriptor takes no connection for a while. That ends nothing: the connections wait in the
system's queue, and it is tried again.
"""

from collections import Counter
from collections.abc import Callable, Coroutine
from ipaddress import IPv6Address, ip_address
from typing import Any

import anyio
from anyio.abc import Listener, SocketAttribute, SocketStream
from anyio.streams.stapled import MultiListener

SLOTS = 32
"""Connections that have not yet proved who they are, at one time."""
EACH = 6
"""How many slots one address may have: a household behind one address dials with some devices at once."""
KEPT = 8
"""How many slots are kept for addresses that are known."""
PAUSE_SECONDS = 0.5
"""Until the next try where the system gives no connection."""
IPV6_NETWORK_BITS = 64


class Slots:
    """Who is being let in, counted by address."""

    def __init__(self, limit: int = SLOTS, each: int = EACH, kept: int = KEPT) -> None:
        self._most, self._each, self._kept = limit, each, kept
        self._taken: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        return self._taken.total()

    def take(self, host: str, *, known: bool = False) -> bool:
        """Take a slot for a connection from `host`, an address as text; False if there is none for it. Each slot
        that was taken is given back with `leave`."""
        share = _share(host, known)
        room = self._most if known else self._most - self._kept
        if self.taken >= room or self._taken[share] >= self._each:
            return False
        self._taken[share] += 1
        return True

    def leave(self, host: str, *, known: bool = False) -> None:
        """Give a slot back, with what `take` was called with."""
        share = _share(host, known)
        self._taken[share] -= 1
        if not self._taken[share]:
            del self._taken[share]


def _share(host: str, known: bool) -> str:
    return f"known {host}" if known else network_of(host)


def network_of(host: str) -> str:
    """What counts as one address: an IPv4 address (also where it is written as IPv6), or the /64 of an IPv6 address.
    Text that is not an address is returned as it is."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Address(int(address) >> IPV6_NETWORK_BITS << IPV6_NETWORK_BITS))


def remote_host(stream: SocketStream) -> str:
    """The address at the other end; empty if it is gone already. An IPv4 address that a socket of both families shows
    as IPv6 is written as IPv4."""
    try:
        return str(stream.extra(SocketAttribute.remote_address)[0]).removeprefix("::ffff:")
    except (LookupError, ValueError, OSError, anyio.ClosedResourceError):
        return ""


async def welcome(
    listener: Listener[SocketStream],
    serve: Callable[[SocketStream], Coroutine[Any, Any, None]],
    failing: Callable[[OSError], None] = lambda error: None,
) -> None:
    """Serve each connection in a separate task, until cancelled. `failing` is called each time the system gives no
    connection (no free descriptor, no memory). Then it is tried again."""
    listeners = listener.listeners if isinstance(listener, MultiListener) else [listener]
    async with anyio.create_task_group() as tasks:
        for each in listeners:
            tasks.start_soon(_welcome, each, serve, failing, tasks)


async def _welcome(
    listener: Listener[SocketStream],
    serve: Callable[[SocketStream], Coroutine[Any, Any, None]],
    failing: Callable[[OSError], None],
    tasks: anyio.abc.TaskGroup,
) -> None:
    accept = listener.accept  # type: ignore[attr-defined]  # of every socket listener; the interface has `serve` only
    while True:
        # asyncio drops a connection that comes in the moment in which `accept` is cancelled. So it only accepts what is
        # there.
        await anyio.wait_readable(listener.extra(SocketAttribute.raw_socket))
        try:
            connection = await accept()
        except OSError as error:
            failing(error)
            await anyio.sleep(PAUSE_SECONDS)
        else:
            tasks.start_soon(serve, connection)
