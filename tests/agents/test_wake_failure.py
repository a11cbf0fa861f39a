"""A wake that fails, is killed, is begun twice, or may not begin."""

import subprocess
import sys
from collections.abc import Sequence

import pytest
from tests.agents.wakes import QUEUED, current_report, proposed, run_of, sets, thread_of, user_text
from tests.support.device import Device
from tests.support.scripted_model import Killed, ScriptedModel, call, say

from lottisync.agents import lifecycle, run_log, thread
from lottisync.agents.model import (
    Message,
    ModelError,
    TokenUsage,
    Turn,
)
from lottisync.entities.entity import HIGH
from lottisync.journal import tasks
from lottisync.problem import Problem

# -- failure


def failing(error: ModelError) -> ScriptedModel:
    return ScriptedModel(say("Let me see.", call("update_task_estimate", minutes=90)), error)


def test_a_model_that_fails_leaves_a_failed_run_and_no_proposal(laptop: Device, laura: str) -> None:
    """AGENT-21, AGENT-303, S3-90"""
    error = ModelError("model-rate-limited", "the model wants a pause; try again in a minute")
    with pytest.raises(Problem) as raised:
        laptop.wake(laura, failing(error))
    assert (raised.value.code, raised.value.message) == ("model-rate-limited", error.message)
    run = run_of(laptop, laura)
    assert (run.status, run.error_message) == ("failed", error.message)
    assert run.completed_at is not None
    state = laptop.state(laura)
    assert (state.consecutive_failure_count, state.last_wake_at, state.revision) == (1, None, 1)
    assert [*sets(laptop), *laptop.in_agents("agentReport")] == []
    last = thread_of(laptop, laura)[-1]
    assert (last.kind, last.metadata["errorMessage"]) == ("system", error.message)
    assert state.recent_head_message_id == last.id


def test_failures_count_up_and_a_success_counts_from_nothing_again(laptop: Device, laura: str) -> None:
    """AGENT-21, AGENT-49, S3-90"""
    for turn in ("1", "2"):
        with pytest.raises(Problem):
            laptop.wake(laura, ScriptedModel(ModelError("model-unreachable", "no connection")), turn=turn)
    assert laptop.state(laura).consecutive_failure_count == 2
    model = ScriptedModel(say())
    laptop.wake(laura, model, turn="3")
    assert "first wake" in user_text(model.asked[0])  # the failed ones gave it nothing
    assert laptop.state(laura).consecutive_failure_count == 0


def test_a_failed_run_that_is_started_again_does_not_ask_for_what_it_has(laptop: Device, laura: str) -> None:
    """AGENT-22"""
    with pytest.raises(Problem):
        laptop.wake(laura, failing(ModelError("model-timed-out", "no answer in 60 seconds")))
    model = ScriptedModel(say("Done."))
    result = laptop.wake(laura, model)
    assert [type(message).__name__ for message in model.asked[0]] == [
        "SystemMessage",
        "UserMessage",
        "AssistantMessage",
        "ToolMessage",
    ]
    assert result.turns == 2
    assert proposed(laptop) == [("update_task_estimate", {"minutes": 90})]
    assert run_of(laptop, laura).error_message is None


# -- being killed, and the same cause twice


def test_the_same_run_key_twice_is_one_wake(laptop: Device, laura: str) -> None:
    """AGENT-4, S3-40"""
    first = laptop.wake(laura, ScriptedModel(say("", call("update_task_estimate", minutes=90)), say()))
    with laptop.agents.reading() as reader:
        before = reader.digest()
    again = laptop.wake(laura, ScriptedModel())
    assert again.repeated
    assert (again.change_set_ids, again.report_id, again.usage) == (
        first.change_set_ids,
        first.report_id,
        first.usage,
    )
    with laptop.agents.reading() as reader:
        assert reader.digest() == before


EVERYTHING = say(
    "",
    call("update_task_estimate", minutes=90),
    call("set_task_language", languageCode="en"),
    call("record_observations", observations=["A"]),
    call("update_report", tldr="So far."),
)


@pytest.mark.parametrize("answered", [[], [EVERYTHING]], ids=["before any turn", "after a turn"])
def test_a_killed_wake_goes_on_without_doing_anything_twice(laptop: Device, laura: str, answered: list[Turn]) -> None:
    """AGENT-22, S3-40, S3-92"""
    with pytest.raises(Killed):
        laptop.wake(laura, ScriptedModel(*answered, Killed()))
    assert run_of(laptop, laura).status == "started"
    assert sets(laptop) == []
    with laptop.agents.reading() as reader:
        trigger = run_log.interrupted(reader, laura)
    assert trigger == laptop.trigger(laura)
    rest = [say("Done.")] if answered else [EVERYTHING, say("Done.")]
    result = laptop.wake(laura, ScriptedModel(*rest), trigger=trigger)
    assert (result.turns, result.observation_count, result.usage) == (2, 1, TokenUsage(200, 20))
    assert proposed(laptop) == [("update_task_estimate", {"minutes": 90})]
    assert current_report(laptop, laura).content["tldr"] == "So far."
    with laptop.agents.reading() as reader:
        assert [note.text for note in thread.observations(reader, laura)] == ["A"]
        assert run_log.interrupted(reader, laura) is None


def test_a_wake_that_was_killed_between_a_call_and_its_answer_answers_it(laptop: Device, laura: str) -> None:
    """AGENT-15, AGENT-22: the turn is on record, the answer to its second call is not."""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.execute(
            """create trigger kill before insert on agent_entities when new.subtype = 'toolResult'
               and new.serialized like '%"metadata/call":1%' begin select raise(abort, 'killed'); end"""
        )
    calls = [call("update_task_estimate", minutes=90), call("set_task_language", languageCode="en")]
    with pytest.raises(Exception, match="killed"):
        laptop.wake(laura, ScriptedModel(say("", *calls)))
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.execute("drop trigger kill")
    model = ScriptedModel(say())
    laptop.wake(laura, model)
    assert model.results() == [QUEUED, 'Skipped: language is already "en".']
    assert laptop.task().task.language_code == "en"
    assert proposed(laptop) == [("update_task_estimate", {"minutes": 90})]


def test_a_wake_that_was_killed_begins_again_if_the_task_has_changed_since(laptop: Device, laura: str) -> None:
    """AGENT-22, AGENT-50: its context is out of date."""
    with pytest.raises(Killed):
        laptop.wake(laura, ScriptedModel(say("", call("update_task_estimate", minutes=90)), Killed()))
    old_thread = run_of(laptop, laura).thread_id
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"due": "2025-12-24"}))
    model = ScriptedModel(say("", call("update_task_estimate", minutes=30)), say())
    result = laptop.wake(laura, model)
    assert len(model.asked[0]) == 2
    assert "2025-12-24" in user_text(model.asked[0])
    assert result.thread_id != old_thread
    assert proposed(laptop) == [("update_task_estimate", {"minutes": 30})]
    assert run_of(laptop, laura).thread_id == result.thread_id


def test_a_killed_run_that_is_not_continued_is_closed_by_the_next(laptop: Device, laura: str) -> None:
    """AGENT-8, AGENT-45, S3-41"""
    with pytest.raises(Killed):
        laptop.wake(laura, ScriptedModel(Killed()))
    laptop.wake(laura, ScriptedModel(say()), turn="2")
    with laptop.agents.reading() as reader:
        assert [run.status for run in run_log.runs(reader, laura)] == ["completed", "failed"]


def test_an_agent_is_awake_once_at_a_time(laptop: Device, laura: str) -> None:
    """AGENT-8, S3-84"""

    def wake_again(messages: Sequence[Message]) -> Turn:
        with pytest.raises(Problem) as raised, run_log.single_flight(laptop.agents, laura, "Laura"):
            pass
        assert raised.value.code == "awake"
        with run_log.single_flight(laptop.agents, "another", "Otto"):
            pass
        return say("Bye.")

    laptop.wake(laura, ScriptedModel(wake_again))
    laptop.wake(laura, ScriptedModel(say()), turn="2")


HOLDER = """
import sys
from pathlib import Path
from lottisync.agents import run_log
from lottisync.daemon.stores import AGENT_STORE
from lottisync.store.store import Store

store = Store.open(Path(sys.argv[1]), AGENT_STORE, lambda: None)
with run_log.single_flight(store, sys.argv[2], "Laura"):
    print("awake", flush=True)
    sys.stdin.read()
"""


def test_an_agent_is_awake_in_one_process_and_a_killed_one_lets_go(laptop: Device, laura: str) -> None:
    """AGENT-8, S3-92"""
    command = [sys.executable, "-c", HOLDER, str(laptop.agents.file), laura]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "awake\n"
        with pytest.raises(Problem, match="is awake already on this device"):
            laptop.wake(laura, ScriptedModel())
        with laptop.agents.reading() as reader:
            assert run_log.runs(reader, laura) == []
        holder.kill()
    assert not laptop.wake(laura, ScriptedModel(say())).repeated


# -- who may not wake


def refused(device: Device, agent_id: str) -> Problem:
    """The problem that a wake is refused with; nothing is asked, nothing is written but the log."""
    digests = []
    for _ in range(2):
        with device.agents.reading() as reader:
            digests.append(reader.digest())
        if len(digests) == 1:
            with pytest.raises(Problem) as raised:
                device.wake(agent_id, ScriptedModel(), turn="refused")
    assert digests[0] == digests[1]
    run = run_of(device, agent_id)
    assert (run.status, run.error_message) == ("skipped", raised.value.message)
    return raised.value


def test_a_paused_agent_does_not_wake_and_a_resumed_one_does(laptop: Device, laura: str) -> None:
    """AGENT-5, AGENT-6, AGENT-43, AGENT-300, CLI-430"""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        lifecycle.pause(tx, laura)
    problem = refused(laptop, laura)
    assert (problem.hint, problem.arguments["which"]) == ("resume-agent", "t1")
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        lifecycle.resume(tx, laura)
    assert not laptop.wake(laura, ScriptedModel(say()), turn="refused").repeated


def test_a_destroyed_agent_does_not_wake(laptop: Device, laura: str) -> None:
    """AGENT-6, S3-72"""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        lifecycle.destroy(tx, laura)
    assert "destroyed" in refused(laptop, laura).message


def test_an_agent_wakes_at_home_only(laptop: Device, laura: str) -> None:
    """AGENT-6"""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        lifecycle.move(tx, laura, "device-9")
    problem = refused(laptop, laura)
    assert problem.code == "not-at-home"
    assert "device-9" in problem.message
    assert (problem.hint, problem.arguments["which"]) == ("move-agent", "t1")


def test_an_agent_whose_task_is_deleted_sleeps_and_goes_on_when_it_is_back(laptop: Device, laura: str) -> None:
    """AGENT-6, S3-88"""
    laptop.wake(laura, ScriptedModel(say()))
    laptop.do(lambda tx: tx.delete("t1"))
    assert refused(laptop, laura).code == "task-gone"
    assert laptop.agent(laura).lifecycle == "active"
    laptop.do(lambda tx: tx.undelete("t1"))
    laptop.wake(laura, ScriptedModel(say()), turn="3")


def test_an_agent_stays_out_of_categories_that_it_was_not_given(laptop: Device, laura: str) -> None:
    """AGENT-7"""
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"categoryId": "diary"}))
    problem = refused(laptop, laura)
    assert problem.code == "not-allowed"
    assert (problem.hint, problem.arguments["task_id"]) == ("allow-agent", "t1")
    laptop.add_agent()
    laptop.wake(laura, ScriptedModel(say()), turn="2")


def test_an_agent_that_is_destroyed_while_it_is_awake_writes_nothing_more(laptop: Device, laura: str) -> None:
    """AGENT-6, AGENT-44"""

    def destroyed_meanwhile(messages: Sequence[Message]) -> Turn:
        with laptop.agents.transaction(laptop.now(), HIGH) as tx:
            lifecycle.destroy(tx, laura)
        return say("Bye.")

    proposal = say("", call("update_task_estimate", minutes=90))
    with pytest.raises(Problem, match="was destroyed while it was awake"):
        laptop.wake(laura, ScriptedModel(proposal, destroyed_meanwhile))
    assert [*sets(laptop), *laptop.in_agents("agentReport")] == []
    assert run_of(laptop, laura).status == "skipped"


def test_an_unknown_agent_cannot_be_woken(laptop: Device, laura: str) -> None:
    with pytest.raises(Problem, match="there is no agent nobody"):
        laptop.wake("nobody", ScriptedModel())
