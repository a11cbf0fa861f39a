"""The client in a child: the same answers and the same errors, and nothing of it stays."""

import os
import subprocess
import sys
import threading

import anyio
import anyio.to_thread
import msgspec
import pytest
from tests.agents.test_openai_client import KEY, QUESTION
from tests.support.child import ROOT

from lottisync.agents.endpoint import ModelChoice
from lottisync.agents.model import ModelError, Turn
from lottisync.agents.model_process import ModelProcess
from lottisync.scripted_model.script import ChatRequest, Reply, Say, ServerError, Stall
from lottisync.scripted_model.server import ScriptedModelServer

pytestmark = pytest.mark.anyio

UNSET = ModelChoice(None, None)
ANSWER = Say(text="Two hours.", tool_calls=(("update_task_estimate", {"minutes": 120}),))


async def test_an_error_comes_back_with_its_code_and_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """AGENT-38, AGENT-56"""
    monkeypatch.setenv("LOTTISYNC_MODEL_KEY", KEY)
    with ScriptedModelServer(lambda request: ServerError(status=401, message=f"{KEY} is not a key")) as server:
        monkeypatch.setenv("LOTTISYNC_MODEL_URL", server.url)
        with pytest.raises(ModelError) as caught:
            async with ModelProcess(UNSET, {}) as model:
                await model.complete(QUESTION, [])
    assert caught.value.code == "model-unauthorized"
    assert KEY not in caught.value.message


async def test_a_child_that_dies_is_an_error_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """AGENT-19: the wake fails and is tried again; the daemon lives."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    async with ModelProcess(UNSET, {}) as model:
        with pytest.raises(ModelError, match="died of itself"):
            await model.complete(QUESTION, [])


async def test_agent122_a_wake_has_one_process_that_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """AGENT-122, AGENT-57: three questions, and a failure between them; a child that was killed is started again."""
    replies: list[Reply] = [Say(text="One."), ServerError(status=400, message="No."), Say(text="Two."), Say(text="3.")]
    with ScriptedModelServer(lambda request: replies[request.number - 1]) as server:
        monkeypatch.setenv("LOTTISYNC_MODEL_URL", server.url)
        async with ModelProcess(UNSET, {}) as model:
            first = model._child
            assert first is not None
            assert (await model.complete(QUESTION, [])).text == "One."
            with pytest.raises(ModelError, match=r"No\."):
                await model.complete(QUESTION, [])
            assert (await model.complete(QUESTION, [])).text == "Two."
            assert model._child is first
            first.kill()
            with pytest.raises(ModelError, match="died of itself"):
                await model.complete(QUESTION, [])
            assert (await model.complete(QUESTION, [])).text == "3."
            last = model._child
            assert last is not None
        assert first.returncode is not None
        assert last.returncode == 0, "its input was closed, so it ended by itself"


async def test_a_question_that_is_cancelled_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def script(request: ChatRequest) -> Reply:
        asked.set()
        return Stall(ANSWER, 1)

    with ScriptedModelServer(script) as server:
        monkeypatch.setenv("LOTTISYNC_MODEL_URL", server.url)
        async with ModelProcess(UNSET, {}) as model, anyio.create_task_group() as tasks:
            tasks.start_soon(model.complete, QUESTION, [])
            assert await anyio.to_thread.run_sync(asked.wait, 20)
            tasks.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(server.wait_until_idle, 5)


async def test_a_turn_comes_back_whole_and_nothing_of_the_client_stays() -> None:
    """AGENT-38, AGENT-39, AGENT-57: the agent's own model is asked, with the key of the environment. The process that
    asked is as small as before."""
    program = """
import anyio, msgspec, sys
from lottisync.agents.endpoint import ModelChoice
from lottisync.agents.model_process import ModelProcess
from tests.agents.test_openai_client import ESTIMATE, QUESTION
async def ask():
    async with ModelProcess(ModelChoice("small", None), {}) as model:
        return await model.complete(QUESTION, [ESTIMATE])
print(msgspec.json.encode(anyio.run(ask)).decode())
sys.exit("openai" in sys.modules)
"""
    with ScriptedModelServer(lambda request: ANSWER, require_key=KEY) as server:
        named = {"LOTTISYNC_MODEL_URL": server.url, "LOTTISYNC_MODEL_KEY": KEY, "LOTTISYNC_MODEL": ""}
        child = await anyio.to_thread.run_sync(
            lambda: subprocess.run(
                [sys.executable, "-c", program],
                cwd=ROOT,
                env=os.environ | named,
                capture_output=True,
                text=True,
                check=False,
            )
        )
    assert child.returncode == 0, child.stderr
    turn = msgspec.json.decode(child.stdout, type=Turn)
    assert (turn.text, turn.finish_reason) == ("Two hours.", "tool_calls")
    assert [(call.name, call.arguments) for call in turn.tool_calls] == [("update_task_estimate", '{"minutes": 120}')]
    assert turn.usage is not None
    [asked] = server.requests
    assert asked["model"] == "small"
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
