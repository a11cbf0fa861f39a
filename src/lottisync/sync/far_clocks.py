"""Devices whose clocks are far ahead of ours (docs/specs/02-causality.md, CAUS-11).

What such a device writes names only its host. Which device that is may be known only when the roster has been read
again, so a host waits here until then.
"""

from collections.abc import Callable, Mapping

from lottisync.causality.vector_clock import Host
from lottisync.store.instant import iso
from lottisync.sync.peer import PeerState, clock_warning


class FarClocks:
    """`peers` are the devices that are shown to the person; `report` is called with (code, sentence), once a device."""

    def __init__(self, peers: Mapping[str, PeerState], report: Callable[[str, str], None]) -> None:
        self._peers, self._report = peers, report
        self._waiting: dict[Host, int] = {}

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
                self._report("clock-ahead", clock_warning(state.name, state.ahead))
