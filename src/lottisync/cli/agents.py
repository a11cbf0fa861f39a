"""`agent create | list | show | wake | report | log | pause | resume | destroy | move`."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import SystemRandom
from typing import Any

import anyio
import click
import msgspec

from lottisync.agents import agent as agents
from lottisync.agents import queue, run_log, task_agent, thread
from lottisync.agents.model import Usage
from lottisync.agents.openai_client import DEFAULT_MODEL, model_for
from lottisync.agents.report import latest_report
from lottisync.agents.run_key import user_initiated
from lottisync.agents.wake import Progress, WakeResult, wake
from lottisync.cli.terminal import Terminal, common, short
from lottisync.config import clock
from lottisync.config.home import Home
from lottisync.entities.agent import Agent, AgentState
from lottisync.entities.journal import Task
from lottisync.journal import tasks
from lottisync.problem import Problem
from lottisync.problem import Usage as WrongCall
from lottisync.store.instant import iso, millis
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

AWAY_DAYS = 7
"""A home that nobody has seen for so long is offered for take-over; a week covers a holiday's weekend."""
RUN_CHARACTERS = 12
"""Of a run's key, enough for people to tell runs apart."""
TIMER = "person"
"""The timer that `agent wake --at` sets; setting it again moves it."""


@click.group()
def agent() -> None:
    """Create a task's agent, wake it, read its report and its log."""


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
    """List all agents there ever were, and what keeps those asleep that sleep."""
    home = terminal.home
    with home.agent.reading() as reader:
        found = agents.list_agents(reader)
    value = [_described(home, each) for each in found]
    columns = ["id", "name", "", "task", "home"]
    terminal.emit(
        value,
        lambda: terminal.table(
            columns,
            [
                (short(row["id"]), row["name"], _state(row), row["title"] or "(gone)", row["home"]["name"])
                for row in value
            ],
        ),
    )


@agent.command("show")
@click.argument("which", metavar="TASK")
@common
def show(terminal: Terminal, which: str) -> None:
    """Show how things stand with the agent of TASK: state, home, what waits, what it has cost."""
    value = _described(terminal.home, _agent_of(terminal.home, which))

    def shown() -> None:
        terminal.line(f"{value['name']}  {_state(value)}", "bold")
        terminal.line(f"task    {value['title'] or '(gone)'}")
        terminal.line(f"home    {value['home']['name']}")
        terminal.line(f"model   {value['model'] or DEFAULT_MODEL}")
        terminal.line(f"woke    {value['lastWakeAt'] or 'never'}")
        for label, key in (("again", "nextWakeAt"), ("fails", "failures")):
            if value[key]:
                terminal.line(f"{label:7} {value[key]}")
        for name, at in value["timers"].items():
            terminal.line(f"timer   {name} at {at}")
        if value["waiting"]:
            terminal.line(f"waits   {_counted(value['waiting'], 'change')}")
        terminal.line(f"cost    {_tokens(value['tokens'])} in {_counted(value['wakes'], 'wake')}")
        if value["asleepBecause"]:
            terminal.line(f"It sleeps, after {value['asleepBecause']}", "bold red")
            terminal.line("When that is mended: lottisync agent resume")
        if value["home"]["offered"]:
            seen = value["home"]["lastSeen"] or "for as long as this device remembers"
            terminal.line(f"Its home was not seen since {seen}. Take over: lottisync agent move {which}", "yellow")

    terminal.emit(value, shown)


def _described(home: Home, found: Agent) -> dict[str, Any]:
    with home.agent.reading() as reader:
        state = agents.read_state(reader, found.id)
        waits = sum(len(each.dots) for each in queue.waiting(reader, found.id))
        costs = thread.spent(reader, found.id)
        latest = latest_report(reader, found.id)
    task_id = agents.task_of(state)
    with home.journal.reading() as reader:
        gone = agents.asleep_without_task(reader, state)
        title = None if gone else tasks.read(reader, task_id, "task", Task).title
    return {
        "id": found.id,
        "name": found.display_name,
        "lifecycle": found.lifecycle,
        "awake": run_log.is_awake(home.agent, found.id),
        "task": task_id,
        "title": title,
        "model": found.config.get("model"),
        "home": _home_of(home, found, state),
        "lastWakeAt": state.last_wake_at,
        "nextWakeAt": state.next_wake_at,
        "failures": state.consecutive_failure_count,
        "asleepBecause": agents.asleep_because(state),
        "subscriptions": found.subscriptions,
        "timers": found.timers,
        "waiting": waits,
        "wakes": len(costs),
        "tokens": _sum(list(costs.values())),
        "tldr": latest.content["tldr"] if latest else None,
    }


def _home_of(home: Home, found: Agent, state: AgentState) -> dict[str, Any]:
    """Where the agent wakes, and whether that home has been away for so long that another may take over."""
    from lottisync.daemon.status import read_status

    here = home.key.device_id
    member = home.roster().members.get(found.home_device)
    told = {"device": found.home_device, "name": member.name if member else "(unknown)", "lastSeen": None}
    if found.home_device == here:
        return {**told, "offered": False}
    running = read_status(home)
    peers = {peer.device: peer for peer in running.peers} if running else {}
    peer = peers.get(found.home_device)
    told["lastSeen"] = peer.last_seen if peer else None
    # What it wrote is a sign of life, too, and the only one where no daemon runs.
    signs = [at for at in (told["lastSeen"], state.last_wake_at, found.created_at) if at]
    is_away = max(signs, default="") < iso(clock.now() - AWAY_DAYS * 86_400_000)
    return {**told, "offered": is_away and not (peer and peer.linked) and found.lifecycle != agents.DESTROYED}


def _state(row: dict[str, Any]) -> str:
    if row["awake"]:
        return "awake"
    if row["lifecycle"] != agents.DESTROYED and row["title"] is None:
        return "asleep: its task is gone"
    if row["asleepBecause"]:
        return f"gave up after {_counted(row['failures'], 'failure')}"
    if row["lifecycle"] == agents.DORMANT:
        return "paused"
    return f"{row['lifecycle']}, home is away" if row["home"]["offered"] else str(row["lifecycle"])


def _sum(costs: list[Usage]) -> dict[str, int]:
    return {
        "read": sum(cost.prompt_tokens for cost in costs),
        "written": sum(cost.completion_tokens for cost in costs),
    }


def _tokens(cost: dict[str, int]) -> str:
    return f"{cost['read']:,} tokens read, {cost['written']:,} written"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@agent.command("wake")
@click.argument("which", metavar="TASK")
@click.option("--at", metavar="INSTANT", help="Not now but then, if a daemon runs: like 2026-03-01T07:00:00Z.")
@common
def wake_agent(terminal: Terminal, which: str, at: str | None) -> None:
    """Wake the agent of TASK now. The model is the one OPENAI_API_KEY or LOTTISYNC_MODEL_URL leads to."""
    home = terminal.home
    found = _agent_of(home, which)
    if at is not None:
        _set_timer(terminal, found, at)
        return
    model = model_for(found.config.get("model"), os.environ)
    with home.agent.reading() as reader:
        # A wake that was killed is gone on with: its finished turns are paid for.
        trigger = run_log.interrupted(reader, found.id)
    trigger = trigger or user_initiated(found.id, clock.new_id(clock.now()), "1")

    async def run(watch: Callable[[Progress], None]) -> WakeResult:
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
    value = msgspec.to_builtins(result) | {"proposed": proposed}
    terminal.emit(value, lambda: _show_wake(terminal, found, result, proposed))


def _set_timer(terminal: Terminal, found: Agent, at: str) -> None:
    try:
        instant = iso(millis(at))
    except ValueError as error:
        raise WrongCall("bad-value", f"--at is an instant: {error}") from None
    with terminal.home.agent.transaction(clock.now()) as tx:
        agents.set_timer(tx, found.id, TIMER, instant)
    value = {"id": found.id, "timer": TIMER, "at": instant}
    terminal.emit(value, lambda: terminal.line(f"{found.display_name} wakes at {instant}, where a daemon runs."))


@contextmanager
def _watching(terminal: Terminal, name: str) -> Iterator[Callable[[Progress], None]]:
    """What the agent does, on standard error while it does it: a line that changes, or lines in a pipe."""

    def told(progress: Progress) -> str:
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


@agent.command("log")
@click.argument("which", metavar="TASK")
@click.option("--wake", "run", metavar="RUN", help="Show what was said and done in this wake; a run from the list.")
@common
def log(terminal: Terminal, which: str, run: str | None) -> None:
    """List the wakes of the agent of TASK on this device, the latest first, with what they cost."""
    home = terminal.home
    found = _agent_of(home, which)
    with home.agent.reading() as reader:
        runs = run_log.runs(reader, found.id)
        costs = thread.spent(reader, found.id)
    if run is not None:
        _show_run(terminal, found, runs, run)
        return
    value: list[dict[str, Any]] = [
        {
            "runKey": each.run_key,
            "reason": each.reason,
            "reasonId": each.reason_id,
            "status": each.status,
            "createdAt": each.created_at,
            "completedAt": each.completed_at,
            "error": each.error_message,
            "tokens": _sum([costs[each.run_key]] if each.run_key in costs else []),
        }
        for each in runs
    ]
    columns = ["run", "when", "why", "how it ended", "tokens"]
    terminal.emit(
        value,
        lambda: terminal.table(
            columns,
            [
                (
                    row["runKey"][:RUN_CHARACTERS],
                    row["createdAt"],
                    f"{row['reason']} {row['reasonId']}"[:30],
                    row["status"] if not row["error"] else f"{row['status']}: {row['error']}",
                    sum(row["tokens"].values()),
                )
                for row in value
            ],
        ),
    )


def _show_run(terminal: Terminal, found: Agent, runs: list[run_log.Run], abbreviated: str) -> None:
    meant = [each for each in runs if each.run_key.startswith(abbreviated)]
    if len(meant) != 1:
        raise Problem("unknown-id", f"{_counted(len(meant), 'wake')} of {found.display_name} begin with {abbreviated}")
    with terminal.home.agent.reading() as reader:
        said: list[dict[str, Any]] = [
            {
                "at": each.created_at,
                "kind": each.kind,
                "tool": each.metadata.get("toolName"),
                "text": thread.full_text(reader, each),
            }
            for each in thread.messages(reader, found.id, meant[0].thread_id)
        ]

    def shown() -> None:
        for each in said:
            terminal.line(f"{each['at'][11:19]}  {each['kind']:<11} {each['tool'] or ''}", "dim")
            terminal.line(str(each["text"]))

    terminal.emit(said, shown)


SETTINGS = {"sovereignty": ("reason", "evidence"), "autoCheck": (True, False)}


@agent.command("configure")
@click.argument("which", metavar="TASK")
@click.argument("changes", metavar="SETTING=VALUE...", nargs=-1, required=True)
@common
def configure(terminal: Terminal, which: str, changes: tuple[str, ...]) -> None:
    """Change settings of the agent of TASK.

    sovereignty=reason|evidence  what it takes to override your tick: a reason, or also a later entry of yours.
    autoCheck=true|false         whether it may tick, without asking, items that an agent ticked last."""
    fields: dict[str, Any] = {}
    for change in changes:
        name, _, text = change.partition("=")
        value: Any = {"true": True, "false": False}.get(text, text)
        if value not in SETTINGS.get(name, ()):
            known = ", ".join(f"{key}={'|'.join(str(v).lower() for v in values)}" for key, values in SETTINGS.items())
            raise WrongCall("bad-value", f"the settings are {known}; got {change!r}")
        fields[f"config/{name}"] = value
    _change(terminal, which, lambda tx, ident: _put(tx, ident, fields))


def _put(tx: Transaction, ident: str, fields: dict[str, Any]) -> None:
    tx.put(ident, "agent", fields)


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
@click.option("--to", "name", metavar="DEVICE", help="The name of another of your devices; this one if not given.")
@common
def move(terminal: Terminal, which: str, name: str | None) -> None:
    """Make this device, or another, the one on which the agent of TASK wakes."""
    home = terminal.home
    device = home.key.device_id if name is None else _device_called(home, name)
    _change(terminal, which, lambda tx, ident: agents.move(tx, ident, device))


def _device_called(home: Home, name: str) -> str:
    roster = home.roster()
    known = [*roster.active_peers(), roster.members[home.key.device_id]]
    meant = [member.device for member in known if member.name == name or member.device == name]
    if len(meant) != 1:
        raise Problem(
            "unknown-device", f"{_counted(len(meant), 'device')} of yours called {name!r}. See: lottisync status"
        )
    return meant[0]


def _change(terminal: Terminal, which: str, change: Callable[[Transaction, str], None]) -> None:
    home = terminal.home
    found = _agent_of(home, which)
    with home.agent.transaction(clock.now()) as tx:
        change(tx, found.id)
        now = agents.read(tx, found.id)
    value = {
        "id": now.id,
        "name": now.display_name,
        "lifecycle": now.lifecycle,
        "homeDevice": now.home_device,
        "config": now.config,
    }
    terminal.emit(value, lambda: terminal.line(f"{now.display_name} is {now.lifecycle}."))


def _agent_of(home: Home, which: str) -> Agent:
    """The agent of a task; or the one that has this id, or an end of it as `agent list` shows it, which is how to
    reach an agent whose task is gone."""
    with home.agent.reading() as reader, home.journal.reading() as journal:
        fitting = reader.ids_like(which, 2, "agent") if which else []
        if len(fitting) == 1 and (fitting[0] == which or not journal.ids_like(which, 1, "task")):
            return agents.read(reader, fitting[0])
    with home.journal.reading() as reader:
        task_id = tasks.resolve(reader, which, "task")
    with home.agent.reading() as reader:
        found = task_agent.agent_for_task(reader, task_id)
    if found is None:
        raise Problem("no-agent", f"no agent minds this task. Run: lottisync agent create {which}")
    return found
