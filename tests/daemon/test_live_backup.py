"""A backup that is taken while two devices confirm, and put back while the old device lives: with real processes."""

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import eventually, run, run_here, started
from tests.support.daemons import daemon, introduce
from tests.support.event_loop import BOUND_SECONDS
from tests.support.proposals import propose

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.journal import tasks

TASKS = 6
STEPS = ("Milk", "Eggs")


def ok(*arguments: str, home: Path) -> Any:
    result = run_here(*arguments, "--json", home=home)
    assert result.code == 0, result
    return result.content


def proposed(path: Path) -> None:
    """Tasks, and for each a set of proposals that add steps and a follow-up task."""
    home = TaskHome.open(path)
    for number in range(TASKS):
        task = f"t{number}"
        with home.journal.transaction(clock.now(), HIGH) as tx:
            tasks.add_task(tx, task, f"Bake {number}")
            tasks.default_checklist(tx, task)
        steps = ("add_multiple_checklist_items", {"items": [{"title": step} for step in STEPS]})
        propose(home, steps, ("create_follow_up_task", {"title": f"Eat {number}"}), run=f"r{number}", task=task)
    home.close()


def names(home: Path) -> list[str]:
    return [item["name"] for one in ok("review", home=home) for item in one["items"]]


def confirming(home: Path, of: list[str]) -> threading.Thread:
    """Confirm these one by one, each by a command of its own. One that the other device was first with is not
    an error."""

    def work() -> None:
        for name in of:
            run("review", "confirm", name, home=home)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def effects(path: Path) -> dict[str, list[str]]:
    """Task -> the titles of its items, in order of the titles."""
    home = TaskHome.open(path)
    with home.journal.reading() as reader:
        lines, damaged = tasks.all_tasks(reader)
        found = {line.title: sorted(item.title for item in tasks.page(reader, line.id).items) for line in lines}
        assert (len(found), damaged) == (len(lines), [])
    home.close()
    return found


def digests(home: Path) -> dict[str, str]:
    stores = ok("status", home=home)["stores"]
    return {name: store["digest"] for name, store in stores.items()}


def pair(showing: Path, typing: Path) -> None:
    with started("pair", "--json", "--no-discovery", "--listen", "127.0.0.1:0", home=showing) as process:
        assert process.stdout is not None
        shown = json.loads(process.stdout.readline())
        assert run("pair", shown["code"], "--at", f"127.0.0.1:{shown['port']}", home=typing).code == 0
        assert process.wait(BOUND_SECONDS) == 0


@pytest.mark.deep
def test_backup_460_what_is_confirmed_meanwhile_has_its_effect_once(homes: tuple[Path, Path], tmp_path: Path) -> None:
    """BACKUP-460, BACKUP-20"""
    laptop, phone = homes
    proposed(laptop)
    wanted = {f"Bake {n}": sorted(STEPS) for n in range(TASKS)} | {f"Eat {n}": [] for n in range(TASKS)}
    with daemon(laptop) as first:
        introduce(phone, laptop, first.event("started")["port"])
        with daemon(phone):
            eventually(lambda: digests(laptop) == digests(phone), "in step")
            listed = names(laptop)
            assert len(listed) == TASKS * (len(STEPS) + 1)
            at_work = [confirming(laptop, listed[:-4]), confirming(phone, listed[-5:1:-1])]
            eventually(lambda: len(names(laptop)) < len(listed), "a confirmation")
            assert run("backup", str(tmp_path / "backups"), home=laptop).code == 0
            for thread in at_work:
                thread.join()
            restored = tmp_path / "restored"
            assert run("restore", str(tmp_path / "backups"), home=restored).code == 0
            shutil.rmtree(tmp_path / "backups")
            # The old device lives, and the person goes on at both. Then the restored one becomes a device of its own.
            for thread in [confirming(restored, names(restored)), confirming(laptop, names(laptop))]:
                thread.join()
            assert run("devices", "renew", "tablet", "--yes", home=restored).code == 0
            pair(laptop, restored)
            introduce(restored, laptop, first.event("started")["port"])
            with daemon(restored):
                eventually(lambda: digests(laptop) == digests(phone) == digests(restored), "all in step")
                assert [names(home) for home in (laptop, phone, restored)] == [[], [], []]
    assert [effects(home) for home in (laptop, phone, restored)] == [wanted] * 3
    for home in (laptop, phone, restored):
        assert run("check", home=home).code == 0
