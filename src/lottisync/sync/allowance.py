"""What a paired device may cost this one in an hour (docs/specs/15-mending.md, section 5).

A comparison reads and hashes a whole store, and a Mend has its digest counted again. A device of the person's that
lies, or is broken, could ask for both without end. So both are counted for each device, and its Wants, too. The counts
outlive a connection, or a device would only have to connect again.
"""

from collections import deque

HOUR = 3_600_000
MAX_COMPARISONS_PER_HOUR = 30
"""For one store, because of what one device says. A person who runs `verify` has a store compared at most five times:
so often it may be run six times in an hour. 30 times reading 300,000 entities is a minute."""
MAX_MENDS_PER_HOUR = 1_000
"""Mends of one store. Each has at most 1,000 versions: a million entities can be mended in an hour."""
MAX_WANTS_PER_HOUR = 3_600
"""For each Want the stores are looked into. A device sends one when it connects, and another one after it has refused
a round: one a second is more than a broken network makes."""


class Allowance:
    """The counts of one device. `now` is the wall clock (ms). If it was set back, what was counted before counts no
    longer."""

    def __init__(
        self,
        comparisons: int = MAX_COMPARISONS_PER_HOUR,
        mends: int = MAX_MENDS_PER_HOUR,
        wants: int = MAX_WANTS_PER_HOUR,
    ) -> None:
        self._most = {"comparison": comparisons, "mend": mends, "want": wants}
        self._times: dict[tuple[str, str], deque[int]] = {}

    def comparison(self, store: str, now: int) -> bool:
        """Whether one more comparison of the store fits this hour; if so, it is counted."""
        return self._fits("comparison", store, now)

    def mend(self, store: str, now: int) -> bool:
        """Whether one more Mend of the store fits this hour; if so, it is counted."""
        return self._fits("mend", store, now)

    def want(self, now: int) -> bool:
        """Whether one more Want fits this hour; if so, it is counted."""
        return self._fits("want", "", now)

    def _fits(self, what: str, store: str, now: int) -> bool:
        times = self._times.setdefault((what, store), deque())
        while times and not now - HOUR < times[0] <= now:
            times.popleft()
        if len(times) >= self._most[what]:
            return False
        times.append(now)
        return True
