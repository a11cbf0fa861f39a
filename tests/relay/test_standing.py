"""How a person hears of the other devices at a relay."""

from pathlib import Path

from tests.support import sqlite
from tests.support.relay import Visitor, visitors

from lottisync.relay import ledger
from lottisync.relay.event import Differs
from lottisync.relay.standing import DAY
from lottisync.store import fork
from lottisync.store.instant import to_the_minute


def test_relay_544_what_was_said_and_is_not_there_is_counted(tmp_path: Path) -> None:
    """RELAY-544"""
    relay, (laptop, phone) = visitors(tmp_path)
    for visitor in (laptop, phone, laptop, phone):
        visitor.visit()
    for number in range(3):
        phone.member.put(f"t{number}", "one")
    phone.visit()
    with phone.member.space.reading() as reader:
        lane = ledger.lane(reader)
    del relay.messages[max(name for name in relay.messages if name.lane == lane and name.channel == "log")]
    laptop.member.now = phone.member.now
    laptop.read()
    [said] = laptop.participant.standing(laptop.member.now)
    assert (said.lacking, said.in_step) == (3, False)
    assert said.text.startswith("device 2 has said 3 changes that the relay does not hold; last heard at 20")


def test_relay_544_what_a_copy_has_renamed_is_not_missing(tmp_path: Path) -> None:
    """RELAY-544: what the phone had said before the copy was found, it had said of the names of then."""
    relay, (laptop, phone) = visitors(tmp_path)
    laptop.member.put("t0", "before")
    for visitor in (laptop, phone, laptop, phone, laptop):
        visitor.visit()
    copy = Visitor(laptop.member.copied(tmp_path / "copy"), relay, 5)
    (copy.member.folder / "hosts").write_text("100")  # hosts are random elsewhere
    laptop = Visitor(laptop.member.restarted(), relay, 1)
    laptop.member.put("t1", "of the laptop")
    copy.member.put("t2", "of its copy")
    for visitor in (laptop, phone, copy):
        visitor.visit()
    laptop.read()
    with laptop.member.stores["journal"].reading() as reader:
        assert fork.nodes(reader)
    assert [each.lacking for each in laptop.participant.standing(laptop.member.now)] == [0]


def test_relay_544_a_device_that_is_silent_is_named_with_when_it_spoke_last(tmp_path: Path) -> None:
    """RELAY-544"""
    _, (laptop, phone, tablet) = visitors(tmp_path, 3)
    for visitor in (laptop, phone, laptop, phone, laptop):
        visitor.visit()
    now = laptop.member.now
    of_phone, of_tablet = laptop.participant.standing(now + 2 * DAY)
    assert (of_phone.silent, of_phone.text.startswith("in step with device 2 as of 20")) == (False, True)
    assert (of_tablet.silent, of_tablet.text) == (True, "nothing was ever heard of device 3 at the relay")
    of_phone, _ = laptop.participant.standing(now + 4 * DAY)
    assert of_phone.text.endswith(to_the_minute(of_phone.heard_at) + ", when both were in step")
    assert of_phone.silent
    assert of_phone.text.startswith("nothing heard of device 2 since 20")
    assert tablet.member.number == 3


def test_relay_893_a_device_that_knows_the_same_and_holds_something_else_is_named(tmp_path: Path) -> None:
    """RELAY-893: a bit has flipped on one of the two disks. What is missing is named first."""
    _, (laptop, phone) = visitors(tmp_path)
    laptop.member.put("t1", "one")
    for visitor in (laptop, phone, laptop, phone, laptop):
        visitor.visit()
    [said] = laptop.participant.standing(laptop.member.now)
    assert (said.in_step, said.differs) == (True, False)
    sqlite.connection(phone.member.stores["journal"]).execute("update state set digest = zeroblob(32)").fetchall()
    phone.member.now += 60_000
    phone.visit()
    laptop.member.now = phone.member.now
    laptop.visit()
    [said] = laptop.participant.standing(laptop.member.now)
    assert (said.in_step, said.differs) == (False, True)
    assert said.text.startswith("device 2 knows the same as this device and holds something else")
    assert laptop.happened(Differs)
