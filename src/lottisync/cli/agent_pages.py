"""`agent list | show | report | log`: what there is to read about agents. Asks no model."""

from typing import Any

import click

from lottisync.agents import agent as agents
from lottisync.agents import run_log, task_agent, thread
from lottisync.agents.openai_client import DEFAULT_MODEL
from lottisync.agents.report import latest_report
from lottisync.agents.types import Agent
from lottisync.answers.agents import (
    AgentAnswer,
    Agents,
    Conversation,
    Message,
    ReportAnswer,
    RunAnswer,
    Runs,
    Tokens,
)
from lottisync.cli.terminal import MARGIN, Terminal, common, short
from lottisync.cli.watch import watchable
from lottisync.daemon.agent_page import agent_page, cost
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import tasks
from lottisync.problem import Problem

UNKNOWN = "(unknown)"
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
    pages = [agent_page(home, each, clock.now()) for each in found]
    terminal.emit(Agents(pages), lambda: _show_list(terminal, pages))


def _show_list(terminal: Terminal, pages: list[AgentAnswer]) -> None:
    if not pages:
        terminal.line("No agent minds a task. Let one with: lottisync agent create TASK")
        return
    rows = [
        (short(one.id), one.name, _state(one), one.task_title or "(gone)", one.home.name or UNKNOWN) for one in pages
    ]
    terminal.table(["id", "name", "", "task", "home"], rows)


@click.command("show")
@click.argument("which", metavar="TASK")
@common
@watchable
def show(terminal: Terminal, which: str) -> None:
    """Show how things stand with the agent of TASK: state, home, what waits, what it has cost."""
    page = agent_page(terminal.home, agent_of(terminal.home, which), clock.now())
    terminal.emit(page, lambda: _show_page(terminal, page, which))


def _show_page(terminal: Terminal, page: AgentAnswer, which: str) -> None:
    terminal.line(f"{page.name}  {_state(page)}", "bold")
    there = f"{page.task_title}  lottisync task show {short(page.task_id)}"
    terminal.line(f"task    {there if page.task_title else '(gone)'}")
    terminal.line(f"home    {page.home.name or UNKNOWN}")
    terminal.line(f"model   {page.model or DEFAULT_MODEL}")
    terminal.line(f"woke    {page.last_wake_at or 'never'}")
    for label, known in (("again", page.next_wake_at), ("fails", page.failures)):
        if known:
            terminal.line(f"{label:7} {known}")
    for name, at in page.timers.items():
        terminal.line(f"timer   {name} at {at}")
    if page.changes_waiting:
        terminal.line(f"waits   {counted(page.changes_waiting, 'change')}")
    terminal.line(f"cost    {_tokens(page.tokens)} in {counted(page.wakes, 'wake')}")
    if page.asleep_because:
        terminal.line(f"It sleeps, after {page.asleep_because}", "bold red")
        terminal.line("When that is mended: lottisync agent resume")
    if page.home.offered:
        seen = page.home.last_seen_at or "for as long as this device remembers"
        terminal.line(f"Its home was not seen since {seen}. Take over: lottisync agent move {which}", "yellow")


def _state(page: AgentAnswer) -> str:
    if page.awake:
        return "awake"
    if page.lifecycle != agents.DESTROYED and page.task_title is None:
        return "asleep: its task is gone"
    if page.lifecycle != agents.DESTROYED and page.task_closed is not None:
        return f"asleep: its task is {page.task_closed.lower()}"
    if page.asleep_because:
        return f"gave up after {counted(page.failures, 'failure')}"
    if page.lifecycle == agents.DORMANT:
        return "paused"
    return f"{page.lifecycle}, home is away" if page.home.offered else page.lifecycle


def _tokens(cost: Tokens) -> str:
    return f"{cost.read:,} tokens read, {cost.written:,} written"


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
    value = ReportAnswer(latest.id, found.id, latest.created_at, latest.content)
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
    wakes = [
        RunAnswer(
            each.run_key,
            each.reason,
            each.reason_id,
            each.status,
            each.created_at,
            each.completed_at,
            each.error_message,
            cost([costs[each.run_key]] if each.run_key in costs else []),
        )
        for each in runs
    ]
    columns = ["run", "when", "why", "how it ended", "tokens"]
    rows = [
        (
            each.run_key[:RUN_CHARACTERS],
            each.created_at,
            f"{each.reason} {each.reason_id}"[:30],
            each.status if not each.error else f"{each.status}: {each.error}",
            each.tokens.read + each.tokens.written,
        )
        for each in wakes
    ]
    terminal.emit(Runs(wakes), lambda: terminal.table(columns, rows))


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
        said = [
            Message(each.created_at, each.kind, each.metadata.get("toolName"), thread.full_text(reader, each))
            for each in thread.messages(reader, found.id, meant[0].thread_id)
        ]

    def shown() -> None:
        for each in said:
            terminal.line(f"{each.at[11:19]}  {each.kind:<11} {each.tool or ''}", "dim")
            terminal.text(each.text, MARGIN)

    terminal.emit(Conversation(said), shown)


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
