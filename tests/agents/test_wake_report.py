"""The report of a wake."""

from collections.abc import Sequence

import pytest
from tests.agents.wakes import current_report, run_of, sets
from tests.support.device import Device
from tests.support.scripted_model import ScriptedModel, call, say

from lottisync.agents import thread
from lottisync.agents.lifecycle import report_head_id
from lottisync.agents.model import (
    Message,
    Turn,
)
from lottisync.entities.entity import HIGH
from lottisync.journal import tasks

# -- the report


def test_facts_in_the_report_are_the_programs(laptop: Device, laura: str) -> None:
    """AGENT-16, S3-42, S3-70, S3-76"""
    laptop.do(
        lambda tx: tasks.edit_task(
            tx, "t1", {"status": "IN PROGRESS", "priority": "P1", "estimate": 240, "due": "2026-02-25"}
        )
    )
    laptop.do(lambda tx: tasks.check_item(tx, "i1", checked=True))
    lies = call(
        "update_report",
        title="Another title",
        tldr="Nearly there.",
        goal="Ride",
        status="done",
        estimate="1h",
        dueDate="2030-01-01",
        achieved=["Chain bought"],
        remaining=["Mount it"],
        learnings=["Chains stretch"],
        checklistProgress={"total": 9, "completed": 9},
        lastUpdated="2030-01-01T00:00:00Z",
    )
    laptop.wake(laura, ScriptedModel(say("", lies), say()))
    said = current_report(laptop, laura)
    assert list(said.content.items()) == [
        ("title", "Repair the bicycle"),
        ("tldr", "Nearly there."),
        ("goal", "Ride"),
        ("status", "in_progress"),
        ("priority", "P1"),
        ("estimate", "4h"),
        ("dueDate", "2026-02-25"),
        ("achieved", ["Chain bought"]),
        ("remaining", ["Mount it"]),
        ("learnings", ["Chains stretch"]),
        ("checklistProgress", {"total": 1, "completed": 1}),
        ("lastUpdated", run_of(laptop, laura).completed_at),
    ]
    assert said.provenance["runKey"] == run_of(laptop, laura).run_key


def test_report_and_head_are_one_transaction_and_the_head_stays_one(laptop: Device, laura: str) -> None:
    """AGENT-17, S3-61"""
    for turn in ("1", "2"):
        laptop.wake(laura, ScriptedModel(say("", call("update_report", tldr=f"Wake {turn}.")), say()), turn=turn)
    [head] = laptop.in_agents("agentReportHead")
    assert head.id == report_head_id(laura, "current")
    assert [r.value("content/tldr") for r in laptop.in_agents("agentReport")] == ["Wake 1.", "Wake 2."]
    assert current_report(laptop, laura).content["tldr"] == "Wake 2."


def test_nothing_of_the_end_is_written_if_the_end_fails(laptop: Device, laura: str) -> None:
    """AGENT-18, S3-61: the report is written before the change sets; neither may be there without the other."""

    def spoil(messages: Sequence[Message]) -> Turn:
        with laptop.agents.transaction(laptop.now(), HIGH) as tx:
            tx.execute(
                """create trigger spoil before insert on agent_entities when new.type = 'changeSet'
                   begin select raise(abort, 'spoilt'); end"""
            )
        return say("Bye.")

    with pytest.raises(Exception, match="spoilt"):
        laptop.wake(laura, ScriptedModel(say("", call("update_task_estimate", minutes=90)), spoil))
    assert [*laptop.in_agents("agentReport"), *laptop.in_agents("agentReportHead"), *sets(laptop)] == []
    assert laptop.state(laura).last_wake_at is None
    assert run_of(laptop, laura).status == "started"


def test_a_model_that_does_not_report_leaves_the_words_and_the_facts_move_on(laptop: Device, laura: str) -> None:
    """AGENT-16"""
    laptop.wake(laura, ScriptedModel(say("All is in the title.")))
    assert current_report(laptop, laura).content["tldr"] == "All is in the title."
    laptop.do(lambda tx: tasks.check_item(tx, "i1", checked=True))
    laptop.wake(laura, ScriptedModel(say("Fine.")), turn="2")
    said = current_report(laptop, laura).content
    assert (said["tldr"], said["checklistProgress"]) == ("All is in the title.", {"total": 1, "completed": 1})


def test_observations_accumulate(laptop: Device, laura: str) -> None:
    """S3-43"""
    laptop.wake(laura, ScriptedModel(say("", call("record_observations", observations=["A", "B"])), say()))
    laptop.wake(laura, ScriptedModel(say("", call("record_observations", observations=["C"])), say()), turn="2")
    with laptop.agents.reading() as reader:
        assert [note.text for note in thread.observations(reader, laura)] == ["A", "B", "C"]
