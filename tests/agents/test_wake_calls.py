"""What a model may send in a wake, and the one tool that is carried out at once."""

import json
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.agents.wakes import current_report, proposed, run_of, thread_of
from tests.support.device import Device
from tests.support.examples import examples
from tests.support.scripted_model import ScriptedModel, call, say

from lottisync.agents import report
from lottisync.agents.model import (
    AssistantMessage,
    Message,
    TokenUsage,
    ToolCall,
    ToolMessage,
    Turn,
)
from lottisync.agents.thread import MAX_CALLS, MAX_TEXT
from lottisync.agents.toolbox import TOOLBOX
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal import tasks

# -- what a model may send


@pytest.mark.parametrize(
    ("name", "arguments", "answer"),
    [
        ("confirm_change", "{}", "There is no tool 'confirm_change'"),
        ("update_task_estimate", '{"minutes": 9', "not a JSON object"),
        ("update_task_estimate", "[90]", "not a JSON object"),
        ("update_task_estimate", '{"minutes": 0}', "minutes go from 1 to 1440; got 0"),
        ("update_task_estimate", '{"minutes": 90, "force": true}', "there is no such argument"),
        ("update_checklist_items", '{"items": [{"id": "made-up", "isChecked": true}]}', "not found"),
        ("update_report", "{}", "update_report was not accepted: tldr"),
        ("set_task_language", '{"languageCode": "German"}', "a language is a code"),
        ("set_task_title", '{"title": "' + "x" * MAX_TEXT + '"}', "characters"),
        ("set_task_title", "\x00\ud800", "not a JSON object"),
    ],
)
def test_a_call_that_cannot_be_is_answered_and_does_nothing(
    laptop: Device, laura: str, name: str, arguments: str, answer: str
) -> None:
    """AGENT-19, AGENT-48, S0-11, S3-85, S3-91"""
    before = laptop.task()
    model = ScriptedModel(say("", (name, arguments)), say("I see."))
    result = laptop.wake(laura, model)
    assert answer in model.results()[0]
    assert (result.change_set_ids, laptop.task()) == ([], before)
    assert thread_of(laptop, laura)[3].text.startswith(model.results()[0][:100])


def test_a_flood_of_calls_is_cut_and_said_to_be(laptop: Device, laura: str) -> None:
    """AGENT-19"""
    flood = [call("record_observations", observations=[f"note {n}"]) for n in range(MAX_CALLS + 9)]
    model = ScriptedModel(say("", *flood), say())
    result = laptop.wake(laura, model)
    assert len(model.results()) == MAX_CALLS
    assert "9 more calls of this turn were ignored" in model.results()[-1]
    assert "a wake keeps 20 observations" in model.results()[20]
    assert result.observation_count == 20


def test_a_wake_considers_so_many_changes(laptop: Device, laura: str) -> None:
    """AGENT-37, AGENT-275, S2-26"""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.put(laura, "agent", {"config/setsPerWake": 1})
    batches = [
        call("add_multiple_checklist_items", items=[{"title": f"{batch} {number}"} for number in range(5)])
        for batch in ("One", "Two", "Three")
    ]
    model = ScriptedModel(say("", *batches), say())
    laptop.wake(laura, model)
    assert len(proposed(laptop)) == 10
    assert model.results()[-1].startswith("Rejected: a wake proposes at most 10 changes, and 10 were considered.")


def test_ids_of_calls_that_are_empty_or_used_twice_are_renamed(laptop: Device, laura: str) -> None:
    """AGENT-19: or the server would refuse the next question."""
    twice = [ToolCall(ident, "update_task_priority", '{"priority": "P1"}') for ident in ("x", "x", "")]
    model = ScriptedModel(Turn("", tuple(twice), "tool_calls", None), say())
    laptop.wake(laura, model)
    assistant = model.asked[1][2]
    assert isinstance(assistant, AssistantMessage)
    ids = [made.id for made in assistant.tool_calls]
    assert len(set(ids)) == 3
    assert "" not in ids
    assert [message.tool_call_id for message in model.asked[1] if isinstance(message, ToolMessage)] == ids


def test_a_text_of_any_size_with_any_characters_can_be_kept(laptop: Device, laura: str) -> None:
    """AGENT-19"""
    laptop.wake(laura, ScriptedModel(say("\x01\ud800" * 500_000)))
    assert len(current_report(laptop, laura).content["tldr"]) == report.MAX_WORDS


scraps = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20) | st.just("i1"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "isChecked", "title", "reason"]) | st.text(max_size=5), inner, max_size=4
        )
    ),
    max_leaves=8,
)
arguments = st.dictionaries(
    st.sampled_from(
        ["title", "minutes", "dueDate", "priority", "status", "reason", "languageCode", "items", "tldr", "observations"]
    )
    | st.text(max_size=5),
    scraps,
    max_size=4,
).map(json.dumps)
hostile_calls = st.builds(
    ToolCall,
    st.text(st.characters(), max_size=5),
    st.sampled_from([*TOOLBOX.tools, *TOOLBOX.aliases]) | st.text(st.characters(), max_size=9),
    arguments | st.text(st.characters(), max_size=30),
)
hostile_turns = st.builds(
    Turn,
    st.text(st.characters(), max_size=40),
    st.lists(hostile_calls, max_size=5).map(tuple),
    st.text(st.characters(), max_size=5),
    st.none() | st.builds(TokenUsage, st.integers(), st.integers()),
)


@examples(80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=st.lists(hostile_turns, min_size=5, max_size=5))
def test_whatever_a_model_says_the_wake_goes_well_and_nothing_but_the_language_changes(
    laptop: Device, laura: str, turns: list[Turn]
) -> None:
    """AGENT-9, AGENT-19"""

    def without_language() -> tasks.TaskPage:
        page = laptop.task()
        return page._replace(
            task=msgspec.structs.replace(page.task, language_code=None, language_source="user"),
        )

    before = without_language()
    result = laptop.wake(laura, ScriptedModel(*turns), turn=f"hostile-{laptop.now()}")
    assert 1 <= result.turns <= 5
    assert without_language() == before
    assert run_of(laptop, laura).status == "completed"


def test_the_turns_are_limited(laptop: Device, laura: str) -> None:
    """AGENT-12, S3-59: what was proposed until then is kept."""
    priorities = ["P0", "P1", "P3", "P0", "P1"]
    model = ScriptedModel(*(say("", call("update_task_priority", priority=p)) for p in priorities))
    result = laptop.wake(laura, model)
    assert len(model.asked) == 5
    assert (result.turns, result.turn_limit_reached) == (5, True)
    assert proposed(laptop) == [("update_task_priority", {"priority": "P1"})]
    assert run_of(laptop, laura).status == "completed"


def test_the_limit_is_the_agents_setting(laptop: Device, laura: str) -> None:
    """AGENT-12"""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.put(laura, "agent", {"config/maxTurns": 2})
    model = ScriptedModel(*(say("", call("nonsense")) for _ in range(2)))
    assert laptop.wake(laura, model).turn_limit_reached
    assert "at most 2 turns" in model.asked[0][0].text


# -- the one immediate tool


def test_a_language_is_set_if_none_was_chosen(laptop: Device, laura: str) -> None:
    """AGENT-20, S1-16"""
    model = ScriptedModel(say("", call("set_task_language", languageCode="en", confidence="high")), say())
    laptop.wake(laura, model)
    assert model.results() == ['Language set to "en".']
    task = laptop.journal.read("t1")
    assert task is not None
    assert (task.value("languageCode"), task.value("languageSource")) == ("en", "agent")
    written = task.winner("languageCode")
    assert written is not None
    assert written.stamp.precedence == LOW
    [effect] = [message for message in thread_of(laptop, laura) if message.kind == "toolResult"]
    with laptop.agents.reading() as reader:
        assert [link.value("toId") for link in reader.links_from(effect.id, "tool_effect")] == ["t1"]


@pytest.mark.parametrize("fields", [{"languageCode": "de"}, {"languageCode": "de", "languageSource": "agent"}])
def test_a_language_that_the_user_chose_stays_whatever_a_field_says(
    laptop: Device, laura: str, fields: dict[str, str]
) -> None:
    """AGENT-20, S1-16"""
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", fields))
    model = ScriptedModel(say("", call("set_task_language", languageCode="en")), say())
    laptop.wake(laura, model)
    assert model.results() == ['Skipped: the user chose the language "de".']
    assert laptop.task().task.language_code == "de"


def test_a_language_that_was_chosen_while_the_model_thought_stays(laptop: Device, laura: str) -> None:
    """AGENT-20"""

    def chosen_meanwhile(messages: Sequence[Message]) -> Turn:
        laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"languageCode": "fr"}))
        return say("", call("set_task_language", languageCode="en"))

    laptop.wake(laura, ScriptedModel(chosen_meanwhile, say()))
    assert laptop.task().task.language_code == "fr"


def test_the_agents_own_guess_can_be_corrected_by_it_and_is_not_written_twice(laptop: Device, laura: str) -> None:
    """AGENT-20"""
    codes = ["en", "en", "nl"]
    model = ScriptedModel(say("", *(call("set_task_language", languageCode=code) for code in codes)), say())
    laptop.wake(laura, model)
    assert model.results() == ['Language set to "en".', 'Skipped: language is already "en".', 'Language set to "nl".']


def test_a_choice_on_another_device_beats_the_agents_when_they_meet(laptop: Device, phone: Device, laura: str) -> None:
    """AGENT-20"""
    phone.pull(laptop)
    phone.do(lambda tx: tasks.edit_task(tx, "t1", {"languageCode": "fr"}))
    laptop.pass_minutes(600)
    laptop.wake(laura, ScriptedModel(say("", call("set_task_language", languageCode="en")), say()))
    laptop.pull(phone)
    phone.pull(laptop)
    assert laptop.task().task.language_code == phone.task().task.language_code == "fr"
