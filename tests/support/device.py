"""A device whose agents wake: its journal and agent stores, and a clock that goes on at each look."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
from tests.support import rounds
from tests.support.counted import NOON, CountedDevice

from lottisync.agents import lifecycle, task_agent
from lottisync.agents.model import Model
from lottisync.agents.run_key import Trigger, user_initiated
from lottisync.agents.types import Agent, AgentState
from lottisync.agents.wake import WakeResult, wake
from lottisync.daemon.stores import AGENT_STORE
from lottisync.entities.entity import HIGH, Entity
from lottisync.journal import tasks
from lottisync.journal.types import JOURNAL
from lottisync.store.transaction import Transaction

MINUTE = 60_000


class Device(CountedDevice):
    def __init__(self, folder: Path, number: int = 1) -> None:
        self.time = NOON
        super().__init__(folder, number, (JOURNAL, AGENT_STORE), self.now)
        self.journal, self.agents = self.stores.values()

    # -- time

    def now(self) -> int:
        """Every look at the clock is a millisecond later than the last."""
        self.time += 1
        return self.time

    def pass_minutes(self, minutes: int) -> None:
        self.time += minutes * MINUTE

    # -- what people do

    def do(self, work: Callable[[Transaction], object]) -> None:
        """A person's change to the journal, a minute after the last one."""
        self.pass_minutes(1)
        with self.journal.transaction(self.now(), HIGH) as tx:
            work(tx)

    def add_task(self, task_id: str = "t1", title: str = "Repair the bicycle") -> str:
        self.do(lambda tx: tasks.add_task(tx, task_id, title))
        return task_id

    def add_agent(self, task_id: str = "t1", name: str = "Laura") -> str:
        return task_agent.create_task_agent(
            self.journal,
            self.agents,
            task_id,
            name=name,
            home_device=self.id,
            model="scripted",
            now=self.now(),
        )

    def trigger(self, agent_id: str, turn: str = "1") -> Trigger:
        return user_initiated(agent_id, "session", turn)

    def wake(self, agent_id: str, model: Model, *, turn: str = "1", trigger: Trigger | None = None) -> WakeResult:
        self.pass_minutes(1)
        go = partial(
            wake,
            self.journal,
            self.agents,
            model,
            trigger or self.trigger(agent_id, turn),
            agent_id=agent_id,
            device=self.id,
            now=self.now,
            new_id=self.new_id,
        )
        return anyio.run(go)

    # -- looking

    def agent(self, agent_id: str) -> Agent:
        with self.agents.reading() as reader:
            return lifecycle.read(reader, agent_id)

    def state(self, agent_id: str) -> AgentState:
        with self.agents.reading() as reader:
            return lifecycle.read_state(reader, agent_id)

    def task(self, task_id: str = "t1") -> tasks.TaskPage:
        with self.journal.reading() as reader:
            return tasks.page(reader, task_id)

    def in_agents(self, type_name: str) -> list[Entity]:
        with self.agents.reading() as reader:
            return reader.by_type(type_name)

    def pull(self, other: "Device") -> None:
        """Take over everything that the other device has."""
        rounds.pull(self, other, self.now())
