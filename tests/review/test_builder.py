"""From tool calls to change sets: what is queued, what is not, and how the model is answered."""

from typing import Any

import pytest
from tests.review.reviewer import DAY, Reviewer
from tests.support import rounds
from tests.support.proposals import Wake

from lottisync.causality.vector_clock import Dot
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.journal.toolbox import ACTIONS
from lottisync.review.builder import MAX_ITEMS
from lottisync.review.change import ChangeSet
from lottisync.review.cleanup import RETENTION, remove_old_sets
from lottisync.review.proposal import created_id, set_of
from lottisync.store import lookups

QUEUED = "Proposal queued for user review."
REASON = "The note of 22:30 says it is not done yet"


def stored(device: Reviewer, set_id: str) -> ChangeSet:
    entity = device.agents.read(set_id)
    assert entity is not None
    return view(entity, ChangeSet)


def test_rev12_a_set_is_written_with_all_that_a_review_needs(laptop: Reviewer) -> None:
    """REV-12, S1-07, S1-14, S1-22, S2-06: thread, run, summary, digest, and the base with its dots."""
    laptop.add_task()
    laptop.edit(estimate=30)
    builder = laptop.builder()
    assert builder.queue("set_task_estimate", {"minutes": "60", "humanSummary": "One hour"}, laptop.now) == QUEUED
    [ident] = laptop.built(builder)
    written = stored(laptop, ident)
    assert (written.agent_id, written.task_id, written.run_key, written.thread_id) == (
        "laura",
        "t1",
        "run1",
        "thread-run1",
    )
    [item] = written.items
    assert (item.tool_name, item.args, item.human_summary) == ("update_task_estimate", {"minutes": 60}, "One hour")
    task = laptop.journal.read("t1")
    assert task is not None
    [seen, gone] = item.base
    assert (seen.path, seen.value, seen.dots) == (
        "estimate",
        30,
        sorted((d.host, d.counter) for d in task.dots("estimate")),
    )
    assert (gone.path, gone.value, gone.dots) == ("deletedAt", None, [])


def test_rev12_nothing_queued_nothing_built(laptop: Reviewer) -> None:
    """REV-12, S1-24, S1-65."""
    laptop.add_task()
    builder = laptop.builder()
    assert laptop.built(builder) == []
    builder.queue("set_task_title", {"title": "Rye bread"}, laptop.now)
    assert len(laptop.built(builder)) == 1


def test_rev15_at_most_ten_items_a_set_and_none_is_executed(laptop: Reviewer) -> None:
    """REV-15, REV-310, S1-68: the rest goes into a further set; nothing happens without a verdict."""
    laptop.add_task()
    builder = laptop.builder()
    for batch in range(2):
        items = [{"title": f"Step {batch}-{n}"} for n in range(12)]
        assert "(12 item(s) queued)" in builder.queue("add_multiple_checklist_items", {"items": items}, laptop.now)
    sets = [stored(laptop, ident) for ident in laptop.built(builder)]
    assert [len(written.items) for written in sets] == [MAX_ITEMS, MAX_ITEMS, 4]
    assert all(set_of(item.id) == written.id for written in sets for item in written.items)
    assert laptop.titles() == []


def test_rev12_a_run_that_is_played_again_makes_no_second_set(laptop: Reviewer) -> None:
    """REV-12."""
    laptop.add_task()
    laptop.propose("set_task_title", {"title": "Rye bread"}, run="r")
    again = laptop.builder("r")
    assert again.queue("set_task_title", {"title": "Rye bread"}, laptop.now) == (
        "Skipped: this waits for the user already."
    )
    assert again.queue("update_task_estimate", {"minutes": 60}, laptop.now) == QUEUED
    assert [item.tool_name for item in stored(laptop, laptop.built(again)[0]).items] == ["update_task_estimate"]
    builder = laptop.builder("s")
    builder.queue("update_task_priority", {"priority": "P0"}, laptop.now)
    assert len(laptop.built(builder)) == 1
    assert laptop.built(builder) == []


def test_s1_27_a_batch_is_exploded_into_items_of_their_own(laptop: Reviewer) -> None:
    """S1-27, S1-25, S1-51, S2-23."""
    laptop.add_task(items=("Flour", "Yeast"))
    laptop.propose(
        "update_checklist_items",
        {"items": [{"id": "t1-i0", "title": "Rye flour"}, {"id": "t1-i1", "title": "Sourdough"}]},
    )
    assert [(item.tool, item.summary) for item in laptop.waiting()] == [
        ("update_checklist_item", 'Rename "Flour" to "Rye flour"'),
        ("update_checklist_item", 'Rename "Yeast" to "Sourdough"'),
    ]


# -- ids


def test_s0_12_s0_13_s4_15_ids_that_this_store_does_not_know(laptop: Reviewer) -> None:
    """S0-12, S0-13, S4-15, REV-16: the context came from this store, so such an id was invented."""
    laptop.add_task(items=("Flour",))
    laptop.add_task("t2", items=("Other",))
    answer = laptop.propose(
        "update_checklist_items",
        {"items": [{"id": i, "title": "New"} for i in ("nowhere", "t2-i0", "t1", "t1-i0")]},
    )
    assert answer == (
        "Proposal queued for user review (1 item(s) queued).\n"
        "Skipped 3 item(s):\n"
        "- nowhere: checklist item: not found\n"
        "- t2-i0: checklist item: wrong task\n"
        "- t1: checklist item: not found"
    )
    assert len(laptop.waiting()) == 1
    assert "not found" in laptop.propose("set_task_title", {"title": "x"}, task_id="t9", run="r2")
    laptop.note("elsewhere", task_id="t2")
    for cited, said in (("nowhere", "not found"), ("t1", "not found"), ("elsewhere", "wrong task")):
        change = {"id": "t1-i0", "title": "Newer", "evidenceEntryIds": [cited]}
        assert f"evidence {cited}: {said}" in laptop.propose("update_checklist_item", change, run="r3")


def test_rev16_what_was_deleted_is_not_proposed_about(laptop: Reviewer) -> None:
    """REV-16."""
    laptop.add_task(items=("Flour",))
    laptop.do(lambda tx: tx.delete("t1-i0"))
    assert "it was deleted" in laptop.propose("update_checklist_item", {"id": "t1-i0", "isChecked": True})
    laptop.do(lambda tx: tx.delete("t1"))
    assert "it was deleted" in laptop.propose("add_checklist_item", {"title": "Salt"})


# -- the guard


def test_s0_36_a_tick_of_the_users_without_a_reason_is_not_proposed(laptop: Reviewer) -> None:
    """S0-36, S0-01, S0-03, S0-19, SOV-1, SOV-2: the person is never shown it."""
    laptop.add_task(items=("Flour",))
    laptop.tick("t1-i0")
    at = laptop.item().checked_at
    answer = laptop.propose("update_checklist_items", {"items": [{"id": "t1-i0", "isChecked": False}]})
    assert answer == (
        f'Skipped 1 item(s):\n- "Flour": User set this item at {at}. '
        "Provide a reason citing evidence from after that time to override."
    )
    assert laptop.waiting() == []


def test_s0_39_the_title_passes_where_the_tick_is_withheld(laptop: Reviewer) -> None:
    """S0-39, S0-15, S0-16, SOV-6: it is queued, it counts, and the answer to the model names the tick."""
    laptop.add_task(items=("Flour",))
    laptop.tick("t1-i0")
    change = {"id": "t1-i0", "isChecked": False, "title": "Rye flour"}
    answer = laptop.propose("update_checklist_items", {"items": [change]})
    assert answer.startswith("Proposal queued for user review (1 item(s) queued).\n")
    assert '"Flour": the rest is queued, but not this. User set this item at' in answer
    assert [item.args for item in laptop.waiting()] == [{"id": "t1-i0", "title": "Rye flour"}]


def test_s0_40_an_item_without_provenance_needs_a_reason(laptop: Reviewer) -> None:
    """S0-40, S0-05, S0-44: an item that was never toggled counts as set by the user, at a time that is unknown."""
    laptop.add_task(items=("Flour",))
    assert "at unknown." in laptop.propose("update_checklist_item", {"id": "t1-i0", "isChecked": True})
    with_reason = {"id": "t1-i0", "isChecked": True, "reason": REASON}
    assert laptop.propose("update_checklist_item", with_reason, run="r2") == QUEUED
    assert laptop.waiting()[0].args["reason"] == REASON


def test_s0_38_what_the_agent_set_needs_no_reason(laptop: Reviewer) -> None:
    """S0-38."""
    laptop.add_task(items=("Flour",))
    laptop.agent_tick("t1-i0")
    assert laptop.propose("update_checklist_item", {"id": "t1-i0", "isChecked": False}) == QUEUED


# -- redundancy and freshness


def test_s4_11_what_is_so_already_is_not_proposed(laptop: Reviewer) -> None:
    """S4-10, S4-11, S4-01, S4-02, REV-20, REV-311."""
    laptop.add_task(items=("Buy groceries", "Walk dog", "Bake"))
    laptop.edit(estimate=120)
    laptop.tick("t1-i0")
    laptop.tick("t1-i1")
    assert laptop.propose("update_task_estimate", {"minutes": 120}) == "Skipped: estimate is already 120 minutes."
    ticks = [{"id": f"t1-i{n}", "isChecked": True, "reason": REASON} for n in range(3)]
    assert laptop.propose("update_checklist_items", {"items": ticks}) == (
        "Proposal queued for user review (1 item(s) queued).\n"
        'Skipped 2 redundant update(s): "Buy groceries" is already checked; "Walk dog" is already checked.'
    )
    assert laptop.propose("add_checklist_item", {"title": " bake"}, run="r2") == (
        'Skipped: "bake" is already on the checklist.'
    )


def test_s4_14_the_old_estimate_does_not_reach_the_user(laptop: Reviewer) -> None:
    """S4-14, REV-17: no comparison of values catches it; the dots do."""
    laptop.add_task()
    laptop.edit(estimate=60)
    builder = laptop.builder()
    laptop.edit(estimate=90)
    assert builder.queue("update_task_estimate", {"minutes": 60}, laptop.now) == (
        "Skipped: changed since your context was read: estimate is now 90 minutes."
    )
    assert builder.queue("update_task_estimate", {"minutes": 45}, laptop.now).startswith("Skipped: changed since")
    assert builder.queue("set_task_title", {"title": "Rye bread"}, laptop.now) == QUEUED
    laptop.edit(estimate=None)
    assert builder.queue("update_task_estimate", {"minutes": 45}, laptop.now) == (
        "Skipped: changed since your context was read: estimate is now empty."
    )
    assert laptop.builder().queue("update_task_estimate", {"minutes": 45}, laptop.now) == QUEUED


def test_rev17_a_tick_that_moved_after_the_context_was_read(laptop: Reviewer) -> None:
    """REV-17."""
    laptop.add_task(items=("Flour",))
    laptop.agent_tick("t1-i0", checked=False)
    builder = laptop.builder()
    laptop.agent_tick("t1-i0")
    answer = builder.queue("update_checklist_item", {"id": "t1-i0", "isChecked": False, "title": "Rye"}, laptop.now)
    assert answer == 'Skipped: "Flour": changed since your context was read: checked state is now checked.'


def test_rev17_what_a_cut_off_round_left_counts_as_read(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-17."""
    laptop.add_task()
    phone.pull(laptop)
    phone.edit(estimate=60)
    assert rounds.send(phone.journal, laptop.journal, now=laptop.later(), batches=1) == ["t1"]
    with laptop.journal.reading() as reader:
        beyond = [Dot(host, counter) for host, counter, _ in lookups.held_beyond(reader)]
    assert beyond
    assert laptop.builder().queue("update_task_estimate", {"minutes": 45}, laptop.now).startswith("Skipped: changed")
    with laptop.journal.reading() as reader:
        knowledge = reader.knowledge()
    builder = Wake(
        laptop.journal,
        laptop.agents,
        agent_id="laura",
        task_id="t1",
        run_key="r",
        thread_id="th",
        actions=ACTIONS,
        context_knowledge=knowledge,
        context_beyond=beyond,
    )
    assert builder.queue("update_task_estimate", {"minutes": 45}, laptop.now) == QUEUED


def test_s4_13_a_store_that_cannot_be_read_keeps_the_proposal(laptop: Reviewer) -> None:
    """S4-13, REV-22; without a base only a person who has seen the present value can confirm it."""
    laptop.add_task()
    laptop.edit(estimate=120)
    builder = laptop.builder()
    laptop.journal.close()
    assert builder.queue("update_task_estimate", {"minutes": 120}, laptop.now) == QUEUED
    assert builder.queue("set_task_title", {"title": "Rye bread"}, laptop.now) == QUEUED
    laptop.built(builder)
    verdicts = laptop.restarted()
    same, other = laptop.waiting()
    assert same.satisfied
    assert other.stale
    assert verdicts.confirm(other.id, laptop.later()).result == "stale"
    assert verdicts.confirm(other.id, laptop.later(), against="current").result == "applied"


# -- what was proposed or decided before


def test_rev18_within_a_wake_once_and_the_last_word_counts(laptop: Reviewer) -> None:
    """REV-18, REV-312."""
    laptop.add_task()
    builder = laptop.builder()
    assert builder.queue("update_task_estimate", {"minutes": 60}, laptop.now) == QUEUED
    assert builder.queue("update_task_estimate", {"minutes": "60"}, laptop.now) == (
        "Skipped: you have proposed this already in this wake."
    )
    assert builder.queue("update_task_estimate", {"minutes": 90}, laptop.now) == (
        f"{QUEUED} It replaces what you proposed before: Set estimate to 60 minutes."
    )
    milk = {"items": [{"title": "Milk"}, {"title": "milk"}, {"title": "Milk"}]}
    assert "(1 item(s) queued)" in builder.queue("add_multiple_checklist_items", milk, laptop.now)
    laptop.built(builder)
    assert [item.summary for item in laptop.waiting()] == ["Set estimate to 90 minutes", 'Add: "Milk"']


@pytest.mark.parametrize(
    ("tool", "said", "again"),
    [
        ("add_checklist_item", "Buy milk", "BUY  Milk"),
        ("set_task_title", "Rye bread", "rye\tBread"),
    ],
)
def test_rev23_other_capitals_or_white_space_are_the_same_proposal(
    laptop: Reviewer, tool: str, said: str, again: str
) -> None:
    """REV-23, REV-D5: against what waits, and against what was rejected."""
    laptop.add_task(items=("Call them",))
    assert laptop.propose(tool, {"title": said}) == QUEUED
    assert laptop.propose(tool, {"title": again}, run="r2") == "Skipped: this waits for the user already."
    [item] = laptop.waiting()
    laptop.verdicts.reject(item.id, laptop.later(), "no")
    assert "the user rejected this already" in laptop.propose(tool, {"title": again}, run="r3")
    assert "is already on the checklist" in laptop.propose("add_checklist_item", {"title": "CALL   them"}, run="r4")


def test_rev128_the_capitals_of_a_title_that_is_there_can_be_mended(laptop: Reviewer) -> None:
    """REV-128."""
    laptop.add_task(title="rye bread")
    assert laptop.propose("set_task_title", {"title": "Rye bread"}) == QUEUED


def test_rev97_what_waits_is_not_proposed_again_by_any_agent_or_device(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-97."""
    laptop.add_task()
    laptop.propose("add_checklist_item", {"title": "Milk"})
    phone.pull(laptop)
    for agent in ("laura", "tom"):
        assert phone.propose("add_checklist_item", {"title": "Milk"}, run=f"other-{agent}", agent=agent) == (
            "Skipped: this waits for the user already."
        )
    [item] = laptop.waiting()
    laptop.verdicts.defer(item.id, laptop.now + 30 * DAY, laptop.later())
    laptop.later(20 * DAY)
    assert "waits for the user" in laptop.propose("add_checklist_item", {"title": "Milk"}, run="r2")


def test_rev19_a_rejected_value_until_the_field_changes(laptop: Reviewer) -> None:
    """REV-19."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    laptop.verdicts.reject(laptop.waiting()[0].id, laptop.later(), "I know better")
    again = {"minutes": 60}
    assert laptop.propose("update_task_estimate", again, run="r2") == (
        'Skipped: the user rejected this already (reason: "I know better").'
    )
    laptop.edit(title="Rye bread")
    assert "rejected this already" in laptop.propose("update_task_estimate", again, run="r3")
    assert laptop.propose("update_task_estimate", {"minutes": 75}, run="r4") == QUEUED
    laptop.edit(estimate=30)
    assert laptop.propose("update_task_estimate", again, run="r5").startswith(QUEUED)


def test_rev98_a_rejected_creation_until_the_user_writes_on_the_task(laptop: Reviewer) -> None:
    """REV-98."""
    laptop.add_task()
    laptop.add_task("t2")
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]})
    milk, eggs = laptop.waiting()
    laptop.verdicts.reject(milk.id, laptop.later())
    assert laptop.verdicts.confirm(eggs.id, laptop.later()).result == "applied"
    laptop.note("n1", task_id="t2")
    laptop.note("n2", author="agent")
    assert laptop.propose("add_checklist_item", {"title": "Milk"}, run="r2") == (
        "Skipped: the user rejected this already."
    )
    laptop.note("n3", "We are out of milk")
    assert laptop.propose("add_checklist_item", {"title": "Milk"}, run="r3") == QUEUED


def test_rev24_a_later_value_of_the_same_agent_takes_the_place_of_what_waits(laptop: Reviewer) -> None:
    """REV-24, REV-400, REV-401, REV-D6: what is confirmed is the newer one. A run that is started again says it
    once."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    [old] = laptop.waiting()
    builder = laptop.builder("r2")
    said = builder.queue("update_task_estimate", {"minutes": 90}, laptop.now)
    assert said == f"{QUEUED} It takes the place of what waits: Set estimate to 60 minutes."
    laptop.built(builder)
    laptop.built(builder)
    [new] = laptop.waiting()
    assert (new.args, new.supersedes) == ({"minutes": 90}, [old.id])
    [decision] = laptop.decisions()
    assert (decision.item_id, decision.superseded_by, decision.actor) == (old.id, new.id, "agent")
    outcome = laptop.verdicts.confirm(old.id, laptop.later())
    assert (outcome.result, outcome.message) == ("already", "the agent has put another proposal in its place")
    assert laptop.verdicts.confirm(new.id, laptop.later()).result == "applied"


def test_rev403_concurrent_ones_another_agents_and_what_was_put_off_stand_side_by_side(laptop: Reviewer) -> None:
    """REV-403."""
    laptop.add_task()
    early = laptop.builder("r0")
    laptop.propose("update_task_estimate", {"minutes": 60})
    assert early.queue("update_task_estimate", {"minutes": 75}, laptop.now) == QUEUED
    laptop.built(early)
    assert laptop.propose("update_task_estimate", {"minutes": 80}, run="r2", agent="tom") == QUEUED
    assert [item.args["minutes"] for item in laptop.waiting()] == [60, 75, 80]
    for item in laptop.waiting():
        laptop.verdicts.defer(item.id, laptop.now + DAY, laptop.later())
    assert laptop.propose("update_task_estimate", {"minutes": 90}, run="r3") == QUEUED
    assert len(laptop.states()) == 4


def test_rev24_what_would_write_more_than_the_newer_one_goes_on_waiting(laptop: Reviewer) -> None:
    """REV-24: the title that the first one proposes is in no other."""
    laptop.add_task(items=("Flour",))
    both = {"id": "t1-i0", "isChecked": True, "title": "Rye flour", "reason": REASON}
    laptop.propose("update_checklist_item", both)
    laptop.propose("update_checklist_item", {"id": "t1-i0", "title": "Oat flour"}, run="r2")
    assert len(laptop.waiting()) == 2


def test_rev75_what_is_proposed_again_in_the_wake_that_takes_it_back_is_not_taken_back(laptop: Reviewer) -> None:
    """REV-75, REV-D11: the answer is true."""
    laptop.add_task()
    laptop.propose("add_checklist_item", {"title": "Milk"})
    [item] = laptop.waiting()
    builder = laptop.builder("r2")
    builder.queue("retract_suggestions", {"proposals": [{"id": item.id, "reason": "not needed"}]}, laptop.now)
    assert "waits for the user already, and is not taken back" in builder.queue(
        "add_checklist_item", {"title": "milk"}, laptop.now
    )
    laptop.built(builder)
    assert [one.id for one in laptop.waiting()] == [item.id]


def test_rev25_a_follow_up_with_the_same_title_is_the_same_follow_up(laptop: Reviewer) -> None:
    """REV-25, REV-D5: its details are those of the last proposal while it waits; it is made once."""
    laptop.add_task()
    first = {"title": "Buy salt", "priority": "P1", "relation": "blocks"}
    laptop.propose("create_follow_up_task", first)
    assert "takes the place" in laptop.propose(
        "create_follow_up_task", {"title": "Buy salt", "priority": "P2"}, run="r2"
    )
    [item] = laptop.waiting()
    assert item.args == {"title": "Buy salt", "priority": "P2"}
    again = {"title": "buy  SALT", "dueDate": "2030-01-02"}
    assert "waits for the user" in laptop.propose("create_follow_up_task", again, run="r3", agent="tom")


@pytest.mark.parametrize("expires", [False, True])
def test_rev250_a_follow_up_that_was_rejected_or_has_expired_comes_back_with_words_alone(
    laptop: Reviewer, expires: bool
) -> None:
    """REV-250, REV-98: other details do not make another follow-up."""
    laptop.add_task()
    laptop.propose("create_follow_up_task", {"title": "Buy yeast"})
    if expires:
        laptop.later(8 * DAY)
    else:
        laptop.verdicts.reject(laptop.waiting()[0].id, laptop.later(), "no more tasks")
    again, other = {"title": "buy  YEAST", "priority": "P0"}, {"title": "Buy salt"}
    said = "the user did not decide on it" if expires else "rejected this already"
    assert said in laptop.propose("create_follow_up_task", again, run="r2")
    assert laptop.propose("create_follow_up_task", other, run="r3").startswith(QUEUED)
    laptop.note("n1", "We need yeast after all")
    assert laptop.propose("create_follow_up_task", again, run="r4").startswith(QUEUED)


def test_rev251_a_follow_up_that_was_confirmed_is_made_once_until_its_set_is_removed(laptop: Reviewer) -> None:
    """REV-251, REV-36: neither with other details, nor after the person's words."""
    laptop.add_task()
    laptop.propose("create_follow_up_task", {"title": "Buy salt", "priority": "P2"})
    assert laptop.verdicts.confirm(laptop.waiting()[0].id, laptop.later()).result == "applied"
    laptop.note("n1", "We need salt")
    again = {"title": "buy  SALT", "dueDate": "2030-01-02"}
    assert laptop.propose("create_follow_up_task", again, run="r2") == "Skipped: the user confirmed this already."
    assert remove_old_sets(laptop.agents, laptop.later(RETENTION)) == 1
    assert laptop.propose("create_follow_up_task", again, run="r3").startswith(QUEUED)


def test_rev26_what_was_confirmed_and_has_no_title_here_is_asked_again(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-26: the decision came from the laptop without the task, and another program had written to the task's id.
    Nobody can tell when it lost its title, so all that the person wrote counts as later."""
    for device in (laptop, phone):
        device.add_task()
    laptop.propose("create_follow_up_task", {"title": "Buy salt"})
    [item] = laptop.waiting()
    laptop.verdicts.confirm(item.id, laptop.later())
    phone.pull(laptop, "agent")
    phone.do(lambda tx: tx.put(created_id(laptop.proposal(item.id).operation_id, "task"), "task", {"priority": "P1"}))
    assert phone.propose("create_follow_up_task", {"title": "Buy salt"}, run="r2").startswith(QUEUED)


@pytest.mark.parametrize("change", ["deleted", "renamed"])
def test_rev26_what_the_user_deleted_or_renamed_after_confirming_is_a_no(laptop: Reviewer, change: str) -> None:
    """REV-26, REV-D5: until they write on the task in words. A tick is not a word."""
    laptop.add_task(items=("Flour",))
    milk = {"title": "Milk"}
    laptop.propose("add_checklist_item", milk)
    assert laptop.verdicts.confirm(laptop.waiting()[0].id, laptop.later()).result == "applied"
    [made] = [item.id for item in laptop.page().items if item.title == "Milk"]
    laptop.do(lambda tx: tasks.remove_item(tx, made) if change == "deleted" else tasks.rename_item(tx, made, "Oat"))
    laptop.tick("t1-i0")
    assert laptop.propose("add_checklist_item", milk, run="r2") == f"Skipped: the user {change} this already."
    laptop.note("n1", "We need milk after all")
    assert laptop.propose("add_checklist_item", milk, run="r3") == QUEUED


def test_rev26_a_label_that_the_user_took_off_is_a_no(laptop: Reviewer) -> None:
    """REV-26."""
    laptop.add_task()
    laptop.do(lambda tx: tx.put("l1", "label", {"name": "shopping"}))
    laptop.propose("assign_task_label", {"id": "l1"})
    assert laptop.verdicts.confirm(laptop.waiting()[0].id, laptop.later()).result == "applied"
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"labels/l1": None}))
    assert laptop.propose("assign_task_label", {"id": "l1"}, run="r2") == "Skipped: the user took this off already."


def test_rev19_a_rejected_step_does_not_come_back_with_a_tick_or_a_new_item(laptop: Reviewer) -> None:
    """REV-19, REV-D5: words on the task bring it back, and nothing else."""
    laptop.add_task(items=("Flour",))
    laptop.propose("add_checklist_item", {"title": "Milk"})
    laptop.verdicts.reject(laptop.waiting()[0].id, laptop.later())
    laptop.tick("t1-i0")
    laptop.edit(priority="P1")
    laptop.do(lambda tx: tasks.add_item(tx, "i9", "t1", "Eggs"))
    assert "rejected this already" in laptop.propose("add_checklist_item", {"title": "Milk"}, run="r2")
    laptop.edit(title="Bake milk bread")
    assert laptop.propose("add_checklist_item", {"title": "Milk"}, run="r3") == QUEUED


def test_rev19_a_rejected_override_until_there_is_evidence_after_it(laptop: Reviewer) -> None:
    """REV-19, SOV-9: a rejection is a person's statement, too."""
    laptop.add_task(items=("Flour",))
    laptop.tick("t1-i0")
    laptop.note("before", "Flour may be old")
    untick: dict[str, Any] = {"id": "t1-i0", "isChecked": False, "reason": REASON, "evidenceEntryIds": ["before"]}
    assert laptop.propose("update_checklist_item", untick) == QUEUED
    laptop.verdicts.reject(laptop.waiting()[0].id, laptop.later())
    laptop.note("machine", "Flour is missing", author="agent")
    for cited, said in (("before", "rejected this already"), ("machine", "it was not written by the user")):
        untick["evidenceEntryIds"] = [cited]
        assert said in laptop.propose("update_checklist_item", untick, run=f"r-{cited}")
    laptop.note("after", "The flour is not bought after all")
    untick["evidenceEntryIds"] = ["after"]
    assert laptop.propose("update_checklist_item", untick, run="r9") == QUEUED


def test_rev99_evidence_that_did_not_know_of_the_rejection_is_not_evidence(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-99, SOV-9: the phone's note is new here, and its wall clock is ahead; its author had not seen the verdict."""
    laptop.add_task(items=("Flour",))
    laptop.tick("t1-i0")
    phone.pull(laptop)
    untick: dict[str, Any] = {"id": "t1-i0", "isChecked": False, "reason": REASON}
    laptop.propose("update_checklist_item", untick)
    laptop.edit(title="Rye bread")
    laptop.verdicts.reject(laptop.waiting()[0].id, laptop.later())
    phone.later(DAY)
    phone.note("beside", "The flour is not bought")
    laptop.pull(phone)
    untick["evidenceEntryIds"] = ["beside"]
    assert "rejected this already" in laptop.propose("update_checklist_item", untick, run="r2")
    phone.pull(laptop)
    phone.note("after", "It really is not")
    laptop.pull(phone)
    untick["evidenceEntryIds"] = ["after"]
    assert laptop.propose("update_checklist_item", untick, run="r3") == QUEUED


@pytest.mark.parametrize("change", [False, True])
def test_s1_55_an_expired_value_until_the_field_changes(laptop: Reviewer, change: bool) -> None:
    """S1-55."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    laptop.later(8 * DAY)
    if change:
        laptop.edit(estimate=30)
    answer = laptop.propose("update_task_estimate", {"minutes": 60}, run="r2")
    said = QUEUED if change else "Skipped: this was proposed already and the user did not decide on it."
    assert answer == said


def test_rev97_what_was_confirmed_may_be_proposed_again_by_another_run(laptop: Reviewer) -> None:
    """REV-97."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    laptop.verdicts.confirm(laptop.waiting()[0].id, laptop.later())
    laptop.edit(estimate=30)
    assert laptop.propose("update_task_estimate", {"minutes": 60}) == "Skipped: this was confirmed already."
    assert laptop.propose("update_task_estimate", {"minutes": 60}, run="r2") == QUEUED


@pytest.mark.parametrize("tool", ["update_report", "set_task_language"])
def test_s2_15_what_is_not_deferred_is_not_queued(laptop: Reviewer, tool: str) -> None:
    """S2-15."""
    laptop.add_task()
    args = {"tldr": "x"} if tool == "update_report" else {"languageCode": "de"}
    assert laptop.propose(tool, args) == f"{tool} is not a change that is proposed."


def test_s2_25_a_call_that_is_not_valid_is_not_queued(laptop: Reviewer) -> None:
    """S2-25."""
    laptop.add_task()
    assert "only the user sets DONE" in laptop.propose("set_task_status", {"status": "DONE"})
    assert laptop.states() == {}


def test_rev12_two_devices_that_wake_on_one_trigger_write_two_sets(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-12, S1-70: under one id their items would meet in one register, and half of them would not be seen."""
    laptop.add_task()
    phone.pull(laptop)
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]})
    phone.propose("add_multiple_checklist_items", {"items": [{"title": "Eggs"}, {"title": "Salt"}]})
    laptop.meet(phone)
    assert sorted(item.args["title"] for item in laptop.waiting()) == ["Eggs", "Milk", "Salt"]
    assert [item.id for item in laptop.waiting()] == [item.id for item in phone.waiting()]


def test_tasks_are_not_touched_by_proposing(laptop: Reviewer) -> None:
    """S1-04."""
    laptop.add_task(items=("Flour",))
    with laptop.journal.reading() as reader:
        before = reader.digest()
    laptop.propose("set_task_title", {"title": "Rye bread"})
    laptop.propose("add_checklist_item", {"title": "Salt"}, run="r2")
    with laptop.journal.reading() as reader:
        assert reader.digest() == before
    assert isinstance(laptop.page(), tasks.TaskPage)
