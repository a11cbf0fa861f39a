"""The whole story of the demo, by devices that are never up at the same time: through a real NATS server, by the
commands that a person types."""

import os
import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import pytest
from rich.console import Console
from tests.support import rounds
from tests.support.command_line import content, run_here
from tests.support.nats_server import WHERE, Server

from lottisync.daemon.home import TaskHome
from lottisync.demo import script
from lottisync.demo.device import DemoDevice, DemoFailed, until
from lottisync.demo.stage import Stage
from lottisync.demo.story import Story
from lottisync.device import clock
from lottisync.relay import publishing
from lottisync.relay import setting as settings
from lottisync.relay.circle import Circle
from lottisync.relay.visits import Visits
from lottisync.scripted_model.server import ScriptedModelServer

pytestmark = [pytest.mark.skipif(WHERE is None, reason="there is no nats-server on this machine"), pytest.mark.deep]
SPACE = bytes(range(16))
PATIENCE = 300.0
"""Seconds. A visit takes a fraction of one, on a machine that does little else."""


class Alone(DemoDevice):
    """It comes up, visits the relay, does what it is told, visits once more, and goes. `away`: it reaches no relay."""

    def __init__(self, name: str, home: Path) -> None:
        super().__init__(name, home, {})
        self.away = False
        self.reports: list[str] = []

    def run(self, *arguments: str) -> Any:
        self.visit()
        done = run_here(*arguments, "--json", home=self.home)
        if done.code != 0:
            raise DemoFailed(f"{self.name}: lottisync {' '.join(arguments)}: {done.err}")
        self.visit()
        return content(done.out)

    def visit(self) -> None:
        if self.away:
            return
        home = TaskHome.open(self.home)
        try:
            used = settings.read(home.space)
            assert used is not None
            anyio.run(Visits(home, os.urandom, lambda code, _: self.reports.append(code)).once, used)
        finally:
            home.close()

    def stop(self) -> None:
        self.away = True

    def start_daemon(self) -> int:
        self.away = False
        self.visit()
        return 0

    def in_step(self) -> bool:
        """Whether it says so of all others."""
        self.visit()
        said = run_here("relay", "status", "--json", home=self.home).json["devices"]
        return bool(said) and all(each["inStep"] for each in said)


class StoryOfThree(Story):
    """The agent's home is the laptop, the person decides on the phone, and is away with the tablet."""

    def __init__(self, folder: Path, server: ScriptedModelServer) -> None:
        super().__init__(folder, Stage(Console(file=StringIO())), server)
        self.devices = [Alone(name, folder / name) for name in ("laptop", "phone", "tablet")]
        self.laptop, self.phone, self.tablet = self.devices
        self.backup = folder / "backup"

    def second_wake(self) -> None:
        super().second_wake()
        assert run_here("backup", str(self.backup), home=self.laptop.home).code == 0
        self.phone = self.tablet
        self.tablet.visit()

    def all_in_step(self) -> bool:
        """After one visit more of each: what one says, the next one hears."""
        return sum(each.in_step() for each in self.devices) == len(self.devices)

    def proof(self) -> None:
        until(self.all_in_step, "each is in step with all others", PATIENCE)
        equal = [_digests(each) for each in self.devices]
        assert equal == [equal[0]] * len(equal)


def _digests(device: DemoDevice) -> dict[str, str]:
    return {name: store["digest"] for name, store in device.run("status")["stores"].items()}


@pytest.fixture
def story(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[StoryOfThree]:
    """Laptop, phone and tablet, paired once; the relay was set on the laptop before they met."""
    (tmp_path / "homes").mkdir()
    with ScriptedModelServer(script.demo_script, record_to=tmp_path / "requests.jsonl") as model:
        monkeypatch.setenv("LOTTISYNC_MODEL_URL", model.url)
        monkeypatch.setenv("LOTTISYNC_MODEL_KEY", "")
        made = StoryOfThree(tmp_path / "homes", model)
        homes = [TaskHome.create(device.home, device.name) for device in made.devices]
        settings.write(homes[0].space, server.url, SPACE, clock.now())
        pair(*homes)
        for home in homes:
            home.close()
        yield made


def pair(*homes: TaskHome) -> None:
    """Each takes the others in, and they are connected once."""
    for one in homes:
        Circle(one).announce(clock.now())
        for other in homes:
            if one is not other and other.id not in one.roster().members:
                one.members.add(other.name, other.key.certificate, clock.now())
    for _ in range(2):
        for one in homes:
            for other in homes:
                if one is not other:
                    rounds.pull(one, other, clock.now(), ["space"])


@pytest.mark.timeout(900)
def test_relay_43_the_story_of_the_demo_by_devices_that_are_never_up_together(
    story: StoryOfThree, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-43, RELAY-20, RELAY-21: then a fourth joins from a snapshot, and the first is restored from a backup."""
    monkeypatch.setattr(publishing, "SNAPSHOT_BYTES", 10_000)
    story.import_tasks()
    story.wake()
    story.review(story.arrival())
    story.effect()
    story.second_wake()
    story.apart()
    story.proof()
    _fourth(story)
    story.proof()
    _first_again(story)
    story.proof()
    stored = b"".join(file.read_bytes() for file in (server.folder / "store").rglob("*") if file.is_file())
    assert b".snap." in stored
    for word in (script.NEW_TITLE, "boiler", "laptop", "desk lamp"):
        assert word.encode() not in stored
    assert not {report for device in story.devices for report in device.reports}


def _fourth(story: StoryOfThree) -> None:
    """It knows the tablet alone, and none of the tasks; the laptop's and the phone's programs do not run."""
    desktop = Alone("desktop", story.laptop.home.parent / "desktop")
    homes = [TaskHome.create(desktop.home, desktop.name), TaskHome.open(story.tablet.home)]
    pair(*homes)
    for home in homes:
        home.close()
    for device in (desktop, story.tablet, desktop):
        device.visit()
    tasks = [sorted(task["title"] for task in each.run("task", "list", "--all")) for each in (desktop, story.tablet)]
    assert tasks[0] == tasks[1] != []
    story.devices.append(desktop)


def _first_again(story: StoryOfThree) -> None:
    """It was backed up before the tablet's changes, and its disk is gone."""
    shutil.rmtree(story.laptop.home)
    assert run_here("restore", str(story.backup), home=story.laptop.home).code == 0
    story.laptop.run("task", "add", "Written after the backup")
    until(
        lambda: "Written after the backup" in [task["title"] for task in story.tablet.run("task", "list")],
        "the tablet has what the restored laptop wrote",
        PATIENCE,
    )
    assert story.laptop.run("conflicts") == []
