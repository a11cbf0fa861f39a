"""Sets that were closed long ago."""

import pytest
from tests.review.reviewer import DAY, Reviewer

from lottisync.journal.toolbox import ACTIONS
from lottisync.review.cleanup import RETENTION, remove_old_sets
from lottisync.review.inbox import Inbox


def test_rev36_a_set_goes_when_it_was_closed_for_the_retention(laptop: Reviewer) -> None:
    """REV-36, S1-56: and not a moment before; its decisions stay."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    laptop.later(30 * DAY)
    [ident] = laptop.states()
    closed = laptop.later()
    laptop.verdicts.confirm(f"{ident}.0", closed)
    assert remove_old_sets(laptop.agents, closed + RETENTION - 1) == 0
    assert remove_old_sets(laptop.agents, closed + RETENTION) == 1
    assert laptop.states() == {}
    assert [d.verdict for d in laptop.decisions()] == ["confirmed"]
    assert remove_old_sets(laptop.agents, closed + 2 * RETENTION) == 0


def test_rev36_an_expired_set_goes_ninety_days_after_it_expired(laptop: Reviewer) -> None:
    """REV-36, S1-56."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    made = laptop.now
    assert remove_old_sets(laptop.agents, made + 97 * DAY - 1) == 0
    assert remove_old_sets(laptop.agents, made + 97 * DAY) == 1


@pytest.mark.parametrize("why", ["pending", "deferred", "contested"])
def test_rev101_what_wants_a_person_stays(laptop: Reviewer, phone: Reviewer, why: str) -> None:
    """REV-101."""
    laptop.add_task()
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]})
    phone.pull(laptop)
    milk, eggs = laptop.waiting()
    laptop.verdicts.confirm(milk.id, laptop.later())
    if why == "contested":
        phone.verdicts.reject(milk.id, phone.later())
        laptop.verdicts.confirm(eggs.id, laptop.later())
        laptop.pull(phone)
    if why == "deferred":
        laptop.verdicts.defer(eggs.id, laptop.now + 400 * DAY, laptop.later())
    at = laptop.now + (5 * DAY if why == "pending" else 200 * DAY)
    assert remove_old_sets(laptop.agents, at, retention=DAY) == 0


def test_rev36_two_devices_that_clean_up_meet(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-36."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    for device in (laptop, phone):
        assert remove_old_sets(device.agents, device.later(100 * DAY)) == 1
    laptop.meet(phone)
    assert laptop.same_as(phone)
    assert Inbox(laptop.journal, laptop.agents, ACTIONS).unsettled_sets(laptop.now) == []


def test_rev102_what_was_put_off_elsewhere_meanwhile_comes_back(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-102: the phone was away for a quarter of a year, and its person had put the item off for half of one."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    [item] = phone.waiting()
    phone.verdicts.defer(item.id, phone.now + 180 * DAY, phone.later())
    laptop.later(100 * DAY)
    assert remove_old_sets(laptop.agents, laptop.now) == 1
    laptop.meet(phone)
    assert laptop.same_as(phone)
    for device in (laptop, phone):
        assert [state.items[item.id].status for state in device.states().values()] == ["deferred"]
        device.later(82 * DAY)
        assert [one.id for one in device.waiting()] == [item.id]


def test_rev102_a_contest_shows_though_the_set_was_removed_meanwhile(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-102, REV-55."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    [item] = phone.waiting()
    laptop.verdicts.confirm(item.id, laptop.later())
    phone.verdicts.reject(item.id, phone.later())
    laptop.later(100 * DAY)
    assert remove_old_sets(laptop.agents, laptop.now) == 1
    laptop.meet(phone)
    entity = laptop.agents.read(item.id.rpartition(".")[0])
    assert entity is not None
    assert "touched" not in entity.conflicts()  # that both touched it is nothing to choose between
    for device in (laptop, phone):
        assert [state.items[item.id].contested for state in device.states().values()] == [True]
