"""What a prompt holds beside the task: the day, the rules of its tools, how it is to write; and when it sleeps."""

from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.counted import NOON
from tests.support.device import Device
from tests.support.scripted_model import ScriptedModel, say

from lottisync.agents import context, lifecycle, prompt
from lottisync.agents.orchestrator import Orchestrator
from lottisync.agents.toolbox import TOOLBOX
from lottisync.journal import tasks
from lottisync.problem import Problem
from lottisync.store.instant import LAST

PARIS = timezone(timedelta(hours=1), "CET")
DAY = 86_400_000


def opening(device: Device, agent_id: str, turn: str = "1") -> str:
    """The user message of a wake."""
    model = ScriptedModel(say("Nothing to do."))
    device.wake(agent_id, model, turn=turn)
    return model.asked[0][1].text


@pytest.fixture
def laura(laptop: Device) -> str:
    laptop.add_task()
    return laptop.add_agent()


def test_rev_d7_every_prompt_has_the_day(laptop: Device, laura: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """AGENT-60"""
    assert "Now it is Monday, 2025-12-01, 1" in opening(laptop, laura)
    laptop.time = NOON + 4 * DAY
    assert "Now it is Friday, 2025-12-05, 1" in opening(laptop, laura, "2")


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        (UTC, "Monday, 2025-12-01, 23:30 (UTC, UTC+00:00)"),
        (PARIS, "Tuesday, 2025-12-02, 00:30 (CET, UTC+01:00)"),
        (timezone(-timedelta(hours=9, minutes=30), "X"), "Monday, 2025-12-01, 14:00 (X, UTC-09:30)"),
    ],
)
def test_rev_d7_the_day_is_that_of_the_zone(zone: timezone, said: str) -> None:
    """AGENT-60"""
    assert context.moment(NOON + 11 * 3_600_000 + 30 * 60_000, zone) == said


@given(now=st.integers(min_value=0, max_value=LAST - 9 * DAY), minutes=st.integers(min_value=-720, max_value=840))
def test_rev_d7_a_week_later_is_the_same_day_of_the_week(now: int, minutes: int) -> None:
    """AGENT-60"""
    zone = timezone(timedelta(minutes=minutes))
    [first, second] = (context.moment(at, zone).partition(",")[0] for at in (now, now + 7 * DAY))
    assert first == second


def test_agent60_the_language_of_the_task(laptop: Device, laura: str) -> None:
    """AGENT-60"""
    assert "The task has no language" in opening(laptop, laura)
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"languageCode": "ro"}))
    assert "The task's language is ro." in opening(laptop, laura, "2")


def test_agent61_each_offered_tool_says_when_it_is_to_be_called() -> None:
    """AGENT-61"""
    said = prompt.system("Laura", 5)
    for tool in TOOLBOX.tools.values():
        if tool.offered:
            assert tool.when, tool.tool
            assert f"- `{tool.tool}`: {tool.when}" in said


def rule_of(tool: str) -> str:
    """What the system prompt says of a tool: when it is to be called."""
    [line] = [line for line in prompt.system("Laura", 5).splitlines() if line.startswith(f"- `{tool}`: ")]
    return line


@pytest.mark.parametrize(
    ("tool", "rule"),
    [
        ("set_task_title", "Only if the task has no title, or the user asked for another one"),
        ("update_task_estimate", "Only if the task has no estimate, or the user named or asked for another one"),
        ("set_task_language", "Only if the task has no language yet"),
    ],
)
def test_agent610_what_is_there_is_left_unless_the_user_asks(tool: str, rule: str) -> None:
    """AGENT-610"""
    assert rule in rule_of(tool)


def test_agent611_a_status_is_proposed_on_evidence() -> None:
    """AGENT-611"""
    assert "Only on evidence" in rule_of("set_task_status")


def test_agent612_one_call_of_a_tool() -> None:
    """AGENT-612"""
    assert "Make one call of a tool in a wake, at most" in prompt.system("Laura", 5)


def test_agent613_another_decision_is_not_a_reason_to_retract() -> None:
    """AGENT-613"""
    assert "not a reason to take back the others" in rule_of("retract_suggestions")


def test_agent614_no_report_if_nothing_changed() -> None:
    """AGENT-614"""
    assert "Not at all if nothing changed" in rule_of("update_report")


def test_agent62_a_personality_is_the_persons(laptop: Device, laura: str) -> None:
    """AGENT-62, AGENT-302, S3-67: braces in it are text, it is cut, and every rule is still there."""
    plain = prompt.system("Laura", 5)
    words = "Dry, short, {name}. " + "x" * 2_000
    with laptop.agents.transaction(laptop.now(), 1) as tx:
        tx.put(laura, "agent", {"config/personality": words})
    model = ScriptedModel(say())
    laptop.wake(laura, model)
    said = model.asked[0][0].text
    assert "# Your personality" in said
    assert words[:1_000] in said
    assert words[:1_001] not in said
    assert all(line in said for line in plain.splitlines())
    assert "# Your personality" not in plain


@pytest.mark.parametrize("words", [None, 7, ["a"], {}])
def test_agent62_what_is_not_text_is_not_a_personality(words: object, laptop: Device, laura: str) -> None:
    """AGENT-62"""
    with laptop.agents.transaction(laptop.now(), 1) as tx:
        tx.put(laura, "agent", {"config/personality": words})
    assert lifecycle.personality(laptop.agent(laura)) == ""


@pytest.mark.parametrize("status", ["DONE", "REJECTED"])
def test_agent59_the_agent_of_a_closed_task_sleeps_and_wakes_when_it_is_opened(
    laptop: Device, laura: str, status: str
) -> None:
    """AGENT-59, AGENT-272, S3-88: and the wake reads what was written meanwhile."""
    opening(laptop, laura)
    orchestrator = Orchestrator(laptop.journal, laptop.agents, laptop.id)
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"status": status}))
    laptop.do(lambda tx: tasks.add_note(tx, "e1", "t1", "the chain is new"))
    laptop.pass_minutes(10)
    orchestrator.hear(laptop.now())
    assert orchestrator.look(laptop.now(), ()).start == []
    with pytest.raises(
        Problem, match=f"its task is {status.lower()}. It goes on when the task is open again"
    ) as caught:
        opening(laptop, laura, "2")
    assert caught.value.code == "task-closed"
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"status": "OPEN"}))
    laptop.pass_minutes(10)
    orchestrator.hear(laptop.now())
    [start] = orchestrator.look(laptop.now(), ()).start
    assert start.agent_id == laura
    model = ScriptedModel(say())
    laptop.wake(laura, model, trigger=start.trigger)
    assert "the chain is new" in model.asked[0][1].text
