"""The person's word on one device: confirm, reject, defer, edit, confirm all."""

from typing import Any

import pytest
from tests.review.reviewer import DAY, LAURA, Reviewer, proposed_on_both

from lottisync.entities.entity import HIGH
from lottisync.entities.schema import derived_id
from lottisync.entities.version import MAX_DOCUMENT
from lottisync.journal import tasks
from lottisync.journal.toolbox import ACTIONS
from lottisync.problem import Problem
from lottisync.review.effect import receipt_path
from lottisync.review.inbox import Inbox
from lottisync.review.proposal import created_id

BLOCKED = {"status": "BLOCKED", "reason": "no flour"}
REASON = "The note of 22:30 says it is not done yet"


def proposed(device: Reviewer, tool: str, args: dict[str, Any], run: str = "run1") -> str:
    """A proposal that waits; its item's id."""
    before = {item.id for item in device.waiting()}
    device.propose(tool, args, run)
    [new] = {item.id for item in device.waiting()} - before
    return new


@pytest.mark.parametrize(
    ("tool", "args", "fields"),
    [
        ("set_task_title", {"title": "Rye bread"}, {"title": "Rye bread"}),
        ("update_task_estimate", {"minutes": 60}, {"estimate": 60}),
        ("update_task_due_date", {"dueDate": "2026-12-01"}, {"due": "2026-12-01"}),
        ("update_task_priority", {"priority": "P0"}, {"priority": "P0"}),
        (
            "set_task_status",
            {"status": "BLOCKED", "reason": "no flour"},
            {"status": "BLOCKED", "statusReason": "no flour"},
        ),
    ],
)
def test_rev40_one_write_by_the_user_with_its_receipt(
    laptop: Reviewer, tool: str, args: dict[str, Any], fields: dict[str, Any]
) -> None:
    """REV-40, S1-36, S1-46, S2-13: effect and receipt have one stamp, the user's."""
    laptop.add_task()
    ident = proposed(laptop, tool, args)
    outcome = laptop.verdicts.confirm(ident, laptop.later())
    assert outcome.result == "applied"
    task = laptop.journal.read("t1")
    [decision] = laptop.decisions()
    assert task is not None
    assert {path: task.value(path) for path in fields} == fields
    receipt = task.winner(receipt_path(decision.operation_id))
    assert receipt is not None
    assert receipt.stamp.precedence == HIGH
    assert all(task.dots(path) == {receipt.stamp.dot} for path in fields)
    assert (decision.id, decision.verdict, decision.result, decision.actor) == (
        outcome.decision,
        "confirmed",
        "applied",
        "user",
    )
    assert decision.journal_knowledge[receipt.stamp.host] >= receipt.stamp.counter
    assert laptop.waiting() == []


def test_s0_10_an_added_item_is_the_users_and_remembers_who_proposed_it(laptop: Reviewer) -> None:
    """S0-10, REV-41: the id comes from the operation; the first item makes the task's checklist."""
    laptop.add_task()
    ident = proposed(laptop, "add_checklist_item", {"title": "Milk"})
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "applied"
    [item] = laptop.page().items
    [decision] = laptop.decisions()
    assert item.id == created_id(decision.operation_id, "checklistItem")
    assert (item.title, item.is_checked, item.checked_by, item.proposed_by) == ("Milk", False, "user", LAURA)
    assert item.checklist_id == derived_id("checklist", "t1")
    assert list(item.receipts) == [decision.operation_id]


def test_s0_17_a_confirmed_tick_is_the_users_with_the_agent_as_proposer(laptop: Reviewer) -> None:
    """S0-17, SOV-8: so the next wake can't undo it freely. S0-26, S0-45: the three move together, with the reason."""
    laptop.add_task(items=("Flour",))
    change = {"id": "t1-i0", "isChecked": True, "reason": REASON}
    laptop.verdicts.confirm(proposed(laptop, "update_checklist_item", change), laptop.later())
    item = laptop.item()
    assert (item.is_checked, item.checked_by, item.check_reason, item.proposed_by) == (True, "user", REASON, LAURA)
    entity = laptop.journal.read("t1-i0")
    assert entity is not None
    assert len({entity.dots(path) for path in ("isChecked", "checkedBy", "checkedAt", "checkReason")}) == 1
    again = {"id": "t1-i0", "isChecked": False}
    assert "User set this item" in laptop.propose("update_checklist_item", again, run="r2")


def test_s0_21_a_title_leaves_the_provenance_alone(laptop: Reviewer) -> None:
    """S0-21, S0-18, S0-25, SOV-5."""
    laptop.add_task(items=("Flour",))
    laptop.tick("t1-i0")
    before = laptop.item()
    laptop.verdicts.confirm(proposed(laptop, "update_checklist_item", {"id": "t1-i0", "title": "Rye"}), laptop.later())
    after = laptop.item()
    assert after.title == "Rye"
    assert (after.checked_by, after.checked_at, after.proposed_by) == (before.checked_by, before.checked_at, None)


def test_s0_18_a_tick_that_is_so_by_now_moves_no_provenance(laptop: Reviewer) -> None:
    """S0-18."""
    laptop.add_task(items=("Flour",))
    change = {"id": "t1-i0", "isChecked": True, "title": "Rye", "reason": REASON}
    ident = proposed(laptop, "update_checklist_item", change)
    laptop.tick("t1-i0")
    at = laptop.item().checked_at
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "applied"
    item = laptop.item()
    assert (item.title, item.checked_at, item.proposed_by) == ("Rye", at, None)


# -- compared with the base


def test_rev43_what_was_changed_since_is_refused_and_shown(laptop: Reviewer) -> None:
    """REV-43, S1-71: was, is now, by whom, proposed; nothing is written, and the item waits on."""
    laptop.add_task()
    laptop.edit(estimate=30)
    ident = proposed(laptop, "update_task_estimate", {"minutes": 60})
    laptop.edit(estimate=90)
    outcome = laptop.verdicts.confirm(ident, laptop.later())
    assert outcome.result == "stale"
    [field] = outcome.stale
    assert (field.entity, field.path, field.was, field.now, field.proposed, field.by) == (
        "t1",
        "estimate",
        30,
        90,
        60,
        "user",
    )
    assert laptop.page().task.estimate == 90
    assert laptop.decisions() == []
    [shown] = laptop.waiting()
    assert shown.stale
    assert shown.failure is None


def test_rev43_a_neighbour_that_changed_makes_nothing_stale(laptop: Reviewer) -> None:
    """REV-43."""
    laptop.add_task(items=("Flour", "Yeast"))
    ident = proposed(laptop, "update_task_estimate", {"minutes": 60})
    tick = proposed(laptop, "update_checklist_item", {"id": "t1-i0", "title": "Rye"}, "r2")
    laptop.edit(title="Other", priority="P0")
    laptop.tick("t1-i1")
    laptop.tick("t1-i0")
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "applied"
    assert laptop.verdicts.confirm(tick, laptop.later()).result == "applied"


def test_rev43_a_value_that_came_back_was_still_written(laptop: Reviewer) -> None:
    """REV-43. The dots are compared, not the values: A -> B -> A is somebody's word."""
    laptop.add_task()
    laptop.edit(estimate=30)
    ident = proposed(laptop, "update_task_estimate", {"minutes": 60})
    laptop.edit(estimate=45)
    laptop.edit(estimate=30)
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "stale"


def test_rev42_what_is_so_already_is_a_no_op_with_a_receipt(laptop: Reviewer) -> None:
    """REV-42."""
    laptop.add_task()
    ident = proposed(laptop, "update_task_estimate", {"minutes": 60})
    laptop.edit(estimate=60)
    assert laptop.waiting()[0].satisfied
    task = laptop.journal.read("t1")
    assert task is not None
    before = task.dots("estimate")
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "no-op"
    [decision] = laptop.decisions()
    assert decision.result == "no-op"
    task = laptop.journal.read("t1")
    assert task is not None
    assert task.dots("estimate") == before
    assert task.winner(receipt_path(decision.operation_id)) is not None


def test_rev42_an_item_that_was_added_by_hand_since_is_not_added_twice(laptop: Reviewer) -> None:
    """REV-42."""
    laptop.add_task()
    ident = proposed(laptop, "add_checklist_item", {"title": "Milk"})
    laptop.do(lambda tx: tasks.add_item(tx, "mine", "t1", "milk"))
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "no-op"
    assert laptop.titles() == ["milk"]
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "already"


def test_rev44_a_person_who_saw_what_is_there_may_confirm_over_it(laptop: Reviewer) -> None:
    """REV-44, SOV-17: it is their own word then, and the guard is for the agent's."""
    laptop.add_task(items=("Flour",))
    laptop.agent_tick("t1-i0")
    ident = proposed(laptop, "update_checklist_item", {"id": "t1-i0", "isChecked": False})
    laptop.tick("t1-i0")
    laptop.tick("t1-i0", checked=False)
    laptop.tick("t1-i0")
    assert laptop.waiting()[0].stale
    assert laptop.waiting()[0].failure is None
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "stale"
    assert laptop.verdicts.confirm(ident, laptop.later(), against="current").result == "applied"
    assert laptop.item().is_checked is False


def test_rev43_a_deleted_target(laptop: Reviewer) -> None:
    """REV-43."""
    laptop.add_task(items=("Flour",))
    ident = proposed(laptop, "update_checklist_item", {"id": "t1-i0", "title": "Rye"})
    laptop.do(lambda tx: tx.delete("t1-i0"))
    outcome = laptop.verdicts.confirm(ident, laptop.later())
    assert (outcome.result, [field.path for field in outcome.stale]) == ("stale", ["deletedAt"])
    outcome = laptop.verdicts.confirm(ident, laptop.later(), against="current")
    assert (outcome.result, outcome.message) == ("failed", "checklist item: it was deleted")
    assert laptop.decisions() == []
    assert laptop.waiting()[0].failure == "checklist item: it was deleted"


def test_rev43_a_deleted_task_takes_no_new_item(laptop: Reviewer) -> None:
    """REV-43."""
    laptop.add_task()
    ident = proposed(laptop, "add_checklist_item", {"title": "Milk"})
    laptop.do(lambda tx: tx.delete("t1"))
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "stale"
    laptop.do(lambda tx: tx.undelete("t1"))
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "stale"
    assert laptop.verdicts.confirm(ident, laptop.later(), against="current").result == "applied"


# -- the guard, again


def smuggled(device: Reviewer, args: dict[str, Any], tool: str = "update_checklist_item") -> str:
    """A proposal as a builder without a guard, or without any check, would have written it."""
    ident = proposed(device, "update_checklist_item", {"id": "t1-i0", "title": "Rye"})
    set_id = ident.rpartition(".")[0]
    entity = device.agents.read(set_id)
    assert entity is not None
    [item] = entity.value("items")
    base = item["base"]
    task_item = device.journal.read("t1-i0")
    assert task_item is not None
    for path in ("isChecked", "checkedBy", "checkedAt", "checkReason", "proposedBy"):
        dots = [[dot.host, dot.counter] for dot in task_item.dots(path)]
        base.append({"entity": "t1-i0", "path": path, "value": task_item.value(path), "dots": dots})
    with device.agents.transaction(device.later(), HIGH) as tx:
        tx.put(set_id, "changeSet", {"items": [item | {"args": args, "toolName": tool, "base": base}]})
    return ident


def test_sov10_the_guard_stands_at_confirm_as_well(laptop: Reviewer) -> None:
    """SOV-10, S1-48: a proposal that some builder let through is stopped, and its title still passes."""
    laptop.add_task(items=("Flour",))
    laptop.tick("t1-i0")
    ident = smuggled(laptop, {"id": "t1-i0", "isChecked": False})
    outcome = laptop.verdicts.confirm(ident, laptop.later())
    assert outcome.result == "failed"
    assert outcome.message.startswith("User set this item at")
    assert laptop.item().is_checked
    assert laptop.decisions() == []


def test_sov10_a_title_passes_beside_a_withheld_tick(laptop: Reviewer) -> None:
    """SOV-10."""
    laptop.add_task(items=("Flour",))
    laptop.tick("t1-i0")
    ident = smuggled(laptop, {"id": "t1-i0", "isChecked": False, "title": "Oats"})
    outcome = laptop.verdicts.confirm(ident, laptop.later())
    assert outcome.result == "applied"
    assert outcome.message.startswith("User set this item at")
    assert (laptop.item().title, laptop.item().is_checked) == ("Oats", True)


@pytest.mark.parametrize(
    ("tool", "args", "part"),
    [
        ("update_checklist_item", {"id": "t1-i0", "isChecked": "perhaps"}, "isChecked"),
        ("update_checklist_item", {"id": "t1-i0"}, "changes isChecked, title or isArchived"),
        ("set_task_status", {"status": "DONE"}, "only the user sets DONE"),
        ("set_task_language", {"languageCode": "de"}, "does not know the tool"),
        ("fold_laundry", {}, "does not know the tool fold_laundry"),
    ],
)
def test_rev45_arguments_are_checked_again(laptop: Reviewer, tool: str, args: dict[str, Any], part: str) -> None:
    """REV-45, S2-25: another device's model is no more to be trusted than ours."""
    laptop.add_task(items=("Flour",))
    ident = smuggled(laptop, args, tool)
    shown = Inbox(laptop.journal, laptop.agents, ACTIONS).open_sets(laptop.now)
    assert len(shown) == 1
    outcome = laptop.verdicts.confirm(ident, laptop.later())
    assert outcome.result == "failed"
    assert part in outcome.message
    assert laptop.verdicts.reject(ident, laptop.later()).result == "rejected"


# -- edits


def test_rev46_edit_then_confirm(laptop: Reviewer) -> None:
    """REV-106, REV-46."""
    laptop.add_task()
    ident = proposed(laptop, "update_task_estimate", {"minutes": 60})
    assert laptop.verdicts.confirm(ident, laptop.later(), edited_args={"minutes": "90"}).result == "applied"
    [decision] = laptop.decisions()
    assert (decision.args, decision.edited, decision.human_summary) == (
        {"minutes": 90},
        True,
        "Set estimate to 90 minutes",
    )
    assert laptop.page().task.estimate == 90


def test_rev463_an_edited_item_is_still_the_same_operation(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-463: so its effect is one write on a device that confirms it as it was proposed, too."""
    laptop.add_task()
    ident = proposed(laptop, "update_task_estimate", {"minutes": 60})
    operation = laptop.proposal(ident).operation_id
    phone.pull(laptop)
    assert laptop.verdicts.confirm(ident, laptop.later(), edited_args={"minutes": 90}).result == "applied"
    assert [decision.operation_id for decision in laptop.decisions()] == [operation]
    entity = laptop.journal.read("t1")
    assert entity is not None
    assert [path for path in entity.registers if path.startswith("receipts/")] == [receipt_path(operation)]


def test_rev46_an_edit_that_changes_nothing_is_not_an_edit(laptop: Reviewer) -> None:
    """REV-46."""
    laptop.add_task()
    ident = proposed(laptop, "update_task_estimate", {"minutes": 60})
    laptop.verdicts.confirm(ident, laptop.later(), edited_args={"minutes": 60.0})
    assert laptop.decisions()[0].edited is False


@pytest.mark.parametrize(
    ("edited", "part"),
    [
        ({"id": "t1-i1", "title": "Rye"}, "not what they are about"),
        ({"title": ""}, "a title has 1 to 400 characters"),
        ({"title": "Rye", "minutes": 5}, "there is no such argument"),
    ],
)
def test_rev46_tool_and_target_stay_and_bad_arguments_are_refused(
    laptop: Reviewer, edited: dict[str, Any], part: str
) -> None:
    """REV-46."""
    laptop.add_task(items=("Flour", "Yeast"))
    ident = proposed(laptop, "update_checklist_item", {"id": "t1-i0", "title": "Rye"})
    outcome = laptop.verdicts.confirm(ident, laptop.later(), edited_args=edited)
    assert outcome.result == "failed"
    assert part in outcome.message
    assert laptop.titles() == ["Flour", "Yeast"]
    assert laptop.verdicts.confirm(ident, laptop.later(), edited_args={"title": "Oats"}).result == "applied"


def test_rev105_a_field_that_the_person_added_was_not_in_the_base(laptop: Reviewer) -> None:
    """REV-105."""
    laptop.add_task(items=("Flour",))
    ident = proposed(laptop, "update_checklist_item", {"id": "t1-i0", "title": "Rye"})
    edited = {"title": "Rye", "isChecked": True}
    assert laptop.verdicts.confirm(ident, laptop.later(), edited_args=edited).result == "stale"
    assert laptop.verdicts.confirm(ident, laptop.later(), edited_args=edited, against="current").result == "applied"
    assert laptop.item().is_checked


# -- no, later, all, again


def test_s1_37_reject_with_a_reason(laptop: Reviewer) -> None:
    """S1-37, S2-07, S2-14: one decision, and the journal is left alone."""
    laptop.add_task()
    ident = proposed(laptop, "update_task_estimate", {"minutes": 60})
    with laptop.journal.reading() as reader:
        before = reader.digest()
    assert laptop.verdicts.reject(ident, laptop.later(), "  I know better ").result == "rejected"
    [decision] = laptop.decisions()
    assert (decision.verdict, decision.reason, decision.item_index, decision.tool_name) == (
        "rejected",
        "I know better",
        0,
        "update_task_estimate",
    )
    assert (decision.device, decision.task_id, decision.agent_id) == (laptop.id, "t1", LAURA)
    with laptop.journal.reading() as reader:
        assert reader.digest() == before
    with pytest.raises(Problem, match="at most 1000"):
        laptop.verdicts.reject(ident, laptop.later(), "x" * 1001)


def test_s2_18_rapid_taps_decide_once(laptop: Reviewer) -> None:
    """S2-18, REV-47: each looks again before it acts."""
    laptop.add_task()
    yes = proposed(laptop, "update_task_estimate", {"minutes": 60})
    no = proposed(laptop, "set_task_title", {"title": "Rye"}, "r2")
    later = laptop.now + 9 * DAY
    assert laptop.verdicts.confirm(yes, laptop.later()).result == "applied"
    assert laptop.verdicts.reject(no, laptop.later()).result == "rejected"
    for ident, said in ((yes, "it was confirmed already"), (no, "it was rejected already")):
        for outcome in (
            laptop.verdicts.confirm(ident, laptop.later()),
            laptop.verdicts.reject(ident, laptop.later()),
            laptop.verdicts.defer(ident, later, laptop.later()),
        ):
            assert (outcome.result, outcome.message) == ("already", said)
    assert len(laptop.decisions()) == 2


def test_rev34_defer_leaves_the_inbox_and_comes_back(laptop: Reviewer) -> None:
    """REV-34."""
    laptop.add_task()
    ident = proposed(laptop, "update_task_estimate", {"minutes": 60})
    with pytest.raises(Problem, match="has passed"):
        laptop.verdicts.defer(ident, laptop.now, laptop.now)
    assert laptop.verdicts.defer(ident, laptop.now + DAY, laptop.later()).result == "deferred"
    assert laptop.waiting() == []
    assert Inbox(laptop.journal, laptop.agents, ACTIONS).open_sets(laptop.now) == []
    [shown] = Inbox(laptop.journal, laptop.agents, ACTIONS).unsettled_sets(laptop.now)
    assert shown.items[0].status == "deferred"
    laptop.later(DAY)
    assert [item.id for item in laptop.waiting()] == [ident]
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "applied"
    assert laptop.decisions()[1].seen == [laptop.decisions()[0].id]


def test_rev33_an_expired_item_can_still_be_confirmed(laptop: Reviewer) -> None:
    """REV-317."""
    laptop.add_task()
    ident = proposed(laptop, "update_task_estimate", {"minutes": 60})
    laptop.later(8 * DAY)
    assert laptop.waiting() == []
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "applied"


def test_s2_20_confirm_all_in_order_and_on_after_what_cannot_be_done(laptop: Reviewer) -> None:
    """S2-20, S1-39, S2-19, S2-21: an item that fails is left pending, the others are confirmed."""
    laptop.add_task(items=("Flour",))
    builder = laptop.builder()
    builder.queue("set_task_title", {"title": "Rye bread"}, laptop.now)
    builder.queue("update_checklist_item", {"id": "t1-i0", "title": "Rye"}, laptop.now)
    builder.queue("update_task_estimate", {"minutes": 60}, laptop.now)
    builder.queue("add_multiple_checklist_items", {"items": [{"title": "Salt"}, {"title": "Water"}]}, laptop.now)
    [ident] = laptop.built(builder)
    laptop.verdicts.reject(f"{ident}.2", laptop.later())
    laptop.do(lambda tx: tx.delete("t1-i0"))
    outcomes = laptop.verdicts.confirm_all(ident, laptop.later())
    assert [(outcome.item, outcome.result) for outcome in outcomes] == [
        (f"{ident}.0", "applied"),
        (f"{ident}.1", "stale"),
        (f"{ident}.3", "applied"),
        (f"{ident}.4", "applied"),
    ]
    assert laptop.titles() == ["Salt", "Water"]
    assert laptop.states()[ident].status == "partiallyResolved"


def test_rev107_items_wait_for_what_they_depend_on(laptop: Reviewer) -> None:
    """REV-107."""
    laptop.add_task()
    builder = laptop.builder()
    builder.queue("add_multiple_checklist_items", {"items": [{"title": "Salt"}, {"title": "Water"}]}, laptop.now)
    [ident] = laptop.built(builder)
    entity = laptop.agents.read(ident)
    assert entity is not None
    first, second = entity.value("items")
    with laptop.agents.transaction(laptop.later(), HIGH) as tx:
        tx.put(ident, "changeSet", {"items": [first, second | {"dependsOn": [f"{ident}.0"]}]})
    outcome = laptop.verdicts.confirm(f"{ident}.1", laptop.later())
    assert (outcome.result, outcome.message.endswith("confirm that first")) == ("failed", True)
    assert [outcome.result for outcome in laptop.verdicts.confirm_all(ident, laptop.later())] == ["applied", "applied"]


def test_s2_19_an_effect_that_fails_leaves_no_decision(laptop: Reviewer) -> None:
    """S2-19, REV-49: the error is shown with the item, which waits; what was in the way can go, and it is retried."""
    laptop.add_task(items=("Flour",))
    ident = proposed(laptop, "update_checklist_item", {"id": "t1-i0", "title": "Rye, from the mill"})
    laptop.do(lambda tx: tx.put("t1-i0", "checklistItem", {"ballast": ""}))
    with laptop.journal.transaction(laptop.later(), HIGH) as tx:
        held = tx.version("t1-i0")
        assert held is not None
        tx.put("t1-i0", "checklistItem", {"ballast": "y" * (MAX_DOCUMENT - len(held.document) - 50)})
    outcome = laptop.verdicts.confirm(ident, laptop.later())
    assert outcome.result == "failed"
    assert "bytes; a document may have" in outcome.message
    assert laptop.decisions() == []
    [shown] = laptop.waiting()
    assert shown.failure == outcome.message
    laptop.do(lambda tx: tx.put("t1-i0", "checklistItem", {"ballast": None}))
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "applied"
    assert laptop.verdicts.recover(laptop.later()) == []


@pytest.mark.parametrize("ident", ["nothing", "nothing.0", "t1", "t1.0", "no such place"])
def test_an_item_that_is_not_here(laptop: Reviewer, ident: str) -> None:
    laptop.add_task()
    waiting = proposed(laptop, "update_task_estimate", {"minutes": 60})
    if ident == "no such place":
        ident = waiting.rpartition(".")[0] + ".1"
    with pytest.raises(Problem, match="there is no proposal"):
        laptop.verdicts.confirm(ident, laptop.later())
    with pytest.raises(Problem, match="there is no proposal"):
        laptop.verdicts.reject(ident, laptop.later())


def test_rev11_the_same_proposal_of_two_agents_is_answered_at_once(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-11, S1-70, REV-35, REV-318: shown once, and one verdict closes both operations with a decision each."""
    shown = proposed_on_both(laptop, phone)
    assert laptop.verdicts.confirm(shown.id, laptop.later()).result == "applied"
    assert laptop.waiting() == []
    first, second = laptop.decisions()
    assert first.operation_id != second.operation_id
    assert sorted([first.result or "", second.result or ""]) == ["applied", "no-op"]
    phone.pull(laptop)
    assert phone.waiting() == []
    assert phone.titles() == ["Milk"]
