"""What waits in each set, held from call to call: right after whatever happens, and looked at only where it changed."""

import pytest
from tests.review.reviewer import DAY, Reviewer

from lottisync.entities.entity import HIGH
from lottisync.review import index
from lottisync.review.ledger import Ledger
from lottisync.review.set_counts import SetCounts
from lottisync.store.reader import Reader


def agree(device: Reviewer, held: SetCounts, since: int | None = None) -> int:
    """The cached counts equal those computed without a cache; returns how much waits."""
    since = device.now if since is None else since
    found = held.visited(device.now, since)
    assert found == SetCounts(device.agents).visited(device.now, since)
    waiting = sum(count.waiting for count in found)
    assert waiting == index.waiting(device.agents, device.now)
    return waiting


def test_web_611_counts_that_are_held_follow_every_verdict_and_the_clock(laptop: Reviewer) -> None:
    """WEB-611: verdicts, an undo, an equal proposal, what is put off and comes back, what expires."""
    held = SetCounts(laptop.agents)
    for task in ("t1", "t2"):
        laptop.add_task(task)
        laptop.propose("update_task_estimate", {"minutes": 30}, task_id=task)
    laptop.propose("update_task_estimate", {"minutes": 30}, task_id="t1")
    counts = [agree(laptop, held)]
    first, second = laptop.waiting()
    began = laptop.now
    laptop.verdicts.confirm(first.id, laptop.later())
    counts.append(agree(laptop, held))
    assert [count.waiting for count in held.visited(laptop.now, began)].count(0) > 0, "what was decided stays"
    laptop.verdicts.undo(first.id, laptop.later())
    counts.append(agree(laptop, held))
    laptop.verdicts.defer(second.id, laptop.now + DAY, laptop.later())
    counts.append(agree(laptop, held))
    laptop.later(2 * DAY)
    counts.append(agree(laptop, held))
    laptop.later(200 * DAY)
    counts.append(agree(laptop, held))
    laptop.now -= 200 * DAY
    counts.append(agree(laptop, held))
    assert counts == [2, 1, 1, 0, 1, 0, 1]


def test_web_611_a_set_that_is_written_again_is_read_again(laptop: Reviewer) -> None:
    """WEB-611: though its row in the index says the same as before."""
    held = SetCounts(laptop.agents)
    laptop.add_task()
    for title in ("Milk", "Eggs"):
        laptop.propose("add_multiple_checklist_items", {"items": [{"title": title}]}, run=title)
    assert agree(laptop, held) == 2
    with laptop.agents.reading() as reader:
        first, second = reader.by_type("changeSet")
    [item] = first.value("items")
    [other] = second.value("items")
    with laptop.agents.transaction(laptop.later(), HIGH) as tx:
        tx.put(second.id, "changeSet", {"items": [other | {"args": item["args"]}]})
    assert agree(laptop, held) == 1


def test_web_611_only_the_task_that_changed_is_looked_at(laptop: Reviewer, monkeypatch: pytest.MonkeyPatch) -> None:
    """WEB-611"""
    held = SetCounts(laptop.agents)
    for number in range(5):
        laptop.add_task(f"t{number}")
        laptop.propose("update_task_estimate", {"minutes": 30}, task_id=f"t{number}")
    looked: list[int] = []
    whole = index.ledger_of

    def counted(reader: Reader, set_ids: set[str], now: int) -> Ledger:
        looked.append(len(set_ids))
        return whole(reader, set_ids, now)

    monkeypatch.setattr(index, "ledger_of", counted)
    held.visited(laptop.now, laptop.now)
    laptop.verdicts.confirm(laptop.waiting()[0].id, laptop.later())
    looked.clear()
    found = held.visited(laptop.now, laptop.now - 1)
    assert sum(count.waiting for count in found) == 4
    assert looked == [1]
