"""An agent sees what it proposed and nobody decided on, and may take it back; it decides nothing else."""

import json

import pytest
from tests.support.device import Device
from tests.support.scripted_model import Killed, ScriptedModel, call, say

from lottisync.agents.run_log import interrupted
from lottisync.journal.toolbox import ACTIONS
from lottisync.review.inbox import Inbox
from lottisync.review.item_view import ItemView


@pytest.fixture
def laura(laptop: Device) -> str:
    """An agent that has proposed an estimate and a priority."""
    laptop.add_task()
    agent = laptop.add_agent()
    proposals = call("update_task_estimate", minutes=90), call("update_task_priority", priority="P1")
    laptop.wake(agent, ScriptedModel(say("I see.", *proposals), say("Done.")))
    return agent


def waiting(device: Device) -> list[ItemView]:
    sets = Inbox(device.journal, device.agents, ACTIONS).open_sets(device.now())
    return [item for one in sets for item in one.items if item.status == "pending"]


def test_s1_20_the_prompt_names_what_waits_and_the_model_can_take_it_back(laptop: Device, laura: str) -> None:
    """S1-20, AGENT-9"""
    estimate, priority = waiting(laptop)
    model = ScriptedModel(
        say("", call("retract_suggestions", proposals=[{"id": estimate.id, "reason": "It was done already."}])),
        say("Done."),
    )
    laptop.wake(laura, model, turn="2")
    opening = str(model.asked[0][1])
    assert "<waiting>" in opening
    assert estimate.id in opening
    assert "retract_suggestions" in [tool.name for tool in model.offered]
    assert [item.id for item in waiting(laptop)] == [priority.id]


def test_a_retraction_of_what_is_not_its_own_is_answered_and_changes_nothing(laptop: Device, laura: str) -> None:
    before = [item.id for item in waiting(laptop)]
    invented = [{"id": "made-up.0", "reason": "why not"}]
    model = ScriptedModel(say("", call("retract_suggestions", proposals=invented)), say("Done."))
    laptop.wake(laura, model, turn="2")
    assert "made-up.0" in json.dumps(model.results())
    assert [item.id for item in waiting(laptop)] == before


def test_a_wake_that_was_killed_after_it_retracted_still_does_when_it_goes_on(laptop: Device, laura: str) -> None:
    """S3-40, S3-46: what was answered before the process died is recalled, and carried out at the end."""
    estimate, priority = waiting(laptop)
    retraction = call("retract_suggestions", proposals=[{"id": estimate.id, "reason": "It was done already."}])
    with pytest.raises(Killed):
        laptop.wake(laura, ScriptedModel(say("", retraction), Killed()), turn="2")
    assert len(waiting(laptop)) == 2
    with laptop.agents.reading() as reader:
        again = interrupted(reader, laura)
    laptop.wake(laura, ScriptedModel(say("Done.")), trigger=again)
    assert [item.id for item in waiting(laptop)] == [priority.id]
