"""After a restart a store counts from what it has, and forgets the last write."""

from pathlib import Path

from tests.conformance.mutants.planting import run

from lottisync.adapter.replica import Replica
from lottisync.entities.schema import StoreSchema
from lottisync.store.store import Store

original = Replica._open


def opened(self: Replica, file: Path, schema: StoreSchema, extra: str) -> Store:
    store = original(self, file, schema, extra)
    with store.transaction(0) as tx:
        tx.execute("update state set counter = max(0, counter - 1)")
        tx.execute("delete from chain where counter > (select counter from state)")
    return store


Replica._open = opened  # type: ignore[method-assign]
run()
