"""`agent list | show | report | log`: the pages about agents. Asks no model."""

from typing import Any

import click

from lottisync.agents import lifecycle, run_log, task_agent, thread
from lottisync.agents.openai_client import DEFAULT_MODEL
from lottisync.agents.report import latest_report
from lottisync.agents.types import Agent, AgentMessage
from lottisync.answers.agents import (
    AgentAnswer,
    Agents,
    Changed,
    ConversationAnswer,
    MessageAnswer,
    ReportAnswer,
    RunAnswer,
    Runs,
    Tokens,
    WithheldAnswer,
)
from lottisync.cli import completion
from lottisync.cli.hints import with_hint
from lottisync.cli.terminal import MARGIN, Terminal, common, cut, short
from lottisync.cli.times import SECONDS, TIME_OF_DAY, local
from lottisync.cli.watch import watchable
from lottisync.daemon.agent_page import agent_page, cost
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import finding, words
from lottisync.language import headed, marked, number, say, several, translated
from lottisync.problem import Problem, Sentence, counted
from lottisync.shown import quoted
from lottisync.store import lookups
from lottisync.store.beside import beside
from lottisync.store.reader import Reader

UNKNOWN = marked("(unknown)")
RUN_CHARACTERS = 12
"""How many characters of a run's key distinguish runs for people."""
WHY_COLUMNS, ENDED_COLUMNS = 30, 60


@click.command("list")
@common
@watchable
def list_agents(terminal: Terminal) -> None:
    """List all agents there ever were, and what keeps those asleep that sleep.

    \b
    lottisync agent list
    """
    home = terminal.home
    with home.agent.reading() as reader:
        found = lifecycle.list_agents(reader)
    damaged: list[Problem] = []
    pages = beside(found, lambda each: agent_page(home, each, clock.now(), damaged), damaged)
    for said in dict.fromkeys(with_hint(problem) for problem in damaged):
        terminal.warn(said)
    terminal.emit(Agents(pages), lambda: _show_list(terminal, pages))


def _show_list(terminal: Terminal, pages: list[AgentAnswer]) -> None:
    if not pages:
        terminal.line(say("No agent minds a task. Let one with: lottisync agent create TASK"))
        return
    rows = [
        (short(one.id), one.name, _state(one), one.task_title or say("(gone)"), one.home_device.name or say(UNKNOWN))
        for one in pages
    ]
    terminal.table(["id", "name", "", "task", "home"], rows)


@click.command("show")
@click.argument("which", metavar="TASK", shell_complete=completion.tasks)
@common
@watchable
def show(terminal: Terminal, which: str) -> None:
    """Show how things stand with the agent of TASK: state, home, what waits, what it has cost.

    \b
    lottisync agent show milk
    """
    page = agent_page(terminal.home, agent_of(terminal.home, which), clock.now())
    terminal.emit(page, lambda: _show_page(terminal, page, which))


def _show_page(terminal: Terminal, page: AgentAnswer, which: str) -> None:
    terminal.line(f"{page.name}  {_state(page)}", "bold")
    there = f"{page.task_title}  lottisync task show {short(page.task_id)}"
    terminal.fact("task", there if page.task_title else say("(gone)"))
    terminal.fact("home", page.home_device.name or say(UNKNOWN))
    model = page.model or DEFAULT_MODEL
    terminal.fact("model", say("{model} at {server}", model=model, server=page.endpoint) if page.endpoint else model)
    terminal.fact("woke", local(page.last_wake_at) or say("never"))
    for label, known in ((marked("again"), local(page.next_wake_at)), (marked("fails"), page.failures)):
        if known:
            terminal.fact(label, known)
    for name, at in page.timers.items():
        terminal.fact("timer", say("{name} at {at}", name=name, at=local(at)))
    if page.changes_waiting:
        terminal.fact("waits", several("{count} change", "{count} changes", page.changes_waiting))
    terminal.fact("cost", _cost(page))
    if page.withheld:
        terminal.line(page.withheld.text, "yellow")
    if page.attention_reason:
        terminal.line(
            say(
                "It asks you to look: {attention}  (lottisync agent attended {which})",
                attention=page.attention_reason,
                which=which,
            ),
            "yellow",
        )
    if page.failure and not page.asleep_reason:
        terminal.line(say("The last wake failed: {failed_because}", failed_because=translated(page.failure)), "red")
    if page.asleep_reason:
        terminal.line(
            say("It sleeps, after {asleep_because}", asleep_because=translated(page.asleep_reason)), "bold red"
        )
        terminal.line(say("When that is mended: lottisync agent resume"))
    if page.home_device.offered:
        seen = local(page.home_device.last_seen_at) or say("for as long as this device remembers")
        terminal.line(
            say("Its home was not seen since {seen}. Take over: lottisync agent move {which}", seen=seen, which=which),
            "yellow",
        )


LIFECYCLES = {
    lifecycle.CREATED: marked("created"),
    lifecycle.ACTIVE: marked("active"),
    lifecycle.DORMANT: marked("dormant"),
    lifecycle.DESTROYED: marked("destroyed"),
}


def _state(page: AgentAnswer) -> str:
    if page.awake:
        return say("awake")
    if page.lifecycle != lifecycle.DESTROYED and page.task_title is None:
        return say("asleep: its task is gone")
    if page.lifecycle != lifecycle.DESTROYED and page.task_closed is not None:
        return say("asleep: its task is {status}", status=words.status(page.task_closed))
    if page.asleep_reason:
        return several("gave up after {count} failure", "gave up after {count} failures", page.failures)
    if page.lifecycle == lifecycle.DORMANT:
        return say("paused")
    if page.withheld and page.lifecycle != lifecycle.DESTROYED:
        return _withheld(page.withheld)
    state = say(LIFECYCLES.get(page.lifecycle, page.lifecycle))
    return say("{state}, home is away", state=state) if page.home_device.offered else state


def _withheld(reason: WithheldAnswer) -> str:
    match reason.code:
        case "budget":
            return say("paused: budget, until {until}", until=local(reason.until) or "an unknown time")
        case "never-sent":
            return say("asleep: never sent to a model")
        case "no-endpoint":
            return say("waits: its endpoint is not on this device")
        case _:
            return say("asleep: agents are off")


def _cost(page: AgentAnswer) -> str:
    if not page.wake_count and page.last_wake_at:
        return say("not known: its server does not count tokens")
    return several(
        "{tokens} in {count} wake", "{tokens} in {count} wakes", page.wake_count, tokens=_tokens(page.tokens)
    )


def _tokens(cost: Tokens) -> str:
    return say("{read} tokens read, {written} written", read=number(cost.read), written=number(cost.written))


@click.command("report")
@click.argument("which", metavar="TASK", shell_complete=completion.tasks)
@common
@watchable
def report(terminal: Terminal, which: str) -> None:
    """Show what the agent of TASK last reported. Asks no model.

    \b
    lottisync agent report milk
    """
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


REPORTED = (("achieved", marked("Achieved")), ("remaining", marked("Remaining")), ("learnings", marked("Learnt")))
"""The lists of a report, with their headings."""


def _show_report(terminal: Terminal, found: Agent, content: dict[str, Any]) -> None:
    terminal.line(content.get("title", ""), "bold")
    status = translated(words.status(str(content["status"]).upper().replace("_", " "))) if content.get("status") else ""
    facts = [status, *(str(content[key]) for key in ("priority", "estimate", "dueDate") if content.get(key))]
    terminal.line("  ".join(filter(None, facts)), "dim")
    terminal.line()
    terminal.text(str(content.get("tldr", "")))
    if content.get("goal"):
        terminal.line()
        terminal.text(str(content["goal"]), say("Goal: "))
    for key, heading in REPORTED:
        if content.get(key):
            terminal.heading(say(heading))
            for line in content[key]:
                terminal.line(f"  · {line}")
    terminal.line()
    terminal.line(f"{found.display_name}, {local(content.get('lastUpdated'))}", "dim")


@click.command("log")
@click.argument("which", metavar="TASK", shell_complete=completion.tasks)
@click.option("--wake", "run", metavar="RUN", help="Show what was said and done in this wake; a run from the list.")
@common
def log(terminal: Terminal, which: str, run: str | None) -> None:
    """List the wakes of the agent of TASK on this device, the latest first, with what they cost.

    \b
    lottisync agent log milk
    lottisync agent log milk --wake 3f2a
    """
    home = terminal.home
    found = agent_of(home, which)
    with home.agent.reading() as reader:
        runs = run_log.runs(reader, found.id)
        costs = thread.spent(reader, found.id)
    page = agent_page(home, found, clock.now())
    if run is not None:
        _show_run(terminal, found, which, runs, run, _heading(page))
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
    columns = [marked("run"), marked("when"), marked("why"), marked("how it ended"), marked("tokens")]
    rows = [
        (
            each.run_key[:RUN_CHARACTERS],
            local(each.created_at, SECONDS),
            cut(f"{each.reason} {each.reason_id}", WHY_COLUMNS),
            cut(_ended(each), ENDED_COLUMNS),
            each.tokens.read + each.tokens.written,
        )
        for each in wakes
    ]

    def shown() -> None:
        terminal.line(_heading(page), "bold")
        if rows:
            terminal.table(columns, rows)
        else:
            terminal.line(say("It has not woken on this device."))

    terminal.emit(Runs(page.name, page.task_title, page.home_device.name, wakes), shown)


ENDS = {
    run_log.QUEUED: marked("queued"),
    run_log.STARTED: marked("started"),
    run_log.COMPLETED: marked("completed"),
    run_log.SKIPPED: marked("skipped"),
    run_log.FAILED: marked("failed"),
}


def _ended(run: RunAnswer) -> str:
    """How a wake ended, and why if it ended badly."""
    said = say(ENDS.get(run.status, run.status))
    return headed(said, translated(run.failure)) if run.failure else said


def _heading(page: AgentAnswer) -> str:
    """Whose wakes these are, with the task: agents of several tasks may have one name."""
    return say(
        "{name}  {task_title}  wakes on {device}",
        name=page.name,
        task_title=page.task_title or say("(gone)"),
        device=page.home_device.name or say(UNKNOWN),
    )


def _show_run(
    terminal: Terminal, found: Agent, which: str, runs: list[run_log.Run], abbreviated: str, heading: str
) -> None:
    meant = [each for each in runs if each.run_key.startswith(abbreviated)]
    if not meant:
        raise Problem(
            "unknown-id",
            "no wake of {display_name} on this device begins with {abbreviated}",
            hint="wakes",
            display_name=found.display_name,
            abbreviated=quoted(abbreviated),
            which=which,
        )
    if len(meant) > 1:
        raise Problem(
            "unknown-id",
            "{wakes} of {display_name} begin with {abbreviated}; name one of: {runs}",
            wakes=counted("{count} wake", "{count} wakes", len(meant)),
            display_name=found.display_name,
            abbreviated=quoted(abbreviated),
            runs=", ".join(each.run_key[:RUN_CHARACTERS] for each in meant),
        )
    with terminal.home.agent.reading() as reader:
        said = [_message(terminal.home, reader, each) for each in thread.messages(reader, found.id, meant[0].thread_id)]

    def shown() -> None:
        terminal.line(heading, "bold")
        for each in said:
            if each.text or each.changed_entities:  # a turn that only calls tools says nothing itself
                _show_message(terminal, each)
        if meant[0].error_message:
            terminal.text(translated(meant[0].error_message), headed(say(ENDS.get(meant[0].status, meant[0].status))))

    terminal.emit(ConversationAnswer(said), shown)


def _show_message(terminal: Terminal, said: MessageAnswer) -> None:
    failed = "  " + say("(nothing was done)") if said.succeeded is False else ""
    about = said.tool or ", ".join(filter(None, (said.priority, said.category)))
    terminal.line(f"{local(said.at, TIME_OF_DAY)}  {said.kind:<11} {about}{failed}", "dim")
    terminal.text(translated(said.text) if isinstance(said.text, Sentence) else said.text or "", MARGIN)
    for one in said.changed_entities:
        terminal.line(MARGIN + say("changed the {type} {name}", type=one.type, name=one.name or one.id))


def _message(home: TaskHome, reader: Reader, said: AgentMessage) -> MessageAnswer:
    """One line of the record, with what its call changed in the journal (S3-78)."""
    changed = [str(link.value("toId")) for link in reader.links_from(said.id, "tool_effect")]
    with home.journal.reading() as journal:
        entities = [_changed(journal, ident) for ident in changed]
    metadata = said.metadata
    succeeded = metadata.get("succeeded") if said.kind == "toolResult" else None
    text = thread.full_text(reader, said)
    note = said.kind == "observation"
    priority, category = (metadata.get("priority"), metadata.get("category")) if note else (None, None)
    return MessageAnswer(
        said.created_at, said.kind, metadata.get("toolName"), text or None, succeeded, entities, priority, category
    )


def _changed(journal: Reader, ident: str) -> Changed:
    entity = journal.entity(ident)
    title = entity.value("title") if entity is not None else None
    return Changed(ident, entity.type if entity is not None else "entity", title if isinstance(title, str) else None)


def agent_of(home: TaskHome, which: str) -> Agent:
    """The agent of a task, or the agent with this id or end of an id, as `agent list` shows it. So an agent can be
    named whose task is gone."""
    with home.agent.reading() as reader, home.journal.reading() as journal:
        fitting = lookups.ids_like(reader, which, 2, "agent") if which else []
        if len(fitting) == 1 and (fitting[0] == which or not lookups.ids_like(journal, which, 1, "task")):
            return lifecycle.read(reader, fitting[0])
    with home.journal.reading() as reader:
        task_id = finding.resolve(reader, which, "task")
    with home.agent.reading() as reader:
        found = task_agent.agent_for_task(reader, task_id)
    if found is None:
        raise Problem("no-agent", "no agent minds this task. Run: lottisync agent create {which}", which=which)
    return found
