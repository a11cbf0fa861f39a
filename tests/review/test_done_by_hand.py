"""A person who edits a proposed status may close the task: it is then as after `task done`."""

from datetime import date, timedelta

import pytest
from tests.review.reviewer import Reviewer

from lottisync.entities.entity import has_conflict
from lottisync.journal import repetition, task_values, tasks
from lottisync.journal.repetition import Rule
from lottisync.journal.toolbox import ACTIONS
from lottisync.review.action import Unreadable
from lottisync.review.completion import Begun, Sagas
from lottisync.review.outcome import Done, Outcome
from lottisync.store.transaction import Transaction

DUE = date(2026, 3, 2)
DONE = {"status": "DONE"}


def proposed(device: Reviewer, *, rule: bool = True, status: str = "GROOMED", **more: str) -> str:
    """A repeating task for which a status is proposed: the item's id."""
    device.add_task(items=("Flour", "Salt"))
    device.tick("t1-i0")
    if rule:
        device.edit(due=DUE.isoformat(), repeat=Rule(DUE, 1, "W").stored())
    device.propose("set_task_status", {"status": status, **more})
    [item] = device.waiting()
    return item.id


def statuses(device: Reviewer) -> dict[str, str]:
    with device.journal.reading() as reader:
        return {line.id: line.status for line in tasks.all_tasks(reader)[0]}


def the_next(device: Reviewer) -> str:
    return repetition.next_id("t1")


@pytest.mark.parametrize("closed", ["DONE", "REJECTED"])
def test_jour_600_a_persons_edit_closes_a_task(laptop: Reviewer, closed: str) -> None:
    """JOUR-600"""
    item = proposed(laptop, rule=False)
    outcome = laptop.verdicts.confirm(item, laptop.later(), edited_args={"status": closed.lower()})
    assert (outcome.result, statuses(laptop)) == ("applied", {"t1": closed})
    [decision] = laptop.decisions()
    assert (decision.edited, decision.args["status"], decision.human_summary) == (
        True,
        closed,
        f"Set status to {closed.lower()}",
    )


@pytest.mark.parametrize("closed", ["DONE", "REJECTED"])
def test_rev_141_an_agent_still_cannot_close_it(laptop: Reviewer, closed: str) -> None:
    """REV-141: neither by a call nor by a proposal that is in the store somehow."""
    laptop.add_task()
    assert "only the user sets" in laptop.propose("set_task_status", {"status": closed})
    assert laptop.waiting() == []
    assert isinstance(ACTIONS.read("set_task_status", {"status": closed}), Unreadable)


def test_jour_601_the_agents_reason_is_not_the_persons(laptop: Reviewer) -> None:
    """JOUR-601"""
    item = proposed(laptop, rule=False, status="BLOCKED", reason="waits for the flour")
    laptop.verdicts.confirm(item, laptop.later(), edited_args={**DONE, "reason": "waits for the flour"})
    task = laptop.page().task
    assert (task.status, task.status_reason) == ("DONE", None)


def test_jour_601_a_reason_of_their_own_stays(laptop: Reviewer) -> None:
    """JOUR-601"""
    item = proposed(laptop, rule=False, status="BLOCKED", reason="waits for the flour")
    edited = {"status": "REJECTED", "reason": "bought one"}
    laptop.verdicts.confirm(item, laptop.later(), edited_args=edited)
    assert laptop.page().task.status_reason == "bought one"


def test_jour_602_the_next_one_is_made_once(laptop: Reviewer) -> None:
    """JOUR-602: as `task done` makes it."""
    item = proposed(laptop)
    laptop.verdicts.confirm(item, laptop.later(), edited_args=DONE)
    assert statuses(laptop) == {"t1": "DONE", the_next(laptop): "OPEN"}
    following = laptop.page(the_next(laptop))
    assert following.task.due == (DUE + timedelta(7)).isoformat()
    assert [(one.title, one.is_checked) for one in following.items] == [("Flour", False), ("Salt", False)]
    assert laptop.verdicts.confirm(item, laptop.later(), edited_args=DONE).result == "already"
    assert len(statuses(laptop)) == 2


@pytest.mark.parametrize("by_hand", [False, True])
def test_jour_602_two_devices_make_one(laptop: Reviewer, phone: Reviewer, by_hand: bool) -> None:
    """JOUR-602: also where one of them finishes it with `task done`."""
    item = proposed(laptop)
    phone.pull(laptop)
    laptop.verdicts.confirm(item, laptop.later(), edited_args=DONE)
    if by_hand:
        phone.do(lambda tx: repetition.edit_task(tx, "t1", task_values.checked_status("DONE", None)))
    else:
        phone.verdicts.confirm(item, phone.later(), edited_args=DONE)
    laptop.meet(phone)
    assert laptop.same_as(phone)
    assert statuses(phone) == {"t1": "DONE", the_next(phone): "OPEN"}
    assert len(phone.page(the_next(phone)).items) == 2
    with phone.journal.reading() as reader:
        assert not any(has_conflict(entity) for entity in reader.owned_by(the_next(phone)))


class DiesAfterTheEffect(Sagas):
    def settle(self, done: object, now: int) -> list[Outcome]:
        raise KeyboardInterrupt


class DiesBeforeTheEffect(Sagas):
    def take_effect(self, tx: Transaction, begun: Begun) -> Done:
        raise KeyboardInterrupt


@pytest.mark.parametrize("gap", [DiesBeforeTheEffect, DiesAfterTheEffect])
def test_jour_602_a_killed_verdict_makes_it_once(laptop: Reviewer, gap: type[Sagas]) -> None:
    """JOUR-602: what another start finishes, days later, is due on the same day."""
    item = proposed(laptop)
    with pytest.raises(KeyboardInterrupt):
        laptop.restarted(gap).confirm(item, laptop.later(), edited_args=DONE)
    laptop.later(20 * 86_400_000)
    laptop.restarted().recover(laptop.later())
    assert statuses(laptop) == {"t1": "DONE", the_next(laptop): "OPEN"}
    assert laptop.page(the_next(laptop)).task.due == (DUE + timedelta(7)).isoformat()


def test_jour_603_undo_takes_all_of_it_back(laptop: Reviewer) -> None:
    """JOUR-603"""
    item = proposed(laptop)
    laptop.verdicts.confirm(item, laptop.later(), edited_args=DONE)
    assert laptop.verdicts.undo(item, laptop.later()).result == "undone"
    assert statuses(laptop) == {"t1": "OPEN"}
    with laptop.journal.reading() as reader:
        assert reader.owned_by(the_next(laptop)) == []
    laptop.do(lambda tx: repetition.edit_task(tx, "t1", task_values.checked_status("DONE", None)))
    assert len(laptop.page(the_next(laptop)).items) == 2


def test_jour_603_undone_on_another_device(laptop: Reviewer, phone: Reviewer) -> None:
    """JOUR-603"""
    item = proposed(laptop)
    phone.pull(laptop)
    for device in (laptop, phone):
        device.verdicts.confirm(item, device.later(), edited_args=DONE)
    laptop.meet(phone)
    assert phone.verdicts.undo(item, phone.later()).result == "undone"
    laptop.meet(phone)
    assert statuses(laptop) == statuses(phone) == {"t1": "OPEN"}


@pytest.mark.parametrize("touched", ["title", "tick", "note"])
def test_jour_604_a_next_one_that_was_changed_stays(laptop: Reviewer, touched: str) -> None:
    """JOUR-604: nothing is taken back, and it says why."""
    item = proposed(laptop)
    laptop.verdicts.confirm(item, laptop.later(), edited_args=DONE)
    made = the_next(laptop)
    match touched:
        case "title":
            laptop.edit(made, title="Bake rolls")
        case "tick":
            laptop.tick(laptop.page(made).items[0].id)
        case _:
            laptop.note("n1", "rye this time", made)
    outcome = laptop.verdicts.undo(item, laptop.later())
    assert (outcome.result, outcome.message) == ("stale", "what was made with it was changed since")
    assert statuses(laptop) == {"t1": "DONE", made: "OPEN"}


def test_jour_604_a_next_one_that_was_there_before_stays(laptop: Reviewer) -> None:
    """JOUR-604: it was made when the task was finished by hand, and not by this verdict."""
    laptop.add_task()
    laptop.edit(due=DUE.isoformat(), repeat=Rule(DUE, 1, "W").stored())
    for status in ("DONE", "OPEN"):
        laptop.do(lambda tx, to=status: repetition.edit_task(tx, "t1", task_values.checked_status(to, None)))  # type: ignore[misc]
    laptop.propose("set_task_status", {"status": "GROOMED"})
    [item] = laptop.waiting()
    laptop.verdicts.confirm(item.id, laptop.later(), edited_args=DONE)
    laptop.verdicts.undo(item.id, laptop.later())
    assert statuses(laptop) == {"t1": "OPEN", the_next(laptop): "OPEN"}


def test_rev_58_keep_has_the_next_one_too(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-58: undone here, confirmed there, and kept."""
    item = proposed(laptop)
    phone.pull(laptop)
    laptop.verdicts.confirm(item, laptop.later(), edited_args=DONE)
    laptop.verdicts.undo(item, laptop.later())
    phone.verdicts.confirm(item, phone.later(60_000), edited_args=DONE)
    laptop.meet(phone)
    assert phone.verdicts.keep(item, phone.later()).result == "kept"
    laptop.meet(phone)
    assert statuses(laptop) == statuses(phone) == {"t1": "DONE", the_next(phone): "OPEN"}
    assert len(laptop.page(the_next(laptop)).items) == 2
