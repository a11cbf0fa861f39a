"""No wake fails because its task is large. What is left out is counted, and can be found."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.support.device import Device
from tests.support.examples import examples
from tests.support.rounds import send
from tests.support.scripted_model import ScriptedModel, call, say

from lottisync.agents import budget, chat_completions, context, prompt, report, responses, thread
from lottisync.agents.budget import Budget, beginning, size
from lottisync.agents.model import (
    AssistantMessage,
    Message,
    ModelError,
    SystemMessage,
    TokenUsage,
    ToolCall,
    ToolMessage,
    Turn,
    UserMessage,
)
from lottisync.agents.seen import MAX_LISTED
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
def test_agent65_what_is_chosen_fits(parts: list[str], room: int) -> None:
    indexes = budget.chosen(parts, room, range(len(parts)))
    assert len(budget.text([parts[index] for index in indexes]).encode()) <= room + 4
    assert sum(budget.size(each) for each in parts[budget.newest(parts, room) :]) <= room


@given(st.lists(texts, max_size=40), st.lists(texts, max_size=40))
@examples(60)
def test_agent65_a_maximal_report_fits(achieved: list[str], learnings: list[str]) -> None:
    report = {"tldr": CHINESE * 200, "achieved": achieved, "learnings": learnings, "estimate": None}
    assert budget.size(budget.squeezed(report, Budget().share("report"))) <= Budget().share("report")


@given(st.lists(st.integers(1, 300), min_size=1, max_size=60), st.integers(1_500, 5_000))
@examples(60)
def test_agent71_a_beginning_moves_at_most_once_in_a_quarter_of_the_room(sizes: list[int], room: int) -> None:
    """AGENT-71"""
    parts, firsts = ["x" * size for size in sizes], []
    added = 0
    for count in range(1, 5):
        firsts.append(budget.newest(parts, room))
        parts = [*parts, "y" * (room // 20)]
        added += count
    assert firsts == sorted(firsts)
    assert len(set(firsts)) <= 2


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_agent70_a_rate_stays_within_reason(asked: int, counted: int) -> None:
    """AGENT-70"""
    rate = budget.corrected(asked, counted)
    assert budget.LEAST_RATE <= rate <= budget.MAX_RATE
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
    """AGENT-13, AGENT-65, AGENT-66, AGENT-67, AGENT-308"""
    task_id = desk.add_task(desk.new_id(desk.now()))
    fill(desk, items, notes, text, task_id)
    ident = desk.add_agent(task_id)
    with desk.agents.transaction(desk.now(), HIGH) as tx:
        tx.put(ident, "agent", {"config/contextTokens": tokens})
    made = context.read(desk.journal, desk.agents, ident, desk.now())
    shown = [item for each in made.task["checklists"] for item in each["items"]]
    assert len(shown) + made.left_out["items"] == items
    assert len(made.task["logEntries"]) + made.left_out["log"] == notes
    if notes:
        assert made.task["logEntries"][-1]["id"] == f"{task_id}-e{notes - 1}"
    if items:
        newest_tick = (items - 1) // 3 * 3
        assert f"{task_id}-i{newest_tick}" in [item["id"] for item in shown]
    assert len(prompt.first_wake(made).encode()) <= Budget(tokens).message + 2_000


def tool_call(name: str, **arguments: Any) -> tuple[str, str]:
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
            tool_call("update_report", tldr=CHINESE, achieved=[CHINESE * 215] * 40),
            tool_call("record_observations", observations=[CHINESE * 220] * 20),
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
    text = opening(second.asked[1])
    assert re.search(r"\d+ changes are left out", text)
    [answer] = second.results()
    assert json.loads(answer)["found"] == 1
    assert "The key is at Mrs Ott's" in answer
    assert device.state(ident).consecutive_failure_count == 0


@pytest.mark.parametrize("sign", ["自", "e\u0301", "👩\u200d🌾", "a"])
@pytest.mark.parametrize("room", [0, 100, 717, 718, 719, 4_400])
def test_agent_572_a_long_summary_is_shown_as_far_as_it_fits(sign: str, room: int) -> None:
    """AGENT-572: of a sign that is written with several characters, all or none."""
    shown = beginning(sign * 6_000, room)
    kept = shown.partition("…")[0]
    assert kept == sign * (len(kept) // len(sign))
    assert shown.endswith(f"… ({(6_000 * len(sign)) - len(kept)} more characters)")
    assert size(shown) <= room or kept == sign
    more = f"{kept}{sign}… ({6_000 * len(sign) - len(kept) - len(sign)} more characters)"
    assert size(more) > room
    assert beginning(sign, 4_400) == sign


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


def test_agent67_the_persons_newest_entry_is_in_the_context_behind_many_of_others(laptop: Device) -> None:
    laptop.add_task()
    laptop.do(lambda tx: tasks.add_note(tx, "mine", "t1", "Call me before you order"))
    with laptop.journal.transaction(laptop.now(), HIGH) as tx:
        for number in range(60):
            tasks.add_note(tx, f"a{number}", "t1", "z" * 1_900, author="agent")
    made = context.read(laptop.journal, laptop.agents, laptop.add_agent(), laptop.now())
    assert made.task["logEntries"][0]["id"] == "mine"
    assert made.left_out["log"] == 61 - len(made.task["logEntries"]) > 0


def test_agent70_the_budget_follows_what_the_server_counts(laptop: Device) -> None:
    laptop.add_task()
    fill(laptop, 5, 100, "Oil the chain " * 60)
    ident = laptop.add_agent()
    laptop.wake(ident, ScriptedModel(say(usage=TokenUsage(60_000, 1))))
    assert laptop.state(ident).slots[context.RATES] == {"scripted": 10}
    made = context.read(laptop.journal, laptop.agents, ident, laptop.now())
    assert made.budget.message < Budget().message // 2


@pytest.mark.parametrize("odd", [[[]], {"a": 1}, 7, None], ids=repr)
def test_agent_1060_a_model_that_is_not_text_ends_no_wake(laptop: Device, odd: Any) -> None:
    """AGENT-70, REL-D12: `agent wake` ended in a TypeError. The rate is kept, and is read by the next wake."""
    laptop.add_task()
    ident = laptop.add_agent()
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.put(ident, "agent", {"config/model": odd})
    for turn in ("1", "2"):
        assert laptop.wake(ident, ScriptedModel(say(usage=TokenUsage(60_000, 1))), turn=turn).turns == 1
    made = context.read(laptop.journal, laptop.agents, ident, laptop.now())
    assert made.budget.message < Budget().message // 2


# -- what the model itself said

LONG = st.sampled_from(["", "Done.", CHINESE * 8_000, "<" * 80_000, '"\\' * 40_000, "\0" * 5_000])


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    said: list[Message] = []
    for turn in range(draw(st.integers(0, 6))):
        calls = tuple(
            ToolCall(f"{turn}-{index}", "update_report", draw(LONG))
            for index in range(draw(st.sampled_from([0, 1, 3, 32])))
        )
        said.append(AssistantMessage(draw(LONG), calls))
        said += [ToolMessage(one.id, draw(LONG)) for one in calls]
    return said


@given(turns(), st.integers(4_000, 150_000))
@examples(20, deadline=None)
def test_agent492_any_sequence_of_turns_fits(said: list[Message], room: int) -> None:
    """AGENT-492, AGENT-493, AGENT-494: in both dialects."""
    sent = thread.fitting(said, room)
    assert len(msgspec.json.encode(sent)) <= room
    own = {one.id: one.arguments for each in said if isinstance(each, AssistantMessage) for one in each.tool_calls}
    called = [one for each in sent if isinstance(each, AssistantMessage) for one in each.tool_calls]
    assert [one.id for one in called] == [each.tool_call_id for each in sent if isinstance(each, ToolMessage)]
    assert all(one.arguments == own[one.id] or json.loads(one.arguments)["note"] for one in called)
    for dialect in (chat_completions, responses):
        body = dialect.request("m", sent, [])
        assert len(msgspec.json.encode(body)) <= room + 200
    if sum(len(msgspec.json.encode(each)) + 4_000 for each in said) <= room:
        assert sent == said


def test_agent492_a_report_of_maximal_size_fits_a_small_window(laptop: Device) -> None:
    """AGENT-492: the report is kept whole, and the next turn is asked with its beginning."""
    laptop.add_task()
    ident = laptop.add_agent()
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.put(ident, "agent", {"config/contextTokens": budget.LEAST_TOKENS})
    long = tool_call("update_report", tldr=CHINESE, achieved=[CHINESE * 90] * 40)
    window = budget.LEAST_TOKENS * budget.USUAL_RATE // 10
    sizes: list[int] = []

    def end(messages: Sequence[Message]) -> Turn | ModelError:
        sizes.append(len(model.request(messages, model.offered).body))
        return ModelError("model-rejected", "too long") if sizes[-1] > window else say()

    model = ScriptedModel(say("", long), end)
    assert laptop.wake(ident, model).turns == 2
    [said] = [each for each in model.asked[1] if isinstance(each, AssistantMessage)]
    assert "arrived whole" in json.loads(said.tool_calls[0].arguments)["note"]
    assert model.results() == ["Report updated."]
    with laptop.agents.reading() as reader:
        found = report.latest_report(reader, ident)
    assert found is not None
    assert CHINESE * 90 in found.content["achieved"]


# -- looking up


def looked_up(device: Device, *calls: tuple[str, str]) -> list[dict[str, Any]]:
    model = ScriptedModel(say("", *calls), say())
    device.wake(device.add_agent(), model, turn=str(device.now()))
    return [json.loads(result) for result in model.results()]


def test_agent68_entries_are_read_by_id_by_place_and_to_their_end(laptop: Device) -> None:
    """AGENT-68, AGENT-309"""
    laptop.add_task()
    fill(laptop, 0, 30, "Oil")
    laptop.do(lambda tx: tasks.add_note(tx, "long", "t1", "x" * 9_000 + "END"))
    with laptop.journal.reading() as reader:
        before_the_wake = reader.digest()
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
    with laptop.journal.reading() as reader:
        assert reader.digest() == before_the_wake


def test_agent68_items_are_listed_page_by_page_and_no_other_task_is_seen(laptop: Device) -> None:
    """AGENT-68, AGENT-310"""
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


def test_context_tokens_change_how_much_the_context_holds(laptop: Device) -> None:
    """AGENT-65: with more tokens the context holds more, up to what one record holds; with fewer, less."""
    laptop.add_task()
    fill(laptop, 100, 200, CHINESE * 20)
    ident = laptop.add_agent()
    by_tokens: dict[int, tuple[int, int]] = {}
    for tokens in (20_000, 40_000, 60_000, 1_000_000):
        with laptop.agents.transaction(laptop.now(), HIGH) as tx:
            tx.put(ident, "agent", {"config/contextTokens": tokens})
        found = context.read(laptop.journal, laptop.agents, ident, laptop.now())
        by_tokens[tokens] = len(found.task["logEntries"]), len(prompt.first_wake(found).encode())
    entries, sizes = zip(*by_tokens.values(), strict=True)
    assert list(entries) == sorted(entries)
    assert entries[0] * 2 < entries[2], "three times the tokens"
    assert list(sizes) == sorted(sizes)
    assert sizes[-1] <= budget.MAX_OPENING


@pytest.mark.parametrize("writes", [MAX_LISTED + 100, pytest.param(5_000, marks=pytest.mark.deep)])
def test_agent89_a_wake_after_a_round_that_was_cut_off_fits(laptop: Device, phone: Device, writes: int) -> None:
    """AGENT-64, AGENT-89: that many writes of the task are beyond the knowledge. The next context has what this one
    does not list."""
    laptop.add_task()
    ident = laptop.add_agent()
    laptop.wake(ident, ScriptedModel(say("Here.")))
    phone.pull(laptop)
    fill(phone, 0, writes, CHINESE)
    laptop.time = max(laptop.time, phone.time)
    arrived = send(phone.journal, laptop.journal, now=laptop.now(), batches=writes)
    assert len(arrived) > writes
    model = ScriptedModel(say("Much.", call("search_task", words=str(writes - 1))), say())
    assert laptop.wake(ident, model, turn="2").turns == 2
    assert "changes are left out" in opening(model.asked[0])
    listed = laptop.state(ident).slots[context.BEYOND]
    assert len(listed) == MAX_LISTED
    again = context.read(laptop.journal, laptop.agents, ident, laptop.now())
    assert len(again.delta) + again.left_out["delta"] == len(arrived) - MAX_LISTED
    assert laptop.state(ident).consecutive_failure_count == 0


SCRIPTS = st.sampled_from(["Oil the chain ", CHINESE, "Łańcuch ", "цепь ", "🚲🔧", "<&>", '"\\'])


@given(st.integers(0, 80), st.integers(1, 80), SCRIPTS, st.integers(1, 60))
@examples(6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_agent64_agent71_any_task_wakes_its_agent_and_the_message_begins_as_before(
    desk: Device, items: int, notes: int, script: str, times: int
) -> None:
    """AGENT-64, AGENT-66, AGENT-71: tasks of every size and script. One more entry changes nothing before it, unless
    room had to be cleared."""
    task_id = desk.add_task(desk.new_id(desk.now()))
    fill(desk, items, notes, script * times, task_id)
    ident = desk.add_agent(task_id)
    desk.wake(ident, ScriptedModel(say("", call("record_observations", observations=[script * 20])), say()))
    before = context.read(desk.journal, desk.agents, ident, desk.now())
    fill(desk, 0, 1, "One more", task_id, since=notes)
    after = context.read(desk.journal, desk.agents, ident, desk.now())
    assert len(after.task["logEntries"]) + after.left_out["log"] == notes + 1
    first, second = prompt.later_wake(before), prompt.later_wake(after)
    if before.left_out["log"] == after.left_out["log"]:
        end = first.index("\n]\n</log>")
        assert second.startswith(first[:end])
    model = ScriptedModel(say())
    desk.wake(ident, model, turn="2")
    assert len(opening(model.asked[0]).encode()) <= budget.MAX_OPENING
    assert desk.state(ident).consecutive_failure_count == 0
