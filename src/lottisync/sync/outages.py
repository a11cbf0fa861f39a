"""A store comes or goes while the engine runs (docs/specs/05-store.md, section 14).

A store whose file cannot be used does not sync any more. One whose disk answers again, and one that a program has made
now, sync from then on.

A connection goes on with the stores that it began with. So when there are more of them, the devices connect again.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import anyio

from lottisync.problem import Problem
from lottisync.sync.connection import Connection
from lottisync.sync.off_loop import Caller
from lottisync.sync.usable import UsableStores

AGAIN_SECONDS = 10.0
"""How often a disk that failed is tried: one write."""


class Outages:
    """`connections` are those of the engine, by device. `report` is called with (code, sentence), `changed` when the
    set of stores has changed. `again` is how often (s) a disk that failed is tried."""

    def __init__(
        self,
        stores: UsableStores,
        connections: Mapping[str, Connection],
        call: Caller,
        *,
        report: Callable[[str, str], None],
        changed: Callable[[], None],
        again: float,
    ) -> None:
        self._stores, self._connections, self._call = stores, connections, call
        self._report, self._changed, self._again = report, changed, again

    def leave_out(self, problem: Problem) -> bool:
        """Whether a problem is that of a store whose file cannot be used: that is said once, and the other stores sync
        without it (STORE-81, STORE-750)."""
        name = self._stores.leave_out(problem)
        if name is not None:
            self._report("failed", f"{name} does not sync: {problem.message}")
            self._changed()
        return name is not None or self._stores.is_out(problem)

    def added(self, names: Sequence[str]) -> None:
        """Stores that programs have made since this one started take part from the next connections on (STORE-955)."""
        for name in names:
            self._report("store-added", f"the store {name} is new here: it syncs")
        self._connect_again(f"{names[0]} is new here")

    async def try_disks(self) -> None:
        """A store whose disk answers again takes part again, on new connections (STORE-752). Until cancelled."""
        while True:
            await anyio.sleep(self._again)
            for name in self._stores.failing():
                if await self._call(partial(self._stores.answers, name)):
                    self._report("works-again", f"the disk of {name} answers again: it syncs")
                    self._connect_again(f"{name} can be used again")

    def _connect_again(self, why: str) -> None:
        for connection in list(self._connections.values()):
            connection.close("stores", f"{why}; the two connect again")
        self._changed()
