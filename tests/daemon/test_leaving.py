"""`lottisync leave`: CLI-156."""

from pathlib import Path

import pytest
from tests.support.command_line import run_here
from tests.support.daemons import daemon, introduce

from lottisync.daemon.home import TaskHome
from lottisync.device import clock

ALONE = ("--no-discovery", "--listen", "127.0.0.1:0")


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Path, Path]:
    """Two devices that trust each other."""
    made = []
    for name in ("laptop", "phone"):
        home = TaskHome.create(tmp_path / name, name)
        made.append(home)
    laptop, phone = made
    laptop.members.add("phone", phone.key.certificate, clock.now())
    phone.members.add("laptop", laptop.key.certificate, clock.now())
    laptop.close()
    phone.close()
    return tmp_path / "laptop", tmp_path / "phone"


def test_cli_156_the_home_goes_when_another_device_has_everything(homes: tuple[Path, Path]) -> None:
    """CLI-156: what was written here last is on the phone, and the phone knows that this device is retired."""
    laptop, phone = homes
    assert run_here("task", "add", "Buy milk", home=laptop).code == 0
    with daemon(phone) as running:
        introduce(laptop, phone, running.event("started")["port"])
        done = run_here("leave", "--yes", "--wait", "60", *ALONE, home=laptop)
        assert (done.code, "phone has everything" in done.out) == (0, True), done
    assert not laptop.exists()
    assert [task["title"] for task in run_here("task", "list", "--json", home=phone).json["tasks"]] == ["Buy milk"]
    states = {each["name"]: each["status"] for each in run_here("devices", "--json", home=phone).json["devices"]}
    assert states["laptop"] == "retired"


def test_cli_1560_nothing_is_deleted_that_no_other_device_has(homes: tuple[Path, Path]) -> None:
    """CLI-1560, CLI-1561, CLI-47"""
    laptop, _ = homes
    assert run_here("task", "add", "Buy milk", home=laptop).code == 0
    assert run_here("leave", home=laptop).code == 2
    refused = run_here("leave", "--yes", "--wait", "0", *ALONE, home=laptop)
    assert (refused.code, "nothing was deleted" in refused.err) == (1, True)
    assert len(run_here("task", "list", "--json", home=laptop).json["tasks"]) == 1
    assert run_here("leave", "--yes", "--untold", "--wait", "0", *ALONE, home=laptop).code == 0
    assert not laptop.exists()
