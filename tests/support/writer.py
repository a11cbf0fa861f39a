"""A process that writes into a store until it is stopped or killed, and says what was acknowledged:

    python -m tests.support.writer STORE NAME COUNT      COUNT transactions, 0 for endless

Each transaction makes one task of its own and edits the one that all writers share."""

import sys
from pathlib import Path

from tests.support.stores import NOON, minting

from lottisync.entities.entity import HIGH
from lottisync.journal.types import JOURNAL
from lottisync.store.store import Store

SHARED = "shared"


def main(file: str, name: str, count: int) -> None:
    store = Store.open(Path(file), JOURNAL, minting(99))
    print("ready", flush=True)
    sys.stdin.readline()
    number = 0
    while count == 0 or number < count:
        number += 1
        with store.transaction(NOON, HIGH) as tx:
            tx.put(f"{name}-{number}", "task", {"title": f"{name} {number}"})
            tx.put(SHARED, "task", {f"seen/{name}-{number}": True})
        print(number, flush=True)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
