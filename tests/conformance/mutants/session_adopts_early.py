"""Over a session knowledge is taken over with every batch, and not at the end."""

from collections.abc import Iterable

from tests.conformance.mutants.planting import run

from lottisync.device.membership import Strangers
from lottisync.entities.version import Version
from lottisync.store.merge import Merge
from lottisync.sync.incoming import Anomalies, Incoming

original = Incoming.batch


def batch(self: Incoming, tx: Merge, versions: Iterable[Version], strangers: Strangers) -> Anomalies:
    taken = original(self, tx, versions, strangers)
    tx.adopt(self.begin.knowledge)
    return taken


Incoming.batch = batch  # type: ignore[method-assign]
run()
