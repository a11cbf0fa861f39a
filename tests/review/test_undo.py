"""Undo, keep, dismiss and what is selected: the person's second word."""

from typing import Any

import pytest
from tests.review.reviewer import DAY, LAURA, Reviewer, proposed_on_both
from tests.review.test_recovery import Killed, effects

from lottisync.entities.entity import is_deleted
from lottisync.journal import tasks
from lottisync.journal.toolbox import ACTIONS
from lottisync.problem import Problem
from lottisync.review import history
from lottisync.review.completion import Sagas
from lottisync.review.effect import receipt_path
from lottisync.review.inbox import Inbox
from lottisync.review.projection import ItemState
from lottisync.review.proposal import created_id, undo_operation

REASON = "The note of 22:30 says it is done"


def state_of(device: Reviewer, ident: str) -> ItemState:
    return device.states()[ident.rpartition(".")[0]].items[ident]


def confirmed(device: Reviewer, tool: str, args: dict[str, Any], run: str = "run1") -> str:
    before = {item.id for item in device.waiting()}
    device.propose(tool, args, run)
    [ident] = {item.id for item in device.waiting()} - before
    assert device.verdicts.confirm(ident, device.later()).result == "applied"
    return ident


@pytest.mark.parametrize(
    ("tool", "args", "field", "old"),
    [
        ("update_task_estimate", {"minutes": 60}, "estimate", 30),
        ("set_task_title", {"title": "Rye bread"}, "title", "Bake bread"),
        ("update_task_due_date", {"dueDate": "2026-12-01"}, "due", None),
        ("set_task_status", {"status": "BLOCKED", "reason": "no flour"}, "status", "OPEN"),
    ],
)
def test_rev56_the_old_value_is_written_back(
    laptop: Reviewer, tool: str, args: dict[str, Any], field: str, old: Any
) -> None:
    """REV-112, REV-56, REV-57: with a decision and a receipt of its own, and the companions go back with it."""
    laptop.add_task()
    laptop.edit(estimate=30)
    ident = confirmed(laptop, tool, args)
    outcome = laptop.verdicts.undo(ident, laptop.later())
    assert (outcome.result, outcome.stale) == ("undone", [])
    task = laptop.journal.read("t1")
    assert task is not None
    assert task.value(field) == old
    assert task.value("statusReason") is None
    first, second = laptop.decisions()
    receipt = task.winner(receipt_path(undo_operation(first.operation_id)))
    assert receipt is not None
    assert task.dots(field) == {receipt.stamp.dot}
    assert (second.verdict, second.actor, second.undoes, second.seen) == ("retracted", "user", first.id, [first.id])
    assert state_of(laptop, ident).undone
    assert laptop.waiting() == []
    again = laptop.verdicts.undo(ident, laptop.later())
    assert (again.result, again.message) == ("already", "it was undone already")
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "already"
    assert len(laptop.decisions()) == 2


def test_rev112_a_tick_goes_back_with_its_provenance(laptop: Reviewer) -> None:
    """REV-112, S0-26."""
    laptop.add_task(items=("Flour",))
    before = laptop.item()
    ident = confirmed(laptop, "update_checklist_item", {"id": "t1-i0", "isChecked": True, "reason": REASON})
    laptop.verdicts.undo(ident, laptop.later())
    after = laptop.item()
    assert (after.is_checked, after.checked_by, after.checked_at, after.check_reason, after.proposed_by) == (
        before.is_checked,
        before.checked_by,
        before.checked_at,
        None,
        None,
    )


def test_rev56_what_was_changed_since_is_shown_and_left(laptop: Reviewer) -> None:
    """REV-56."""
    laptop.add_task(items=("Flour",))
    laptop.edit(estimate=30)
    ident = confirmed(laptop, "update_task_estimate", {"minutes": 60})
    laptop.edit(estimate=90)
    outcome = laptop.verdicts.undo(ident, laptop.later())
    assert outcome.result == "stale"
    [field] = outcome.stale
    assert (field.path, field.was, field.now, field.proposed, field.by) == ("estimate", 60, 90, 30, "user")
    assert laptop.page().task.estimate == 90
    assert len(laptop.decisions()) == 1
    assert state_of(laptop, ident).status == "confirmed"


def test_rev56_the_same_value_typed_since_is_a_persons_write(laptop: Reviewer) -> None:
    """REV-56: the dots are compared, not the values."""
    laptop.add_task()
    ident = confirmed(laptop, "update_task_estimate", {"minutes": 60})
    laptop.edit(estimate=60)
    assert laptop.verdicts.undo(ident, laptop.later()).result == "stale"
    assert laptop.page().task.estimate == 60


def test_rev56_one_field_of_two_goes_back(laptop: Reviewer) -> None:
    """REV-56: per register; what became of the other one is said."""
    laptop.add_task(items=("Flour",))
    change = {"id": "t1-i0", "isChecked": True, "title": "Rye", "reason": REASON}
    ident = confirmed(laptop, "update_checklist_item", change)
    laptop.do(lambda tx: tasks.rename_item(tx, "t1-i0", "Oats"))
    outcome = laptop.verdicts.undo(ident, laptop.later())
    assert (outcome.result, [field.path for field in outcome.stale]) == ("undone", ["title"])
    assert (laptop.item().title, laptop.item().is_checked) == ("Oats", False)


def test_rev56_a_sibling_that_was_typed_elsewhere_is_not_erased(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-56: the winner is the effect's, and behind it stands what the user typed on the phone."""
    laptop.add_task()
    laptop.edit(estimate=30)
    laptop.propose("update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    phone.edit(estimate=45)
    laptop.later(60_000)
    [item] = laptop.waiting()
    laptop.verdicts.confirm(item.id, laptop.later())
    laptop.pull(phone)
    task = laptop.journal.read("t1")
    assert task is not None
    assert (task.value("estimate"), task.conflicts()["estimate"]) == (60, [45])
    assert laptop.verdicts.undo(item.id, laptop.later()).result == "stale"
    task = laptop.journal.read("t1")
    assert task is not None
    assert task.conflicts()["estimate"] == [45]


def test_rev56_confirmed_apart_undone_once(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-56: both devices' effects are the operation's; the undo takes back both."""
    laptop.add_task()
    laptop.edit(estimate=30)
    laptop.propose("update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    [item] = laptop.waiting()
    laptop.verdicts.confirm(item.id, laptop.later(), edited_args={"minutes": 75})
    phone.verdicts.confirm(item.id, phone.later(5000))
    laptop.meet(phone)
    assert phone.verdicts.undo(item.id, phone.later()).result == "undone"
    laptop.meet(phone)
    for device in (laptop, phone):
        task = device.journal.read("t1")
        assert task is not None
        assert (task.value("estimate"), task.conflicts().get("estimate")) == (30, None)
        assert (state_of(device, item.id).status, state_of(device, item.id).contested) == ("retracted", False)


def test_rev56_an_entity_that_came_back_does_not_pass_for_the_effect(laptop: Reviewer) -> None:
    """REV-56: undeleting writes every register again, what was typed and the receipt alike."""
    laptop.add_task(items=("Flour",))
    ident = confirmed(laptop, "update_checklist_item", {"id": "t1-i0", "title": "Rye"})
    laptop.do(lambda tx: tasks.rename_item(tx, "t1-i0", "Oats"))
    laptop.do(lambda tx: tx.delete("t1-i0"))
    laptop.do(lambda tx: tx.undelete("t1-i0"))
    assert laptop.verdicts.undo(ident, laptop.later()).result == "stale"
    assert laptop.item().title == "Oats"


def test_rev113_a_created_item_goes_unless_somebody_touched_it(laptop: Reviewer) -> None:
    """REV-113."""
    laptop.add_task()
    milk = confirmed(laptop, "add_checklist_item", {"title": "Milk"})
    eggs = confirmed(laptop, "add_checklist_item", {"title": "Eggs"}, "r2")
    made = {item.title: item.id for item in laptop.page().items}
    laptop.tick(made["Eggs"])
    assert laptop.verdicts.undo(milk, laptop.later()).result == "undone"
    outcome = laptop.verdicts.undo(eggs, laptop.later())
    assert (outcome.result, {field.path for field in outcome.stale} >= {"isChecked"}) == ("stale", True)
    assert laptop.titles() == ["Eggs"]
    gone = laptop.journal.read(made["Milk"])
    assert gone is not None
    assert is_deleted(gone)


def test_rev56_a_no_op_is_taken_back_without_a_write(laptop: Reviewer) -> None:
    """REV-56."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    laptop.edit(estimate=60)
    [item] = laptop.waiting()
    assert laptop.verdicts.confirm(item.id, laptop.later()).result == "no-op"
    outcome = laptop.verdicts.undo(item.id, laptop.later())
    assert (outcome.result, outcome.message) == ("undone", "there was nothing to write back")
    assert laptop.page().task.estimate == 60


def test_rev114_a_rejection_is_taken_back_and_the_item_waits_again(laptop: Reviewer) -> None:
    """REV-114, REV-161: with seven days of its own, and it can be decided again."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    [item] = laptop.waiting()
    assert laptop.verdicts.undo(item.id, laptop.later()).message == "nothing was decided on it"
    laptop.verdicts.reject(item.id, laptop.later())
    laptop.later(8 * DAY)
    assert laptop.verdicts.undo(item.id, laptop.later()).result == "undone"
    assert [shown.id for shown in laptop.waiting()] == [item.id]
    rejected, undone = laptop.decisions()
    assert (undone.verdict, undone.actor, undone.undoes) == ("deferred", "user", rejected.id)
    assert laptop.verdicts.confirm(item.id, laptop.later()).result == "applied"
    assert laptop.page().task.estimate == 60


def test_rev114_what_was_put_off_comes_back_at_once(laptop: Reviewer) -> None:
    """REV-114."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    [item] = laptop.waiting()
    laptop.verdicts.defer(item.id, laptop.now + 30 * DAY, laptop.later())
    assert laptop.verdicts.undo(item.id, laptop.later()).result == "undone"
    assert [shown.id for shown in laptop.waiting()] == [item.id]


def test_rev115_equal_proposals_are_taken_back_together(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-115, REV-35, REV-318."""
    shown = proposed_on_both(laptop, phone)
    laptop.verdicts.reject(shown.id, laptop.later())
    assert laptop.waiting() == []
    laptop.verdicts.undo(shown.id, laptop.later())
    assert [item.id for item in laptop.waiting()] == [shown.id]
    laptop.verdicts.confirm(shown.id, laptop.later())
    laptop.verdicts.undo(shown.id, laptop.later())
    assert laptop.titles() == []
    assert {state.status for one in laptop.states().values() for state in one.items.values()} == {"retracted"}


def test_rev100_what_was_undone_is_not_proposed_again(laptop: Reviewer) -> None:
    """REV-100."""
    laptop.add_task()
    ident = confirmed(laptop, "update_task_estimate", {"minutes": 60})
    laptop.verdicts.undo(ident, laptop.later())
    assert laptop.propose("update_task_estimate", {"minutes": 60}, run="r2") == "Skipped: the user undid this already."
    laptop.edit(estimate=45)
    assert "queued" in laptop.propose("update_task_estimate", {"minutes": 60}, run="r3")


def contest(laptop: Reviewer, phone: Reviewer) -> str:
    laptop.add_task()
    laptop.edit(estimate=30)
    laptop.propose("update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    [item] = laptop.waiting()
    laptop.verdicts.confirm(item.id, laptop.later())
    phone.verdicts.reject(item.id, phone.later(), "I know better")
    laptop.meet(phone)
    assert state_of(phone, item.id).contested
    return item.id


@pytest.mark.parametrize(("verb", "status", "minutes"), [("keep", "confirmed", 60), ("undo", "retracted", 30)])
def test_rev58_a_contest_is_settled_by_keep_or_undo(
    laptop: Reviewer, phone: Reviewer, verb: str, status: str, minutes: int
) -> None:
    """REV-58, REV-55."""
    ident = contest(laptop, phone)
    assert phone.verdicts.reject(ident, phone.later()).result == "already"
    outcome = getattr(phone.verdicts, verb)(ident, phone.later())
    assert outcome.result == {"keep": "kept", "undo": "undone"}[verb]
    laptop.meet(phone)
    for device in (laptop, phone):
        state = state_of(device, ident)
        assert (state.status, state.contested, device.page().task.estimate) == (status, False, minutes)
        assert Inbox(device.journal, device.agents, ACTIONS).open_sets(device.now) == []


def test_rev58_keep_settles_two_edits_in_the_journal_too(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-58: and what was kept can be undone. REV-64: what was shown otherwise is not kept."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    [item] = laptop.waiting()
    laptop.verdicts.confirm(item.id, laptop.later(), edited_args={"minutes": 75})
    phone.verdicts.confirm(item.id, phone.later(5000), edited_args={"minutes": 90})
    laptop.meet(phone)
    assert laptop.verdicts.keep(item.id, laptop.later(), shown="as it was before").result == "stale"
    assert laptop.verdicts.keep(item.id, laptop.later()).result == "kept"
    task = laptop.journal.read("t1")
    assert task is not None
    assert (task.value("estimate"), task.conflicts()) == (90, {})
    assert laptop.decisions()[-1].args == {"minutes": 90}
    assert not state_of(laptop, item.id).contested
    assert laptop.verdicts.keep(item.id, laptop.later()).result == "already"
    assert laptop.verdicts.undo(item.id, laptop.later()).result == "undone"
    assert laptop.page().task.estimate is None


def test_rev117_keep_leaves_what_somebody_typed(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-117: a sibling that no effect has written is a conflict of its own, and is shown."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    [item] = laptop.waiting()
    phone.edit(estimate=45)
    phone.verdicts.reject(item.id, phone.later())
    laptop.later(60_000)
    laptop.verdicts.confirm(item.id, laptop.later())
    laptop.meet(phone)
    assert laptop.verdicts.keep(item.id, laptop.later()).result == "kept"
    task = laptop.journal.read("t1")
    assert task is not None
    assert (task.value("estimate"), task.conflicts()["estimate"]) == (60, [45])


def test_rev58_undone_here_and_confirmed_there(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-58: the phone had not seen the undo; the person who settles the conflict settles the value as well."""
    laptop.add_task()
    laptop.edit(estimate=30)
    laptop.propose("update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    [item] = laptop.waiting()
    laptop.verdicts.confirm(item.id, laptop.later())
    laptop.verdicts.undo(item.id, laptop.later())
    phone.verdicts.confirm(item.id, phone.later(60_000))
    laptop.meet(phone)
    assert state_of(laptop, item.id).contested
    assert laptop.page().task.estimate == 60
    assert laptop.verdicts.undo(item.id, laptop.later()).result == "undone"
    assert laptop.page().task.estimate == 30
    laptop.meet(phone)
    assert laptop.same_as(phone)
    assert not state_of(phone, item.id).contested


def test_rev58_keep_brings_a_created_item_back(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-58."""
    laptop.add_task()
    laptop.propose("add_checklist_item", {"title": "Milk"})
    phone.pull(laptop)
    [item] = laptop.waiting()
    laptop.verdicts.confirm(item.id, laptop.later())
    laptop.verdicts.undo(item.id, laptop.later())
    phone.verdicts.confirm(item.id, phone.later())
    laptop.meet(phone)
    assert state_of(phone, item.id).contested
    assert phone.verdicts.keep(item.id, phone.later()).result == "kept"
    laptop.meet(phone)
    assert laptop.titles() == phone.titles() == ["Milk"]


def test_rev118_an_effect_that_is_not_here_cannot_be_kept(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-118."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    [item] = laptop.waiting()
    laptop.verdicts.confirm(item.id, laptop.later())
    phone.verdicts.reject(item.id, phone.later())
    phone.pull(laptop, "agent")
    assert state_of(phone, item.id).contested
    assert phone.verdicts.keep(item.id, phone.later()).result == "failed"


def test_s1_44_dismiss_rejects_what_waits_one_by_one(laptop: Reviewer) -> None:
    """S1-44, REV-59: and each can be undone."""
    laptop.add_task()
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": t} for t in ("Milk", "Eggs", "Salt")]})
    milk, eggs, salt = laptop.waiting()
    laptop.verdicts.confirm(milk.id, laptop.later())
    outcomes = laptop.verdicts.dismiss(milk.id.rpartition(".")[0], laptop.later())
    assert [(o.item, o.result) for o in outcomes] == [(eggs.id, "rejected"), (salt.id, "rejected")]
    assert [d.verdict for d in laptop.decisions()] == ["confirmed", "rejected", "rejected"]
    laptop.verdicts.undo(salt.id, laptop.later())
    assert [item.id for item in laptop.waiting()] == [salt.id]
    with pytest.raises(Problem, match="there is no proposal"):
        laptop.verdicts.dismiss("nothing", laptop.later())


def test_s1_43_confirm_selected_goes_in_the_order_of_the_set(laptop: Reviewer) -> None:
    """S1-43, S1-28."""
    laptop.add_task()
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": t} for t in ("Milk", "Eggs", "Salt")]})
    milk, eggs, salt = (item.id for item in laptop.waiting())
    outcomes = laptop.verdicts.confirm_selected([salt, milk, salt], laptop.later())
    assert [(o.item, o.result) for o in outcomes] == [(milk, "applied"), (salt, "applied")]
    assert laptop.titles() == ["Milk", "Salt"]
    assert [item.id for item in laptop.waiting()] == [eggs]


def test_rev58_what_was_written_elsewhere_keeps_a_created_item_alive(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-113: the phone's owner ticked what the laptop's undo was about to remove."""
    laptop.add_task()
    confirmed(laptop, "add_checklist_item", {"title": "Milk"})
    phone.pull(laptop)
    [milk] = phone.page().items
    phone.tick(milk.id)
    [ident] = [f"{set_id}.0" for set_id in laptop.states()]
    assert laptop.verdicts.undo(ident, laptop.later(60_000)).result == "undone"
    laptop.meet(phone)
    for device in (laptop, phone):
        assert [(item.title, item.is_checked) for item in device.page().items] == [("Milk", True)]


def test_rev70_the_model_learns_of_an_undo(laptop: Reviewer) -> None:
    """REV-70, S1-50."""
    laptop.add_task()
    laptop.verdicts.undo(confirmed(laptop, "update_task_estimate", {"minutes": 60}), laptop.later())
    text = history.recent_decisions(laptop.agents, ACTIONS, laptop.now, agent_id=LAURA)
    assert "update_task_estimate(60 min) — confirmed, then undone by the user" in text


# -- a process that dies


class DiesBeforeTheUndo(Sagas):
    def take_back(self, *_: Any) -> Any:
        raise Killed


class DiesBeforeItsDecision(Sagas):
    def settle(self, *_: Any) -> Any:
        raise Killed


@pytest.mark.parametrize("gap", [DiesBeforeTheUndo, DiesBeforeItsDecision])
@pytest.mark.parametrize("tool", ["update_task_estimate", "add_checklist_item"])
def test_rev50_an_undo_that_was_begun_is_finished_once(laptop: Reviewer, gap: type[Sagas], tool: str) -> None:
    """REV-50, REV-56."""
    laptop.add_task()
    ident = confirmed(laptop, tool, {"minutes": 60} if tool == "update_task_estimate" else {"title": "Milk"})
    with pytest.raises(Killed):
        laptop.restarted(gap).undo(ident, laptop.later())
    laptop.restarted()
    assert [outcome.result for outcome in laptop.verdicts.recover(laptop.later())] == ["undone"]
    assert (laptop.page().task.estimate, laptop.titles()) == (None, [])
    assert [d.verdict for d in laptop.decisions()] == ["confirmed", "retracted"]
    assert laptop.restarted().recover(laptop.later()) == []


def test_rev51_an_undo_does_not_overwrite_what_was_synced_since(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-51."""
    laptop.add_task()
    ident = confirmed(laptop, "update_task_estimate", {"minutes": 60})
    with pytest.raises(Killed):
        laptop.restarted(DiesBeforeTheUndo).undo(ident, laptop.later())
    laptop.restarted()
    phone.pull(laptop)
    phone.edit(estimate=90)
    laptop.pull(phone)
    assert [outcome.result for outcome in laptop.verdicts.recover(laptop.later())] == ["stale"]
    assert laptop.page().task.estimate == 90
    assert [d.verdict for d in laptop.decisions()] == ["confirmed"]


def test_rev51_an_undo_that_took_effect_is_not_repeated(laptop: Reviewer) -> None:
    """REV-51."""
    laptop.add_task()
    ident = confirmed(laptop, "update_task_estimate", {"minutes": 60})
    with pytest.raises(Killed):
        laptop.restarted(DiesBeforeItsDecision).undo(ident, laptop.later())
    laptop.restarted()
    laptop.edit(estimate=90)
    assert [outcome.result for outcome in laptop.verdicts.recover(laptop.later())] == ["undone"]
    assert laptop.page().task.estimate == 90
    assert state_of(laptop, ident).undone


def test_rev56_the_receipts_name_the_created_entity(laptop: Reviewer) -> None:
    """REV-56, REV-41."""
    laptop.add_task()
    ident = confirmed(laptop, "add_checklist_item", {"title": "Milk"})
    operation = laptop.decisions()[0].operation_id
    laptop.verdicts.undo(ident, laptop.later())
    entity = laptop.journal.read(created_id(operation, "checklistItem"))
    assert entity is not None
    assert entity.winner(receipt_path(undo_operation(operation))) is not None
    assert effects(laptop) == 0
    assert entity.value("proposedBy") == LAURA
