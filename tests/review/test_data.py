"""Change sets and decisions as data: their fields, where they stand, and who hears of them."""

import select
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.review.reviewer import DAY, LAURA, START, Reviewer

from lottisync.entities.entity import HIGH
from lottisync.entities.view import view
from lottisync.journal.toolbox import ACTIONS
from lottisync.review import history
from lottisync.review.change import ChangeDecision, ChangeItem, ChangeSet
from lottisync.review.inbox import Inbox
from lottisync.review.projection import ItemStatus, SetStatus
from lottisync.review.proposal_record import proposal_records
from lottisync.store.doorbell import Bell


def test_s1_01_a_wake_leaves_one_ordered_set(laptop: Reviewer) -> None:
    """S1-01, S1-05, S1-07, S1-10, S1-13, S1-14, S1-59, S2-06: a row of agent_entities by type and subtype, with its
    thread and agent, and its items in the order in which they were proposed."""
    laptop.add_task()
    builder = laptop.builder()
    builder.queue("set_task_title", {"title": "Rye"}, laptop.now)
    builder.queue("update_task_estimate", {"minutes": 60}, laptop.now)
    [ident] = laptop.built(builder)
    with laptop.agents.reading() as reader:
        rows = reader.local("select id, type, agent_id, subtype from agent_entities where type = 'changeSet'")
        [entity] = reader.by_type("changeSet", subtype="t1")
    assert rows == [(ident, "changeSet", LAURA, "t1")]
    stored = view(entity, ChangeSet)
    assert (stored.agent_id, stored.task_id, stored.thread_id, stored.run_key) == (LAURA, "t1", "thread-run1", "run1")
    assert [(item.tool_name, item.args, item.human_summary) for item in stored.items] == [
        ("set_task_title", {"title": "Rye"}, 'Set title to "Rye"'),
        ("update_task_estimate", {"minutes": 60}, "Set estimate to 60 minutes"),
    ]
    assert msgspec.json.decode(msgspec.json.encode(stored), type=ChangeSet) == stored
    assert msgspec.convert(msgspec.to_builtins(stored.items[0]), ChangeItem) == stored.items[0]


def test_s1_09_a_decision_has_its_fields_and_survives_a_round_trip(laptop: Reviewer, phone: Reviewer) -> None:
    """S1-09, S1-59, S1-12: on another device, too."""
    laptop.add_task()
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]})
    _, eggs = laptop.waiting()
    laptop.verdicts.reject(eggs.id, laptop.later(), "no need")
    phone.pull(laptop)
    [decision] = phone.decisions()
    assert (decision.item_index, decision.tool_name, decision.task_id, decision.reason) == (
        1,
        "add_checklist_item",
        "t1",
        "no need",
    )
    assert msgspec.json.decode(msgspec.json.encode(decision), type=ChangeDecision) == decision
    assert [str(status) for status in ItemStatus] == ["pending", "confirmed", "rejected", "deferred", "retracted"]
    assert [str(status) for status in SetStatus] == ["pending", "partiallyResolved", "resolved", "expired"]


def test_s1_58_what_is_pending_for_a_task_and_what_was_decided(laptop: Reviewer) -> None:
    """S1-49, S1-58, S1-06."""
    laptop.add_task()
    laptop.add_task("t2")
    laptop.propose("set_task_title", {"title": "Rye"})
    laptop.propose("set_task_title", {"title": "Oats"}, run="r2", task_id="t2")
    [one] = Inbox(laptop.journal, laptop.agents, ACTIONS).open_sets(laptop.now, "t1")
    laptop.verdicts.reject(one.items[0].id, laptop.later(), "I like it as it is")
    assert Inbox(laptop.journal, laptop.agents, ACTIONS).open_sets(laptop.now, "t1") == []
    recent = history.recent_decisions(laptop.agents, ACTIONS, laptop.now, agent_id=LAURA, task_id="t1")
    assert "I like it as it is" in recent
    assert history.recent_decisions(laptop.agents, ACTIONS, laptop.now, agent_id=LAURA, task_id="t2") == ""


def test_s1_31_a_tool_of_a_newer_version_is_named_with_its_arguments(laptop: Reviewer) -> None:
    """S1-31, REV-13, REV-103: it can be seen and rejected here, not confirmed."""
    laptop.add_task()
    laptop.propose("set_task_title", {"title": "Rye"})
    [ident] = laptop.states()
    entity = laptop.agents.read(ident)
    assert entity is not None
    [item] = entity.value("items")
    newer = item | {"toolName": "fold_laundry", "args": {"colour": "red"}, "humanSummary": ""}
    with laptop.agents.transaction(laptop.later(), HIGH) as tx:
        tx.put(ident, "changeSet", {"items": [newer]})
    [shown] = laptop.waiting()
    assert (shown.summary, shown.changes) == ("fold_laundry(colour)", [])
    assert laptop.verdicts.confirm(shown.id, laptop.later()).result == "failed"
    assert laptop.verdicts.undo(shown.id, laptop.later()).result == "failed"
    assert laptop.verdicts.reject(shown.id, laptop.later()).result == "rejected"


def test_s1_47_every_verdict_is_reported_to_those_that_listen(laptop: Reviewer) -> None:
    """S1-45, S1-47, S2-13, S2-14, S2-17: other processes on the device look again after each decision."""
    laptop.add_task()
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": title} for title in ("Milk", "Eggs", "Salt")]})
    milk, eggs, salt = laptop.waiting()
    bell = Bell(laptop.folder / "bells", "view")
    try:
        verdicts: list[Callable[[], object]] = [
            lambda: laptop.verdicts.confirm(milk.id, laptop.later()),
            lambda: laptop.verdicts.reject(eggs.id, laptop.later()),
            lambda: laptop.verdicts.defer(salt.id, laptop.now + DAY, laptop.later()),
            lambda: laptop.verdicts.undo(milk.id, laptop.later()),
        ]
        for decide in verdicts:
            bell.clear()
            assert select.select([bell], [], [], 0)[0] == []
            decide()
            assert select.select([bell], [], [], 0)[0] == [bell]
    finally:
        bell.close()


def test_s3_58_a_confirmed_call_is_in_the_saga_log(laptop: Reviewer) -> None:
    """S3-19, S3-58: its run, its tool, its phase; what was rejected is not."""
    laptop.add_task()
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]})
    milk, eggs = laptop.waiting()
    laptop.verdicts.confirm(milk.id, laptop.later())
    laptop.verdicts.reject(eggs.id, laptop.later())
    with laptop.agents.reading() as reader:
        rows = reader.local("select operation_id, run_key, phase, status, tool_name from saga_log")
    operation = laptop.proposal(milk.id).operation_id
    assert rows[0] == (operation, "run1", "agent_done", "completed", "add_checklist_item")
    assert operation not in {row[0] for row in rows[1:]}


def test_s0_47_the_time_is_an_argument(laptop: Reviewer) -> None:
    """S0-47, S0-52: both write paths take their time as an argument, the user's and that of a verdict."""
    laptop.add_task(items=("Flour",))
    laptop.now = START + 5 * DAY
    laptop.tick("t1-i0")
    assert laptop.item().checked_at == "2026-03-05T22:00:01.000Z"
    laptop.propose("update_checklist_item", {"id": "t1-i0", "isChecked": False, "reason": "The note says it is not"})
    [item] = laptop.waiting()
    laptop.verdicts.confirm(item.id, START + 6 * DAY)
    assert laptop.item().checked_at == "2026-03-06T22:00:00.000Z"


def test_s1_60_batches_are_split_and_single_calls_are_not(laptop: Reviewer) -> None:
    """S1-60, S2-15, S0-30: each branch of the routing, by what it leaves."""
    laptop.add_task()
    builder = laptop.builder()
    for tool, args in (
        ("update_report", {"tldr": "x"}),
        ("set_task_language", {"languageCode": "de"}),
        ("set_task_title", {"title": "Rye"}),
        ("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]}),
    ):
        builder.queue(tool, args, laptop.now)
    assert len(laptop.built(builder)) == 1
    assert [item.tool for item in laptop.waiting()] == ["set_task_title", "add_checklist_item", "add_checklist_item"]


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("update_checklist_item", {"isChecked": True}),
        ("add_checklist_item", {}),
        ("create_follow_up_task", {"title": 5}),
        ("assign_task_label", {"id": "a\nb"}),
        ("assign_task_label", {"id": 5}),
        ("link_task", {"relation": "blocks"}),
        ("link_task", {"relation": 5, "targetTaskId": "t2"}),
    ],
)
def test_rev103_a_set_that_no_builder_wrote_keeps_no_other_from_being_shown(
    laptop: Reviewer, tool: str, args: dict[str, Any]
) -> None:
    """REV-103, REV-313: it is shown with its error, and can be rejected."""
    laptop.add_task()
    laptop.propose("set_task_title", {"title": "Rye"})
    laptop.propose("update_task_estimate", {"minutes": 60}, run="r2")
    [ident, _] = laptop.states()
    entity = laptop.agents.read(ident)
    assert entity is not None
    [item] = entity.value("items")
    with laptop.agents.transaction(laptop.later(), HIGH) as tx:
        tx.put(ident, "changeSet", {"items": [item | {"toolName": tool, "args": args}]})
    assert len(laptop.waiting()) == 2
    assert len(proposal_records(laptop.journal, laptop.agents, ACTIONS, laptop.now)) == 2
    [bad] = [shown.id for shown in laptop.waiting() if shown.failure]
    for against in ("base", "current"):
        assert laptop.verdicts.confirm(bad, laptop.later(), against=against).result == "failed"
    assert laptop.verdicts.reject(bad, laptop.later()).result == "rejected"
    assert laptop.verdicts.undo(bad, laptop.later()).result == "undone"
