"""The daemon with its agents, in a process of its own: prints "ready", then the code of everything it says.

What the daemon loads later, for the first wake, is loaded before. So what the process grows by is what wakes keep."""

import sys
from pathlib import Path

import anyio

import lottisync.agents.model_process
import lottisync.agents.runtime
import lottisync.daemon.pending
import lottisync.relay.visits
import lottisync.review.cleanup  # noqa: F401
from lottisync.daemon.daemon import run
from lottisync.daemon.home import TaskHome
from lottisync.net.listener import Listen


def main(path: Path) -> None:
    home = TaskHome.open(path)

    async def live() -> None:
        await run(
            home,
            listen=Listen("127.0.0.1", 0),
            discover=False,
            say=lambda code, text: print(code, flush=True),
            started=lambda port: print("ready", flush=True),
            agents=True,
        )

    anyio.run(live)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
