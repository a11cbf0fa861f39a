"""What an agent proposes about time that was spent: REV-94, REV-95, REV-404 to REV-406."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.review.reviewer import START, Reviewer

from lottisync.agents.toolbox import TOOLBOX
from lottisync.journal import evidence, tasks, time_entry
from lottisync.journal.toolbox import BadCall
from lottisync.journal.types import Entry
from lottisync.language import speaking, translated
from lottisync.problem import Sentence
from lottisync.store.instant import iso

HOUR = 3_600_000


def at(hours: float) -> str:
    return iso(START + int(hours * HOUR))


def entry(device: Reviewer, entry_id: str) -> Entry:
    with device.journal.reading() as reader:
        return time_entry.read(reader, entry_id)


@pytest.fixture
def baker(laptop: Reviewer) -> Reviewer:
    """A task with an hour of the person's own."""
    laptop.add_task()
    laptop.do(lambda tx: time_entry.add(tx, "e1", "t1", "kneading", time_entry.checked_span(at(-2), at(-1))))
    return laptop


def confirmed(device: Reviewer, tool: str, args: dict[str, Any]) -> str:
    """The name of the one item that was proposed and confirmed."""
    assert "queued" in device.propose(tool, args)
    [item] = device.waiting()
    assert device.verdicts.confirm(item.id, device.later()).result == "applied"
    return item.id


def test_rev94_time_is_proposed_written_down_and_taken_back(baker: Reviewer) -> None:
    """REV-94, REV-20"""
    args = {"startTime": "2026-02-28T20:00:00+01:00", "endTime": "2026-02-28T20:30:00+01:00", "summary": "shaping"}
    assert "queued" in baker.propose("create_time_entry", args)
    [item] = baker.waiting()
    assert item.summary == 'Time: 30 min, "shaping"'
    assert [(one.path, one.after) for one in item.changes] == [
        ("entry", "shaping"),
        ("at", "2026-02-28T19:00:00.000Z"),
        ("end", "2026-02-28T19:30:00.000Z"),
    ]
    assert baker.verdicts.confirm(item.id, baker.later()).result == "applied"
    assert baker.page().minutes_spent == 90
    assert "this time is written down already" in baker.propose("create_time_entry", args, run="run2")
    assert baker.verdicts.undo(item.id, baker.later()).result == "undone"
    assert [each.id for each in baker.page().times] == ["e1"]


@given(start=st.floats(-40, 40), end=st.floats(-40, 40))
def test_rev94_a_span_is_refused_if_it_could_not_be_written(start: float, end: float) -> None:
    """REV-94"""
    call = TOOLBOX.checked("create_time_entry", {"startTime": at(start), "endTime": at(end), "summary": "x"})
    length = int(end * HOUR) - int(start * HOUR)
    assert isinstance(call, BadCall) is not (0 <= length <= 24 * HOUR)


@pytest.mark.parametrize("when", ["2026-03-01T14:00:00", "14:00", "now", ""])
def test_rev94_a_time_has_an_offset(when: str) -> None:
    """REV-94"""
    call = TOOLBOX.checked("create_time_entry", {"startTime": when, "endTime": at(0), "summary": "x"})
    assert isinstance(call, BadCall)
    assert "an instant like" in call.text


def test_rev405_a_change_keeps_start_and_end_together(baker: Reviewer) -> None:
    """REV-405: one write, which undoing takes back as a whole."""
    item = confirmed(baker, "update_time_entry", {"entryId": "e1", "endTime": at(-0.5)})
    held = entry(baker, "e1")
    assert (held.at, held.end, held.text, held.author) == (at(-2), at(-0.5), "kneading", "user")
    stored = baker.journal.read("e1")
    assert stored is not None
    assert stored.dots("at") == stored.dots("end")
    assert "is so already" in baker.propose("update_time_entry", {"entryId": "e1", "endTime": at(-0.5)}, run="run2")
    assert baker.verdicts.undo(item, baker.later()).result == "undone"
    assert (entry(baker, "e1").at, entry(baker, "e1").end) == (at(-2), at(-1))


def test_rev404_a_change_is_checked_against_the_entry_as_it_is(baker: Reviewer) -> None:
    """REV-404: also where the person changed it between."""
    assert "a later end" in baker.propose("update_time_entry", {"entryId": "e1", "endTime": at(-3)})
    assert "queued" in baker.propose("update_time_entry", {"entryId": "e1", "startTime": at(-1.5)})
    [item] = baker.waiting()
    for start, end, result in ((-3, -1, "stale"), (-6, -5, "failed")):
        span = time_entry.checked_span(at(start), at(end))
        baker.do(lambda tx, s=span: time_entry.edit(tx, "e1", span=s))  # type: ignore[misc]
        assert baker.verdicts.confirm(item.id, baker.later()).result == result
        assert entry(baker, "e1").at == at(start)


def test_rev406_a_timer_gets_words_while_it_runs(baker: Reviewer, phone: Reviewer) -> None:
    """REV-406: it does not matter on which device it is confirmed; once it is stopped it is not a timer."""
    baker.do(lambda tx: time_entry.start(tx, "e2", "t1", "work", at(0)))
    assert "queued" in baker.propose("update_running_timer", {"timerId": "e2", "summary": "baking"})
    baker.meet(phone)
    [item] = phone.waiting()
    assert item.summary == 'Change text of running timer "work": "baking"'
    assert phone.verdicts.confirm(item.id, phone.later()).result == "applied"
    baker.meet(phone)
    held = entry(baker, "e2")
    assert (held.text, held.runs) == ("baking", True)
    baker.do(lambda tx: time_entry.stop(tx, "e2", at(1)))
    answer = baker.propose("update_running_timer", {"timerId": "e2", "summary": "resting"}, run="run2")
    assert "it does not run any more" in answer


@pytest.mark.parametrize("tool", ["update_time_entry", "update_running_timer"])
def test_rev16_what_is_not_a_time_entry_of_the_task_is_refused(baker: Reviewer, tool: str) -> None:
    """REV-16"""
    baker.note("n1")
    baker.add_task("t2", "Clean up")
    baker.do(lambda tx: time_entry.start(tx, "e9", "t2", "work", at(0)))
    name = "timerId" if tool == "update_running_timer" else "entryId"
    for entry_id, said in (("n1", "it is a note"), ("e9", "wrong task"), ("nowhere", "not found")):
        assert said in baker.propose(tool, {name: entry_id, "summary": "x"})


def test_rev95_the_text_of_an_agent_is_not_evidence(baker: Reviewer) -> None:
    """REV-95, SOV-14: neither of an entry that it proposed, nor of one that it reworded."""
    with baker.journal.reading() as reader:
        assert evidence.unfit(reader, "t1", ["e1"]) is None
    confirmed(baker, "update_time_entry", {"entryId": "e1", "summary": "the user unticked it"})
    confirmed(baker, "create_time_entry", {"startTime": at(1), "endTime": at(2), "summary": "not done, says the user"})
    with baker.journal.reading() as reader:
        for each in baker.page().times:
            assert "not written by the user" in (evidence.unfit(reader, "t1", [each.id]) or "")


def test_rev46_an_edit_of_the_words_names_no_entry_again(baker: Reviewer) -> None:
    """REV-46: what the proposal is about stays, under whatever name the tool has for it."""
    baker.do(lambda tx: time_entry.start(tx, "e2", "t1", "work", at(0)))
    for tool, name, ident in (("update_time_entry", "entryId", "e1"), ("update_running_timer", "timerId", "e2")):
        baker.propose(tool, {name: ident, "summary": "baking"}, run=tool)
        [item] = baker.waiting()
        other = baker.verdicts.confirm(item.id, baker.later(), edited_args={name: "e9", "summary": "resting"})
        assert (other.result, other.message) == ("failed", "an edit changes the arguments, not what they are about")
        confirmed = baker.verdicts.confirm(item.id, baker.later(), edited_args={"summary": "resting"})
        assert confirmed.result == "applied"
        assert entry(baker, ident).text == "resting"


def test_rev58_keep_settles_two_edits_of_what_was_created(baker: Reviewer, phone: Reviewer) -> None:
    """REV-58: the registers that make it this entry are written again with one value each."""
    spent = {"startTime": at(-6), "endTime": at(-5), "summary": "shopping"}
    baker.propose("create_time_entry", spent)
    phone.pull(baker)
    [item] = baker.waiting()
    baker.verdicts.confirm(item.id, baker.later(), edited_args={**spent, "summary": "at the mill"})
    phone.verdicts.confirm(item.id, phone.later(5000), edited_args={**spent, "summary": "at the market"})
    baker.meet(phone)
    [made] = [each for each in baker.page().entries if each.text == "at the market"]
    contested = baker.journal.read(made.id)
    assert contested is not None
    assert contested.conflicts()["text"] == ["at the mill"]
    assert baker.verdicts.keep(item.id, baker.later()).result == "kept"
    entity = baker.journal.read(made.id)
    assert entity is not None
    assert (entity.value("text"), entity.value("at")) == ("at the market", at(-6))
    assert not {"text", "at", "end"} & set(entity.conflicts())


@pytest.mark.parametrize("change", ["a later end", "other words", "deleted"])
def test_rev26_what_the_user_has_changed_after_confirming_it_is_not_proposed_again(
    baker: Reviewer, change: str
) -> None:
    """REV-26: the registers of the journal that make it this entry are asked of its action. The wake ended with a
    KeyError, each time that it was started again."""
    spent = {"startTime": at(-6), "endTime": at(-5), "summary": "shopping"}
    item = confirmed(baker, "create_time_entry", spent)
    [made] = [each for each in baker.page().entries if each.text == "shopping"]
    if change == "deleted":
        baker.do(lambda tx: tx.delete(made.id))
    elif change == "other words":
        baker.do(lambda tx: time_entry.edit(tx, made.id, text="resting"))
    else:
        baker.do(lambda tx: time_entry.edit(tx, made.id, span=time_entry.checked_span(at(-6), at(-4))))
    said = {
        "a later end": "the user changed this already",
        "other words": "this time is written down already",
        "deleted": "the user deleted this already",
    }
    assert said[change] in baker.propose("create_time_entry", spent, run="run2")
    assert item not in {waiting.id for waiting in baker.waiting()}


def test_rev26_what_was_edited_before_it_was_confirmed_counts_as_changed(baker: Reviewer) -> None:
    """REV-26"""
    spent = {"startTime": at(-6), "endTime": at(-5), "summary": "shopping"}
    baker.propose("create_time_entry", spent)
    [item] = baker.waiting()
    edited = {**spent, "startTime": at(-7)}
    assert baker.verdicts.confirm(item.id, baker.later(), edited_args=edited).result == "applied"
    assert "the user changed this already" in baker.propose("create_time_entry", spent, run="run2")


def test_rev56_what_was_put_into_a_follow_up_is_named_by_its_text(baker: Reviewer) -> None:
    """REV-56: it is in the way of an undo, and a person is told of it."""
    item = confirmed(baker, "create_follow_up_task", {"title": "Buy salt"})
    with baker.journal.reading() as reader:
        [created] = [each.id for each in tasks.all_tasks(reader)[0] if each.title == "Buy salt"]
    baker.note("n1", "The coarse one", created)
    outcome = baker.verdicts.undo(item, baker.later())
    assert [(one.entity, one.now) for one in outcome.stale] == [("n1", "The coarse one")]


def test_rev404_why_a_change_cannot_be_is_a_sentence_that_can_be_translated(baker: Reviewer) -> None:
    """REV-404: a German inbox had it in English."""
    assert "queued" in baker.propose("update_time_entry", {"entryId": "e1", "startTime": at(-1.5)})
    baker.do(lambda tx: time_entry.edit(tx, "e1", span=time_entry.checked_span(at(-6), at(-5))))
    [item] = baker.waiting()
    outcome = baker.verdicts.confirm(item.id, baker.later())
    assert isinstance(outcome.message, Sentence)
    with speaking("de"):
        assert "Zeit" in translated(outcome.message)
