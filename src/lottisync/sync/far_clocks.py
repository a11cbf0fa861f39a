"""Clocks that are far from ours: other devices', and perhaps our own (docs/specs/02-causality.md, section 5).

There are two signs. A device's *pings* say what its wall clock says now: `said`. And a *write* may come with a time
that is far ahead of ours: `found`. The write may be old, or come from a third device. It names only its host. Which
device that is may be known only when the roster has been read again, so a host waits here until then.
"""

from collections.abc import Callable, Mapping

from lottisync.causality.vector_clock import Host
from lottisync.store.instant import iso
from lottisync.sync.peer import PeerState, clock_difference, clock_warning, is_far


class FarClocks:
    """`peers` are the devices that are shown to the person; `report` is called with (code, sentence), once a device."""

    def __init__(self, peers: Mapping[str, PeerState], report: Callable[[str, str], None]) -> None:
        self._peers, self._report = peers, report
        self._waiting: dict[Host, int] = {}

    def said(self, device: str, millis: int, now: int) -> bool:
        """A device says that its clock says `millis`, while ours says `now` (both in ms since 1970). Returns whether it
        has become a far clock by this, or is one no longer."""
        state = self._peers.get(device)
        if state is None:
            return False
        was, state.clock_off, state.clock_heard_at = is_far(state.clock_off), millis - now, iso(now)
        if is_far(state.clock_off) and not was:
            self._report("clock-differs", str(clock_difference(state.name, state.clock_off, now)))
        return is_far(state.clock_off) != was

    def found(self, host: Host, millis: int, owners: Mapping[str, str]) -> None:
        """A write of `host` came with a time that is far ahead of ours (ms). `owners` maps hosts to devices."""
        self._waiting[host] = millis
        self.attribute(owners)

    def attribute(self, owners: Mapping[str, str]) -> None:
        """Name the devices of the hosts that wait, as far as their owners are known by now."""
        for host in list(self._waiting):
            state = self._peers.get(owners.get(host, ""))
            millis = self._waiting.pop(host, None) if state is not None else None
            if state is None or millis is None:
                continue
            first = state.ahead is None
            state.ahead = iso(millis)
            if first:
                self._report("clock-ahead", str(clock_warning(state.name, state.ahead)))
