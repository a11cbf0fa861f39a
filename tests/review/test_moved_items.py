"""Items that an agent proposes to move to another task: REV-96."""

import pytest
from tests.review.reviewer import Reviewer

from lottisync.journal import checklist, tasks
from lottisync.journal.toolbox import ACTIONS
from lottisync.review.inbox import Inbox
from lottisync.review.proposal_record import proposal_records

MOVED = 'Move "Flour" to "Order flour"'
MOVE = {"items": [{"id": "t1-i0", "title": "Flour"}], "targetTaskId": "t2"}


@pytest.fixture
def kitchen(laptop: Reviewer) -> Reviewer:
    """Two tasks; the first has two items, one of them ticked by the person."""
    laptop.add_task("t1", items=("Flour", "Salt"))
    laptop.add_task("t2", "Go shopping")
    laptop.tick("t1-i0")
    return laptop


def test_rev96_an_item_moves_with_its_tick_and_back(kitchen: Reviewer) -> None:
    """REV-307, REV-309, REV-56"""
    before = kitchen.item()
    assert "queued" in kitchen.propose("migrate_checklist_items", MOVE)
    [item] = kitchen.waiting()
    assert item.summary == 'Move "Flour" to "Go shopping"'
    assert [(one.before, one.after) for one in item.changes] == [("Flour", "Flour"), ("Bake bread", "Go shopping")]
    assert kitchen.verdicts.confirm(item.id, kitchen.later()).result == "applied"
    assert (kitchen.titles("t1"), kitchen.titles("t2")) == (["Salt"], ["Flour"])
    moved = kitchen.item()
    assert (moved.is_checked, moved.checked_by, moved.checked_at) == (True, before.checked_by, before.checked_at)
    assert kitchen.verdicts.undo(item.id, kitchen.later()).result == "undone"
    back = kitchen.item()
    assert (back.task_id, back.checklist_id, back.rank) == (before.task_id, before.checklist_id, before.rank)
    assert (kitchen.titles("t1"), kitchen.titles("t2")) == (["Flour", "Salt"], [])


def test_rev46_an_edit_moves_it_to_another_task_than_proposed(kitchen: Reviewer) -> None:
    """REV-46, REV-950: the item is what it is about. The other task is an argument, and named as it was decided."""
    kitchen.add_task("t3", "Order flour")
    kitchen.propose("migrate_checklist_items", MOVE)
    [item] = kitchen.waiting()
    other = kitchen.verdicts.confirm(item.id, kitchen.later(), edited_args={**item.args, "id": "t1-i1"})
    assert (other.result, other.message) == ("failed", "an edit changes the arguments, not what they are about")
    edited = kitchen.verdicts.confirm(item.id, kitchen.later(), edited_args={**item.args, "targetTaskId": "t3"})
    assert edited.result == "applied"
    assert [kitchen.titles(task) for task in ("t1", "t2", "t3")] == [["Salt"], [], ["Flour"]]
    shown = Inbox(kitchen.journal, kitchen.agents, ACTIONS).item(item.id, kitchen.now)
    assert (shown.summary, shown.about, shown.changes[1].after) == (MOVED, "Order flour", "Order flour")
    [record] = proposal_records(kitchen.journal, kitchen.agents, ACTIONS, kitchen.now)
    assert [record.summary, *(each.human_summary for each in record.decisions)] == [MOVED, MOVED]
    kitchen.verdicts.undo(item.id, kitchen.later())
    assert [
        each.human_summary
        for each in proposal_records(kitchen.journal, kitchen.agents, ACTIONS, kitchen.now)[0].decisions
    ] == [MOVED, MOVED]


def test_rev46_the_title_says_which_item_moves_and_is_no_argument_to_edit(kitchen: Reviewer) -> None:
    """REV-46: an edit of it changed nothing, and was called applied."""
    kitchen.propose("migrate_checklist_items", MOVE)
    [item] = kitchen.waiting()
    other = kitchen.verdicts.confirm(item.id, kitchen.later(), edited_args={**item.args, "title": "Oats"})
    assert (other.result, other.message) == ("failed", "an edit changes the arguments, not what they are about")


def test_rev96_two_devices_that_confirm_it_move_it_once(kitchen: Reviewer, phone: Reviewer) -> None:
    """REV-307, REV-54"""
    kitchen.propose("migrate_checklist_items", MOVE)
    kitchen.meet(phone)
    [item] = kitchen.waiting()
    for device in (kitchen, phone):
        assert device.verdicts.confirm(item.id, device.later()).result == "applied"
    kitchen.meet(phone)
    assert kitchen.same_as(phone)
    assert [device.titles("t2") for device in (kitchen, phone)] == [["Flour"], ["Flour"]]


def test_rev96_it_waits_for_the_follow_up_that_is_proposed(kitchen: Reviewer) -> None:
    """REV-308"""
    wake = kitchen.builder()
    answer = wake.queue("create_follow_up_task", {"title": "Clean the oven"}, kitchen.now)
    created = answer.rpartition(" ")[2].rstrip(".")
    moved = wake.queue("migrate_checklist_items", {**MOVE, "targetTaskId": created}, kitchen.now)
    assert "1 item(s) queued" in moved
    kitchen.built(wake)
    make, move = kitchen.waiting()
    assert move.summary == 'Move "Flour" to "Clean the oven"'
    assert move.depends_on == [make.id]
    assert kitchen.verdicts.confirm(make.id, kitchen.later()).result == "applied"
    assert kitchen.verdicts.confirm(move.id, kitchen.later()).result == "applied"
    assert kitchen.titles(created) == ["Flour"]


@pytest.mark.parametrize(
    ("item", "target", "said"),
    [
        ({"id": "t1-i0", "title": "Sugar"}, "t2", 'it is called "Flour"'),
        ({"id": "t1-i0", "title": "Flour"}, "t1", "on this task already"),
        ({"id": "t1-i0", "title": "Flour"}, "nowhere", "not found"),
        ({"id": "t9-i9", "title": "Flour"}, "t2", "not found"),
    ],
)
def test_rev96_what_is_not_as_the_model_says_is_refused(
    kitchen: Reviewer, item: dict[str, str], target: str, said: str
) -> None:
    """REV-96, REV-16: a person is never shown one item's title for another."""
    assert said in kitchen.propose("migrate_checklist_items", {"items": [item], "targetTaskId": target})
    assert kitchen.waiting() == []


def test_rev96_what_the_person_moved_since_is_left(kitchen: Reviewer) -> None:
    """REV-96, REV-43"""
    kitchen.propose("migrate_checklist_items", MOVE)
    kitchen.add_task("t3", "Tidy up")
    kitchen.do(lambda tx: checklist.move_item(tx, "t1-i0", "t3", tasks.default_checklist(tx, "t3")))
    [item] = kitchen.waiting()
    assert kitchen.verdicts.confirm(item.id, kitchen.later()).result in ("failed", "stale")
    assert kitchen.titles("t3") == ["Flour"]
