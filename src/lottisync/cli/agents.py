"""`agent create | wake | configure | pause | resume | destroy | move`, the pages of `agent_pages`, and what leaves this
device (`agent_sending`).

Only `agent wake` loads what a wake needs."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import anyio
import click

from lottisync.agents import admission, creation, lifecycle, run_log
from lottisync.agents.budget import LEAST_TOKENS, MOST_TOKENS
from lottisync.agents.run_key import user_initiated
from lottisync.agents.spending import MAX_TOKENS_PER_DAY
from lottisync.agents.types import Agent
from lottisync.answers.agents import TimerSet, Woken
from lottisync.cli import completion
from lottisync.cli.acts import this_terminal
from lottisync.cli.agent_pages import agent_of, list_agents, log, report, show
from lottisync.cli.agent_sending import attended, choose_model, limit, never_send, sent, turn_off, turn_on
from lottisync.cli.dates import MORNING, moment
from lottisync.cli.help_pages import Group
from lottisync.cli.options import everywhere
from lottisync.cli.terminal import Terminal, common
from lottisync.cli.times import local
from lottisync.daemon.agent_page import agent_page, cost, here_of
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import finding
from lottisync.language import marked, number, say, several
from lottisync.problem import Marked, Problem, Usage
from lottisync.review.precedence import PERSON
from lottisync.shown import quoted
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

if TYPE_CHECKING:
    from lottisync.agents.wake import WakeProgress, WakeResult

TIMER = "person"
"""The timer that `agent wake --at` sets; setting it again moves it."""


@click.group(cls=Group)
@everywhere
def agent(home: str | None, as_json: bool) -> None:
    """Create a task's agent, wake it, read its report and its log."""


for command in (list_agents, show, report, log, turn_off, turn_on, limit, never_send, sent, choose_model, attended):
    agent.add_command(command)


@agent.command("create")
@click.argument("task_id", metavar="TASK", shell_complete=completion.tasks)
@click.option("--name", default="Laura", show_default=True, help="What the agent is called.")
@click.option("--model", help="The model to ask for; LOTTISYNC_MODEL if not given.")
@common
def create(terminal: Terminal, task_id: str, name: str, model: str | None) -> None:
    """Create the agent that minds TASK. It wakes on this device.

    \b
    lottisync agent create milk --name Laura
    """
    from lottisync.agents.endpoint import model_named

    home = terminal.home
    with home.journal.reading() as reader:
        task = finding.resolve(reader, task_id, "task")
    ident = creation.create(
        home.journal,
        home.agent,
        task,
        this_terminal(),
        name=name,
        home_device=home.key.device_id,
        model=model_named(model, os.environ),
        now=clock.now(),
    )
    with home.agent.reading() as reader:
        made = lifecycle.read(reader, ident)
    if made.home_device == home.key.device_id:
        then = say("Wake with: lottisync agent wake {task_id}", task_id=task_id)
    else:
        then = say(
            "It lives on {home_device}. Or move it here: lottisync agent move {task_id}",
            home_device=home.device_name(made.home_device),
            task_id=task_id,
        )
    terminal.emit(
        agent_page(home, made, clock.now()),
        lambda: terminal.line(
            say("{display_name} minds this task now. {then}", display_name=made.display_name, then=then)
        ),
    )


@agent.command("wake")
@click.argument("which", metavar="TASK", shell_complete=completion.tasks)
@click.option("--at", metavar="WHEN", help="Not now but then, if a daemon runs: like fri 7:00 or 2026-03-01T07:00.")
@common
def wake_agent(terminal: Terminal, which: str, at: str | None) -> None:
    """Wake the agent of TASK now. The model is the one OPENAI_API_KEY or LOTTISYNC_MODEL_URL leads to.

    \b
    lottisync agent wake milk
    lottisync agent wake milk --at 2026-12-01T07:00:00Z
    """
    from lottisync.agents.endpoint import choice, model_for
    from lottisync.agents.wake import wake
    from lottisync.daemon.settings import read_settings

    home = terminal.home
    found = agent_of(home, which)
    if at is not None:
        _set_timer(terminal, found, at)
        return
    _check_at_home(home, found)
    model = model_for(choice(found), read_settings(home.path).endpoints, os.environ)
    with home.agent.reading() as reader:
        # A wake that was killed is gone on with: its finished turns are paid for.
        trigger = run_log.interrupted(reader, found.id)
    trigger = trigger or user_initiated(found.id, clock.new_id(clock.now()), "1")

    async def run(watch: Callable[["WakeProgress"], None]) -> "WakeResult":
        return await wake(
            home.journal,
            home.agent,
            model,
            trigger,
            agent_id=found.id,
            device=home.key.device_id,
            now=clock.now,
            new_id=clock.new_id,
            chance=clock.chance().random(),
            watch=watch,
            name_of=home.device_name,
        )

    who = _who(home, found)
    with _watching(terminal, found.display_name) as watch, _naming(who):
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
    terminal.emit(answer, lambda: _show_wake(terminal, who, result, proposed))


def _check_at_home(home: TaskHome, found: Agent) -> None:
    """Raise `Problem` for an agent of another device: that this one has no model is of no interest then."""
    with home.journal.reading() as journal, home.agent.reading() as reader:
        state = lifecycle.read_state(reader, found.id)
        away = admission.not_at_home(journal, found, state, here_of(home, clock.now()))
    if away is not None:
        raise away


def _who(home: TaskHome, found: Agent) -> str:
    """The agent with its task and this device, as the person calls them (AGENT-154)."""
    title = agent_page(home, found, clock.now()).task_title
    return say(
        "{display_name} of {title} on {name}",
        display_name=found.display_name,
        title=quoted(title) if title else say("a task that is gone"),
        name=home.name,
    )


@contextmanager
def _naming(who: str) -> Iterator[None]:
    """A model's failure knows neither agent nor task; they are named here."""
    try:
        yield
    except Problem as problem:
        if not problem.code.startswith("model-"):
            raise  # a refusal names them itself
        raise Problem(problem.code, "{who}: {because}", who=who, because=problem) from None


def _set_timer(terminal: Terminal, found: Agent, at: str) -> None:
    instant = moment(at, clock.now(), at=MORNING)
    with terminal.home.agent.transaction(clock.now(), PERSON) as tx:
        lifecycle.set_timer(tx, found.id, TIMER, instant)
    value = TimerSet(found.id, TIMER, instant)
    terminal.emit(
        value,
        lambda: terminal.line(
            say(
                "{display_name} wakes at {instant}, where a daemon runs.",
                display_name=found.display_name,
                instant=local(instant),
            )
        ),
    )


@contextmanager
def _watching(terminal: Terminal, name: str) -> Iterator[Callable[["WakeProgress"], None]]:
    """Show on standard error what the agent does, while it does it: one line that changes, or in a pipe several
    lines."""

    def sentence(progress: "WakeProgress") -> str:
        if progress.turn == 0:
            return say("{name} condenses old notes", name=name)
        turn = {"name": name, "turn": progress.turn, "of": progress.of}
        if progress.tool:
            return say("{name} is awake, turn {turn} of {of}: {tool}", tool=progress.tool, **turn)
        return say("{name} is awake, turn {turn} of {of}, thinking", **turn)

    if terminal.as_json:
        yield lambda progress: None
    elif not sys.stderr.isatty():
        yield lambda progress: click.echo(sentence(progress), err=True)
    else:
        from rich.console import Console
        from rich.text import Text

        with Console(stderr=True).status(say("{name} is awake", name=name)) as status:
            yield lambda progress: status.update(Text(sentence(progress)))


def _items(reader: Reader, set_id: str) -> list[Any]:
    entity = reader.entity(set_id)
    items = entity.value("items") if entity is not None else None
    return items if isinstance(items, list) else []


def _show_wake(terminal: Terminal, who: str, result: "WakeResult", proposed: int) -> None:
    notes = several("{count} note", "{count} notes", result.observation_count)
    turns = several("{count} turn", "{count} turns", result.turns)
    terminal.line(
        say("{who}: {proposed} proposed, {notes}, {turns}", who=who, proposed=proposed, notes=notes, turns=turns),
        "green",
    )
    if result.turn_limit_reached:
        terminal.line(say("The limit of turns was reached before the model was done."), "yellow")
    if result.usage is not None:
        terminal.line(
            several(
                "{count} token read, {written} written",
                "{count} tokens read, {written} written",
                result.usage.prompt_tokens,
                written=number(result.usage.completion_tokens),
            ),
            "dim",
        )
    if proposed:
        terminal.line(say("Decide with: lottisync review"))


SETTINGS = {"sovereignty": ("reason", "evidence"), "autoCheck": (True, False)}
NUMBERS = {"contextTokens": (LEAST_TOKENS, MOST_TOKENS), lifecycle.TOKENS_PER_DAY: (1, MAX_TOKENS_PER_DAY)}
"""Settings that are a number, with the least and the greatest one."""


@agent.command("configure")
@click.argument("which", metavar="TASK", shell_complete=completion.tasks)
@click.argument("changes", metavar="SETTING=VALUE...", nargs=-1, required=True)
@common
def configure(terminal: Terminal, which: str, changes: tuple[str, ...]) -> None:
    """Change settings of the agent of TASK.

    \b
    sovereignty=reason|evidence  what it takes to override your tick: a reason, or also a later entry of yours.
    autoCheck=true|false         whether it may tick, without asking, items that an agent ticked last.
    personality=TEXT             how it is to write, in your words (at most 1,000 characters); nothing: as it likes.
    contextTokens=20000..1000000 how much of the task its model is told in one wake; nothing: 60,000.
    tokensADay=NUMBER            how many tokens it may use in a day; nothing: no limit of its own.

    \b
    lottisync agent configure milk sovereignty=evidence tokensADay=50000
    """
    fields: dict[str, Any] = {}
    for change in changes:
        name, _, text = change.partition("=")
        if name == lifecycle.PERSONALITY:
            fields[f"config/{name}"] = _personality(text)
            continue
        if name in NUMBERS:
            fields[f"config/{name}"] = _number(name, text)
            continue
        value: Any = {"true": True, "false": False}.get(text, text)
        if value not in SETTINGS.get(name, ()):
            known = ", ".join(f"{key}={'|'.join(str(v).lower() for v in values)}" for key, values in SETTINGS.items())
            others = ", ".join(f"{key}=" for key in (lifecycle.PERSONALITY, *NUMBERS))
            raise Usage(
                "bad-value",
                say("the settings are {known}, {others}; got {change}"),
                known=known,
                others=others,
                change=quoted(change),
            )
        fields[f"config/{name}"] = value
    _change(
        terminal,
        which,
        lambda tx, ident: _put(tx, ident, fields),
        marked("{name} goes by {changes} from now on"),
        changes=", ".join(changes),
    )


def _number(name: str, text: str) -> int | None:
    """The number that was typed; None for nothing. `Usage` for another text."""
    least, most = NUMBERS[name]
    if not text:
        return None
    if not (text.isdecimal() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise Usage(
            "bad-value",
            say("{name} is a number from {least} to {most}; got {text}"),
            name=name,
            least=least,
            most=most,
            text=quoted(text),
        )
    return int(text)


def _personality(text: str) -> str | None:
    words = " ".join(text.split())
    if len(words) > lifecycle.MAX_PERSONALITY:
        raise Usage(
            "bad-value",
            say("a personality has at most {most} characters; got {count}"),
            most=lifecycle.MAX_PERSONALITY,
            count=len(words),
        )
    return words or None


def _put(tx: Transaction, ident: str, fields: dict[str, Any]) -> None:
    tx.put(ident, "agent", fields)


@agent.command("pause")
@click.argument("which", metavar="TASK", shell_complete=completion.tasks)
@common
def pause(terminal: Terminal, which: str) -> None:
    """Let the agent of TASK sleep until it is resumed.

    \b
    lottisync agent pause milk
    """
    _change(terminal, which, lifecycle.pause, marked("{name} is paused. Go on with: lottisync agent resume {which}"))


@agent.command("resume")
@click.argument("which", metavar="TASK", shell_complete=completion.tasks)
@common
def resume(terminal: Terminal, which: str) -> None:
    """Let a paused agent wake again.

    \b
    lottisync agent resume milk
    """
    _change(terminal, which, lifecycle.resume, marked("{name} may wake again"))


@agent.command("destroy")
@click.argument("which", metavar="TASK", shell_complete=completion.tasks)
@click.option("--yes", is_flag=True, help="Do it without asking.")
@common
def destroy(terminal: Terminal, which: str, yes: bool) -> None:
    """End the agent of TASK. What it wrote stays readable.

    \b
    lottisync agent destroy milk
    """
    found = agent_of(terminal.home, which)
    terminal.confirm(
        say("End {display_name}, the agent of this task, for good?", display_name=found.display_name), yes=yes
    )
    _change(terminal, which, lifecycle.destroy, marked("{name} is ended; what it wrote stays readable"))


@agent.command("move")
@click.argument("which", metavar="TASK", shell_complete=completion.tasks)
@click.option("--to", "name", metavar="DEVICE", help="The name of another of your devices; this one if not given.")
@common
def move(terminal: Terminal, which: str, name: str | None) -> None:
    """Make this device, or another, the one on which the agent of TASK wakes.

    \b
    lottisync agent move milk
    lottisync agent move milk --to desktop
    """
    home = terminal.home
    device = home.key.device_id if name is None else _active(home, name)
    _change(
        terminal,
        which,
        lambda tx, ident: lifecycle.move(tx, ident, device),
        marked("{name} wakes on {device}"),
        device=name or say("this device"),
    )


def _active(home: TaskHome, name: str) -> str:
    from lottisync.device.membership import member_named

    member = member_named(home.roster(), name)
    if member.status != "active":
        raise Problem(
            "not-active", "{name} is {status}. See: lottisync devices", name=member.name, status=member.status
        )
    return member.device


def _change(
    terminal: Terminal, which: str, change: Callable[[Transaction, str], None], said: Marked, **values: str
) -> None:
    """`said` is a message that names `{name}` and may name `{which}` and the `values`."""
    home = terminal.home
    found = agent_of(home, which)
    with home.agent.transaction(clock.now(), PERSON) as tx:
        change(tx, found.id)
        now = lifecycle.read(tx, found.id)
    page = agent_page(home, now, clock.now())
    terminal.emit(page, lambda: terminal.line(say(said, name=now.display_name, which=which, **values)))
