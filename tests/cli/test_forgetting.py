"""`purge`, `devices retire` and what `status` says of them: FORGET-3, FORGET-5, ROSTER-20, ROSTER-31."""

from pathlib import Path

import anyio
import pytest
from tests.support.command_line import contents, run_here
from tests.support.event_loop import until
from tests.support.stores import NOON

from lottisync.daemon.daemon import _purge
from lottisync.daemon.home import TaskHome
from lottisync.device import purging
from lottisync.device.membership import come_back
from lottisync.entities.entity import HIGH
from lottisync.identity.device_key import DeviceKey
from lottisync.store import forgetting

PHONE = DeviceKey.from_seed(b"p" * 32)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A laptop that is paired with a phone, has a task and has deleted two long ago."""
    folder = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=folder).code == 0
    opened = TaskHome.open(folder)
    opened.members.add("phone", PHONE.certificate, NOON)
    with opened.journal.transaction(NOON, HIGH) as tx:
        for entity_id in ("t1", "t2", "t3"):
            tx.put(entity_id, "task", {"title": entity_id})
        tx.delete("t2")
        tx.delete("t3")
    opened.close()
    return folder


def ids(home: Path) -> list[str]:
    opened = TaskHome.open(home)
    try:
        with opened.journal.reading() as reader:
            return [entity_id for (entity_id,) in reader.local("select id from rows order by id")]
    finally:
        opened.close()


def phone_knows_all(home: Path) -> None:
    opened = TaskHome.open(home)
    with opened.journal.transaction(NOON, HIGH) as tx:
        forgetting.note(tx, PHONE.device_id, tx.knowledge(), direct=True)
    opened.close()


def test_forget_5_a_device_that_was_never_heard_of_holds_all_back(home: Path) -> None:
    result = run_here("purge", "--json", home=home).json
    assert result == {
        "forgotten": {"space": 0, "journal": 0, "agent": 0},
        "heldBack": [{"id": PHONE.device_id, "name": "phone", "holdsBack": 2}],
    }
    shown = run_here("purge", home=home).out
    assert "0 deleted entities forgotten." in shown
    assert "phone has not seen 2 more yet; they stay until it has." in shown
    assert ids(home) == ["t1", "t2", "t3"]
    (peer,) = run_here("status", "--json", home=home).json["peers"]
    assert peer["holdsBack"] == 2
    assert "holds back 2 deleted" in run_here("status", home=home).out


def test_forget_3_what_it_has_seen_goes(home: Path) -> None:
    phone_knows_all(home)
    (peer,) = run_here("status", "--json", home=home).json["peers"]
    assert (peer["holdsBack"], peer["lacks"]) == (0, {"journal": 0})
    assert run_here("purge", "--days", "36500", "--json", home=home).json["forgotten"]["journal"] == 0
    assert "2 deleted entities forgotten." in run_here("purge", home=home).out
    assert ids(home) == ["t1"]
    assert run_here("check", home=home).code == 0


def test_forget_2_status_counts_what_a_device_lacks_without_a_daemon(home: Path) -> None:
    phone_knows_all(home)
    opened = TaskHome.open(home)
    with opened.journal.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", {"title": "Bread"})
        tx.put("t1", "task", {"title": "Butter"})
    opened.close()
    (peer,) = run_here("status", "--json", home=home).json["peers"]
    assert peer["lacks"] == {"journal": 1}


def test_roster_20_no_device_waits_for_a_retired_one_until_it_comes_back(home: Path) -> None:
    assert run_here("devices", "retire", "phone", "--json", home=home).json == {
        "id": PHONE.device_id,
        "name": "phone",
        "status": "retired",
        "formerName": None,
        "alsoRevoked": [],
    }
    assert {row["name"]: row["status"] for row in run_here("devices", "--json", home=home).json["devices"]} == {
        "laptop": "active",
        "phone": "retired",
    }
    assert run_here("purge", "--json", home=home).json == {
        "forgotten": {"space": 0, "journal": 2, "agent": 0},
        "heldBack": [],
    }
    assert run_here("status", "--json", home=home).json["peers"] == []


@pytest.mark.parametrize(
    ("name", "code"), [("laptop", "this-device"), ("tablet", "unknown-device"), ("phone", "not-active")]
)
def test_roster_31_what_cannot_be_retired_is_said(home: Path, name: str, code: str) -> None:
    if code == "not-active":
        assert run_here("devices", "retire", "phone", home=home).code == 0
    before = contents(home)
    result = run_here("devices", "retire", name, "--json", home=home)
    assert result.code != 0
    assert result.json["error"]["code"] == code
    assert contents(home) == before


def test_roster_20_a_device_that_reads_it_signs_itself_back_in_once(home: Path) -> None:
    opened = TaskHome.open(home)
    laptop = opened.key
    assert not come_back(opened.space, laptop, NOON)
    opened.members.retire(laptop.device_id, NOON + 60_000)
    assert opened.roster().members[laptop.device_id].status == "retired"
    assert come_back(opened.space, laptop, NOON)  # its clock is behind
    member = opened.roster().members[laptop.device_id]
    assert (member.status, member.name) == ("active", "laptop")
    assert not come_back(opened.space, laptop, NOON)
    opened.close()


@pytest.mark.anyio
async def test_forget_3_the_daemon_forgets_once_a_day(home: Path) -> None:
    phone_knows_all(home)
    opened = TaskHome.open(home)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_purge, opened)
        await until(lambda: ids(home) == ["t1"], "the forgetting")
        tasks.cancel_scope.cancel()
    opened.close()


def test_forget_3_more_than_one_transaction_holds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lottisync.device.purging.PURGED_AT_ONCE", 1)
    phone_knows_all(home)
    opened = TaskHome.open(home)
    assert purging.purge(opened, NOON, 0)["journal"] == 2
    assert purging.held_back(opened, NOON, 0) == {}
    opened.close()
