"""After a restart a store counts from what it has, and forgets the last write."""

from pathlib import Path
from typing import Literal

from tests.conformance.mutants.planting import run

from lottisync.adapter.replica import Replica
from lottisync.entities.entity import HIGH
from lottisync.entities.schema import StoreSchema
from lottisync.store.store import Store

original = Replica._open


def opened(self: Replica, file: Path, schema: StoreSchema, extra: str, detect: Literal["early", "late"]) -> Store:
    store = original(self, file, schema, extra, detect)
    with store.transaction(0, HIGH) as tx:
        tx.execute("update state set counter = max(0, counter - 1)")
        tx.execute(
            """update chain set links = substr(links, 1, ((select counter from state) - first + 1) * 16)
               where host = (select h.n from hosts h join state s on s.host = h.host)"""
        )
    return store


Replica._open = opened  # type: ignore[method-assign]
run()
