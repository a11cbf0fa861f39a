"""Evidence by causality: which notes unlock a user's tick, whatever the clocks on the walls say."""

from typing import Any

import pytest
from tests.review.reviewer import DAY, LAURA, Reviewer

from lottisync.entities.entity import HIGH, LOW
from lottisync.journal.actions.update_checklist_item import UpdateChecklistItem, at_once
from lottisync.journal.evidence import grade
from lottisync.journal.toolbox import ACTIONS
from lottisync.review.action import Grade
from lottisync.review.policy import Policy
from lottisync.review.proposal_record import proposal_records
from lottisync.review.tool_answer import QUEUED
from lottisync.review.verdict import Verdicts

REASON = "The user wrote that it is not done yet"


def strict(device: Reviewer) -> None:
    with device.agents.transaction(device.later(), HIGH) as tx:
        tx.put(LAURA, "agent", {"agentId": LAURA, "config": {"sovereignty": "evidence"}})


def untick(device: Reviewer, *cited: str, run: str = "r1", item: str = "t1-i0") -> str:
    args: dict[str, Any] = {"id": item, "isChecked": False, "reason": REASON}
    return device.propose("update_checklist_item", args | ({"evidenceEntryIds": list(cited)} if cited else {}), run)


def graded(device: Reviewer, *cited: str, item: str = "t1-i0") -> Grade:
    with device.journal.reading() as reader:
        return grade(reader, reader.entity(item), "t1", list(cited))


def test_s0_04_a_note_after_the_tick_unlocks_it(laptop: Reviewer) -> None:
    """S0-02, S0-04, S0-09, SOV-11, SOV-16: a tick, a later note, an untick. Nothing older than the note unlocks the
    tick."""
    strict(laptop)
    laptop.add_task(items=("Flour",))
    laptop.note("before", "I may have bought flour")
    laptop.tick("t1-i0")
    assert untick(laptop).endswith("Name the user's entries in evidenceEntryIds.")
    assert untick(laptop, "before", run="r2").endswith("What you cite is older.")
    laptop.note("after", "The flour is not bought after all")
    assert untick(laptop, "after", run="r3") == QUEUED
    [item] = laptop.waiting()
    assert item.order_unknown is False
    assert laptop.verdicts.confirm(item.id, laptop.later()).result == "applied"
    assert laptop.item().is_checked is False


@pytest.mark.parametrize("skew", [-3 * DAY, 0, 3 * DAY])
def test_sov12_the_order_is_causal_under_any_skew(laptop: Reviewer, phone: Reviewer, skew: int) -> None:
    """SOV-12, S0-02: the phone's clock is days off, and whether its author had seen the tick decides."""
    strict(laptop)
    laptop.later(10 * DAY)
    laptop.add_task(items=("Flour",))
    phone.pull(laptop)
    laptop.tick("t1-i0")
    phone.now = laptop.now + skew
    phone.note("beside", "The flour is not bought")
    laptop.pull(phone)
    assert graded(laptop, "beside") is Grade.UNKNOWN
    phone.pull(laptop)
    phone.now = laptop.now + skew
    phone.note("after", "It really is not")
    laptop.pull(phone)
    assert graded(laptop, "after") is Grade.FOLLOWS
    assert graded(laptop, "after", "beside") is Grade.UNKNOWN
    assert graded(laptop) is Grade.NONE


@pytest.mark.parametrize("mode", ["reason", "evidence"])
def test_sov13_what_was_written_beside_the_tick_is_proposed_with_a_mark(
    laptop: Reviewer, phone: Reviewer, mode: str
) -> None:
    """SOV-13: it is shown, here and on the other device, and the person decides."""
    if mode == "evidence":
        strict(laptop)
    laptop.add_task(items=("Flour",))
    phone.pull(laptop)
    laptop.tick("t1-i0")
    phone.note("beside", "The flour is not bought")
    laptop.pull(phone)
    answer = untick(laptop, "beside")
    assert answer.startswith(QUEUED)
    assert "beside the user's action, not after it" in answer
    phone.pull(laptop)
    for device in (laptop, phone):
        [item] = device.waiting()
        assert (item.order_unknown, item.failure) == (True, None)
    assert phone.verdicts.confirm(item.id, phone.later()).result == "applied"


@pytest.mark.parametrize(
    ("cited", "said"),
    [
        ("machine", "it was not written by the user"),
        ("forged", "it was not written by the user"),
        ("gone", "it was deleted"),
        ("elsewhere", "wrong task"),
        ("nothing", "not found"),
        ("t1", "not found"),
    ],
)
def test_sov14_what_is_not_evidence_at_all(laptop: Reviewer, cited: str, said: str) -> None:
    """SOV-14: in both modes. An agent that signs with the user's name wrote with its own precedence."""
    laptop.add_task(items=("Flour",))
    laptop.add_task("t2")
    laptop.tick("t1-i0")
    laptop.note("machine", author="agent")
    forged = {"taskId": "t1", "text": "not done", "author": "user", "knowledge": {"0000000100000001": 999}}
    laptop.do(lambda tx: tx.put("forged", "entry", forged, precedence=LOW))
    laptop.note("gone")
    laptop.do(lambda tx: tx.delete("gone"))
    laptop.note("elsewhere", task_id="t2")
    assert untick(laptop, cited) == f"Skipped: t1-i0: evidence {cited}: {said}."
    assert graded(laptop, cited) is Grade.UNFIT


def test_s0_44_an_item_that_was_never_ticked(laptop: Reviewer) -> None:
    """S0-44, SOV-12: evidence has to follow its creation; and a record without provenance is the user's."""
    strict(laptop)
    laptop.add_task()
    laptop.note("before")
    bare = {"taskId": "t1", "checklistId": "c", "title": "Salt", "createdAt": "2026-01-01T00:00:00.000Z"}
    laptop.do(lambda tx: tx.put("old", "checklistItem", bare))
    laptop.note("after")
    change = {"id": "old", "isChecked": True, "reason": REASON}
    for cited, said in (("before", "What you cite is older."), ("after", QUEUED)):
        answer = laptop.propose("update_checklist_item", change | {"evidenceEntryIds": [cited]}, run=cited)
        assert answer.endswith(said)


def test_sov12_an_old_note_that_was_edited_knows_no_more_than_before(laptop: Reviewer) -> None:
    """SOV-12."""
    strict(laptop)
    laptop.add_task(items=("Flour",))
    laptop.note("old")
    laptop.tick("t1-i0")
    laptop.do(lambda tx: tx.put("old", "entry", {"text": "not done after all"}))
    assert graded(laptop, "old") is Grade.UNKNOWN


def test_sov11_the_stricter_of_device_and_agent_counts_and_is_asked_at_confirm(laptop: Reviewer) -> None:
    """SOV-11, SOV-400, SOV-10."""
    laptop.add_task(items=("Flour",))
    laptop.tick("t1-i0")
    assert untick(laptop) == QUEUED
    [item] = laptop.waiting()
    ids = laptop.new_id
    strictly = Verdicts(laptop.journal, laptop.agents, ACTIONS, device_id="d", new_id=ids, sovereignty="evidence")
    assert strictly.confirm(item.id, laptop.later()).message.startswith("User set this item at")
    strict(laptop)
    [item] = laptop.waiting()
    assert item.failure is not None
    outcome = laptop.verdicts.confirm(item.id, laptop.later())
    assert (outcome.result, laptop.item().is_checked) == ("failed", True)
    assert laptop.verdicts.confirm(item.id, laptop.later(), against="current").result == "applied"


def test_sov10_evidence_that_was_deleted_meanwhile(laptop: Reviewer) -> None:
    """SOV-10, SOV-14."""
    strict(laptop)
    laptop.add_task(items=("Flour",))
    laptop.tick("t1-i0")
    laptop.note("after")
    assert untick(laptop, "after") == QUEUED
    laptop.do(lambda tx: tx.delete("after"))
    [item] = laptop.waiting()
    assert laptop.verdicts.confirm(item.id, laptop.later()).result == "failed"


def test_sov13_where_no_person_judges_it_unlocks_nothing(laptop: Reviewer, phone: Reviewer) -> None:
    """SOV-13: a program that confirms directly shows no mark to a person."""
    laptop.add_task(items=("Flour",))
    phone.pull(laptop)
    laptop.tick("t1-i0")
    phone.note("beside", "The flour is not bought")
    laptop.pull(phone)
    args = {"id": "t1-i0", "isChecked": False, "reason": REASON, "evidenceEntryIds": ["beside"]}
    with laptop.journal.transaction(laptop.later(), HIGH) as tx:
        said = at_once(tx, LAURA, "t1", UpdateChecklistItem.model_validate(args), Policy(sovereignty="evidence"))
    assert said is not None
    assert said.startswith("Skipped: User set this item")
    assert laptop.item().is_checked


def test_s0_45_the_reason_is_readable_in_the_items_history(laptop: Reviewer) -> None:
    """S0-45, S0-48, SOV-15: with its author, its reason, and the person's words."""
    laptop.add_task(items=("Flour", "Yeast"))
    laptop.tick("t1-i0")
    untick(laptop)
    laptop.propose("update_checklist_item", {"id": "t1-i1", "title": "Dry yeast"}, run="r2")
    [item, _] = laptop.waiting()
    laptop.verdicts.confirm(item.id, laptop.later())
    [record] = proposal_records(laptop.journal, laptop.agents, ACTIONS, laptop.now, about="t1-i0")
    assert (record.summary, record.outcome, record.agent_reason) == ('Uncheck: "Flour"', "confirmed", REASON)
    assert [decision.device for decision in record.decisions] == [laptop.id]
    assert laptop.item().check_reason == REASON
