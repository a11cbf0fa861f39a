"""`python -m tests.review.dying`: verdicts in processes that kill themselves.

Reads a line of JSON for each trial: the device's folder, the verb, the item, what more is said, and the
statement before which the process dies (SIGKILL, from SQLite's own trace, so that nothing of ours runs after
it). Each trial is a process of its own, forked off this one, which has everything imported and no database
open. Answers "killed", or "done" if there were fewer statements than that.
"""

import json
import os
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

from tests.review.reviewer import Reviewer
from tests.support import sqlite


def run(trial: dict[str, Any]) -> None:
    device = Reviewer(Path(trial["folder"]), now=trial["now"])
    counted = count(1)

    def trace(*_: Any) -> bool:
        if next(counted) == trial["statement"]:
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    for store in (device.journal, device.agents):
        sqlite.connection(store).exec_trace = trace
    getattr(device.verdicts, trial["verb"])(trial["item"], now=trial["now"], **trial["more"])


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run(json.loads(line))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            print("killed", flush=True)
        else:
            print("done" if os.waitstatus_to_exitcode(status) == 0 else "broken", flush=True)


if __name__ == "__main__":
    main()
