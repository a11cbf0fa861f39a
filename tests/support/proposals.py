"""What an agent proposes, without a model: the calls that one would make, by the names of their tools."""

from collections.abc import Iterable, Mapping
from typing import Any

from lottisync.agents.toolbox import TOOLBOX, RetractSuggestions
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import LOW
from lottisync.journal.task_action import ActionBatch, TaskAction
from lottisync.journal.toolbox import ACTIONS, BadCall
from lottisync.review.builder import Builder
from lottisync.review.retraction import Staged
from lottisync.store.store import Store


class Wake(Builder):
    """A builder that takes calls by the names of their tools, as a model makes them."""

    def queue(self, tool: str, args: Mapping[str, Any], now: int) -> str:
        match TOOLBOX.checked(tool, args):
            case BadCall() as bad:
                return bad.text
            case TaskAction() | ActionBatch() as call:
                return self.propose(call, now)
            case RetractSuggestions() as own:
                return self.retract([Staged(one.id, one.reason) for one in own.proposals], now)
            case other:
                return f"{other.tool} is not a change that is proposed."


def wake_on(
    journal: Store,
    agents: Store,
    *,
    run: str = "r1",
    task: str = "t1",
    agent: str = "laura",
    thread: str | None = None,
    waiting: Iterable[str] = (),
) -> Wake:
    """A wake whose context is read now. `waiting` are the proposals of the agent that the context shows."""
    with journal.reading() as reader:
        knowledge = reader.knowledge()
    return Wake(
        journal,
        agents,
        agent_id=agent,
        task_id=task,
        run_key=run,
        thread_id=thread or run,
        actions=ACTIONS,
        context_knowledge=knowledge,
        context_waiting=waiting,
    )


def propose(
    home: TaskHome, *calls: tuple[str, Mapping[str, Any]], run: str = "r1", task: str = "t1", now: int | None = None
) -> list[str]:
    """A wake that makes these calls, at `now` (ms); the ids of the sets that it leaves."""
    at = clock.now() if now is None else now
    wake = wake_on(home.journal, home.agent, run=run, task=task)
    for tool, args in calls:
        wake.queue(tool, args, at)
    with home.agent.transaction(at, LOW) as tx:
        return wake.build(tx, at)
