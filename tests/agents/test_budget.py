"""No wake fails because its task is large. What is left out is counted, and can be found."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.support.device import Device
from tests.support.examples import examples
from tests.support.scripted_model import ScriptedModel, call, say

from lottisync.agents import budget, context, prompt
from lottisync.agents.budget import Budget
from lottisync.agents.model import Message, SystemMessage, TokenUsage, UserMessage
from lottisync.agents.toolbox import TOOLBOX
from lottisync.entities.entity import HIGH
from lottisync.entities.version import MAX_DOCUMENT
from lottisync.journal import tasks
from lottisync.store.instant import iso

CHINESE = "自行车的链条生锈了"
texts = st.text(max_size=40) | st.sampled_from(["<" * 900, CHINESE * 300, '"\\' * 500, "\0" * 700])


def opening(messages: list[Message]) -> str:
    system, user = messages[0], messages[1]
    assert isinstance(system, SystemMessage)
    assert isinstance(user, UserMessage)
    assert len(json.dumps({"system": system.text, "user": user.text}, ensure_ascii=False).encode()) < MAX_DOCUMENT
    return user.text


def fill(device: Device, items: int, notes: int, text: str, task_id: str = "t1", since: int = 0) -> None:
    """Items and notes of the person, as quickly as a test can write them."""
    with device.journal.transaction(device.now(), HIGH) as tx:
        tx.put(f"{task_id}-list", "checklist", {"taskId": task_id, "title": "Todos", "rank": "a0"})
        for number in range(since, since + items):
            place = {"taskId": task_id, "checklistId": f"{task_id}-list", "rank": f"a0{number:06d}1"}
            ticked = {"isChecked": number % 3 == 0, "checkedBy": "user", "checkedAt": iso(tx.now + number)}
            tx.put(f"{task_id}-i{number}", "checklistItem", {**place, **ticked, "title": f"{number} {text}"[:400]})
        for number in range(since, since + notes):
            written = {"taskId": task_id, "kind": "note", "author": "user", "at": iso(tx.now + number)}
            tx.put(f"{task_id}-e{number}", "entry", {**written, "text": f"{number} {text}"})


# -- laws of the shares


@given(st.lists(texts, max_size=30), st.integers(0, 20_000))
@examples(60)
def test_agent65_what_is_chosen_fits(told: list[str], room: int) -> None:
    places = budget.chosen(told, room, range(len(told)))
    assert len(budget.text([told[place] for place in places]).encode()) <= room + 4
    assert sum(budget.size(each) for each in told[budget.newest(told, room) :]) <= room


@given(st.lists(texts, max_size=40), st.lists(texts, max_size=40))
@examples(60)
def test_agent65_a_maximal_report_fits(achieved: list[str], learnings: list[str]) -> None:
    report = {"tldr": CHINESE * 200, "achieved": achieved, "learnings": learnings, "estimate": None}
    assert budget.size(budget.squeezed(report, Budget().share("report"))) <= Budget().share("report")


@given(st.lists(st.integers(1, 300), min_size=1, max_size=60), st.integers(1_500, 5_000))
@examples(60)
def test_agent71_a_beginning_moves_at_most_once_in_a_quarter_of_the_room(sizes: list[int], room: int) -> None:
    """AGENT-71"""
    told, firsts = ["x" * size for size in sizes], []
    added = 0
    for count in range(1, 5):
        firsts.append(budget.newest(told, room))
        told = [*told, "y" * (room // 20)]
        added += count
    assert firsts == sorted(firsts)
    assert len(set(firsts)) <= 2


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_agent70_a_rate_stays_within_reason(asked: int, counted: int) -> None:
    """AGENT-70"""
    rate = budget.corrected(asked, counted)
    assert budget.LEAST_RATE <= rate <= budget.MOST_RATE
    assert budget.rate_of({"m": rate}, "m") == rate
    assert budget.rate_of({"m": rate}, "another") == budget.rate_of("nonsense", "m") == budget.USUAL_RATE


def test_agent65_the_shares_are_the_whole_and_the_fixed_part_has_its_room() -> None:
    assert sum(budget.SHARES.values()) == 100
    fixed = len(prompt.system("N" * 80, 50, "自" * 1_000).encode()) + len(json.dumps(TOOLBOX.definitions()).encode())
    assert fixed < budget.FIXED
    assert Budget(1, 10).message > 0


# -- laws of the message


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    device = Device(tmp_path_factory.mktemp("desk"), 1)
    yield device
    device.close()


@given(st.integers(0, 60), st.integers(0, 40), texts.filter(str.strip), st.sampled_from([20_000, 60_000]))
@examples(8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_agent65_agent66_any_task_fits_and_adds_up(
    desk: Device, items: int, notes: int, text: str, tokens: int
) -> None:
    """AGENT-13, AGENT-65, AGENT-66, AGENT-67"""
    task_id = desk.add_task(desk.new_id(desk.now()))
    fill(desk, items, notes, text, task_id)
    ident = desk.add_agent(task_id)
    with desk.agents.transaction(desk.now(), HIGH) as tx:
        tx.put(ident, "agent", {"config/contextTokens": tokens})
    told = context.read(desk.journal, desk.agents, ident, desk.now())
    shown = [item for each in told.task["checklists"] for item in each["items"]]
    assert len(shown) + told.left_out["items"] == items
    assert len(told.task["logEntries"]) + told.left_out["log"] == notes
    if notes:
        assert told.task["logEntries"][-1]["id"] == f"{task_id}-e{notes - 1}"
    if items:
        newest_tick = (items - 1) // 3 * 3
        assert f"{task_id}-i{newest_tick}" in [item["id"] for item in shown]
    assert len(prompt.first_wake(told).encode()) <= Budget(tokens).message + 2_000


def heard(name: str, **arguments: Any) -> tuple[str, str]:
    """A call whose letters are not escaped: so the most fits into it."""
    return name, json.dumps(arguments, ensure_ascii=False)


def large(device: Device, items: int, notes: int) -> None:
    """Two wakes about a task of that size, with a maximal report and notes between them."""
    device.add_task()
    fill(device, items, notes // 2, CHINESE * 20)
    ident = device.add_agent()
    first = ScriptedModel(
        say(
            "",
            heard("update_report", tldr=CHINESE, achieved=[CHINESE * 215] * 40),
            heard("record_observations", observations=[CHINESE * 220] * 20),
        ),
        say(),
    )
    device.wake(ident, first)
    assert "are left out: call read_entries" in opening(first.asked[0])
    with device.journal.transaction(device.now(), HIGH) as tx:
        tx.put("fact", "entry", {"taskId": "t1", "kind": "note", "author": "user", "text": "The key is at Mrs Ott's"})
    fill(device, items // 2, notes // 2, CHINESE * 20, since=items + notes)
    # The notes of the first wake do not all fit, so the model is first asked to condense them.
    second = ScriptedModel(say("Rust."), say("", call("search_task", words="mrs KEY")), say())
    device.wake(ident, second, turn="2")
    assert first.results()[0] == "Report updated."
    told = opening(second.asked[1])
    assert re.search(r"\d+ changes are left out", told)
    [answer] = second.results()
    assert json.loads(answer)["found"] == 1
    assert "The key is at Mrs Ott's" in answer
    assert device.state(ident).consecutive_failure_count == 0


def test_rev_d2_a_large_task_in_chinese_wakes_its_agent(laptop: Device) -> None:
    """AGENT-64, AGENT-68: one fact among many notes is found."""
    large(laptop, 200, 200)


@pytest.mark.deep
def test_rev_d2_two_thousand_items_and_ten_thousand_notes(laptop: Device) -> None:
    """AGENT-64, AGENT-68"""
    large(laptop, 2_000, 10_000)


def test_agent71_the_beginning_stays_when_a_note_is_added(laptop: Device) -> None:
    laptop.add_task()
    fill(laptop, 5, 10, "Oil the chain")
    ident = laptop.add_agent()
    first, second = ScriptedModel(say()), ScriptedModel(say())
    laptop.wake(ident, first)
    laptop.do(lambda tx: tasks.add_note(tx, "new", "t1", "It rains"))
    laptop.wake(ident, second, turn="2")
    assert first.asked[0][0] == second.asked[0][0]
    before, after = opening(first.asked[0]), opening(second.asked[0])
    assert after.startswith(before.partition("\n]\n</log>")[0])


def test_agent67_the_persons_newest_entry_is_told_behind_many_of_others(laptop: Device) -> None:
    laptop.add_task()
    laptop.do(lambda tx: tasks.add_note(tx, "mine", "t1", "Call me before you order"))
    with laptop.journal.transaction(laptop.now(), HIGH) as tx:
        for number in range(60):
            tasks.add_note(tx, f"a{number}", "t1", "z" * 1_900, author="agent")
    told = context.read(laptop.journal, laptop.agents, laptop.add_agent(), laptop.now())
    assert told.task["logEntries"][0]["id"] == "mine"
    assert told.left_out["log"] == 61 - len(told.task["logEntries"]) > 0


def test_agent70_the_budget_follows_what_the_server_counts(laptop: Device) -> None:
    laptop.add_task()
    fill(laptop, 5, 100, "Oil the chain " * 60)
    ident = laptop.add_agent()
    laptop.wake(ident, ScriptedModel(say(usage=TokenUsage(60_000, 1))))
    assert laptop.state(ident).slots[context.RATES] == {"scripted": 10}
    told = context.read(laptop.journal, laptop.agents, ident, laptop.now())
    assert told.budget.message < Budget().message // 2


# -- looking up


def looked_up(device: Device, *calls: tuple[str, str]) -> list[dict[str, Any]]:
    model = ScriptedModel(say("", *calls), say())
    device.wake(device.add_agent(), model, turn=str(device.now()))
    return [json.loads(result) for result in model.results()]


def test_agent68_entries_are_read_by_id_by_place_and_to_their_end(laptop: Device) -> None:
    laptop.add_task()
    fill(laptop, 0, 30, "Oil")
    laptop.do(lambda tx: tasks.add_note(tx, "long", "t1", "x" * 9_000 + "END"))
    by_id, before, end = looked_up(
        laptop,
        call("read_entries", ids=["t1-e3"]),
        call("read_entries", before="t1-e10"),
        call("read_entries", ids=["long"], offset=8_990),
    )
    assert [each["text"] for each in by_id["entries"]] == ["3 Oil"]
    assert [each["id"] for each in before["entries"]] == [f"t1-e{number}" for number in range(10)]
    assert before["olderLeftOut"] == 0
    assert end["entries"][0]["text"] == "x" * 10 + "END"


def test_agent68_items_are_listed_page_by_page_and_no_other_task_is_seen(laptop: Device) -> None:
    laptop.add_task()
    laptop.add_task("t2", "Secret")
    fill(laptop, 45, 0, "Oil")
    fill(laptop, 3, 3, "Secret", "t2")
    pages = looked_up(laptop, *(call("search_task", type="item", skip=skip) for skip in (0, 20, 40)))
    assert [each["found"] for each in pages] == [45] * 3
    assert len({item["id"] for each in pages for item in each["results"]}) == 45
    [nothing] = looked_up(laptop, call("search_task", words="secret"))
    assert nothing["found"] == 0


def test_agent69_a_wake_reads_so_much(laptop: Device) -> None:
    """AGENT-69"""
    laptop.add_task()
    fill(laptop, 0, 200, CHINESE * 100)
    model = ScriptedModel(say("", *[call("read_entries")] * 20), say())
    laptop.wake(laptop.add_agent(), model)
    answers = model.results()
    assert answers[-1].startswith("Rejected: this wake has read as much as it may")
    assert sum(len(answer.encode()) for answer in answers if answer.startswith("{")) <= Budget().lookups
