"""Whether an agent may wake, and whether anything may be sent to its model (docs/specs/09-agents.md, sections 3, 12).

`refusal` is asked twice: by the orchestrator, which leaves an agent alone that may not wake, and by the wake itself,
since a person may pause an agent between the two. `withheld` is a part of it, and is asked again before every request:
what the person says about sending counts at once.
"""

from collections.abc import Callable, Collection
from datetime import tzinfo
from typing import NamedTuple

from lottisync.agents import lifecycle, spending, switch
from lottisync.agents.endpoint import choice
from lottisync.agents.types import Agent, AgentState
from lottisync.entities.view import view
from lottisync.journal import never_sent, tasks, words
from lottisync.journal.types import Task
from lottisync.problem import Problem, Sentence, counted
from lottisync.shown import quoted
from lottisync.store.instant import there
from lottisync.store.reader import Reader


class Here(NamedTuple):
    """The device that asks: its id, its wall time (ms), where its clock is (None: this machine's zone), what
    people call a device of a given id, and the names of its endpoints (None: they are not looked at)."""

    device: str
    now: int
    zone: tzinfo | None = None
    name_of: Callable[[str], str] = str
    endpoints: Collection[str] | None = None


def refusal(journal: Reader, agents: Reader, living: Agent, state: AgentState, here: Here) -> Problem | None:
    """Why the agent may not wake here now, or None."""
    who, task_id = called(journal, living, state), lifecycle.task_of(state)
    try:
        lifecycle.after(living, "wake", who, task_id)
    except Problem as problem:
        because = lifecycle.asleep_because(state)
        if living.lifecycle == lifecycle.DORMANT and because is not None:
            return Problem(
                "gave-up",
                "{who} sleeps after {because}",
                hint="resume-agent",
                who=who,
                because=because,
                which=task_id or living.id,
            )
        return problem
    away = not_at_home(journal, living, state, here)
    if away is not None:
        return away
    if lifecycle.asleep_without_task(journal, state):
        return Problem(
            "task-gone", "{who} sleeps: its task is deleted or not here. It goes on when the task is back", who=who
        )
    closed = lifecycle.asleep_after_task(journal, state)
    if closed is not None:
        return Problem(
            "task-closed",
            "{who} sleeps: its task is {closed}. It goes on when the task is open again",
            who=who,
            closed=words.status(closed),
        )
    task = tasks.read(journal, task_id, "task", Task)
    if not is_allowed(living, task):
        return Problem(
            "not-allowed",
            "{who} may not work in category {category}",
            hint="allow-agent",
            who=who,
            category=_title(journal, task.category_id or ""),
            task_id=task_id,
        )
    return withheld(journal, agents, living, state, here)


def not_at_home(journal: Reader, living: Agent, state: AgentState, here: Here) -> Problem | None:
    """Why the agent wakes on another device, or None."""
    if living.home_device == here.device:
        return None
    return Problem(
        "not-at-home",
        "{who} lives on {home}, not here. Wake it there",
        hint="move-agent",
        who=called(journal, living, state),
        home=here.name_of(living.home_device),
        which=lifecycle.task_of(state) or living.id,
    )


class Withheld(Problem):
    """Nothing may be sent to the agent's model now. That is the person's word, and no failure. `until`: when it goes on
    by itself (ms), or None."""

    until: int | None = None


def withheld(journal: Reader, agents: Reader, living: Agent, state: AgentState, here: Here) -> Withheld | None:
    """Why nothing may be sent to the agent's model now, or None (AGENT-80 to AGENT-84)."""
    who = called(journal, living, state)
    if switch.read(agents).off:
        return Withheld("agents-off", "{who} sleeps: agents are off on all devices", hint="agents-on", who=who)
    task = journal.entity(lifecycle.task_of(state))
    because = never_sent.withheld_because(journal, view(task, Task)) if task is not None else None
    if because is not None:
        return Withheld(
            "never-sent", "{who} sleeps: its task is never sent to a model ({because})", who=who, because=because
        )
    return waits(agents, living, here, who)


def waits(agents: Reader, living: Agent, here: Here, who: str) -> Withheld | None:
    """What the agent waits for, though the person wants it to wake: an endpoint, or the next day. `who` as `called`
    says it."""
    return without_endpoint(living, here, who) or spent_up(agents, living, here, who)


def without_endpoint(living: Agent, here: Here, who: str) -> Withheld | None:
    """Whether the agent is at home on a device that does not have its endpoint (AGENT-120)."""
    chosen = choice(living).endpoint
    if chosen is None or here.endpoints is None or chosen in here.endpoints or living.home_device != here.device:
        return None
    return Withheld(
        "no-endpoint",
        "{who} waits: this device has no endpoint {endpoint}. Write [endpoints.{plain}] with its url into config.toml",
        who=who,
        endpoint=quoted(chosen),
        plain=chosen,
    )


def spent_up(agents: Reader, living: Agent, here: Here, who: str) -> Withheld | None:
    """Why the agent asks no model now: it, or all agents together, have used their tokens of the day. None if they have
    not."""
    day = spending.day_of(here.now, here.zone)
    limit = spending.exceeded(agents, living, switch.read(agents), day)
    if limit is None:
        return None
    paused = Withheld(
        "budget",
        "{who} is paused: budget. The {tokens} of today are used; it goes on at {until}",
        who=who,
        tokens=counted("{count:,} token", "{count:,} tokens", limit),
        until=f"{there(day.end, here.zone):%Y-%m-%d %H:%M}",
    )
    paused.until = day.end
    return paused


def may_see(journal: Reader, agent: Agent, task: Task) -> bool:
    """Whether the agent may be told of the task: it is allowed, and not withheld from all models (AGENT-82)."""
    return is_allowed(agent, task) and never_sent.withheld_because(journal, task) is None


def is_allowed(agent: Agent, task: Task) -> bool:
    """Whether the person has allowed the agent the task's category; a task in no category is open to all (AGENT-7)."""
    return task.category_id is None or bool(agent.allowed_category_ids.get(task.category_id))


def called(journal: Reader, living: Agent, state: AgentState) -> str:
    """The agent as the person knows it, `Laura of 'Repair the bicycle'`: many agents have one name (AGENT-91)."""
    task_id = lifecycle.task_of(state)
    if not task_id:
        return living.display_name
    return Sentence("{agent} of {task}", agent=living.display_name, task=_title(journal, task_id))


def _title(journal: Reader, ident: str) -> str:
    """What the person calls a task or a category; its id if that is not known here."""
    entity = journal.entity(ident) if ident else None
    called = (entity.value("title") or entity.value("name")) if entity is not None else None
    return quoted(called) if isinstance(called, str) else ident
