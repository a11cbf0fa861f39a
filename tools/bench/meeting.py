"""How soon devices meet, on networks of their own: `python -m tools.bench.meeting` (as root, on Linux).

Writes the table of docs/specs/16-meeting.md. Times begin when the last daemon listens. They end with its first
connection, and when every device is connected with every other one and all hold the same.
"""

import contextlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.support.network import Machine, Network

from lottisync.daemon.home import TaskHome

SPEC = Path(__file__).parents[2] / "docs" / "specs" / "16-meeting.md"
BEGIN, END = "<!-- times: python -m tools.bench.meeting -->", "<!-- end of times -->"
RUNS = 3
BOUND_SECONDS = 60.0


class Times(NamedTuple):
    first: float
    all: float


class Case(NamedTuple):
    name: str
    devices: int
    addresses: Callable[[int], list[str]]
    multicast: bool = True
    dead: int = 0
    invented: int = 0


def ipv4(number: int) -> list[str]:
    return [f"10.9.0.{number + 1}/16"]


def both(number: int) -> list[str]:
    return [*ipv4(number), f"fd09::{number + 1}/64"]


def none(number: int) -> list[str]:
    return []


CASES = (
    Case("multicast, IPv4 and IPv6", 3, both),
    Case("multicast, link-local IPv6 alone", 3, none),
    Case("no multicast, IPv4", 3, ipv4, multicast=False),
    Case("multicast, 40 dead addresses remembered", 2, ipv4, dead=40),
    Case("no multicast, 40 dead addresses remembered", 2, ipv4, dead=40, multicast=False),
    Case("multicast, 300 invented announcements", 2, ipv4, invented=300),
    Case("multicast, 40 dead addresses and 300 invented announcements", 2, ipv4, dead=40, invented=300),
    Case("five devices, multicast", 5, both),
)


def measured(case: Case, folder: Path) -> Times:
    with Network(folder, case.devices + bool(case.invented), multicast=case.multicast) as network:
        *machines, stranger = [*network.machines, None] if not case.invented else network.machines
        for machine in network.machines:
            machine.address("add", *case.addresses(machine.number))
        network.machines = [machine for machine in machines if machine is not None]
        network.household()
        with _inventing(stranger, case.invented):
            *before, last = network.machines
            for machine in before:
                machine.daemon()
            if case.dead:
                _remember_dead(last, before[0], case.dead)
            return _meet(last, network.machines)


def moved(folder: Path) -> Times:
    """Without multicast the second restarts at another address and port; the first and the third find it."""
    with Network(folder, 3, multicast=False) as network:
        for machine in network.machines:
            machine.address("add", *ipv4(machine.number))
        a, b, c = network.household()
        for machine in (a, b, c):
            machine.daemon()
        _all_in_step([a, b, c])
        b.stop()
        b.address("del", *ipv4(1))
        b.address("add", "10.9.0.77/16")
        return _meet(b, [a, b, c], "--listen", "[::]:31999")


def _meet(last: Machine, machines: list[Machine], *options: str) -> Times:
    running = last.daemon(*options)
    began = time.monotonic()
    running.event("connected")
    first = time.monotonic() - began
    _all_in_step(machines)
    return Times(first, time.monotonic() - began)


def _all_in_step(machines: list[Machine]) -> None:
    until = time.monotonic() + BOUND_SECONDS
    while not all(_in_step(machine, len(machines) - 1) for machine in machines):
        if time.monotonic() > until:
            raise TimeoutError("they did not come in step")
        time.sleep(0.02)


def _in_step(machine: Machine, others: int) -> bool:
    """What its daemon says of itself; without asking it, which would take half a second."""
    try:
        peers = json.loads((machine.home / "daemon.json").read_text())["peers"]
    except (FileNotFoundError, ValueError):
        return False
    in_step = [peer for peer in peers if peer["connected"] and peer["inStep"] and all(peer["inStep"].values())]
    return len(in_step) == others


def _remember_dead(machine: Machine, other: Machine, count: int) -> None:
    home, there = TaskHome.open(machine.home), TaskHome.open(other.home)
    with home.space.transaction(1, None) as tx:
        for number in range(count):
            tx.execute(
                "insert into peers(device, host, port, seen_at) values (?, ?, 22067, '2099-01-01')",
                (there.id, f"10.9.2.{number + 1}"),
            )
    home.close()
    there.close()


@contextlib.contextmanager
def _inventing(machine: Machine | None, count: int) -> Iterator[None]:
    if machine is None:
        yield
        return
    address = ipv4(machine.number)[0].partition("/")[0]
    call = ["ip", "netns", "exec", machine.namespace]
    call += [sys.executable, "-m", "tests.support.invented", str(count), address]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield
        finally:
            process.kill()


def main() -> int:
    rows = ["| network | devices | first meeting | all in step |", "|---|---|---|---|"]
    cases: list[tuple[str, int, Callable[[Path], Times]]] = [
        (case.name, case.devices, partial(measured, case)) for case in CASES
    ]
    cases.append(("no multicast, one restarts at another address and port", 3, moved))
    for name, devices, work in cases:
        found = []
        for _ in range(RUNS):
            with tempfile.TemporaryDirectory(prefix="lottisync-bench-") as folder:
                found.append(work(Path(folder)))
        first, all_of_them = median(each.first for each in found), median(each.all for each in found)
        rows.append(f"| {name} | {devices} | {first:.1f} s | {all_of_them:.1f} s |")
        print(rows[-1], flush=True)
    table = "\n".join((BEGIN, "", *rows, "", f"Median of {RUNS} runs on a machine with two cores.", "", END))
    SPEC.write_text(re.sub(re.escape(BEGIN) + ".*" + re.escape(END), lambda found: table, SPEC.read_text(), flags=re.S))
    return 0


if __name__ == "__main__":
    sys.exit(main())
