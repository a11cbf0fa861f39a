"""Whether an agent may wake (docs/specs/09-agents.md, section 3; AGENT-6, AGENT-7).

Asked twice: by the orchestrator, which leaves an agent alone that may not; and by the wake itself, which is the
one that answers for it, since a person may pause an agent between the two.
"""

from lottisync.agents import agent, context
from lottisync.agents.types import Agent, AgentState
from lottisync.journal import tasks
from lottisync.journal.types import Task
from lottisync.problem import Problem
from lottisync.store.reader import Reader


def refusal(journal: Reader, living: Agent, state: AgentState, device: str) -> Problem | None:
    """Why the agent may not wake on that device now, or None."""
    name, task_id = living.display_name, agent.task_of(state)
    try:
        agent.after(living, "wake")
    except Problem as problem:
        because = agent.asleep_because(state)
        if living.lifecycle == agent.DORMANT and because is not None:
            return Problem(
                "gave-up",
                "{name} sleeps after {because}",
                hint="resume-agent",
                name=name,
                because=because,
            )
        return problem
    if living.home_device != device:
        return Problem(
            "not-at-home",
            "{name} lives on device {home_device}, not here. Wake it there",
            hint="move-agent",
            name=name,
            home_device=living.home_device,
        )
    if agent.asleep_without_task(journal, state):
        return Problem(
            "task-gone",
            "{name} sleeps: its task {task_id} is deleted or not here. It goes on when the task is back",
            name=name,
            task_id=task_id,
        )
    closed = agent.asleep_after_task(journal, state)
    if closed is not None:
        return Problem(
            "task-closed",
            "{name} sleeps: its task {task_id} is {closed}. It goes on when the task is open again",
            name=name,
            task_id=task_id,
            closed=closed,
        )
    task = tasks.read(journal, task_id, "task", Task)
    if not context.may_see(living, task):
        return Problem(
            "not-allowed",
            "{name} may not work in category {category_id}",
            hint="allow-agent",
            name=name,
            category_id=task.category_id,
            task_id=task_id,
        )
    return None
