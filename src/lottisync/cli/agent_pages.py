"""`agent list | show | report | log`: what there is to read about agents. Asks no model."""

from typing import Any

import click

from lottisync.agents import agent as agents
from lottisync.agents import queue, run_log, task_agent, thread
from lottisync.agents.model import TokenUsage
from lottisync.agents.openai_client import DEFAULT_MODEL
from lottisync.agents.report import latest_report
from lottisync.agents.types import Agent, AgentState
from lottisync.cli.terminal import MARGIN, Terminal, common, short
from lottisync.cli.watch import watchable
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import tasks
from lottisync.journal.types import Task
from lottisync.problem import Problem
from lottisync.store.instant import iso

AWAY_DAYS = 7
"""A home that nobody has seen for so long is offered for take-over; a week covers a holiday's weekend."""
RUN_CHARACTERS = 12
"""Of a run's key, enough for people to tell runs apart."""


@click.command("list")
@common
@watchable
def list_agents(terminal: Terminal) -> None:
    """List all agents there ever were, and what keeps those asleep that sleep."""
    home = terminal.home
    with home.agent.reading() as reader:
        found = agents.list_agents(reader)
    value = [_described(home, each) for each in found]
    terminal.emit(value, lambda: _show_list(terminal, value))


def _show_list(terminal: Terminal, value: list[dict[str, Any]]) -> None:
    if not value:
        terminal.line("No agent minds a task. Let one with: lottisync agent create TASK")
        return
    rows = [
        (short(row["id"]), row["name"], _state(row), row["title"] or "(gone)", row["home"]["name"]) for row in value
    ]
    terminal.table(["id", "name", "", "task", "home"], rows)


@click.command("show")
@click.argument("which", metavar="TASK")
@common
@watchable
def show(terminal: Terminal, which: str) -> None:
    """Show how things stand with the agent of TASK: state, home, what waits, what it has cost."""
    value = _described(terminal.home, agent_of(terminal.home, which))

    def shown() -> None:
        terminal.line(f"{value['name']}  {_state(value)}", "bold")
        terminal.line(
            f"task    {value['title']}  lottisync task show {short(value['task'])}"
            if value["title"]
            else "task    (gone)"
        )
        terminal.line(f"home    {value['home']['name']}")
        terminal.line(f"model   {value['model'] or DEFAULT_MODEL}")
        terminal.line(f"woke    {value['lastWakeAt'] or 'never'}")
        for label, key in (("again", "nextWakeAt"), ("fails", "failures")):
            if value[key]:
                terminal.line(f"{label:7} {value[key]}")
        for name, at in value["timers"].items():
            terminal.line(f"timer   {name} at {at}")
        if value["waiting"]:
            terminal.line(f"waits   {counted(value['waiting'], 'change')}")
        terminal.line(f"cost    {_tokens(value['tokens'])} in {counted(value['wakes'], 'wake')}")
        if value["asleepBecause"]:
            terminal.line(f"It sleeps, after {value['asleepBecause']}", "bold red")
            terminal.line("When that is mended: lottisync agent resume")
        if value["home"]["offered"]:
            seen = value["home"]["lastSeen"] or "for as long as this device remembers"
            terminal.line(f"Its home was not seen since {seen}. Take over: lottisync agent move {which}", "yellow")

    terminal.emit(value, shown)


def _described(home: TaskHome, found: Agent) -> dict[str, Any]:
    with home.agent.reading() as reader:
        state = agents.read_state(reader, found.id)
        waits = sum(len(each.dots) for each in queue.waiting(reader, found.id))
        costs = thread.spent(reader, found.id)
        latest = latest_report(reader, found.id)
    task_id = agents.task_of(state)
    with home.journal.reading() as reader:
        gone = agents.asleep_without_task(reader, state)
        title = None if gone else tasks.read(reader, task_id, "task", Task).title
        closed = agents.asleep_after_task(reader, state)
    return {
        "id": found.id,
        "name": found.display_name,
        "lifecycle": found.lifecycle,
        "awake": run_log.is_awake(home.agent, found.id),
        "task": task_id,
        "title": title,
        "closed": closed,
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


def _home_of(home: TaskHome, found: Agent, state: AgentState) -> dict[str, Any]:
    """Where the agent wakes, and whether that home has been away for so long that another may take over."""
    from lottisync.daemon.status import last_seen, read_status

    here = home.key.device_id
    member = home.roster().members.get(found.home_device)
    told = {"device": found.home_device, "name": member.name if member else "(unknown)", "lastSeen": None}
    if found.home_device == here:
        return {**told, "offered": False}
    running = read_status(home)
    peers = {peer.device: peer for peer in running.peers} if running else {}
    peer = peers.get(found.home_device)
    told["lastSeen"] = last_seen(home, running).get(found.home_device)
    # What it wrote is a sign of life, too, and the only one where no daemon runs.
    signs = [at for at in (told["lastSeen"], state.last_wake_at, found.created_at) if at]
    is_away = max(signs, default="") < iso(clock.now() - AWAY_DAYS * 86_400_000)
    return {**told, "offered": is_away and not (peer and peer.connected) and found.lifecycle != agents.DESTROYED}


def _state(row: dict[str, Any]) -> str:
    if row["awake"]:
        return "awake"
    if row["lifecycle"] != agents.DESTROYED and row["title"] is None:
        return "asleep: its task is gone"
    if row["lifecycle"] != agents.DESTROYED and row["closed"] is not None:
        return f"asleep: its task is {row['closed'].lower()}"
    if row["asleepBecause"]:
        return f"gave up after {counted(row['failures'], 'failure')}"
    if row["lifecycle"] == agents.DORMANT:
        return "paused"
    return f"{row['lifecycle']}, home is away" if row["home"]["offered"] else str(row["lifecycle"])


def _sum(costs: list[TokenUsage]) -> dict[str, int]:
    return {
        "read": sum(cost.prompt_tokens for cost in costs),
        "written": sum(cost.completion_tokens for cost in costs),
    }


def _tokens(cost: dict[str, int]) -> str:
    return f"{cost['read']:,} tokens read, {cost['written']:,} written"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


@click.command("report")
@click.argument("which", metavar="TASK")
@common
@watchable
def report(terminal: Terminal, which: str) -> None:
    """Show what the agent of TASK last reported. Asks no model."""
    home = terminal.home
    found = agent_of(home, which)
    with home.agent.reading() as reader:
        latest = latest_report(reader, found.id)
    if latest is None:
        raise Problem(
            "no-report",
            "{display_name} has not reported yet. Run: lottisync agent wake {which}",
            display_name=found.display_name,
            which=which,
        )
    value = {"id": latest.id, "agent": found.id, "createdAt": latest.created_at, "content": latest.content}
    terminal.emit(value, lambda: _show_report(terminal, found, latest.content))


def _show_report(terminal: Terminal, found: Agent, content: dict[str, Any]) -> None:
    terminal.line(content.get("title", ""), "bold")
    facts = [str(content[key]) for key in ("status", "priority", "estimate", "dueDate") if content.get(key)]
    terminal.line("  ".join(facts), "dim")
    terminal.line()
    terminal.text(str(content.get("tldr", "")))
    if content.get("goal"):
        terminal.line()
        terminal.text(str(content["goal"]), "Goal: ")
    for key, heading in (("achieved", "Achieved"), ("remaining", "Remaining"), ("learnings", "Learnt")):
        if content.get(key):
            terminal.heading(heading)
            for line in content[key]:
                terminal.line(f"  · {line}")
    terminal.line()
    terminal.line(f"{found.display_name}, {content.get('lastUpdated', '')}", "dim")


@click.command("log")
@click.argument("which", metavar="TASK")
@click.option("--wake", "run", metavar="RUN", help="Show what was said and done in this wake; a run from the list.")
@common
def log(terminal: Terminal, which: str, run: str | None) -> None:
    """List the wakes of the agent of TASK on this device, the latest first, with what they cost."""
    home = terminal.home
    found = agent_of(home, which)
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
        raise Problem(
            "unknown-id",
            "{counted} of {display_name} begin with {abbreviated}",
            counted=counted(len(meant), "wake"),
            display_name=found.display_name,
            abbreviated=abbreviated,
        )
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
            terminal.text(str(each["text"]), MARGIN)

    terminal.emit(said, shown)


def agent_of(home: TaskHome, which: str) -> Agent:
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
        raise Problem("no-agent", "no agent minds this task. Run: lottisync agent create {which}", which=which)
    return found
