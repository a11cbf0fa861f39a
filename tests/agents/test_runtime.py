"""The shell: bells, tasks and a real clock around the orchestrator; and the daemon that starts it."""

import os
import re
import sys
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from itertools import count
from pathlib import Path

import anyio
import pytest
from tests.support.child import running, said
from tests.support.command_line import eventually, run_here
from tests.support.device import Device
from tests.support.event_loop import BOUND_SECONDS, until
from tests.support.scripted_model import ScriptedModel, Step, call, say

from lottisync.agents import lifecycle, queue, report, run_log
from lottisync.agents.model import Message, ModelError, Turn
from lottisync.agents.runtime import Machine, Runtime
from lottisync.causality.vector_clock import Dot
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.journal import tasks
from lottisync.problem import Problem
from lottisync.scripted_model.script import ChatRequest, Reply, Say
from lottisync.scripted_model.server import ScriptedModelServer
from lottisync.store.doorbell import FALLBACK_SECONDS
from lottisync.store.transaction import Transaction

pytestmark = pytest.mark.anyio


@pytest.fixture
def laura(laptop: Device) -> str:
    laptop.time = clock.now()
    laptop.add_task()
    ident = laptop.add_agent()
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.put(ident, "agent", {"config/coolDownMillis": 1})
    return ident


@asynccontextmanager
async def runtime(device: Device, *script: Step) -> AsyncIterator[list[tuple[str, str]]]:
    """A running runtime; what it says."""
    reported: list[tuple[str, str]] = []
    model = ScriptedModel(*script)
    machine = Machine(clock.now, clock.new_id, lambda: 0.5, lambda _: "the laptop")
    made = Runtime(
        device.journal,
        device.agents,
        device.id,
        lambda _: nullcontext(model),
        machine,
        lambda *said: reported.append(said),
    )
    async with anyio.create_task_group() as tasks_:
        tasks_.start_soon(made.run)
        yield reported
        tasks_.cancel_scope.cancel()


async def test_an_agent_wakes_by_itself_when_it_is_made_and_when_the_task_is_edited(laptop: Device, laura: str) -> None:
    """AGENT-91, S3-51, S3-81, S3-87: each line names agent, task and device, and says what it cost."""
    async with runtime(laptop, say("", call("update_report", tldr="New.")), say(), say("Edited.")) as reported:
        await until(lambda: len(reported) == 1)
        with laptop.agents.reading() as reader:
            first = report.latest_report(reader, laura)
        assert first is not None
        assert first.content["tldr"] == "New."
        with laptop.journal.transaction(clock.now(), HIGH) as tx:
            tasks.edit_task(tx, "t1", {"title": "Mend the bicycle"})
        await until(lambda: len(reported) == 2)
    assert reported == [
        ("agent-woke", "Laura of 'Repair the bicycle' on the laptop woke: nothing to review, 2 turns, 220 tokens"),
        ("agent-woke", "Laura of 'Mend the bicycle' on the laptop woke: nothing to review, 1 turn, 110 tokens"),
    ]
    with laptop.agents.reading() as reader:
        last = report.latest_report(reader, laura)
    assert last is not None
    assert last.content["title"] == "Mend the bicycle"


async def test_a_failed_wake_is_reported_and_tried_again_later(laptop: Device, laura: str) -> None:
    """AGENT-31, S3-90"""
    with laptop.agents.transaction(clock.now(), HIGH) as tx:
        tx.put(lifecycle.state_id(laura), "agentState", {"agentId": laura, "consecutiveFailureCount": 4})
    async with runtime(laptop, ModelError("model-unreachable", "nobody home")) as reported:
        await until(lambda: len(reported) == 2)
    assert reported == [
        ("agent-failed", "Laura of 'Repair the bicycle' on the laptop: nobody home"),
        (
            "agent-asleep",
            "Laura of 'Repair the bicycle' on the laptop sleeps, after 5 failures in a row, the last: nobody home",
        ),
    ]


async def test_a_runtime_that_is_stopped_leaves_its_wake_to_be_gone_on_with(laptop: Device, laura: str) -> None:
    """AGENT-32"""
    asked = anyio.Event()

    class Silent(ScriptedModel):
        async def complete(self, messages: Sequence[Message], tools: object) -> Turn:
            asked.set()
            await anyio.sleep_forever()
            raise AssertionError

    machine = Machine(clock.now, clock.new_id, lambda: 0.5)
    made = Runtime(laptop.journal, laptop.agents, laptop.id, lambda _: nullcontext(Silent()), machine, lambda *_: None)
    async with anyio.create_task_group() as tasks_:
        tasks_.start_soon(made.run)
        with anyio.fail_after(BOUND_SECONDS):
            await asked.wait()
        tasks_.cancel_scope.cancel()
    with laptop.agents.reading() as reader:
        assert [each.status for each in run_log.runs(reader, laura)] == ["started"]
    async with runtime(laptop, say("Here I am.")) as reported:
        await until(lambda: reported)
    with laptop.agents.reading() as reader:
        assert [each.status for each in run_log.runs(reader, laura)] == ["completed"]


async def test_a_full_disk_is_reported_once_and_waited_for(
    laptop: Device, laura: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AGENT-304, AGENT-41: no change that an agent is to see is passed over meanwhile, nor for an agent that has
    just come home."""
    monkeypatch.setattr("lottisync.agents.runtime.UNHURRIED_SECONDS", 0.1)
    async with runtime(laptop, say("Here I am.")) as reported:
        await until(lambda: reported)
    with laptop.journal.transaction(clock.now(), HIGH) as tx:
        tasks.edit_task(tx, "t1", {"title": "Mend the bicycle"})
    real, tries = queue.add, count()

    def full(tx: Transaction, agent_id: str, subscription_id: str, dots: Iterable[Dot]) -> None:
        if next(tries) < 2:
            raise Problem("disk-full", "the disk is full")
        real(tx, agent_id, subscription_id, dots)

    monkeypatch.setattr(queue, "add", full)
    async with runtime(laptop, say("I see.")) as reported:
        await until(lambda: len(reported) == 2)
    assert [code for code, _ in reported] == ["agents-wait", "agent-woke"]
    assert next(tries) > 2


async def test_store_29_a_damaged_row_is_reported_once_and_does_not_end_the_runtime(laptop: Device, laura: str) -> None:
    """STORE-29, AGENT-41: mended (by another device, say), it goes on."""
    row = "from agent_entities where id = ?", (laura,)
    with laptop.agents.transaction(clock.now(), HIGH) as tx:
        [(stored,)] = tx.execute("select serialized " + row[0], row[1])
        tx.execute("update agent_entities set serialized = '{' where id = ?", (laura,))
    async with runtime(laptop, say("Here I am.")) as reported:
        await until(lambda: reported)
        with laptop.agents.transaction(clock.now(), HIGH) as tx:
            tx.execute("update agent_entities set serialized = ? where id = ?", (stored, laura))
            tx.changed = True  # so that the commit rings, as that of a mended row does
        await until(lambda: len(reported) == 2)
    assert [code for code, _ in reported] == ["agents-wait", "agent-woke"]
    assert laura in reported[0][1]


async def test_a_failure_that_cannot_be_written_down_is_not_tried_without_end(
    laptop: Device, laura: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AGENT-41"""

    def full(*_: object) -> None:
        raise Problem("disk-full", "the disk is full")

    monkeypatch.setattr(run_log, "enqueue", full)
    async with runtime(laptop) as reported:
        await until(lambda: reported)
        first = time.monotonic()
        await until(lambda: len(reported) == 2)
        assert time.monotonic() - first > FALLBACK_SECONDS / 2


def test_the_daemon_runs_the_agents_at_home_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AGENT-39, C-22, S3-51, S3-87: create, edit, and look at the report; nobody types `agent wake`, and the daemon
    has no terminal and no page."""
    path = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=path).code == 0

    def script(request: ChatRequest) -> Reply:
        return Say(text=f"Answer {request.number}.")

    with ScriptedModelServer(script) as server:
        monkeypatch.setenv("LOTTISYNC_MODEL_URL", server.url)
        with running("tests.agents.daemon_child", path) as child:
            before = resident_megabytes(child.pid)
            task = run_here("task", "add", "Repair the bicycle", "--json", home=path).json["id"]
            assert run_here("agent", "create", task, home=path).code == 0
            eventually(lambda: run_here("agent", "report", task, home=path).code == 0, "the first report")
            home = TaskHome.open(path)
            with home.agent.transaction(clock.now(), HIGH) as tx:
                tx.put(tx.by_type("agent")[0].id, "agent", {"config/coolDownMillis": 1})
            with home.journal.transaction(clock.now(), HIGH) as tx:
                tasks.edit_task(tx, task, {"title": "Mend the bicycle"})
            home.close()
            eventually(
                lambda: "Mend the bicycle" in run_here("agent", "report", task, home=path).out, "the next report"
            )
            assert said(child) == "agent-woke"
            # Two wakes keep 2 to 3. The model's client would add 15 to it, and is not in it.
            assert resident_megabytes(child.pid) - before < 12


def resident_megabytes(pid: int) -> int:
    """Of a process; 0 where the system has no such file."""
    status = Path(f"/proc/{pid}/status")
    found = re.search(r"^VmRSS:\s+(\d+) kB", status.read_text(), re.MULTILINE) if status.exists() else None
    return int(found[1]) // 1024 if found else 0


def test_a_daemon_without_a_model_says_so_once_and_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AGENT-39"""
    path = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=path).code == 0
    for name in ("LOTTISYNC_MODEL_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with running("tests.agents.daemon_child", path) as child:
        assert said(child) == "agents-asleep"
        assert run_here("status", "--json", home=path).json["daemon"]["pid"] == child.pid


def test_the_model_client_loads_when_a_wake_needs_it() -> None:
    """AGENT-39, AGENT-57"""
    code = "import lottisync.agents.runtime, lottisync.daemon.daemon, sys; sys.exit('openai' in sys.modules)"
    assert os.spawnl(os.P_WAIT, sys.executable, sys.executable, "-c", code) == 0
