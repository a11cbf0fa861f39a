"""`kill -9` at every step of a wake, with a real process: nothing is paid twice, everything comes to an end, once."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from tests.agents.victim import script
from tests.support.child import ROOT, running
from tests.support.device import Device

from lottisync.agents import report, run_log
from lottisync.agents.orchestrator import Orchestrator
from lottisync.agents.thread import spent
from lottisync.agents.types import AgentMessage
from lottisync.agents.wake import WakeResult, wake
from lottisync.device import clock
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.review.change import ChangeSet
from lottisync.store.check import broken_invariants

STEPS = 34
"""Of a wake that nobody kills."""
SOME = [1, 3, 4, 5, 6, 9, 11, 13, 17, 21, 27, 30, 31, 32, 33, 34]
"""Around each transaction, and all of the last one's."""


@pytest.fixture
def laura(laptop: Device) -> str:
    laptop.time = clock.now() - 60_000
    laptop.add_task()
    laptop.do(lambda tx: tasks.add_item(tx, "i1", "t1", "Buy a chain"))
    return laptop.add_agent()


def test_how_many_steps_there_are(laptop: Device, laura: str) -> None:
    """Or the tests below would kill a wake that is over."""
    folder = laptop.agents.file.parent
    command = [sys.executable, "-m", "tests.agents.victim", str(folder), laura, laptop.id, "0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == f"done {STEPS}\n"


@pytest.mark.parametrize(
    "step", [step if step in SOME else pytest.param(step, marks=pytest.mark.deep) for step in range(1, STEPS + 1)]
)
def test_a_wake_killed_at_any_step_is_brought_to_its_end_once(laptop: Device, laura: str, step: int) -> None:
    """AGENT-15, AGENT-18, AGENT-22, AGENT-32, S3-40, S3-41, S3-46, S3-92, S3-93"""
    folder = laptop.agents.file.parent
    with running("tests.agents.victim", folder, laura, laptop.id, step) as victim:
        victim.kill()
        victim.wait()
    paid = folder / "paid"
    before = len(paid.read_text().splitlines()) if paid.exists() else 0
    with laptop.agents.reading() as reader:
        recorded = sum(entity.value("kind") == "thought" for entity in reader.by_type("agentMessage"))
    result = gone_on(laptop, laura, paid)
    assert result.turns == 2
    # Only a turn that had arrived and was not recorded yet is asked for again.
    assert len(paid.read_text().splitlines()) - before == 2 - recorded
    with laptop.agents.reading() as reader:
        [run] = [run for run in run_log.runs(reader, laura) if run.run_key == result.run_key]
        assert run.status == "completed"
        [made] = [view(entity, ChangeSet) for entity in reader.by_type("changeSet")]
        assert [item.tool_name for item in made.items] == ["update_task_estimate"]
        [said] = [view(entity, AgentMessage) for entity in reader.by_type("agentReport")]
        latest = report.latest_report(reader, laura)
        assert latest is not None
        assert latest.id == said.id
        assert latest.content["tldr"] == "Ninety minutes."
        assert len(reader.by_type("agentMessage", owner=laura, subtype="observation")) == 1
        assert spent(reader, laura)[result.run_key].prompt_tokens == 200
        assert broken_invariants(reader) == []
    assert laptop.task().task.language_code == "fr"
    assert Orchestrator(laptop.journal, laptop.agents, laptop.id).look(clock.now(), ()).start == []


def gone_on(device: Device, agent_id: str, paid: Path) -> WakeResult:
    """What the runtime does when the device starts again: the run that was killed, or else the one that is due."""
    orchestrator = Orchestrator(device.journal, device.agents, device.id)
    orchestrator.hear(clock.now())
    with device.agents.reading() as reader:
        killed = run_log.interrupted(reader, agent_id)
        known = run_log.runs(reader, agent_id)
    starts = orchestrator.look(clock.now(), ()).start
    if killed is not None:
        assert [start.trigger for start in starts] == [killed]
    trigger = killed or (known[0].trigger if known else device.trigger(agent_id))
    return anyio.run(
        lambda: wake(
            device.journal,
            device.agents,
            script(paid),
            trigger,
            agent_id=agent_id,
            device=device.id,
            now=clock.now,
            new_id=clock.new_id,
        )
    )
