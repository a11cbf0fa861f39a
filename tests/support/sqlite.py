"""The database under a store: for damage that no store would write, and for what only SQLite knows."""

import apsw

from lottisync.store.snapshot import Snapshot
from lottisync.store.store import Store


def connection(store: Store | Snapshot) -> apsw.Connection:
    return store._connection
