"""The index of sets: a cache that is right after whatever happens, and that is caught when it is not."""

from collections.abc import Callable
from typing import Any

import apsw
import msgspec
import pytest
from tests.review.reviewer import DAY, Reviewer
from tests.support import sqlite
from tests.support.fault_vfs import FaultVfs
from tests.support.rounds import send

from lottisync.daemon.stores import AGENT_STORE
from lottisync.device.clock import new_host
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal.toolbox import ACTIONS
from lottisync.review import index, shown_items
from lottisync.review.cleanup import remove_old_sets
from lottisync.review.inbox import Inbox
from lottisync.review.index import IndexRow, ItemEntry
from lottisync.store.snapshot import Snapshot
from lottisync.store.store import Store
from lottisync.sync import outgoing

FAR = 100 * DAY


def rows(device: Reviewer) -> dict[str, IndexRow]:
    """The index, brought up to date; and no fault in it."""
    index.refresh(device.agents, device.now)
    with device.agents.reading() as reader:
        assert list(index.faults(reader, device.now)) == []
        return {entry.set_id: entry for entry in index._entries(reader, "1", ())}


def only(device: Reviewer) -> IndexRow:
    [entry] = rows(device).values()
    return entry


def items(entry: IndexRow) -> list[str]:
    return [one.status for one in msgspec.json.decode(entry.items, type=list[ItemEntry])]


def two_items(device: Reviewer) -> tuple[str, str]:
    device.add_task()
    device.propose("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]})
    milk, eggs = device.waiting()
    return milk.id, eggs.id


def test_rev129_a_status_and_when_it_was_resolved_are_stored_and_follow_every_verdict(laptop: Reviewer) -> None:
    """REV-129, S1-08, S1-11, S2-11: default pending, and back again after an undo."""
    milk, eggs = two_items(laptop)
    assert (only(laptop).status, items(only(laptop)), only(laptop).resolved_at) == ("pending", ["pending"] * 2, None)
    laptop.verdicts.confirm(milk, laptop.later())
    assert (only(laptop).status, items(only(laptop))) == ("partiallyResolved", ["confirmed", "pending"])
    laptop.verdicts.reject(eggs, laptop.later())
    assert (only(laptop).status, items(only(laptop))) == ("resolved", ["confirmed", "rejected"])
    assert only(laptop).resolved_at == laptop.decisions()[-1].created_at
    assert (only(laptop).open, only(laptop).settled) == (0, 1)
    laptop.verdicts.undo(eggs, laptop.later())
    assert (only(laptop).status, only(laptop).resolved_at, only(laptop).open) == ("partiallyResolved", None, 1)


def test_rev129_time_alone_turns_a_row_and_a_clock_set_back_turns_it_again(laptop: Reviewer) -> None:
    """REV-129, REV-33, REV-34: no verdict and no write of the set is between."""
    milk, _ = two_items(laptop)
    laptop.verdicts.defer(milk, laptop.now + 20 * DAY, laptop.later())
    made = laptop.now
    with laptop.agents.reading() as reader:
        written = reader.counter
    seen = []
    for days in (1, 8, 21, 28, 21, 8, 1):
        laptop.now = made + days * DAY
        entry = only(laptop)
        states = [(one.status, one.expired) for one in msgspec.json.decode(entry.items, type=list[ItemEntry])]
        seen.append((entry.status, entry.open, states))
    waits, put_off, gone = ("pending", False), ("deferred", False), ("pending", True)
    there = [
        ("pending", 1, [put_off, waits]),
        ("pending", 0, [put_off, gone]),
        ("pending", 1, [waits, gone]),
        ("expired", 0, [gone, gone]),
    ]
    assert seen == [*there, *there[2::-1]]
    with laptop.agents.reading() as reader:
        assert reader.counter == written


def test_rev37_what_peers_decide_and_contest_reaches_the_index(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-129, REV-37: the rows are computed on each device and not sent: after a round both have the same."""
    milk, eggs = two_items(laptop)
    phone.pull(laptop)
    assert rows(phone) == rows(laptop)
    phone.verdicts.confirm(milk, phone.later())
    laptop.verdicts.reject(milk, laptop.later())
    laptop.verdicts.reject(eggs, laptop.later())
    assert only(laptop).settled
    laptop.meet(phone)
    laptop.now = phone.now = max(laptop.now, phone.now)
    assert rows(phone) == rows(laptop)
    assert (only(laptop).open, only(laptop).settled) == (1, 0)
    laptop.verdicts.keep(milk, laptop.later())
    assert only(laptop).settled


def test_rev129_a_decision_alone_reaches_the_index(
    laptop: Reviewer, phone: Reviewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REV-129: a round was cut off: the decision is here, the set that was touched along with it is not. The order in a
    round is the sender's."""
    milk, _ = two_items(laptop)
    phone.pull(laptop)
    assert items(only(phone)) == ["pending", "pending"]
    laptop.verdicts.reject(milk, laptop.later())
    in_order = Snapshot.lacking
    monkeypatch.setattr(Snapshot, "lacking", lambda *args: in_order(*args)[::-1])
    monkeypatch.setattr(outgoing, "BATCH_BYTES", 1)
    arrived = send(laptop.agents, phone.agents, now=phone.later(), batches=1)
    assert arrived == [laptop.decisions()[-1].id]
    assert items(only(phone)) == ["rejected", "pending"]


def test_rev129_a_verdict_on_one_of_two_equal_proposals_changes_both_rows(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-129, REV-318: the decision names the other set; one operation on two devices."""
    laptop.add_task()
    phone.pull(laptop)
    for device in (laptop, phone):
        device.propose("add_checklist_item", {"title": "Milk"})
    laptop.meet(phone)
    assert [entry.status for entry in rows(laptop).values()] == ["pending", "pending"]
    [shown] = laptop.waiting()
    laptop.verdicts.confirm(shown.id, laptop.later())
    assert [entry.status for entry in rows(laptop).values()] == ["resolved", "resolved"]


def test_rev129_a_set_that_is_removed_leaves_the_index(laptop: Reviewer) -> None:
    """REV-129, REV-36."""
    two_items(laptop)
    assert len(rows(laptop)) == 1
    laptop.later(FAR)
    assert remove_old_sets(laptop.agents, laptop.now) == 1
    assert rows(laptop) == {}


def test_rev37_the_index_can_be_thrown_away(laptop: Reviewer) -> None:
    """REV-130, REV-37: it is the same when computed again, and rebuilding writes nothing that replicates."""
    milk, _ = two_items(laptop)
    laptop.propose("set_task_title", {"title": "Rye"}, run="r2")
    laptop.verdicts.confirm(milk, laptop.later())
    before = rows(laptop)
    with laptop.agents.reading() as reader:
        digest, feed = reader.digest(), reader.local("select feed from state")
    index.rebuild(laptop.agents, laptop.now)
    assert rows(laptop) == before
    with laptop.agents.reading() as reader:
        assert (reader.digest(), reader.local("select feed from state")) == (digest, feed)


def test_rev319_a_verdict_does_not_read_the_index(laptop: Reviewer) -> None:
    """REV-319: each is given while the index has no row of the set."""
    milk, eggs = two_items(laptop)
    for verdict, item in (
        (laptop.verdicts.confirm, milk),
        (laptop.verdicts.reject, eggs),
        (laptop.verdicts.undo, milk),
    ):
        with laptop.agents.transaction(laptop.later(), LOW) as tx:
            tx.execute("delete from change_set_index")
        verdict(item, laptop.later())
    assert [one.verdict for one in laptop.decisions()] == ["confirmed", "rejected", "retracted"]


LIES: dict[str, tuple[str, str]] = {
    "status": ("update change_set_index set status = 'resolved'", "says resolved, and it is pending"),
    "settled": ("update change_set_index set settled = 1, open = 0", "with other items or times"),
    "an item": ("update change_set_index set items = replace(items, 'pending', 'rejected')", "with other items"),
    "a decision": ("update change_set_index set decisions = '[]' where open = 1", "with other items"),
    "missing": ("delete from change_set_index", "does not have it, and it is pending"),
    "made up": (
        "insert into change_set_index select 'x', task_id, status, resolved_at, items, decisions, open, settled, "
        "since, until from change_set_index",
        "says pending, and there is no such set",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_rev38_check_notices_an_index_that_is_wrong(laptop: Reviewer, lie: str) -> None:
    """REV-38: and rebuilding mends it."""
    milk, _ = two_items(laptop)
    laptop.verdicts.defer(milk, laptop.now + DAY, laptop.later())
    laptop.later(2 * DAY)
    before = rows(laptop)
    statement, said = LIES[lie]
    with laptop.agents.transaction(laptop.now, HIGH) as tx:
        tx.execute(statement)
    with laptop.agents.reading() as reader:
        [fault] = index.faults(reader, laptop.now)
    assert said in fault
    index.rebuild(laptop.agents, laptop.now)
    assert rows(laptop) == before


def test_rev38_an_index_that_is_behind_is_not_reported_as_wrong(laptop: Reviewer) -> None:
    """REV-38: what the next list puts right is not a fault."""
    milk, _ = two_items(laptop)
    rows(laptop)
    laptop.verdicts.confirm(milk, laptop.later())
    laptop.later(FAR)
    with laptop.agents.reading() as reader:
        assert list(index.faults(reader, laptop.now)) == []


def steps(store: Store, effect_write: Callable[[], Any]) -> int:
    """How many steps SQLite's virtual machine makes for it: what is read, whatever the machine."""
    made = 0

    def note(event: dict[str, Any]) -> None:
        nonlocal made
        made += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]

    sqlite.connection(store).trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
    try:
        effect_write()
    finally:
        sqlite.connection(store).trace_v2(0, None)
    return made


def test_rev39_a_list_costs_what_waits_and_not_what_was_settled(laptop: Reviewer) -> None:
    """REV-39: one item waits; ten times as much that was settled, on the same task, changes nothing."""
    laptop.add_task()
    inbox = Inbox(laptop.journal, laptop.agents, ACTIONS)

    def settle(many: int, first: int) -> None:
        for number in range(first, first + many):
            laptop.propose("set_task_title", {"title": f"Title {number}"}, run=f"r{number}")
            [item] = laptop.waiting()
            laptop.verdicts.reject(item.id, laptop.later())

    def cost() -> int:
        laptop.propose("update_task_estimate", {"minutes": 60}, run=f"asks-{laptop.now}")
        [item] = laptop.waiting()
        found = steps(laptop.agents, lambda: inbox.open_sets(laptop.now))
        laptop.verdicts.confirm(item.id, laptop.later())
        laptop.verdicts.undo(item.id, laptop.later())
        laptop.edit(estimate=laptop.now // 1000 % 1000)
        return found

    settle(8, 0)
    few = cost()
    settle(80, 8)
    many = cost()
    assert many < few * 1.1, (few, many)


def test_rev39_counting_what_waits_costs_what_waits(laptop: Reviewer) -> None:
    """REV-39, CLI-28: what was settled is not looked at, and nothing is written where the index is up to date."""
    two_items(laptop)

    def cost() -> int:
        index.refresh(laptop.agents, laptop.now)
        return steps(laptop.agents, lambda: index.waiting(laptop.agents, laptop.now))

    few = cost()
    for number in range(40):
        laptop.propose("set_task_title", {"title": f"Title {number}"}, run=f"r{number}")
        [item] = [item for item in laptop.waiting() if item.tool == "set_task_title"]
        laptop.verdicts.reject(item.id, laptop.later())
    assert cost() < few * 1.1


def test_cli_28_what_is_counted_is_what_the_inbox_shows(laptop: Reviewer, phone: Reviewer) -> None:
    """CLI-28: equal proposals count once; contested ones, too; not what is put off, decided, or expired."""
    milk, eggs = two_items(laptop)
    phone.pull(laptop)
    seen = []

    def both() -> int:
        counts = {index.waiting(device.agents, device.now) for device in (laptop, phone)}
        shown = [
            item
            for one in Inbox(laptop.journal, laptop.agents, ACTIONS).open_sets(laptop.now)
            for item in one.items
            if item.contested or (item.status == "pending" and not item.expired)
        ]
        assert counts == {len(shown)}
        seen.append(len(shown))
        return len(shown)

    assert both() == 2
    for device in (laptop, phone):
        device.propose("update_task_estimate", {"minutes": 60}, run=f"on-{device.number}")
    laptop.meet(phone)
    assert both() == 3
    laptop.verdicts.confirm(milk, laptop.later())
    phone.verdicts.reject(milk, phone.later())
    phone.verdicts.defer(eggs, phone.now + DAY, phone.later())
    laptop.meet(phone)
    assert both() == 2
    laptop.verdicts.keep(milk, laptop.later())
    laptop.meet(phone)
    assert both() == 1
    for device in (laptop, phone):
        device.later(2 * DAY)
    laptop.now = phone.now = max(laptop.now, phone.now)
    assert both() == 2
    laptop.now = phone.now = laptop.now + 8 * DAY
    assert both() == 0
    assert index.waiting(laptop.agents, laptop.now, "another") == 0


def test_rev39_showing_one_item_reads_its_set_and_no_other(laptop: Reviewer) -> None:
    """REV-352."""
    milk, _ = two_items(laptop)
    inbox = Inbox(laptop.journal, laptop.agents, ACTIONS)
    inbox.item(milk, laptop.now)
    few = steps(laptop.agents, lambda: inbox.item(milk, laptop.now))
    for number in range(30):
        laptop.propose("set_task_title", {"title": f"Title {number}"}, run=f"r{number}")
    inbox.item(milk, laptop.now)
    assert steps(laptop.agents, lambda: inbox.item(milk, laptop.now)) < few * 1.1


def test_rev160_lists_are_right_where_the_disk_does_not_take_the_index(laptop: Reviewer) -> None:
    """REV-160, REL-D10"""
    milk, eggs = two_items(laptop)
    rows(laptop)
    laptop.verdicts.confirm(milk, laptop.later())
    vfs = FaultVfs(name := "full for the index", "full", at=0)
    agents = Store.open(laptop.agents.file, AGENT_STORE, new_host, vfs=name, detect="late")
    try:
        vfs.at = vfs.operations + 1
        [shown] = Inbox(laptop.journal, agents, ACTIONS).open_sets(laptop.later())
        assert vfs.operations == vfs.at, "the index was not written"
        assert [item.id for item in shown.items if item.status == "pending"] == [eggs]
        vfs.at = vfs.operations + 1
        assert index.waiting(agents, laptop.now) == 1
    finally:
        agents.close()
        vfs.unregister()


def test_rev430_a_page_is_shown_where_the_disk_does_not_take_its_digests(laptop: Reviewer) -> None:
    """REV-430"""
    milk, _ = two_items(laptop)
    vfs = FaultVfs(name := "full for the digests", "full", at=0)
    agents = Store.open(laptop.agents.file, AGENT_STORE, new_host, vfs=name, detect="late")
    try:
        [shown] = Inbox(laptop.journal, agents, ACTIONS).open_sets(laptop.later())
        vfs.at = vfs.operations + 1
        assert not shown_items.remember(agents, shown.items, laptop.now)
        with agents.reading() as reader:
            assert shown_items.remembered(reader, [milk]) == {}
        assert shown_items.remember(agents, shown.items, laptop.now), "there is room again"
    finally:
        agents.close()
        vfs.unregister()
