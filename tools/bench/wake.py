"""What a wake costs beside the model: the scripted model answers at once, so what is measured is all ours."""

import os
import subprocess
import sys
import time
from collections.abc import Callable

import anyio

from lottisync.agents import task_agent
from lottisync.agents.endpoint import ModelChoice
from lottisync.agents.model import Message, SystemMessage, UserMessage
from lottisync.agents.model_process import ModelProcess
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import tasks
from lottisync.review.precedence import PERSON
from lottisync.scripted_model.script import ChatRequest, Reply, Say
from lottisync.scripted_model.server import ScriptedModelServer
from tools.bench.figure import Figure, at_most
from tools.bench.setting import Setting

RUNS = 7
TURNS = 2
TASK = "0" * 32
OWN = "import lottisync.cli.main, lottisync.cli.agents, lottisync.agents.wake, lottisync.agents.endpoint"
CLIENT = "import openai, lottisync.agents.endpoint"


def wake(setting: Setting) -> list[Figure]:
    """`lottisync agent wake`, and what the daemon's process for the model takes, each beside its imports."""
    home = TaskHome.create(setting.folder / "wake", "a")
    with home.journal.transaction(clock.now(), PERSON) as tx:
        tasks.add_task(tx, TASK, "Repair the bicycle")
    task_agent.create_task_agent(
        home.journal, home.agent, TASK, name="Laura", home_device=home.key.device_id, model="scripted", now=clock.now()
    )
    home.close()
    with ScriptedModelServer(_script) as server:
        environment = os.environ | {"LOTTISYNC_MODEL_URL": server.url, "LOTTISYNC_MODEL_KEY": "", "LOTTISYNC_MODEL": ""}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def python(*arguments: str) -> None:
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True, env=environment)

        ways: dict[str, Callable[[], None]] = {
            "wake": lambda: python("-m", "lottisync", "agent", "wake", TASK, "--home", str(home.path), "--json"),
            "its imports": lambda: python("-c", f"{OWN}, openai"),
            "process": lambda: anyio.run(_asked, server.url),
            "the client's": lambda: python("-c", CLIENT),
        }
        best = _best(setting, ways)
    return [
        Figure("agent wake, two turns", best["wake"] * 1e3, "ms", best["its imports"] * 1e3, "its imports", at_most(2)),
        Figure(
            "the daemon's model, two turns",
            best["process"] * 1e3,
            "ms",
            best["the client's"] * 1e3,
            "import of the client",
            at_most(2),
        ),
    ]


def _best(setting: Setting, ways: dict[str, Callable[[], None]]) -> dict[str, float]:
    """The least seconds of each way. They take turns, so that what else the machine does slows all of them."""
    setting.doing("wakes", RUNS)
    best: dict[str, float] = {}
    for run in range(RUNS):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            best[name] = min(time.perf_counter() - started, best.get(name, 1e9))
        setting.done(run)
    return best


def _script(request: ChatRequest) -> Reply:
    """One call, then the end."""
    return Say(tool_calls=(("search_task", {"words": "chain"}),)) if request.turn == 1 else Say(text="Done.")


async def _asked(url: str) -> None:
    """A wake's questions, as the daemon asks them."""
    question: list[Message] = [SystemMessage("You are Laura."), UserMessage("The task.")]
    os.environ["LOTTISYNC_MODEL_URL"] = url
    try:
        async with ModelProcess(ModelChoice("scripted", None), {}) as model:
            for _ in range(TURNS):
                await model.complete(question, [])
    finally:
        del os.environ["LOTTISYNC_MODEL_URL"]
