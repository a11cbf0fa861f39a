"""How this device and the person's others come to be connected (docs/specs/16-meeting.md).

Everything that says where a device is comes together here: its record in `space`, what a person entered, what worked
before, what was handed over at pairing, and mDNS. `Dialling` tries the addresses. In return this device writes down
where it is reached itself, announces itself under names that the others recognise, and does all of it again when
the network changes.

A relay is not a way to reach a device: two that meet there are never connected (docs/specs/19-relay.md).
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from random import Random
from typing import NamedTuple

import anyio
from anyio.abc import TaskGroup

from lottisync.device import addresses as records
from lottisync.device.addresses import Reach, read_reach
from lottisync.device.device import Device
from lottisync.device.peers import introduced, remembered
from lottisync.identity.announcement import NONCE_BYTES, announcement, announcement_secret, recognised
from lottisync.net.address import Address
from lottisync.net.discovery import Announcement, DiscoveredService, discovering
from lottisync.net.interfaces import interfaces, reached_at, scopes, watch
from lottisync.problem import Problem
from lottisync.sync.dial_plan import MAX_OF_A_SOURCE, Source
from lottisync.sync.dialling import Dialling
from lottisync.sync.off_loop import Caller
from lottisync.sync.peer import AddressState
from lottisync.sync.whereabouts import Said, dialled_as, said_of, states_of

MAX_STRANGERS = 256
"""How many announcements of others are counted: more than any network has, and a limit for what an attacker invents."""


class _Seen(NamedTuple):
    """What `space` says: records by device, secrets by device, and where each device was reached from here and when."""

    reach: dict[str, Reach]
    secrets: dict[str, bytes]
    worked: dict[str, list[tuple[Address, str]]]


class Meeting:
    """`dialling` is made with the task group that it runs in. `network_changed` is called with the addresses
    that this machine has now."""

    def __init__(
        self,
        *,
        device: Device,
        host: str,
        port: int,
        chance: Random,
        call: Caller,
        dialling: Dialling,
        report: Callable[[str, str], None],
        changed: Callable[[], None],
        network_changed: Callable[[set[str]], None],
    ) -> None:
        self._device, self._host, self._port = device, host, port
        self._clock, self._chance, self._call = device.environment.now, chance, call
        self._dialling, self._report, self._changed = dialling, report, changed
        self._network_changed = network_changed
        self._active: set[str] = set()
        self._revoked: set[str] = set()
        self._secret = announcement_secret(device.key, ())
        self._own: set[Address] = set()
        self._scopes: list[str] = []
        self._seen = _Seen({}, {}, {})
        self._announced: dict[str, dict[str, tuple[Address, ...]]] = {}
        self._strangers: dict[str, None] = {}
        self._again: Callable[[], None] = lambda: None

    # -- life

    @contextlib.asynccontextmanager
    async def running(self, tasks: TaskGroup, *, discover: bool) -> AsyncIterator[None]:
        """Announce and look for devices, as long as the block runs."""

        def moved() -> None:
            tasks.start_soon(self._moved)

        tasks.start_soon(watch, moved)
        if not discover:
            yield
            return
        announce = Announcement("sync", self._port, self._name)
        async with discovering(self._host, announce, self._found, self._lost, self._asks) as self._again:
            yield

    async def look(self, active: Iterable[str], revoked: Iterable[str]) -> None:
        """Take from `space`, which has changed, which devices are to be looked for, and which are out (MEET-10)."""
        self._active, self._revoked = set(active), set(revoked)
        await self._renew()
        await self.look_again()

    async def look_again(self) -> None:
        """Read again where the devices are."""
        before = self._seen.secrets
        self._seen = await self._call(self._read)
        self._dialling.search(self._active)
        for device in self._active:
            self._know(device)
        if self._strangers and not self._seen.secrets.items() <= before.items():
            # A name that meant nothing may now be one of ours.
            self._strangers.clear()
            self._again()

    async def _moved(self) -> None:
        """This machine's addresses have changed."""
        self._report("network", "the network has changed; the other devices are looked for again")
        self._scopes = scopes()
        await self._renew()
        for device in self._active:
            self._know(device)
        self._dialling.retry_all()
        self._network_changed({each.host for each in interfaces()})

    async def _renew(self) -> None:
        """Write down where this device is reached, and keep its secret from those who were taken out."""
        own = reached_at(self._host, self._port)
        self._own, self._scopes = set(own), scopes()
        secret = announcement_secret(self._device.key, self._revoked)
        try:
            await self._call(lambda: records.renew(self._device.space, self._device.id, own, secret, self._clock()))
        except Problem as problem:  # a full disk: this device is found all the same, by those who know it
            self._report("failed", problem.message)
        if secret != self._secret:
            self._secret = secret
            self._again()

    def _read(self) -> _Seen:
        with self._device.space.reading() as reader:
            reach = read_reach(reader)
            secrets = {device: each.secret for device, each in reach.items() if each.secret is not None}
            worked = {device: remembered(reader, device) for device in self._active}
            return _Seen(reach, introduced(reader) | secrets, worked)

    # -- mDNS

    def _name(self) -> str:
        return announcement(self._secret, self._chance.randbytes(NONCE_BYTES))

    def _whose(self, name: str) -> str | None:
        device = recognised(name, self._seen.secrets)
        return device if device in self._active else None

    def _asks(self, name: str) -> bool:
        if self._whose(name) is not None:
            return True
        if len(self._strangers) < MAX_STRANGERS:
            self._strangers[name] = None
            self._changed()
        return False

    def _found(self, found: DiscoveredService) -> None:
        device = self._whose(found.name)
        if device is None or found.role != "sync":
            return
        names = self._announced.setdefault(device, {})
        names.pop(found.name, None)
        names[found.name] = found.addresses
        while len(names) > MAX_OF_A_SOURCE[Source.ANNOUNCED]:
            del names[next(iter(names))]
        self._know(device)
        heard = [each for address in found.addresses for each in dialled_as(address, self._scopes)]
        self._dialling.retry(device, heard)

    def _lost(self, name: str) -> None:
        self._strangers.pop(name, None)
        for device, names in self._announced.items():
            if names.pop(name, None) is not None:
                self._know(device)
        self._changed()

    def nearby(self) -> int:
        """How many programs announce themselves and are not this person's devices."""
        return len(self._strangers)

    # -- where a device is

    def _said(self, device: str) -> Said:
        announced = [a for names in reversed(self._announced.get(device, {}).values()) for a in names]
        worked = [address for address, _ in self._seen.worked.get(device, [])]
        said = said_of(self._seen.reach.get(device, Reach()), worked, announced, self._scopes)
        return [(address, source) for address, source in said if address not in self._own]

    def _know(self, device: str) -> None:
        self._dialling.know(device, self._said(device))

    def addresses(self, device: str) -> list[AddressState]:
        """Where the device is looked for, the likeliest first, and what came of it."""
        worked = dict(self._seen.worked.get(device, []))
        known, said = self._dialling.known(device), self._said(device)
        return states_of(known, said, worked, anyio.current_time(), self._clock())
