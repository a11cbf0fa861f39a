"""The state of an agent, as a struct for every program that shows it. Asks no model."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from lottisync.agents import admission, attention, lifecycle, queue, run_log, spending, switch, task_agent, thread
from lottisync.agents.endpoint import choice
from lottisync.agents.model import TokenUsage
from lottisync.agents.report import latest_report
from lottisync.agents.types import Agent, AgentState
from lottisync.answers.agents import AgentAnswer, AgentHome, AgentRules, Tokens, WithheldAnswer
from lottisync.answers.tasks import Minder
from lottisync.daemon.home import TaskHome
from lottisync.daemon.settings import read_settings
from lottisync.daemon.status import last_seen, read_status
from lottisync.journal import tasks
from lottisync.journal.types import Task
from lottisync.problem import Problem
from lottisync.review import index
from lottisync.store.beside import beside
from lottisync.store.instant import iso

Part = TypeVar("Part")
AWAY_DAYS = 7
"""A home that nobody has seen for so long is offered for take-over; a week covers a holiday's weekend."""


def agent_page(home: TaskHome, found: Agent, now: int, damaged: list[Problem] | None = None) -> AgentAnswer:
    """The state of an agent at `now` (ms). Raises `Problem` for an agent that is damaged. With `damaged`, which gets
    the reasons, it leaves out what keeps the agent asleep and what it asks, if that cannot be read."""
    with home.agent.reading() as reader:
        state = lifecycle.read_state(reader, found.id)
        waits = sum(len(each.dots) for each in queue.waiting(reader, found.id))
        costs = thread.spent(reader, found.id)
        latest = latest_report(reader, found.id)
        today = spending.used(reader, spending.day_of(now), found.id)
        with home.journal.reading() as journal:
            here = here_of(home, now)
            withheld = _read(lambda: admission.withheld(journal, reader, found, state, here), damaged)
            asked = _read(lambda: attention.open_request(reader, journal, found.id), damaged)
        failed = thread.failed_because(reader, state) if state.consecutive_failure_count else None
    task_id = lifecycle.task_of(state)
    with home.journal.reading() as reader:
        gone = lifecycle.asleep_without_task(reader, state)
        title = None if gone else tasks.read(reader, task_id, "task", Task).title
        closed = lifecycle.asleep_after_task(reader, state)
    chosen = choice(found)
    return AgentAnswer(
        id=found.id,
        name=found.display_name,
        lifecycle=found.lifecycle,
        awake=run_log.is_awake(home.agent, found.id),
        task_id=task_id,
        task_title=title,
        task_closed=closed,
        model=chosen.model,
        endpoint=chosen.endpoint,
        withheld=None if withheld is None else _withheld(withheld),
        home_device=_home_of(home, found, state, now),
        config=found.config,
        subscriptions=found.subscriptions,
        timers=lifecycle.timers(found),
        last_wake_at=state.last_wake_at,
        next_wake_at=state.next_wake_at,
        failures=state.consecutive_failure_count,
        failure=failed,
        asleep_reason=lifecycle.asleep_because(state),
        changes_waiting=waits,
        wake_count=len(costs),
        tokens=cost(costs.values()),
        tokens_today=today,
        attention_reason=asked.request.rationale if asked is not None else None,
        tldr=latest.content["tldr"] if latest else None,
    )


def _read(look: Callable[[], Part], damaged: list[Problem] | None) -> Part | None:
    return look() if damaged is None else next(iter(beside([None], lambda _: look(), damaged)), None)


def here_of(home: TaskHome, now: int) -> admission.Here:
    """This device at `now` (ms). The endpoints in a config.toml that cannot be read are not looked at."""
    try:
        endpoints = read_settings(home.path).endpoints
    except Problem:
        endpoints = None
    return admission.Here(home.key.device_id, now, None, home.device_name, endpoints)


def _withheld(reason: admission.Withheld) -> WithheldAnswer:
    return WithheldAnswer(reason.code, reason.message, iso(reason.until) if reason.until else None)


def rules(home: TaskHome, now: int) -> AgentRules:
    """What holds for all agents, at `now` (ms)."""
    with home.agent.reading() as reader:
        held = switch.read(reader)
        return AgentRules(held.off, held.tokens_a_day, spending.used(reader, spending.day_of(now)))


def _home_of(home: TaskHome, found: Agent, state: AgentState, now: int) -> AgentHome:
    """Where the agent wakes, and whether that device has been away for so long that another may take over."""
    member = home.roster().members.get(found.home_device)
    name = member.name if member else None
    if found.home_device == home.key.device_id:
        return AgentHome(found.home_device, name, None, offered=False)
    running = read_status(home)
    connected = {peer.device for peer in running.peers if peer.connected} if running else set()
    seen = last_seen(home, running).get(found.home_device)
    # What it wrote is a sign of life, too, and the only one where no daemon runs.
    signs = [at for at in (seen, state.last_wake_at, found.created_at) if at]
    is_away = max(signs, default="") < iso(now - AWAY_DAYS * 86_400_000)
    offered = is_away and found.home_device not in connected and found.lifecycle != lifecycle.DESTROYED
    return AgentHome(found.home_device, name, seen, offered)


def cost(usages: Iterable[TokenUsage]) -> Tokens:
    """What several turns cost together."""
    listed = list(usages)
    return Tokens(sum(one.prompt_tokens for one in listed), sum(one.completion_tokens for one in listed))


def minder(home: TaskHome, task_id: str, now: int) -> Minder | None:
    """Who minds the task, and how many of its proposals wait for the person; None if nobody does."""
    with home.agent.reading() as reader:
        agent = task_agent.agent_for_task(reader, task_id)
    if agent is None:
        return None
    return Minder(agent.id, agent.display_name, agent.lifecycle, index.waiting(home.agent, now, task_id))
