"""`on-pending`: the command that calls the person (CLI-190 to CLI-195)."""

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import msgspec
import pytest
from tests.review.reviewer import Reviewer
from tests.support import rounds
from tests.support.command_line import eventually, unversioned
from tests.support.counted import CountedDevice
from tests.support.daemons import daemon, introduce
from tests.support.proposals import propose

from lottisync.causality.vector_clock import Clock
from lottisync.daemon.home import TaskHome
from lottisync.daemon.pending import GATHER_MS, MINUTE, PendingWatch, ended
from lottisync.device import clock
from lottisync.device.announced import PREFIX, TYPE, announced
from lottisync.device.space import SPACE
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal import tasks

AFTER = 10 * MINUTE


class Caller(Reviewer):
    """A device that calls; its `space` lies beside its other stores."""

    def __init__(self, folder: Path, number: int, delay: int) -> None:
        super().__init__(folder, number)
        self.beside = CountedDevice(folder / "space", number + 100, (SPACE,), lambda: self.now)
        self.watch = PendingWatch(self.beside.space, self.agents, self.id, lambda: delay)
        self.calls: list[int] = []

    def suggest(self, title: str) -> None:
        self.propose("add_checklist_item", {"title": title}, run=title)

    def turn(self, millis: int, *, works: bool = True) -> None:
        """Time passes, and what is due happens."""
        until = self.now + millis
        while True:
            if (batch := self.watch.look(self.now)) is not None:
                if works:
                    self.calls.append(len(batch.sets))
                (self.watch.called if works else self.watch.failed)(batch, self.now)
            elif self.watch.next_look is not None and self.watch.next_look <= until:
                self.now = self.watch.next_look
            else:
                break
        self.now = until

    def hear(self, other: "Caller") -> None:
        self.pull(other)
        rounds.pull(self.beside, other.beside, self.now)

    def close(self) -> None:
        self.beside.close()
        super().close()


@pytest.fixture
def desktop(tmp_path: Path) -> Iterator[Caller]:
    device = Caller(tmp_path / "desktop", 1, GATHER_MS)
    device.add_task()
    yield device
    device.close()


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Caller]:
    device = Caller(tmp_path / "laptop", 2, AFTER)
    yield device
    device.close()


def test_cli_190_one_call_for_what_comes_together_and_none_for_what_was_announced(desktop: Caller) -> None:
    """CLI-190"""
    desktop.suggest("Bake rye bread")
    desktop.watch.look(desktop.now)
    desktop.suggest("Bake white bread")
    desktop.turn(MINUTE)
    assert desktop.calls == [2]
    desktop.turn(100 * MINUTE)
    desktop.suggest("Bake brown bread")
    desktop.turn(MINUTE)
    assert desktop.calls == [2, 1]
    again = PendingWatch(desktop.beside.space, desktop.agents, desktop.id, lambda: 0)
    assert again.look(desktop.now) is None
    assert again.next_look is None


def test_cli_191_another_device_calls_only_if_the_chosen_one_is_silent(desktop: Caller, laptop: Caller) -> None:
    """CLI-190, CLI-191"""
    desktop.suggest("Bake rye bread")
    laptop.hear(desktop)
    laptop.turn(AFTER // 2)
    desktop.turn(MINUTE)
    laptop.hear(desktop)
    laptop.turn(2 * AFTER)
    assert (desktop.calls, laptop.calls) == ([1], [])
    desktop.suggest("Bake white bread")
    laptop.hear(desktop)
    laptop.turn(AFTER - 1)
    assert laptop.calls == []
    laptop.turn(1)
    assert laptop.calls == [1]
    desktop.hear(laptop)
    desktop.turn(MINUTE)
    assert desktop.calls == [1]


def test_cli_191_what_was_decided_meanwhile_is_not_a_reason_to_call(desktop: Caller, laptop: Caller) -> None:
    """CLI-191"""
    desktop.suggest("Bake rye bread")
    laptop.hear(desktop)
    laptop.turn(AFTER // 2)
    [item] = laptop.waiting()
    laptop.verdicts.reject(item.id, laptop.later(), "no")
    laptop.turn(AFTER)
    assert laptop.calls == []


def test_cli_192_a_call_that_failed_is_not_announced_and_tried_again(desktop: Caller) -> None:
    """CLI-192, CLI-1921: and no sooner than after a minute."""
    desktop.suggest("Bake rye bread")
    desktop.turn(GATHER_MS, works=False)
    with desktop.beside.space.reading() as reader:
        assert announced(reader, "agent") == []
    desktop.turn(60_000 - 1)
    assert desktop.calls == []
    desktop.turn(1)
    assert desktop.calls == [1]
    with desktop.beside.space.reading() as reader:
        assert announced(reader, "agent") != []


@pytest.mark.parametrize("known", [None, "all", 7, ["a"], {"h": -1}, {"h": "x"}, {"h": True}])
def test_cli_195_a_record_that_is_not_one_counts_as_absent(desktop: Caller, known: object) -> None:
    """CLI-195"""
    with desktop.beside.space.transaction(desktop.now, LOW) as tx:
        tx.put(f"{PREFIX}x", TYPE, {"known/agent": known})
        tx.put("another", TYPE, {"known/agent": {}})
    with desktop.beside.space.reading() as reader:
        assert announced(reader, "agent") == []


def in_python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (in_python("import sys; sys.stdin.read()"), None),
        (in_python("import os; os.close(0)"), None),
        (in_python("raise SystemExit(3)"), "ended with the code 3"),
        (["/nonexistent/bell"], "cannot be started: No such file or directory"),
    ],
)
def test_cli_1920_why_a_command_failed(command: list[str], why: str | None) -> None:
    """CLI-192, CLI-1920: only the code 0 is not a failure, and the reason is what the line of the log says."""
    assert anyio.run(ended, command, [], "/home/me/tasks") == why


def test_cli_193_a_command_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    """CLI-193"""
    said = tmp_path / "pids"
    hanging = f"""
import os, pathlib, signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
pathlib.Path({str(said)!r}).write_text(f"{{os.getpid()}} {{child.pid}}")
signal.pause()
"""

    async def until_started() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ended, in_python(hanging), [], "/home")
            both = lambda: said.exists() and len(said.read_text().split()) == 2  # noqa: E731
            await anyio.to_thread.run_sync(eventually, both, "the start of both")
            tasks.cancel_scope.cancel()

    anyio.run(until_started)
    for pid in said.read_text().split():
        eventually(lambda pid=pid: _is_gone(int(pid)), f"the end of {pid}")  # type: ignore[misc]
    assert anyio.run(ended, in_python("import signal; signal.pause()"), [], "/home", 0.2) == (
        "did not end within 0 s and was ended"
    )


def _is_gone(pid: int) -> bool:
    """Only the system waits for a grandchild, which may take a while."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_cli_190_of_two_daemons_one_calls_once_and_the_other_hears_of_it(
    homes: tuple[Path, Path], tmp_path: Path
) -> None:
    """CLI-190, CLI-192, CLI-1920, CLI-194: the command of the laptop fails. That of the phone runs once. It gets the
    sets as JSON, and nothing of them elsewhere."""
    laptop, phone = homes
    marks = tmp_path / "calls"
    program = f"""
import os, sys
given = sys.stdin.read()
elsewhere = [*sys.argv, *(text for name, text in os.environ.items() if name.startswith("LOTTISYNC"))]
assert not any("rm -rf" in each for each in elsewhere)
with open({str(marks)!r}, "a") as file:
    file.write(os.environ["LOTTISYNC_PENDING"] + " " + given)
"""
    configure(laptop, ["/nonexistent/bell"])
    configure(phone, in_python(program))
    with daemon(laptop) as first, daemon(phone) as second:
        introduce(phone, laptop, first.event("started")["port"])
        propose_on(laptop, "$(rm -rf ~) bread")
        with closing(TaskHome.open(laptop)) as home:
            eventually(lambda: announcements(home), "the record of the call")
        assert "cannot be started" in first.event("on-pending-failed")["text"]
        assert second.stop() == (0, "")
    [line] = marks.read_text().splitlines()
    count, _, answer = line.partition(" ")
    assert count == "1"
    [shown] = unversioned(answer)["sets"]
    assert shown["items"][0]["args"]["title"] == "$(rm -rf ~) bread"


def configure(home: Path, command: list[str]) -> None:
    (home / "config.toml").write_text(f"[on-pending]\ncommand = {msgspec.json.encode(command).decode()}\n")


def propose_on(path: Path, title: str) -> None:
    """A wake's proposal on a new task."""
    with closing(TaskHome.open(path)) as home:
        with home.journal.transaction(clock.now(), HIGH) as tx:
            tasks.add_task(tx, "t1", "Bake bread")
        propose(home, ("add_checklist_item", {"title": title}))


def announcements(home: TaskHome) -> list[Clock]:
    with home.space.reading() as reader:
        return announced(reader, "agent")
