"""Two paired homes with all kinds of records, and what stands beside a damage: a task, another agent, its proposals.

A test damages one thing (a `victim`) and then calls `everything_works`. Nothing may end in a traceback. And what
stands beside must work: it is not only there, it can also be written, confirmed, and carried to the other device."""

import contextlib
import itertools
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from tests.support.command_line import Result, run_here
from tests.support.rounds import pull
from tests.support.tour import ASKS, PROPOSALS, Tour, model_replying

from lottisync.daemon import daemon
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.device.device import Device
from lottisync.net.listener import Listen
from lottisync.scripted_model.script import Say

WOKEN = "Write a letter"
"""The task that stands beside, whose agent has made proposals."""
NEVER = ("fault", "crashed")
"""Events that stand for an exception that nobody expected."""


class Victim(NamedTuple):
    """A record of one store, and the fields that its document has."""

    store: str
    id: str
    type: str
    fields: tuple[str, ...]


class Homes(NamedTuple):
    folder: Path
    laptop: Path
    phone: Path
    victims: tuple[Victim, ...]
    task: str
    """The task beside the victims."""

    def copied(self, folder: Path) -> "Homes":
        for home in (self.laptop, self.phone):
            shutil.copytree(home, folder / home.name, ignore=shutil.ignore_patterns("bells"))
        return self._replace(folder=folder, laptop=folder / "laptop", phone=folder / "phone")


def make(folder: Path) -> Homes:
    """The homes, with records of every type that their programs write."""
    tour = Tour(folder)
    tour.make()
    tour.tasks()
    with scripted_model():
        tour.agents()
        found = tour.call("review")
        names = [item["name"] for one in found["sets"] for item in one["items"]]
        tour.call("review confirm", names[0])
        tour.call("review reject", f"{names[2]} --reason 'I decide that.'")
        tour.meet()
        victims = tuple(_victims(tour.laptop))
        task = tour.call("task add", f"'{WOKEN}'")["id"]
        tour.call("agent create", task)
        tour.call("agent wake", task)
    tour.meet()
    return Homes(folder, tour.laptop, tour.phone, victims, task)


def _victims(home: Path) -> Iterator[Victim]:
    with opened(home) as device:
        for name, store in device.stores.items():
            with store.reading() as reader:
                for ident, kind in reader.local("select id, type from rows order by type, id"):
                    entity = reader.entity(ident)
                    assert entity is not None
                    yield Victim(name, ident, kind, tuple(sorted(entity.document())))


@contextlib.contextmanager
def opened(home: Path) -> Iterator[TaskHome]:
    device = TaskHome.open(home)
    try:
        yield device
    finally:
        device.close()


def scripted_model() -> contextlib.AbstractContextManager[None]:
    """A model that makes its proposals in the first request of each wake, and ends in the second."""
    return model_replying(itertools.cycle((Say(tool_calls=(*PROPOSALS, ASKS)), Say(text="Done."))))


# -- what is done after a damage

READS = (
    "status", "task list", "task show milk", "task show rye", "task time list milk", "search milk", "review",
    "review ledger {task}", "review log {task}", "agent list", "agent show milk", "agent report milk", "agent log milk",
    "agent sent milk", "conflicts", "history {victim}", "undo --list", "devices", "config list", "doctor", "check",
    "pair --invitations", "export -",
)  # fmt: skip
LISTS = ("status", "task list", "review", "agent list", "conflicts", "devices", "undo --list", "config list")
WRITES = (
    "task edit milk --title Milk", "task done rye", "task reopen rye", "task check fridge", "task item add milk Pay",
    "task label add milk shopping", "task note milk Late", "task time add milk 5 Waiting", "task link milk blocks rye",
    "review confirm {item}", "review undo {item}", "agent pause milk", "agent resume milk",
    "agent wake milk", "undo", "purge", "review reindex", "config set listen 127.0.0.1:0", "config unset listen",
)  # fmt: skip


def everything_works(homes: Homes, victim: Victim) -> None:
    """Every verb ends with success or a sentence, the daemon starts and stops, a round goes both ways; and what stands
    beside the damage has its effect."""
    item = next(iter(_names(homes.laptop, but=homes.task)), "k7f2.3")
    for call in (*READS, *WRITES):
        words = call.format(victim=victim.id, task=homes.task, item=item).split()
        for more in ((), ("--json",)) if call in READS else ((),):
            done = run_here(*words, *more, home=homes.laptop)
            ends_well(done, (call, *more))
            assert done.code == 0 or call not in LISTS, ("it hides what stands beside (STORE-942)", call, done)
            assert not done.err.rstrip().endswith(f"lottisync {call}"), ("the hint leads nowhere", call, done)
    starts_and_stops(homes.laptop)
    beside(homes)


def ends_well(done: Result, call: object) -> None:
    assert done.code in (0, 1, 2), (call, done)
    assert "Traceback" not in done.out + done.err, (call, done)
    assert done.code == 0 or done.out or done.err.splitlines()[-1].startswith("lottisync: "), (call, done)


def beside(homes: Homes) -> None:
    """A task is added, done and found. A proposal of the other agent is confirmed, and its effect is there. The
    other device gets all of it."""

    def call(*words: str) -> Any:
        done = run_here(*words, "--json", home=homes.laptop)
        assert done.code == 0, (words, done)
        return done.json

    added = call("task", "add", "Beside the damage")["id"]
    assert added in {task["id"] for task in call("task", "list")["tasks"]}
    call("task", "done", added)
    assert call("task", "show", added)["status"] == "DONE"
    [name, *_] = _names(homes.laptop, of=homes.task, tool="set_task_title")
    call("review", "confirm", name)
    shown = call("task", "show", homes.task)
    assert shown["title"] == "Buy milk and oats"
    with opened(homes.laptop) as laptop, opened(homes.phone) as phone:
        for store in ("journal", "agent"):
            meet(phone, laptop, store)
        there = phone.journal.read(homes.task)
        assert phone.journal.read(added) is not None
        assert there is not None
        assert there.value("title") == "Buy milk and oats"


def meet(phone: Device, laptop: Device, store: str) -> None:
    pull(phone, laptop, clock.now(), [store])
    pull(laptop, phone, clock.now(), [store])


def _names(home: Path, *, of: str = "", but: str = "", tool: str = "") -> list[str]:
    done = run_here("review", "--json", home=home)
    ends_well(done, "review")
    sets = done.json["sets"] if done.code == 0 else []
    return [
        item["name"]
        for one in sets
        for item in one["items"]
        if one["taskId"] != but and (not of or one["taskId"] == of) and tool in ("", item["tool"])
    ]


def starts_and_stops(home: Path) -> list[tuple[str, str]]:
    """The daemon, in this process; returns what it said. It listens (STORE-104), and says no fault."""
    said: list[tuple[str, str]] = []
    with opened(home) as device:
        ports = anyio.run(_run_daemon, device, said)
    assert ports, ("the daemon did not start", said)
    assert not [event for event in said if event[0] in NEVER], said
    return said


async def _run_daemon(device: TaskHome, said: list[tuple[str, str]]) -> list[int]:
    ports: list[int] = []

    def started(port: int) -> None:
        ports.append(port)
        signal.raise_signal(signal.SIGTERM)

    await daemon.run(
        device,
        listen=Listen("127.0.0.1", 0, firm=True),
        discover=False,
        say=lambda code, text: said.append((code, text)),
        started=started,
    )
    return ports
