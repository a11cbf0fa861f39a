"""Notices what was committed to the stores of this device, by whichever program (docs/specs/07-sync.md, section 5).

A program that commits rings the bell; without a bell the stores are looked at every now and then. Looking is cheap: a
change token for each store.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial

import anyio

from lottisync.device.device import Device
from lottisync.device.membership import bind_hosts
from lottisync.problem import Problem
from lottisync.store.doorbell import FALLBACK_SECONDS, Bell
from lottisync.store.reader import ChangeToken
from lottisync.sync.connection import Connection
from lottisync.sync.off_loop import Caller
from lottisync.sync.usable import UsableStores
from lottisync.sync.verification import Verification

LOOK_SECONDS = 2.0
"""How often the stores are looked at without a bell. These looks are most of what an idle daemon costs."""
Committed = Callable[[dict[str, ChangeToken], Mapping[str, ChangeToken]], Awaitable[None]]
"""Called with the stores' change tokens as they are, and as they were at the last look."""


class Commits:
    """`stores` are those of the device that can be used. `connections` are the engine's, by device. After each look in
    which a change token has moved, `committed` is awaited; after each look while stores are compared, `compared`.
    `added` is called with the names of stores that are new."""

    def __init__(
        self,
        device: Device,
        stores: UsableStores,
        connections: Mapping[str, Connection],
        verification: Verification,
        call: Caller,
        *,
        report: Callable[[str, str], None],
        committed: Committed,
        compared: Callable[[], Awaitable[None]],
        unusable: Callable[[Problem], bool],
        added: Callable[[Sequence[str]], None],
    ) -> None:
        self._device, self._stores, self._connections = device, stores, connections
        self._verification, self._call, self._clock, self._report = verification, call, device.environment.now, report
        self._committed, self._compared, self._unusable = committed, compared, unusable
        self._added = added
        self._names = set(stores)
        self._left_out: dict[str, str] = {}
        self._bound: set[str] = set()
        self._seen: dict[str, ChangeToken] = {}
        self._failing = ""

    async def watch(self, bell: Bell) -> None:
        """Until cancelled."""
        while True:
            comparing = any(connection.status.comparing for connection in self._connections.values())
            with anyio.move_on_after(FALLBACK_SECONDS if comparing else LOOK_SECONDS):
                await anyio.wait_readable(bell)
            bell.clear()
            try:
                await self._look()
            except Problem as problem:
                if not self._unusable(problem):
                    self._say_once(problem.message)
            except OSError as error:  # a full disk, no free descriptor, a store in use: again a while later
                self._say_once(error.strerror or str(error))
            else:
                self._failing = ""
            if any(connection.status.comparing for connection in self._connections.values()):
                await self._compared()

    async def _look(self) -> None:
        idle = [connection for connection in self._connections.values() if connection.reserve()]
        try:
            moments = await self._call(partial(self._read, idle))
        finally:
            for connection in idle:
                connection.release()
        self._tell_of_stores()
        self._verification.look()
        if moments != self._seen:
            await self._committed(moments, self._seen)
        self._seen = moments

    def _tell_of_stores(self) -> None:
        """Tell the engine which stores the look at the folder has found."""
        if names := [name for name in self._stores if name not in self._names]:
            self._names.update(names)
            self._added(names)
        left_out = {name: why.message for name, why in self._stores.files.items()}
        for name, reason in left_out.items():
            if self._left_out.get(name) != reason:
                self._report("failed", f"{name} does not sync: {reason}")
        self._left_out = left_out

    def _say_once(self, reason: str) -> None:
        if reason != self._failing:
            self._report("failed", reason)
        self._failing = reason

    def _read(self, idle: Collection[Connection]) -> dict[str, ChangeToken]:
        """The stores' change tokens. If that of `space` has not moved, and so the roster has not either, idle
        connections look at once what their peers lack: a change that was made just now is sent without another hop
        to a thread."""
        self._stores.look()
        moments = self.moments()
        space = self._device.space.schema.name
        if moments[space] == self._seen.get(space):
            for connection in idle:
                connection.look(moments)
        return moments

    def moments(self) -> dict[str, ChangeToken]:
        """The change token of each store: cheap to read, and the same for changes by any program."""
        moments: dict[str, ChangeToken] = {}
        for name, store in self._stores.items():
            with store.reading() as reader:
                moments[name] = reader.change_token()
                if store is self._device.space:
                    self._verification.look_for_requests(reader)
        hosts = {moment.host for moment in moments.values()}
        # Any store, space too, may have minted a new host; until it is bound, peers refuse what it writes.
        if not hosts <= self._bound:
            bind_hosts(self._stores, self._device.key, self._clock())
            self._bound |= hosts
        return moments
