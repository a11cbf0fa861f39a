"""Real processes killed at random moments, and what was lost: the table in docs/specs/05-store.md, section 19.

    python -m tools.kill_trials [--trials N] [--seed N]

Two paired homes on loopback, each with a daemon, and in each a writer that says what was acknowledged. In every trial
some of the four get SIGKILL at a random moment while they write and sync; what was a daemon is started again. A trial
has failed if an acknowledged write is missing or is there twice on either device, if the two do not hold the same, or
if a store has a broken invariant. Prints the table.
"""

import argparse
import contextlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.command_line import started
from tests.support.daemons import Daemon, introduce
from tests.support.ports import free_port
from tests.support.tour import Tour

from lottisync.daemon.home import TaskHome
from lottisync.store.check import broken_invariants

BOUND_SECONDS = 60.0
LATEST_SECONDS = 0.6
"""The latest moment of a kill, after the writers have begun."""
VICTIMS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("both writers", ()),
    ("both writers and one daemon", (0,)),
    ("both writers and both daemons", (0, 1)),
)
"""Who is killed, and which daemons that are."""
WRITER = """
import sys
from pathlib import Path
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.journal import tasks
home, name = TaskHome.open(Path(sys.argv[1])), sys.argv[2]
for number in range(1_000_000):
    with home.journal.transaction(clock.now(), HIGH) as tx:
        tasks.add_task(tx, clock.new_id(clock.now()), f"{name}.{number}")
    print(f"{name}.{number}", flush=True)
"""


class Trial(NamedTuple):
    """How many writes were acknowledged, lost and doubled, how many invariants were broken; how long it took (s) until
    the killed daemons listened again, each started after the one before, and from then until both devices held the
    same."""

    victims: str
    acknowledged: int
    lost: int
    doubled: int
    broken: int
    started: float
    seconds: float

    @property
    def failed(self) -> bool:
        return bool(self.lost or self.doubled or self.broken)


class Pair:
    """Two homes that are paired, and all that was acknowledged in them."""

    def __init__(self, folder: Path) -> None:
        tour = Tour(folder)
        tour.make()
        self.homes, self.ports = (tour.laptop, tour.phone), (free_port(), free_port())
        introduce(self.homes[0], self.homes[1], self.ports[1])
        introduce(self.homes[1], self.homes[0], self.ports[0])
        self.acknowledged: set[str] = set()

    def trial(self, number: int, chance: random.Random) -> Trial:
        victims, killed = VICTIMS[number % len(VICTIMS)]
        with contextlib.ExitStack() as running:
            daemons = [running.enter_context(self._daemon(each)) for each in (0, 1)]
            writers = [_writer(home, f"{number}.{each}") for each, home in enumerate(self.homes)]
            said = [_line(process) for process in writers]
            time.sleep(chance.uniform(0, LATEST_SECONDS))
            for process in (*writers, *(daemons[each] for each in killed)):
                process.kill()
            for process in writers:
                said += process.communicate()[0].splitlines(keepends=True)
            # A line that the kill has cut off was not acknowledged.
            new = {line.strip() for line in said if line.endswith("\n")}
            self.acknowledged |= new
            for each in killed:
                daemons[each].wait()
            began = time.monotonic()
            for each in killed:
                running.enter_context(self._daemon(each))
            up = time.monotonic()
            self._until_in_step()
            seconds = time.monotonic() - up
        return Trial(victims, len(new), *self._faults(), up - began, seconds)

    @contextlib.contextmanager
    def _daemon(self, number: int) -> Iterator["subprocess.Popen[str]"]:
        listen = f"127.0.0.1:{self.ports[number]}"
        call = ("daemon", "--json", "--no-discovery", "--no-web", "--listen", listen)
        with started(*call, home=self.homes[number]) as process:
            Daemon(self.homes[number], process).event("started")
            yield process

    def _until_in_step(self) -> None:
        end = time.monotonic() + BOUND_SECONDS
        opened = [TaskHome.open(home) for home in self.homes]
        try:
            while True:
                digests = []
                for home in opened:
                    with home.journal.reading() as reader:
                        digests.append((reader.knowledge(), reader.digest()))
                if digests[0] == digests[1]:
                    return
                if time.monotonic() > end:
                    raise AssertionError(f"the two did not hold the same within {BOUND_SECONDS} s")
                time.sleep(0.01)
        finally:
            for home in opened:
                home.close()

    def _faults(self) -> tuple[int, int, int]:
        """What is lost, doubled and broken, on the two devices together."""
        lost = doubled = broken = 0
        for path in self.homes:
            home = TaskHome.open(path)
            with home.journal.reading() as reader:
                titles = Counter(title for (title,) in reader.local("select title from tasks"))
            lost += len(self.acknowledged - set(titles))
            doubled += sum(1 for count in titles.values() if count > 1)
            for store in home.stores.values():
                with store.reading() as reader:
                    broken += len(broken_invariants(reader))
            home.close()
        return lost, doubled, broken


def _writer(home: Path, name: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(home), name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def table(trials: Sequence[Trial]) -> str:
    """In Markdown, a row for who was killed."""
    lines = [
        "| killed | trials | acknowledged writes | failed trials | programs up after: median | worst"
        " | equal after that: median | worst |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for victims, _ in VICTIMS:
        some = [trial for trial in trials if trial.victims == victims]
        if some:
            acknowledged, failed = sum(trial.acknowledged for trial in some), sum(trial.failed for trial in some)
            took = [_median_and_worst([trial.started for trial in some]), _median_and_worst([t.seconds for t in some])]
            lines.append(f"| {victims} | {len(some)} | {acknowledged:,} | {failed} | {' | '.join(took)} |")
    return "\n".join(lines)


def _median_and_worst(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} s | {max(seconds):.2f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder))
        trials = []
        for number in range(given.trials):
            trials.append(pair.trial(number, chance))
            print(f"{number + 1}: {trials[-1]}", file=sys.stderr, flush=True)
    print(table(trials))
    sys.exit(any(trial.failed for trial in trials))


if __name__ == "__main__":
    main()
