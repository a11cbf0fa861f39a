"""Reaching devices: their addresses are dialled until there is a connection (docs/specs/16-meeting.md, section 3).

Each active device that is not connected has a search. It knows the device's addresses with their history, and
`lottisync.sync.dial_plan` says which is dialled next. Several attempts run at once; the first that ends in a connection
cancels the others. One connection is all that two devices have, however many addresses they know of each other.

A search waits for its next attempt, or for news: an address that was not known, an announcement, another network, a
connection that ended. The result at each address is kept, and shown to people while the device is away.

How a connection is made, and what runs on it, is the engine's business (`connect`, `meet`).
"""

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from random import Random
from typing import NamedTuple

import anyio
from anyio.abc import TaskGroup
from anyio.streams.tls import TLSStream

from lottisync.net.address import Address
from lottisync.problem import Sentence
from lottisync.sync.dial_plan import (
    FIRST_PAUSE_SECONDS,
    MAX_AT_ONCE,
    STAGGER_SECONDS,
    Attempt,
    Failure,
    Known,
    Source,
    failed,
    forgiven,
    in_turn,
    plan,
    renewed,
)

MAX_DIALS = 64
"""Attempts under way for all devices together: file descriptors."""
POLITE_SECONDS = 0.25
"""How long the device with the larger id lets the other one dial first."""


class Unreachable(Exception):
    """An attempt that came to nothing, and why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.text)
        self.failure = failure


class Connected(NamedTuple):
    stream: TLSStream
    device: str
    """Which device the handshake proved."""


class Met(NamedTuple):
    """How a connection ended that was dialled: None if it lasted, else why it did not."""

    failure: Failure | None = None


Meet = Callable[[TLSStream, str, Address], Coroutine[object, object, Met]]


class _Search:
    def __init__(self) -> None:
        self.known: list[Known] = []
        self.flying: dict[Address, anyio.CancelScope] = {}
        self.news = anyio.Event()

    def wake(self) -> None:
        self.news.set()
        self.news = anyio.Event()

    def update(self, address: Address, change: Callable[[Known], Known]) -> None:
        self.known = [change(each) if each.address == address else each for each in self.known]


class Dialling:
    """`connect` is given the device that is meant and raises `Unreachable`; `meet` runs a connection until it ends;
    `is_connected` says whether there is one; `is_polite` whether this device lets that one dial first; `failed` is
    called for each connection that could not be made; `name` is what the person calls a device."""

    def __init__(
        self,
        tasks: TaskGroup,
        *,
        connect: Callable[[str, Address], Awaitable[Connected]],
        meet: Meet,
        is_connected: Callable[[str], bool],
        is_polite: Callable[[str], bool],
        chance: Random,
        failed: Callable[[str, Address, Failure], None] = lambda device, address, failure: None,
        name: Callable[[str], str] = str,
    ) -> None:
        self._tasks, self._chance = tasks, chance
        self._connect, self._meet, self._tell = connect, meet, failed
        self._name = name
        self._is_connected, self._is_polite = is_connected, is_polite
        self._searches: dict[str, _Search] = {}
        self._slots = anyio.Semaphore(MAX_DIALS)

    # -- what there is to know

    def search(self, devices: Iterable[str]) -> None:
        """The devices to look for, from now on these alone."""
        wanted = set(devices)
        for device in self._searches.keys() - wanted:
            self._stop(device)
        for device in wanted - self._searches.keys():
            self._searches[device] = _Search()
            self._tasks.start_soon(self._keep_dialling, device, self._searches[device])

    def know(self, device: str, addresses: Iterable[tuple[Address, Source]]) -> None:
        """All that is known of where a device is, the likeliest of each source first. What came of an address that was
        known already is kept."""
        search = self._searches.get(device)
        if search is None:
            return
        before = {each.address: each for each in search.known}
        search.known = [
            before[address]._replace(source=source) if address in before else Known(address, source)
            for address, source in addresses
        ]
        search.wake()

    def retry(self, device: str, addresses: Iterable[Address]) -> None:
        """These addresses were announced again: their pauses begin again, with a short one."""
        if (search := self._searches.get(device)) is not None:
            for address in addresses:
                search.update(address, lambda known: renewed([known])[0])
            search.wake()

    def retry_all(self) -> None:
        """The network has changed: nothing that failed before says anything."""
        for search in self._searches.values():
            search.known = renewed(search.known)
            search.wake()

    def connected(self, device: str) -> None:
        """Note that there is a connection, from either side: attempts that are under way for the device are over."""
        if (search := self._searches.get(device)) is not None:
            for scope in search.flying.values():
                scope.cancel()
            search.known = forgiven(search.known)
            search.wake()

    def disconnected(self, device: str, *, lasted: bool) -> None:
        """Note that the connection has ended. After one that lasted, all pauses begin again, with a short one."""
        search = self._searches.get(device)
        if search is None:
            return
        if lasted:
            at = anyio.current_time() + FIRST_PAUSE_SECONDS * self._chance.uniform(0.7, 1.3)
            search.known = [each._replace(retry_at=at) for each in forgiven(renewed(search.known))]
        search.wake()

    def known(self, device: str) -> list[Known]:
        """The device's addresses, the likeliest first, and what came of them."""
        search = self._searches.get(device)
        return in_turn(search.known) if search is not None else []

    # -- the search

    def _stop(self, device: str) -> None:
        search = self._searches.pop(device)
        for scope in search.flying.values():
            scope.cancel()
        search.wake()

    async def _keep_dialling(self, device: str, search: _Search) -> None:
        if self._is_polite(device):
            await anyio.sleep(POLITE_SECONDS)
        while self._searches.get(device) is search:
            news, due = search.news, self._next(device, search)
            if due is None or due.at > anyio.current_time():
                with anyio.CancelScope(deadline=due.at if due is not None else float("inf")):
                    await news.wait()
                continue
            scope = search.flying[due.address] = anyio.CancelScope()
            self._tasks.start_soon(self._attempt, device, search, due.address, scope)
            await anyio.sleep(STAGGER_SECONDS)

    def _next(self, device: str, search: _Search) -> Attempt | None:
        """The next attempt; None while there is nothing to do."""
        if self._is_connected(device) or len(search.flying) >= MAX_AT_ONCE:
            return None
        waiting = [each for each in in_turn(search.known) if each.address not in search.flying]
        return next(iter(plan(waiting, anyio.current_time())), None)

    async def _attempt(self, device: str, search: _Search, address: Address, scope: anyio.CancelScope) -> None:
        failure: Failure | None
        try:
            with scope:
                async with self._slots:
                    connected = await self._connect(device, address)
            if scope.cancelled_caught:
                return
            if connected.device != device:
                # One of ours all the same. It gets a connection of its own, and the search goes on.
                self._tasks.start_soon(self._meet, connected.stream, connected.device, address)
                name = self._name(connected.device)
                other = Sentence("{name} answers there, another of your devices", name=name)
                failure = Failure("refused", other, stranger=True)
            else:
                failure = (await self._meet(connected.stream, device, address)).failure
        except Unreachable as reason:
            failure = reason.failure
            self._tell(device, address, failure)
        finally:
            del search.flying[address]
            search.wake()
        if failure is not None and not self._is_connected(device):
            self._failed(device, search, address, failure)

    def _failed(self, device: str, search: _Search, address: Address, failure: Failure) -> None:
        rank = next((n for n, each in enumerate(in_turn(search.known)) if each.address == address), len(search.known))
        now = anyio.current_time()
        search.update(address, lambda known: failed(known, rank, now, self._chance, failure))
