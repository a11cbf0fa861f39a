"""A tombstone counts as absent: it is not sent, as nothing would be there to send."""

from collections.abc import Sequence

from tests.conformance.mutants.planting import run

from lottisync.entities.entity import is_deleted
from lottisync.entities.version import Version, open_stored
from lottisync.store.snapshot import Snapshot

original = Snapshot.sound


def sound(self: Snapshot, wanted: Sequence[int]) -> dict[int, Version]:
    found = original(self, wanted)
    return {n: version for n, version in found.items() if not is_deleted(open_stored(version))}


Snapshot.sound = sound  # type: ignore[method-assign]
run()
