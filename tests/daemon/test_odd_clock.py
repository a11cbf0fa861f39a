"""A daemon in a process of its own whose clock cannot be right: a flat battery says 1970."""

import sys
from pathlib import Path

import pytest
from tests.support.command_line import eventually, program, run_here
from tests.support.daemons import Daemon, daemon, introduce

WITH_CLOCK = """
import sys, time
begun, first = time.monotonic_ns(), int(sys.argv.pop(1)) * 1_000_000
time.time_ns = lambda: first + time.monotonic_ns() - begun
from lottisync.__main__ import main
main()
"""
CALL = ("daemon", "--json", "--no-discovery", "--no-web", "--no-agents", "--listen", "127.0.0.1:0")
YEAR = 31_556_952_000


@pytest.mark.parametrize("first", [86_400_000, 155 * YEAR])
def test_caus_941_a_daemon_with_a_wrong_clock_starts_links_and_says_so(homes: tuple[Path, Path], first: int) -> None:
    """CAUS-941, CAUS-17, CAUS-421, REL-D8: it died of its own warning, which the log could not write. All of the
    process has that time, its pings, too: the other device says that the two clocks differ."""
    laptop, phone = homes
    with daemon(phone) as other:
        introduce(laptop, phone, other.event("started")["port"])
        with program(sys.executable, "-c", WITH_CLOCK, str(first), *CALL, "--home", str(laptop)) as process:
            running = Daemon(laptop, process)
            assert "clock is wrong" in running.event("clock-wrong")["text"]
            running.event("connected")
            assert run_here("task", "add", "There", home=phone).code == 0
            assert run_here("task", "add", "Here", home=laptop).code == 0
            eventually(lambda: {"There", "Here"} <= titles(laptop) & titles(phone), "both have both")
            assert "clock and this device's differ" in other.event("clock-differs")["text"]
            assert running.stop() == (0, "")
    assert "clock is wrong" in run_here("logs", home=laptop).out


def titles(home: Path) -> set[str]:
    return {task["title"] for task in run_here("task", "list", "--json", home=home).json["tasks"]}
