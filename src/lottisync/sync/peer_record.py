"""What the engine writes down of its connections: where a device was reached, and when it was connected last.

The rows lie in a local table of `space` (`lottisync.device.peers`). They are written off the event loop: another
process may hold the store for a while, and heartbeats must go on.
"""

from collections.abc import Callable, Mapping

import anyio

from lottisync.device.peers import LastFailure, remember_address, remember_connections, remember_failures
from lottisync.net.address import Address
from lottisync.problem import Problem
from lottisync.store.instant import iso
from lottisync.store.store import Store
from lottisync.sync.off_loop import Caller


class PeerRecord:
    """`report` is called with (code, sentence) when something cannot be written down."""

    def __init__(
        self, space: Store, call: Caller, *, clock: Callable[[], int], report: Callable[[str, str], None]
    ) -> None:
        self._space, self._call, self._clock, self._report = space, call, clock, report
        self._failures: dict[str, LastFailure | None] = {}

    async def reached(self, device: str, address: Address) -> None:
        """A connection to a device was made at this address."""
        now = self._clock()
        await self.write(lambda: remember_address(self._space, device, address, now))

    async def connected(self, device: str) -> None:
        """A connection with a device has begun or ended now, whichever side dialled."""
        seen, now = {device: iso(self._clock())}, self._clock()
        await self.write(lambda: remember_connections(self._space, seen, now))

    async def away(self, failures: Mapping[str, LastFailure | None]) -> None:
        """Why each device is away now, None for one that is not. Written is what has changed, not every attempt."""
        changed = {
            device: failure
            for device, failure in failures.items()
            if device not in self._failures or _reason(failure) != _reason(self._failures[device])
        }
        if changed:
            now = self._clock()
            self._failures |= changed
            with anyio.CancelScope(shield=True):
                await self.write(lambda: remember_failures(self._space, changed, now))

    async def stopping(self, seen: Mapping[str, str]) -> None:
        """This program stops: when each device was connected last (device -> ISO 8601)."""
        now = self._clock()
        if seen:
            with anyio.CancelScope(shield=True):
                await self.write(lambda: remember_connections(self._space, seen, now))

    async def write(self, work: Callable[[], None]) -> None:
        """Write off the event loop; what cannot be written is reported."""
        try:
            await self._call(work)
        except Problem as problem:
            self._report("failed", problem.message)


def _reason(failure: LastFailure | None) -> tuple[str, ...] | None:
    return None if failure is None else (failure.address, failure.code, failure.error, failure.failing_since[:16])
