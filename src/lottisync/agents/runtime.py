"""The event loop around the orchestrator: waits, starts wakes, reports (docs/specs/09-agents.md, section 9).

    the bell rings, a wake ends, or the time has come -> hear -> look -> begin wakes -> wait again

`orchestrator` and `schedule` decide everything; this module has only the code that needs an event loop. Each wake is a
task. A wake that fails has stored the time of its next attempt before it returns, so memory holds only which agents are
awake.

A refusal or a failure of one agent is reported, and ends that wake. If a store cannot be read or written (a full disk),
that is reported once, and tried again until it works. Any other exception is a bug, and ends the runtime: the run
stays `started`, and goes on from its record at the next start.
"""

import contextlib
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

import anyio
import anyio.to_thread

from lottisync.agents import admission, lifecycle
from lottisync.agents.model import Model
from lottisync.agents.orchestrator import Orchestrator
from lottisync.agents.schedule import Start, WakePlan
from lottisync.agents.types import Agent
from lottisync.agents.wake import WakeResult, wake
from lottisync.problem import Problem
from lottisync.store.doorbell import FALLBACK_SECONDS, UNHURRIED_SECONDS, Bell
from lottisync.store.store import Store

BELL = "agents"


class Machine(NamedTuple):
    """What the runtime is given of the world: wall time in ms, new ids, chance from 0 to 1, what people call a
    device, and the names of the endpoints that this device has now (None: they are not looked at)."""

    now: Callable[[], int]
    new_id: Callable[[int], str]
    chance: Callable[[], float]
    name_of: Callable[[str], str] = str
    endpoints: Callable[[], Collection[str] | None] = lambda: None


class Runtime:
    """Runs the agents at home on `device`. `model_of` gives the model that an agent is configured for, for one wake;
    `say` hears of every wake (code, sentence)."""

    def __init__(
        self,
        journal: Store,
        agent_store: Store,
        device: str,
        model_of: Callable[[Agent], AbstractAsyncContextManager[Model]],
        machine: Machine,
        say: Callable[[str, str], None],
    ) -> None:
        self._journal, self._agent_store, self._device = journal, agent_store, device
        self._model_of, self._machine, self._say = model_of, machine, say
        self._orchestrator = Orchestrator(journal, agent_store, device, machine.endpoints)
        self._awake: set[str] = set()
        self._ended = anyio.Event()
        self._trouble = ""

    async def run(self) -> None:
        """Until cancelled. A cancelled wake is a killed one: it goes on at the next start."""
        bell = Bell(self._journal.file.parent / "bells", BELL)
        with contextlib.closing(bell):
            async with anyio.create_task_group() as tasks:
                while True:
                    bell.clear()
                    self._ended = anyio.Event()
                    now = self._machine.now()
                    plan = await self._planned(now)
                    for start in plan.start:
                        self._awake.add(start.agent_id)
                        tasks.start_soon(self._wake, start)
                    await self._anything(bell, now, plan.next_look)

    async def _planned(self, now: int) -> WakePlan:
        try:
            # Off the loop: the first look at a large journal takes seconds, and connections are to be answered.
            await anyio.to_thread.run_sync(self._orchestrator.hear, now)
            plan = self._orchestrator.look(now, self._awake)
        except Problem as problem:
            if problem.message != self._trouble:
                self._say("agents-wait", f"agents cannot wake now: {problem.message}")
            self._trouble = problem.message
            return WakePlan([], None)
        self._trouble = ""
        return plan

    async def _anything(self, bell: Bell, now: int, next_look: int | None) -> None:
        """Until a program committed, a wake ended, or the time has come; some seconds at most: a bell may be lost."""
        ahead = UNHURRIED_SECONDS if next_look is None else max(next_look - now, 0) / 1000
        with anyio.move_on_after(min(ahead, UNHURRIED_SECONDS)):
            async with anyio.create_task_group() as either:

                async def until_ended() -> None:
                    await self._ended.wait()
                    either.cancel_scope.cancel()

                either.start_soon(until_ended)
                await anyio.wait_readable(bell)
                either.cancel_scope.cancel()

    async def _wake(self, start: Start) -> None:
        who = "an agent"
        here = self._machine.name_of(self._device)
        try:
            with self._agent_store.reading() as reader, self._journal.reading() as journal:
                living = lifecycle.read(reader, start.agent_id)
                who = admission.called(journal, living, lifecycle.read_state(reader, start.agent_id))
            async with self._model_of(living) as model:
                result = await wake(
                    self._journal,
                    self._agent_store,
                    model,
                    start.trigger,
                    agent_id=living.id,
                    device=self._device,
                    now=self._machine.now,
                    new_id=self._machine.new_id,
                    chance=self._machine.chance(),
                    name_of=self._machine.name_of,
                )
        except Problem as problem:
            self._say("agent-failed", _failed(who, here, problem.message))
            with self._agent_store.reading() as reader:
                why = lifecycle.asleep_because(lifecycle.read_state(reader, start.agent_id))
            if why is not None:
                self._say("agent-asleep", f"{who} on {here} sleeps, after {why}")
            # A failure that could not even be written down holds nobody; without this it would be tried without end.
            await anyio.sleep(FALLBACK_SECONDS)
        else:
            self._say("agent-woke", f"{who} on {here} woke: {_outcome(result)}")
        finally:
            self._awake.discard(start.agent_id)
            self._ended.set()


def _failed(who: str, here: str, message: str) -> str:
    """The failure with agent, task and device by name; what the message names is not said twice."""
    if who not in message:
        return f"{who} on {here}: {message}"
    return message if here in message else message.replace(who, f"{who} on {here}", 1)


def _outcome(result: WakeResult) -> str:
    """What a wake left for the person, and what it cost."""
    sets, turns, usage = len(result.change_set_ids), result.turns, result.usage
    proposed = f"{sets} change set{'' if sets == 1 else 's'} to review" if sets else "nothing to review"
    cost = f", {usage.prompt_tokens + usage.completion_tokens:,} tokens" if usage is not None else ""
    return f"{proposed}, {turns} turn{'' if turns == 1 else 's'}{cost}"
