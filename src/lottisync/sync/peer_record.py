"""What the engine writes down of its connections: where a device was reached, and when it was connected last.

The rows lie in a local table of `space` (`lottisync.device.peers`). They are written off the event loop: another
process may hold the store for a while, and heartbeats must go on.
"""

from collections.abc import Callable, Mapping

import anyio

from lottisync.device.absence import Away
from lottisync.device.peers import (
    ClockHeard,
    remember_absences,
    remember_address,
    remember_clocks,
    remember_connections,
)
from lottisync.net.address import Address
from lottisync.problem import Problem
from lottisync.store.instant import iso, millis
from lottisync.store.store import Store
from lottisync.sync.off_loop import Caller
from lottisync.sync.peer import is_far

KEPT_MS = 5 * 60 * 1000
"""How old the time of the last try may be on the disk, or that of a far clock, while only that has changed:
the daemon's status has it all the
time, and a stop writes it down. A program that is killed loses five minutes of it."""


class PeerRecord:
    """`report` is called with (code, sentence) when something cannot be written down."""

    def __init__(
        self, space: Store, call: Caller, *, clock: Callable[[], int], report: Callable[[str, str], None]
    ) -> None:
        self._space, self._call, self._clock, self._report = space, call, clock, report
        self._written: dict[str, tuple[Away | None, int]] = {}
        self._clocks: dict[str, ClockHeard] = {}

    async def reached(self, device: str, address: Address) -> None:
        """A connection to a device was made at this address."""
        now = self._clock()
        await self.write(lambda: remember_address(self._space, device, address, now))

    async def connected(self, device: str) -> None:
        """A connection with a device has begun or ended now, whichever side dialled."""
        seen, now = {device: iso(self._clock())}, self._clock()
        await self.write(lambda: remember_connections(self._space, seen, now))

    async def away(self, absences: Mapping[str, Away | None], *, stopping: bool = False) -> None:
        """Why each device is away now, None for one that is not. Written is what has changed, and what is old; the
        time of the last try alone is not a change, or each try would be a write. All of it when `stopping`."""
        now = self._clock()
        changed = {
            device: away
            for device, away in absences.items()
            if self._is_due(device, away, 0 if stopping else KEPT_MS, now)
        }
        if changed:
            self._written |= {device: (away, now) for device, away in changed.items()}
            with anyio.CancelScope(shield=True):
                await self.write(lambda: remember_absences(self._space, changed, now))

    async def clocks(self, heard: Mapping[str, ClockHeard], *, stopping: bool = False) -> None:
        """How far the clocks of devices are from ours. Written is what is news to the person, and what is old and to
        be shown; when `stopping` all of it is written."""
        changed = {device: each for device, each in heard.items() if self._is_clock_due(device, each, stopping)}
        if changed:
            self._clocks |= changed
            now = self._clock()
            with anyio.CancelScope(shield=True):
                await self.write(lambda: remember_clocks(self._space, changed, now))

    def _is_clock_due(self, device: str, heard: ClockHeard, stopping: bool) -> bool:
        before = self._clocks.get(device)
        if before is None or is_far(before.off) != is_far(heard.off):
            return True
        if stopping:
            return heard != before
        return is_far(heard.off) and millis(heard.at) - millis(before.at) >= KEPT_MS

    def _is_due(self, device: str, away: Away | None, kept: int, now: int) -> bool:
        if device not in self._written:
            return True
        before, at = self._written[device]
        if away is None or before is None:
            return away is not before
        return _reason(away) != _reason(before) or (away != before and now - at >= kept)

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


def _reason(away: Away) -> tuple[object, ...]:
    return away.reason, away.address, away.failure, away.clock_said, (away.away_since or "")[:16]
