"""A process that waits for a bell: `python -m tests.support.listener BELLS NAME SECONDS`."""

import select
import sys
from pathlib import Path

from lottisync.store.doorbell import Bell


def main(bells: str, name: str, seconds: float) -> None:
    bell = Bell(Path(bells), name)
    print("ready", flush=True)
    rung, _, _ = select.select([bell], [], [], seconds)
    print("rung" if rung else "silence", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
