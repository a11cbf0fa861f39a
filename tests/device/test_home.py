"""A home: one device's key and its three stores."""

import json
import stat
from pathlib import Path

import pytest
from tests.support.stores import NOON

from lottisync.daemon.home import TaskHome
from lottisync.device.clock import MACHINE
from lottisync.problem import Problem, Usage

SEED = bytes(range(32))
FIXED = MACHINE._replace(now=lambda: NOON, new_seed=lambda: SEED)


def test_a_new_home_has_a_key_three_stores_and_a_roster(tmp_path: Path) -> None:
    """STORE-14, STORE-141, S3-10"""
    home = TaskHome.create(tmp_path / "home", "laptop", environment=FIXED)
    assert sorted(p.name for p in home.path.iterdir()) == [
        "agent.sqlite",
        "device.json",
        "journal.sqlite",
        "space.sqlite",
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["home"]
    assert stat.S_IMODE((home.path / "device.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.path.stat().st_mode) == 0o700
    assert home.name == "laptop"
    home.close()


def test_every_stores_host_is_bound_to_the_device(tmp_path: Path) -> None:
    """STORE-142: else a peer would refuse what this device writes."""
    home = TaskHome.create(tmp_path / "home", "laptop", environment=FIXED)
    hosts = set()
    for store in home.stores.values():
        with store.reading() as reader:
            hosts.add(reader.host)
    assert len(hosts) == 3
    assert dict.fromkeys(hosts, home.id) == home.roster().host_owner
    assert tuple(home.stores) == ("space", "journal", "agent")
    home.close()


def test_a_home_is_the_same_device_when_it_is_opened_again(tmp_path: Path) -> None:
    """STORE-14"""
    made = TaskHome.create(tmp_path / "home", "laptop", environment=FIXED)
    ident = made.id
    made.close()
    again = TaskHome.open(tmp_path / "home")
    assert (again.id, again.name) == (ident, "laptop")
    again.close()
    again.close()


def test_a_home_is_never_made_over_another(tmp_path: Path) -> None:
    """STORE-140"""
    TaskHome.create(tmp_path / "home", "laptop", environment=FIXED).close()
    before = {p.name: p.read_bytes() for p in (tmp_path / "home").iterdir()}
    with pytest.raises(Problem) as caught:
        TaskHome.create(tmp_path / "home", "other", environment=FIXED)
    assert caught.value.code == "exists"
    assert {p.name: p.read_bytes() for p in (tmp_path / "home").iterdir()} == before


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    """STORE-140"""
    (tmp_path / "letter.txt").write_text("x")
    with pytest.raises(Usage) as caught:
        TaskHome.create(tmp_path, "laptop", environment=FIXED)
    assert caught.value.exit_code == 2
    assert [p.name for p in tmp_path.iterdir()] == ["letter.txt"]
    with pytest.raises(Usage):
        TaskHome.create(tmp_path / "letter.txt", "laptop", environment=FIXED)


def test_a_home_is_made_at_a_mount_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mount point cannot be replaced ("Device or resource busy"). A new file system has a folder of its own."""
    mounted = tmp_path / "mounted"
    (mounted / "lost+found").mkdir(parents=True)
    monkeypatch.setattr(Path, "is_mount", lambda path: path == mounted)
    home = TaskHome.create(mounted, "laptop")
    home.close()
    again = TaskHome.open(mounted)
    assert again.roster().members[again.key.device_id].name == "laptop"
    again.close()
    assert [each.name for each in tmp_path.iterdir()] == ["mounted"]
    assert not (mounted / ".new").exists()


def test_what_an_attempt_that_failed_left_behind_is_not_an_obstacle(tmp_path: Path) -> None:
    """STORE-14: a home is built beside its place and moved there."""
    (tmp_path / "home.new").mkdir()
    (tmp_path / "home.new" / "journal.sqlite").write_text("half")
    (tmp_path / "home").mkdir()
    TaskHome.create(tmp_path / "home", "laptop", environment=FIXED).close()
    assert [p.name for p in tmp_path.iterdir()] == ["home"]


def test_a_name_that_is_not_valid_leaves_no_home(tmp_path: Path) -> None:
    """STORE-14: all or nothing."""
    with pytest.raises(Exception, match="name"):
        TaskHome.create(tmp_path / "home", "\n", environment=FIXED)
    assert not (tmp_path / "home").exists()


def test_what_fails_last_leaves_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """STORE-14: its key and its stores are there by then."""
    built: list[str] = []

    def fails(home: TaskHome, now: int) -> None:
        built.extend(sorted(each.name for each in home.path.iterdir()))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TaskHome, "bind_hosts", fails)
    with pytest.raises(Problem, match="cannot be made: No space left"):
        TaskHome.create(tmp_path / "home", "laptop", environment=FIXED)
    assert {"device.json", "journal.sqlite"} <= set(built)
    assert list(tmp_path.iterdir()) == []


def test_no_home(tmp_path: Path) -> None:
    """STORE-14"""
    with pytest.raises(Problem, match="is not a lottisync home") as caught:
        TaskHome.open(tmp_path)
    assert caught.value.code == "not-initialised"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"null", b"[]", b"{}", b'{"seed":7}', b'{"seed":"xyz"}', b'{"seed":"00"}', b"\xff"],
)
def test_a_damaged_key(tmp_path: Path, content: bytes) -> None:
    """STORE-14"""
    (tmp_path / "device.json").write_bytes(content)
    with pytest.raises(Problem, match=r"device\.json is damaged") as caught:
        assert TaskHome.open(tmp_path).id
    assert caught.value.code == "damaged"


def test_the_key_file_says_whose_it_is(tmp_path: Path) -> None:
    """STORE-14"""
    home = TaskHome.create(tmp_path / "home", "laptop", environment=FIXED)
    assert json.loads((home.path / "device.json").read_text()) == {"seed": SEED.hex(), "device": home.id}
    home.close()
