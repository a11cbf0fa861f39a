"""A tombstone counts as absent: it is not sent, as nothing would be there to send."""

from collections.abc import Iterable

from tests.conformance.mutants.planting import run

from lottisync.entities.entity import is_deleted
from lottisync.entities.version import Version, open_stored
from lottisync.store.snapshot import Snapshot

original = Snapshot.versions


def versions(self: Snapshot, numbers: Iterable[int]) -> list[Version]:
    return [version for version in original(self, numbers) if not is_deleted(open_stored(version))]


Snapshot.versions = versions  # type: ignore[method-assign]
run()
