"""After a restart a store counts from what it has, and forgets the last write."""

from tests.conformance.mutants.planting import run

from lottisync.device.folder import StoreFolder
from lottisync.entities.entity import HIGH
from lottisync.store.store import Store

original = StoreFolder._opened


def opened(self: StoreFolder, name: str) -> Store:
    store = original(self, name)
    with store.transaction(0, HIGH) as tx:
        tx.execute("update state set counter = max(0, counter - 1)")
        tx.execute(
            """update chain set segment = substr(segment, 1, ((select counter from state) - first + 1) * 16)
               where host = (select h.n from hosts h join state s on s.host = h.host)"""
        )
    return store


StoreFolder._opened = opened  # type: ignore[method-assign]
run()
