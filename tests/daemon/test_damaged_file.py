"""A file in a home that cannot be used as a whole: what does not need it goes on (docs/specs/05-store.md)."""

from pathlib import Path

import apsw
import pytest
from tests.support.beside import opened
from tests.support.command_line import eventually, run_here
from tests.support.daemons import daemon, introduce

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.device.folder import StoreFolder
from lottisync.entities.entity import HIGH
from lottisync.problem import Problem
from lottisync.store.store import Store


def put(home: Path, store: str, ident: str) -> None:
    kind = {"journal": "task", "agent": "agentMessage"}[store]
    with opened(home) as device, device.stores[store].transaction(clock.now(), HIGH) as tx:
        tx.put(ident, kind, {"title": ident})


def has(home: Path, store: str, ident: str) -> bool:
    with opened(home) as device:
        return device.stores[store].read(ident) is not None


@pytest.mark.parametrize(("damaged", "sound"), [("agent", "journal"), ("journal", "agent")])
def test_store_949_a_store_whose_file_is_damaged_stops_no_other(
    homes: tuple[Path, Path], damaged: str, sound: str
) -> None:
    """STORE-949, STORE-947, STORE-948: from the start of the daemon to the command that helps. The daemon did not
    start, and neither `status` nor `check` said a word of the other stores."""
    laptop, phone = homes
    put(phone, damaged, "kept")
    (laptop / f"{damaged}.sqlite").write_bytes(b"overwritten" * 1000)
    with daemon(laptop) as here:
        introduce(phone, laptop, here.event("started")["port"])
        with daemon(phone) as there:
            there.event("connected")
            put(phone, sound, "new")
            eventually(lambda: has(laptop, sound, "new"), "what stands beside arrives")
            put(laptop, sound, "back")
            eventually(lambda: has(phone, sound, "back"), "what stands beside is sent")
            assert [*run_here("status", "--json", home=laptop).json["unusable"]] == [damaged]
            peers = eventually(
                lambda: (found := run_here("status", "--json", home=phone).json["peers"])[0]["failingThere"] and found
            )
            assert (peers[0]["failingThere"], peers[0]["onlyHere"]) == ([damaged], [])
            assert "lottisync init --missing" in run_here("status", home=laptop).out
            checked = run_here("check", "--json", home=laptop)
            [fault] = checked.json["faults"]
            assert (checked.code, fault["store"], fault["code"]) == (1, damaged, "damaged")
            assert sound in checked.json["sound"]

            (laptop / f"{damaged}.sqlite").rename(laptop.parent / "aside")
            assert run_here("init", "--missing", home=laptop).code == 0
            eventually(lambda: has(laptop, damaged, "kept"), "the other device fills it, without a new start")
            assert here.stop() == (0, "")


@pytest.mark.parametrize("content", ["nothing", "another program's", "a folder"])
@pytest.mark.parametrize("damaged", ["agent", "journal"])
def test_store_949_a_file_that_is_not_a_store_stops_no_other(tmp_path: Path, damaged: str, content: str) -> None:
    """STORE-949, STORE-947, STORE-948: a disk that was full left a file without a byte. No daemon started, and `status`
    and `check` said nothing but that it was not made by lottisync."""
    laptop = tmp_path / "laptop"
    run_here("init", "--name", "laptop", home=laptop)
    file = laptop / f"{damaged}.sqlite"
    file.rename(tmp_path / "aside")
    if content == "a folder":
        file.mkdir()
    elif content == "nothing":
        file.touch()
    else:
        with apsw.Connection(str(file)) as other:
            other.execute("create table notes(text)")
        other.close()
    with daemon(laptop) as running:
        status = run_here("status", home=laptop)
        assert status.code == 0, status
        assert f"{damaged} does not sync" in status.out
        assert "lottisync init --missing" in status.out
        checked = run_here("check", "--json", home=laptop)
        assert (checked.code, {fault["store"] for fault in checked.json["faults"]}) == (1, {damaged}), checked
        assert (run_here("task", "add", "Milk", home=laptop).code == 0) is (damaged != "journal")
        file.rename(tmp_path / "odd")
        assert run_here("init", "--missing", home=laptop).code == 0
        eventually(
            lambda: not run_here("status", "--json", home=laptop).json["unusable"], "the store, without a new start"
        )
        assert running.stop() == (0, "")


def test_store_948_a_file_that_is_made_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STORE-948: what it was like is noted before it is opened. A store that another program was making just then was
    left out for ever."""
    TaskHome.create(tmp_path / "laptop", "laptop").close()
    file = tmp_path / "laptop" / "agent.sqlite"
    whole = file.read_bytes()
    file.write_bytes(b"")
    opened = StoreFolder._opened

    def made_meanwhile(folder: StoreFolder, name: str) -> Store:
        try:
            return opened(folder, name)
        finally:
            if name == "agent":
                file.write_bytes(whole)

    with monkeypatch.context() as patched:
        patched.setattr(StoreFolder, "_opened", made_meanwhile)
        home = TaskHome.open(tmp_path / "laptop")
        _ = [*home.stores]
    assert not home.look_for_stores()
    assert "agent" in home.stores
    home.close()


def test_store_949_what_may_be_over_at_the_next_look_is_met_by_the_look_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """STORE-949, STORE-948: a damaged store that is made again, and that another program holds at this moment. A
    connection that asked which stores there are just then met the error."""
    TaskHome.create(tmp_path / "laptop", "laptop").close()
    file = tmp_path / "laptop" / "agent.sqlite"
    whole = file.read_bytes()
    file.write_bytes(b"overwritten" * 1000)
    home = TaskHome.open(tmp_path / "laptop")
    assert "agent" in home.folder.unusable
    file.write_bytes(whole)

    def busy(folder: StoreFolder, name: str) -> Store:
        raise Problem("busy", "another program has held it")

    with monkeypatch.context() as patched:
        patched.setattr(StoreFolder, "_opened", busy)
        home.look_for_stores()
        assert "agent" not in [*home.stores]
    home.look_for_stores()
    assert "agent" in [*home.stores]
    home.close()


def test_store_956_a_file_that_is_not_a_store_stops_nothing(tmp_path: Path) -> None:
    """STORE-956, STORE-947: neither the daemon's start nor a command. Both say which file it is, and what to do."""
    laptop = tmp_path / "laptop"
    run_here("init", "--name", "laptop", home=laptop)
    (laptop / "notes.sqlite").write_text("milk, bread")
    with daemon(laptop) as running:
        assert "notes does not sync" in running.event("failed")["text"]
        assert run_here("task", "add", "Milk", home=laptop).code == 0
        status = run_here("status", home=laptop)
        assert (status.code, status.out.count("move it to another folder")) == (0, 1), status
        (laptop / "more.sqlite").write_text("eggs")
        assert run_here("task", "add", "Bread", home=laptop).code == 0
        eventually(lambda: any("more does not sync" in event["text"] for event in running.events), "the other file")
        assert running.stop() == (0, "")
    assert list(run_here("status", "--json", home=laptop).json["unusable"]) == ["more", "notes"]
    check = run_here("check", "--json", home=laptop)
    assert check.code == 1
    assert sorted((fault["store"], fault["code"]) for fault in check.json["faults"]) == [
        ("more", "damaged"),
        ("notes", "damaged"),
    ]
