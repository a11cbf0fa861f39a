"""A row that does not have its stored hash is sent like any other."""

from collections.abc import Sequence

from tests.conformance.mutants.planting import run

from lottisync.entities.version import Version
from lottisync.store import tables
from lottisync.store.snapshot import Snapshot


def sound(self: Snapshot, wanted: Sequence[int]) -> dict[int, Version]:
    rows = self._rows(f"select n, {tables.RAW_COLUMNS} from {self._entities}", ())
    return {n: tables.raw_version(*parts) for n, *parts in rows if n in wanted}


Snapshot.sound = sound  # type: ignore[method-assign]
run()
