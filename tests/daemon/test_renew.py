"""A home that was copied to a second machine becomes a device of its own: COPY-11, with real programs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import eventually, run, run_here, started
from tests.support.daemons import daemon, introduce
from tests.support.event_loop import BOUND_SECONDS

from lottisync.daemon.home import TaskHome

NOW = 1_764_590_400_000


def ok(*arguments: str, home: Path) -> Any:
    result = run_here(*arguments, "--json", home=home)
    assert result.code == 0, result
    return result.content


def titles(home: Path) -> set[str]:
    return {task["title"] for task in ok("task", "list", home=home)}


def digests(home: Path) -> dict[str, str]:
    return {name: store["digest"] for name, store in ok("status", home=home)["stores"].items()}


@pytest.fixture
def copied(homes: tuple[Path, Path], tmp_path: Path) -> Path:
    """The phone's home on a second machine; on each of the two something was written since."""
    _, phone = homes
    ok("task", "add", "Before", home=phone)
    shutil.copytree(phone, tmp_path / "copy", ignore=shutil.ignore_patterns("bells"))
    ok("task", "add", "On the phone", home=phone)
    ok("task", "add", "On the copy", home=tmp_path / "copy")
    return tmp_path / "copy"


def test_copy_11_a_renewed_copy_brings_all_that_it_wrote(homes: tuple[Path, Path], copied: Path) -> None:
    """COPY-21"""
    laptop, phone = homes
    renewed = ok("devices", "renew", "tablet", "--yes", home=copied)
    assert renewed["formerName"] == "phone"
    assert renewed["id"] != ok("status", home=phone)["id"]
    assert titles(copied) == {"Before", "On the copy"}
    assert {row["name"]: row["status"] for row in ok("devices", home=copied)} == dict.fromkeys(
        ("laptop", "phone", "tablet"), "active"
    )
    with started("pair", "--json", "--no-discovery", "--listen", "127.0.0.1:0", home=laptop) as showing:
        assert showing.stdout is not None
        shown = json.loads(showing.stdout.readline())
        assert run("pair", shown["code"], "--at", f"127.0.0.1:{shown['port']}", home=copied).code == 0
        assert showing.wait(BOUND_SECONDS) == 0
    with daemon(laptop) as first:
        port = first.event("started")["port"]
        introduce(phone, laptop, port)
        introduce(copied, laptop, port)
        with daemon(phone), daemon(copied):
            for home in (laptop, phone, copied):
                eventually(lambda h=home: titles(h) == {"Before", "On the phone", "On the copy"})  # type: ignore[misc]
            eventually(lambda: digests(laptop) == digests(phone) == digests(copied), "in step")
            assert not any(peer["runsTwice"] for peer in ok("status", home=laptop)["peers"])
    assert {row["name"] for row in ok("devices", home=phone) if row["status"] == "active"} == {
        "laptop",
        "phone",
        "tablet",
    }
    for home in (laptop, phone, copied):
        assert run("check", home=home).code == 0


@pytest.mark.parametrize("moment", ["before the key", "behind the key"])
def test_copy_11_killed_it_is_the_copy_or_the_new_device(
    copied: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """COPY-22"""
    home, was = TaskHome.open(copied), TaskHome.open(copied).key.device_id
    real = Path.replace

    def killed(self: Path, target: Path) -> Path:
        if moment == "behind the key":
            real(self, target)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            home.renew("tablet")
    home.close()
    device = ok("status", home=copied)["id"]
    assert (device == was) is (moment == "before the key")
    assert titles(copied) == {"Before", "On the copy"}
    ok("devices", "renew", "watch", "--yes", home=copied)
    assert ok("status", home=copied)["name"] == "watch"
    assert run("check", home=copied).code == 0


def test_copy_11_what_cannot_be_renewed_is_said(homes: tuple[Path, Path]) -> None:
    laptop, _ = homes
    with daemon(laptop):
        refused = run("devices", "renew", "desk", "--yes", home=laptop)
        assert (refused.code, "is running" in refused.err) == (1, True)
    taken = run("devices", "renew", "phone", "--yes", home=laptop)
    assert (taken.code, "Choose another name" in taken.err) == (2, True)
