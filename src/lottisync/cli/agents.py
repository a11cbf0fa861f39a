"""`agent create | list | wake | report | pause | resume | destroy | move`."""

import os
from collections.abc import Callable
from typing import Any

import anyio
import click
import msgspec

from lottisync.agents import agent as agents
from lottisync.agents import run_log, task_agent
from lottisync.agents.model import ModelError
from lottisync.agents.openai_client import DEFAULT_MODEL, model_from_environment
from lottisync.agents.report import latest_report
from lottisync.agents.run_key import user_initiated
from lottisync.agents.wake import WakeResult, wake
from lottisync.cli.terminal import Terminal, common, short
from lottisync.config import clock
from lottisync.config.home import Home
from lottisync.entities.agent import Agent
from lottisync.journal import tasks
from lottisync.problem import Problem
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


@click.group()
def agent() -> None:
    """Create a task's agent, wake it, read its report."""


@agent.command("create")
@click.argument("task_id", metavar="TASK")
@click.option("--name", default="Laura", show_default=True, help="What the agent is called.")
@click.option("--model", help="The model to ask for; LOTTISYNC_MODEL if not given.")
@common
def create(terminal: Terminal, task_id: str, name: str, model: str | None) -> None:
    """Create the agent that minds TASK. It wakes on this device."""
    home = terminal.home
    with home.journal.reading() as reader:
        task = tasks.resolve(reader, task_id, "task")
    ident = task_agent.create_task_agent(
        home.journal,
        home.agent,
        task,
        name=name,
        home_device=home.key.device_id,
        model=model or os.environ.get("LOTTISYNC_MODEL") or DEFAULT_MODEL,
        now=clock.now(),
    )
    with home.agent.reading() as reader:
        made = agents.read(reader, ident)
    value = {"id": ident, "name": made.display_name, "task": task, "model": made.config.get("model")}
    terminal.emit(
        value,
        lambda: terminal.line(f"{made.display_name} minds this task now. Wake with: lottisync agent wake {task_id}"),
    )


@agent.command("list")
@common
def list_agents(terminal: Terminal) -> None:
    """List all agents there ever were."""
    home = terminal.home
    with home.agent.reading() as reader:
        rows = [(found, agents.task_of(agents.read_state(reader, found.id))) for found in agents.list_agents(reader)]
    with home.journal.reading() as reader:
        titles = {task.id: task.title for task in tasks.all_tasks(reader)}
    value = [
        {"id": found.id, "name": found.display_name, "lifecycle": found.lifecycle, "task": task} for found, task in rows
    ]
    terminal.emit(
        value,
        lambda: terminal.table(
            ["id", "name", "", "task"],
            [
                (short(found.id), found.display_name, found.lifecycle, titles.get(task, "(gone)"))
                for found, task in rows
            ],
        ),
    )


@agent.command("wake")
@click.argument("which", metavar="TASK")
@common
def wake_agent(terminal: Terminal, which: str) -> None:
    """Wake the agent of TASK now. The model is the one OPENAI_API_KEY or LOTTISYNC_MODEL_URL leads to."""
    home = terminal.home
    found = _agent_of(home, which)
    configured = {"LOTTISYNC_MODEL": str(found.config.get("model") or DEFAULT_MODEL)}
    try:
        model = model_from_environment({**configured, **os.environ})
    except ModelError as error:
        raise Problem(f"model-{error.code}", error.message) from None
    with home.agent.reading() as reader:
        # A wake that was killed is gone on with: its finished turns are paid for.
        trigger = run_log.interrupted(reader, found.id)
    trigger = trigger or user_initiated(found.id, clock.new_id(clock.now()), "1")

    async def run() -> WakeResult:
        return await wake(
            home.journal,
            home.agent,
            model,
            trigger,
            agent_id=found.id,
            device=home.key.device_id,
            now=clock.now,
            new_id=clock.new_id,
        )

    with terminal.waiting(f"{found.display_name} is awake"):
        result = anyio.run(run)
    with home.agent.reading() as reader:
        proposed = sum(len(_items(reader, set_id)) for set_id in result.change_set_ids)
    value = msgspec.to_builtins(result) | {"proposed": proposed}
    terminal.emit(value, lambda: _show_wake(terminal, found, result, proposed))


def _items(reader: Reader, set_id: str) -> list[Any]:
    entity = reader.entity(set_id)
    items = entity.value("items") if entity is not None else None
    return items if isinstance(items, list) else []


def _show_wake(terminal: Terminal, found: Agent, result: WakeResult, proposed: int) -> None:
    notes = f"{result.observation_count} note{'' if result.observation_count == 1 else 's'}"
    terminal.line(f"{found.display_name}: {proposed} proposed, {notes}, {result.turns} turns", "green")
    if result.turn_limit_reached:
        terminal.line("The limit of turns was reached before the model was done.", "yellow")
    if result.usage is not None:
        terminal.line(f"{result.usage.prompt_tokens} tokens read, {result.usage.completion_tokens} written", "dim")
    if proposed:
        terminal.line("Decide with: lottisync review")


@agent.command("report")
@click.argument("which", metavar="TASK")
@common
def report(terminal: Terminal, which: str) -> None:
    """Show what the agent of TASK last reported. Asks no model."""
    home = terminal.home
    found = _agent_of(home, which)
    with home.agent.reading() as reader:
        latest = latest_report(reader, found.id)
    if latest is None:
        raise Problem("no-report", f"{found.display_name} has not reported yet. Run: lottisync agent wake {which}")
    value = {"id": latest.id, "agent": found.id, "createdAt": latest.created_at, "content": latest.content}
    terminal.emit(value, lambda: _show_report(terminal, found, latest.content))


def _show_report(terminal: Terminal, found: Agent, content: dict[str, Any]) -> None:
    terminal.line(f"{content.get('title', '')}", "bold")
    facts = [str(content[key]) for key in ("status", "priority", "estimate", "dueDate") if content.get(key)]
    terminal.line("  ".join(facts), "dim")
    terminal.line(f"\n{content.get('tldr', '')}")
    if content.get("goal"):
        terminal.line(f"\nGoal: {content['goal']}")
    for key, heading in (("achieved", "Achieved"), ("remaining", "Remaining"), ("learnings", "Learnt")):
        if content.get(key):
            terminal.line(f"\n{heading}", "bold")
            for line in content[key]:
                terminal.line(f"  · {line}")
    terminal.line(f"\n{found.display_name}, {content.get('lastUpdated', '')}", "dim")


@agent.command("pause")
@click.argument("which", metavar="TASK")
@common
def pause(terminal: Terminal, which: str) -> None:
    """Let the agent of TASK sleep until it is resumed."""
    _change(terminal, which, agents.pause)


@agent.command("resume")
@click.argument("which", metavar="TASK")
@common
def resume(terminal: Terminal, which: str) -> None:
    """Let a paused agent wake again."""
    _change(terminal, which, agents.resume)


@agent.command("destroy")
@click.argument("which", metavar="TASK")
@common
def destroy(terminal: Terminal, which: str) -> None:
    """End the agent of TASK. What it wrote stays readable."""
    _change(terminal, which, agents.destroy)


@agent.command("move")
@click.argument("which", metavar="TASK")
@common
def move(terminal: Terminal, which: str) -> None:
    """Make this device the one on which the agent of TASK wakes."""
    device = terminal.home.key.device_id
    _change(terminal, which, lambda tx, ident: agents.move(tx, ident, device))


def _change(terminal: Terminal, which: str, change: Callable[[Transaction, str], None]) -> None:
    home = terminal.home
    found = _agent_of(home, which)
    with home.agent.transaction(clock.now()) as tx:
        change(tx, found.id)
        now = agents.read(tx, found.id)
    value = {"id": now.id, "name": now.display_name, "lifecycle": now.lifecycle, "homeDevice": now.home_device}
    terminal.emit(value, lambda: terminal.line(f"{now.display_name} is {now.lifecycle}."))


def _agent_of(home: Home, which: str) -> Agent:
    """The agent of a task, or the one that has this id."""
    with home.agent.reading() as reader:
        direct = reader.entity(which)
        if direct is not None and direct.type == "agent":
            return agents.read(reader, which)
    with home.journal.reading() as reader:
        task_id = tasks.resolve(reader, which, "task")
    with home.agent.reading() as reader:
        found = task_agent.agent_for_task(reader, task_id)
    if found is None:
        raise Problem("no-agent", f"no agent minds this task. Run: lottisync agent create {which}")
    return found
