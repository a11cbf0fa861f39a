"""`agent create | wake | configure | pause | resume | destroy | move`, and the pages of `agent_pages`."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import SystemRandom
from typing import Any

import anyio
import click

from lottisync.agents import agent as agents
from lottisync.agents import run_log, task_agent
from lottisync.agents.openai_client import DEFAULT_MODEL, model_for
from lottisync.agents.run_key import user_initiated
from lottisync.agents.types import Agent
from lottisync.agents.wake import WakeProgress, WakeResult, wake
from lottisync.answers.agents import TimerSet, Woken
from lottisync.cli.agent_pages import agent_of, list_agents, log, report, show
from lottisync.cli.options import everywhere
from lottisync.cli.terminal import Terminal, common
from lottisync.daemon.agent_page import agent_page, cost
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import tasks
from lottisync.problem import Problem
from lottisync.problem import Usage as WrongCall
from lottisync.review.precedence import PERSON
from lottisync.shown import quoted
from lottisync.store.instant import iso, millis
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

TIMER = "person"
"""The timer that `agent wake --at` sets; setting it again moves it."""


@click.group()
@everywhere
def agent(home: str | None, as_json: bool) -> None:
    """Create a task's agent, wake it, read its report and its log."""


for page in (list_agents, show, report, log):
    agent.add_command(page)


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
    terminal.emit(
        agent_page(home, made, clock.now()),
        lambda: terminal.line(f"{made.display_name} minds this task now. Wake with: lottisync agent wake {task_id}"),
    )


@agent.command("wake")
@click.argument("which", metavar="TASK")
@click.option("--at", metavar="INSTANT", help="Not now but then, if a daemon runs: like 2026-03-01T07:00:00Z.")
@common
def wake_agent(terminal: Terminal, which: str, at: str | None) -> None:
    """Wake the agent of TASK now. The model is the one OPENAI_API_KEY or LOTTISYNC_MODEL_URL leads to."""
    home = terminal.home
    found = agent_of(home, which)
    if at is not None:
        _set_timer(terminal, found, at)
        return
    model = model_for(found.config.get("model"), os.environ)
    with home.agent.reading() as reader:
        # A wake that was killed is gone on with: its finished turns are paid for.
        trigger = run_log.interrupted(reader, found.id)
    trigger = trigger or user_initiated(found.id, clock.new_id(clock.now()), "1")

    async def run(watch: Callable[[WakeProgress], None]) -> WakeResult:
        return await wake(
            home.journal,
            home.agent,
            model,
            trigger,
            agent_id=found.id,
            device=home.key.device_id,
            now=clock.now,
            new_id=clock.new_id,
            chance=SystemRandom().random(),
            watch=watch,
        )

    with _watching(terminal, found.display_name) as watch:
        result = anyio.run(run, watch)
    with home.agent.reading() as reader:
        proposed = sum(len(_items(reader, set_id)) for set_id in result.change_set_ids)
    answer = Woken(
        found.id,
        result.run_key,
        result.thread_id,
        result.report_id,
        result.change_set_ids,
        proposed,
        result.observation_count,
        result.turns,
        result.turn_limit_reached,
        result.repeated,
        cost([result.usage]) if result.usage else None,
    )
    terminal.emit(answer, lambda: _show_wake(terminal, found, result, proposed))


def _set_timer(terminal: Terminal, found: Agent, at: str) -> None:
    try:
        instant = iso(millis(at))
    except ValueError as error:
        raise WrongCall("bad-value", f"--at is an instant: {error}") from None
    with terminal.home.agent.transaction(clock.now(), PERSON) as tx:
        agents.set_timer(tx, found.id, TIMER, instant)
    value = TimerSet(found.id, TIMER, instant)
    terminal.emit(value, lambda: terminal.line(f"{found.display_name} wakes at {instant}, where a daemon runs."))


@contextmanager
def _watching(terminal: Terminal, name: str) -> Iterator[Callable[[WakeProgress], None]]:
    """What the agent does, on standard error while it does it: a line that changes, or lines in a pipe."""

    def told(progress: WakeProgress) -> str:
        if progress.turn == 0:
            return f"{name} condenses old notes"
        done = f": {progress.tool}" if progress.tool else ", thinking"
        return f"{name} is awake, turn {progress.turn} of {progress.of}{done}"

    if terminal.as_json:
        yield lambda progress: None
    elif not sys.stderr.isatty():
        yield lambda progress: click.echo(told(progress), err=True)
    else:
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status(f"{name} is awake") as status:
            yield lambda progress: status.update(Text(told(progress)))


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


SETTINGS = {"sovereignty": ("reason", "evidence"), "autoCheck": (True, False)}


@agent.command("configure")
@click.argument("which", metavar="TASK")
@click.argument("changes", metavar="SETTING=VALUE...", nargs=-1, required=True)
@common
def configure(terminal: Terminal, which: str, changes: tuple[str, ...]) -> None:
    """Change settings of the agent of TASK.

    sovereignty=reason|evidence  what it takes to override your tick: a reason, or also a later entry of yours.
    autoCheck=true|false         whether it may tick, without asking, items that an agent ticked last.
    personality=TEXT             how it is to write, in your words (at most 1,000 characters); nothing: as it likes."""
    fields: dict[str, Any] = {}
    for change in changes:
        name, _, text = change.partition("=")
        if name == agents.PERSONALITY:
            fields[f"config/{name}"] = _personality(text)
            continue
        value: Any = {"true": True, "false": False}.get(text, text)
        if value not in SETTINGS.get(name, ()):
            known = ", ".join(f"{key}={'|'.join(str(v).lower() for v in values)}" for key, values in SETTINGS.items())
            raise WrongCall("bad-value", f"the settings are {known}; got {quoted(change)}")
        fields[f"config/{name}"] = value
    _change(terminal, which, lambda tx, ident: _put(tx, ident, fields), f"goes by {', '.join(changes)} from now on")


def _personality(text: str) -> str | None:
    words = " ".join(text.split())
    if len(words) > agents.MAX_PERSONALITY:
        raise WrongCall(
            "bad-value",
            "a personality has at most {most} characters; got {count}",
            most=agents.MAX_PERSONALITY,
            count=len(words),
        )
    return words or None


def _put(tx: Transaction, ident: str, fields: dict[str, Any]) -> None:
    tx.put(ident, "agent", fields)


@agent.command("pause")
@click.argument("which", metavar="TASK")
@common
def pause(terminal: Terminal, which: str) -> None:
    """Let the agent of TASK sleep until it is resumed."""
    _change(terminal, which, agents.pause, f"is paused. Go on with: lottisync agent resume {which}")


@agent.command("resume")
@click.argument("which", metavar="TASK")
@common
def resume(terminal: Terminal, which: str) -> None:
    """Let a paused agent wake again."""
    _change(terminal, which, agents.resume, "may wake again")


@agent.command("destroy")
@click.argument("which", metavar="TASK")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@common
def destroy(terminal: Terminal, which: str, yes: bool) -> None:
    """End the agent of TASK. What it wrote stays readable."""
    found = agent_of(terminal.home, which)
    terminal.confirm(f"End {found.display_name}, the agent of this task, for good?", yes=yes)
    _change(terminal, which, agents.destroy, "is ended; what it wrote stays readable")


@agent.command("move")
@click.argument("which", metavar="TASK")
@click.option("--to", "name", metavar="DEVICE", help="The name of another of your devices; this one if not given.")
@common
def move(terminal: Terminal, which: str, name: str | None) -> None:
    """Make this device, or another, the one on which the agent of TASK wakes."""
    home = terminal.home
    device = home.key.device_id if name is None else _active(home, name)
    _change(terminal, which, lambda tx, ident: agents.move(tx, ident, device), f"wakes on {name or 'this device'}")


def _active(home: TaskHome, name: str) -> str:
    from lottisync.device.membership import member_named

    member = member_named(home.roster(), name)
    if member.status != "active":
        raise Problem(
            "not-active", "{name} is {status}. See: lottisync devices", name=member.name, status=member.status
        )
    return member.device


def _change(terminal: Terminal, which: str, change: Callable[[Transaction, str], None], said: str) -> None:
    home = terminal.home
    found = agent_of(home, which)
    with home.agent.transaction(clock.now(), PERSON) as tx:
        change(tx, found.id)
        now = agents.read(tx, found.id)
    page = agent_page(home, now, clock.now())
    terminal.emit(page, lambda: terminal.line(f"{now.display_name} {said}"))
