"""Wakes with a real, small model: `make deep`, which installs it into an environment of its own (`.model`).

A model of a hundred million parameters calls tools with arguments that fit the schema and mean nothing, stops in the
middle of a sentence, and invents tools. It is the best hostile model there is: what it says is not known beforehand,
and the same must be true after every wake. It draws its words from a seed, and no wake is asked for a result of
its own; only one of six must have ended, and one must have held a call, or nothing was shown at all.

    LOTTISYNC_TEST_MODEL_URL=http://127.0.0.1:11434/v1 LOTTISYNC_TEST_MODEL=llama3.2 make deep

asks another compatible server instead.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.child import ROOT, said
from tests.support.device import Device

from lottisync.agents import report, run_log, thread
from lottisync.agents.model import Api
from lottisync.agents.openai_client import OpenAIModel
from lottisync.agents.toolbox import TOOLBOX
from lottisync.agents.wake import WakeResult
from lottisync.entities.entity import HIGH
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.problem import Problem
from lottisync.review.change import ChangeSet
from lottisync.store.check import broken_invariants

PYTHON = ROOT / ".model" / "bin" / "python"
NAMED = os.environ.get("LOTTISYNC_TEST_MODEL_URL")
MODEL = os.environ.get("LOTTISYNC_TEST_MODEL", "local")
WAKES = 6
"""At most, until one of them has proposed something, as every other does. Each takes some ten seconds."""

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(
        NAMED is None and not PYTHON.exists(),
        reason="no real model: `make deep` could not install one; or name a server in LOTTISYNC_TEST_MODEL_URL",
    ),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if NAMED is not None:
        yield NAMED
        return
    with subprocess.Popen(
        [PYTHON, Path(__file__).with_name("server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        address = said(server)
        assert address.startswith("http"), "the model's server did not start: run tests/agents/real_model/server.py"
        yield address
        server.kill()


class Outcome(NamedTuple):
    """How a wake went; no result: the model did not come to the end of an answer."""

    result: WakeResult | None
    calls: int
    proposed: list[ChangeSet]


def one_wake(device: Device, model: OpenAIModel, note: str, turns: int) -> Outcome:
    """A wake over a task of three parts, and all that must hold after it, whatever was said."""
    device.add_task()
    device.do(lambda tx: tasks.add_item(tx, "i1", "t1", "Buy a chain"))
    device.do(lambda tx: tasks.add_note(tx, "n1", "t1", note))
    ident = device.add_agent()
    with device.agents.transaction(device.now(), HIGH) as tx:
        tx.put(ident, "agent", {"config/maxTurns": turns})
    before = device.task()
    result: WakeResult | None = None
    error = ""
    try:
        result = device.wake(ident, model)
    except Problem as problem:
        error = problem.code
    # Half an answer is not an answer: there is nothing of it but the record.
    assert error == ("model-output-limit" if result is None else "")
    with device.agents.reading() as reader:
        [run] = run_log.runs(reader, ident)
        assert run.status == ("failed" if result is None else "completed")
        record = thread.messages(reader, ident, run.thread_id)
        spent = thread.spent(reader, ident)
        assert broken_invariants(reader) == []
        latest = report.latest_report(reader, ident)
    thoughts = [each for each in record if each.kind == "thought"]
    calls = [each for each in record if each.kind == "action"]
    assert len([each for each in record if each.kind == "toolResult"]) == len(calls)
    # The server counts, we record, each turn once.
    assert all(each.metadata["promptTokens"] > 500 and each.metadata["completionTokens"] > 0 for each in thoughts)
    assert set(spent) == ({run.run_key} if thoughts else set())
    proposed = [view(entity, ChangeSet) for entity in device.in_agents("changeSet")]
    if result is None:
        assert (proposed, latest) == ([], None)
    else:
        assert result.turns == len(thoughts) <= turns
        assert result.usage == spent[run.run_key]
        assert latest is not None
    now = device.task()
    assert now.items == before.items
    for field in ("title", "status", "priority", "due", "estimate", "labels"):
        assert getattr(now.task, field) == getattr(before.task, field)
    assert all(item.tool_name in TOOLBOX.tools for made in proposed for item in made.items)
    return Outcome(result, len(calls), proposed)


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_whatever_a_real_model_says_is_a_proposal_or_nothing(tmp_path: Path, url: str, api: Api) -> None:
    """AGENT-9, AGENT-12, AGENT-19, AGENT-21, AGENT-36, AGENT-38, S3-08, S3-41"""
    key = os.environ.get("LOTTISYNC_TEST_MODEL_KEY")
    # A model that computes on a busy machine takes its time, and says nothing meanwhile; the test's own limit ends it.
    model = OpenAIModel(url, key, MODEL, api=api, silence_seconds=3_600, call_seconds=3_600)
    outcomes: list[Outcome] = []
    for number in range(WAKES):
        device = Device(tmp_path / str(number))
        note = f"The shop called, call {number}: it takes two hours."
        outcomes.append(one_wake(device, model, note, turns=1 + number % 2))
        device.close()
        if outcomes[-1].proposed:
            break
    assert any(each.result for each in outcomes)
    assert any(each.calls for each in outcomes)
