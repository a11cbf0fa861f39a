"""`agent off | on | limit | never-send | sent | model`: the person stays in charge of what leaves
(docs/specs/09-agents.md, section 12). Asks no model.
"""

from collections.abc import Callable

import click

from lottisync.agents import attention, lifecycle, switch
from lottisync.agents import sent as requests
from lottisync.agents.openai_client import DEFAULT_MODEL
from lottisync.agents.spending import MAX_TOKENS_PER_DAY
from lottisync.agents.types import AgentSettings
from lottisync.answers.agents import AgentRules, MarkedAnswer, NeverSent, Sent, SentAnswer, SentBody
from lottisync.cli import completion
from lottisync.cli.agent_pages import agent_of
from lottisync.cli.output import file_line
from lottisync.cli.terminal import Terminal, common, short
from lottisync.cli.times import SECONDS, local
from lottisync.daemon.agent_page import agent_page, rules
from lottisync.device import clock
from lottisync.journal import finding, names, never_sent
from lottisync.language import number, say, several
from lottisync.problem import Problem, Usage
from lottisync.review.precedence import PERSON
from lottisync.shown import escaped, quoted
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

RUN_CHARACTERS = 12
NONE = "none"


@click.command("off")
@common
def turn_off(terminal: Terminal) -> None:
    """Turn all agents off, on all devices. Nothing is sent to any model until they are on again.

    \b
    lottisync agent off
    """
    said = say("All agents are off. The other devices follow when they hear of it. Again: lottisync agent on")
    _rule(terminal, lambda tx: switch.turn(tx, off=True), lambda held: said)


@click.command("on")
@common
def turn_on(terminal: Terminal) -> None:
    """Let agents wake again, on all devices.

    \b
    lottisync agent on
    """
    _rule(terminal, lambda tx: switch.turn(tx, off=False), lambda held: say("Agents are on."))


@click.command("limit")
@click.argument("tokens", metavar="TOKENS")
@common
def limit(terminal: Terminal, tokens: str) -> None:
    """Let all agents together use at most TOKENS a day; `none`: no limit. For one agent: `agent configure`.

    \b
    lottisync agent limit 200000
    lottisync agent limit none
    """
    most = None if tokens == NONE else _number(tokens)

    def said(held: AgentRules) -> str:
        if held.tokens_a_day is None:
            return say("There is no limit for all agents together.")
        return several(
            "All agents together use at most {count} token a day; {tokens_today} today.",
            "All agents together use at most {count} tokens a day; {tokens_today} today.",
            held.tokens_a_day,
            tokens_today=number(held.tokens_today),
        )

    _rule(terminal, lambda tx: switch.limit(tx, most), said)


def _number(text: str) -> int:
    plain = text.replace(",", "").replace("_", "")
    if not (plain.isdecimal() and 1 <= int(plain[:20]) <= MAX_TOKENS_PER_DAY):
        raise Usage("bad-value", say("a limit is a number of tokens, or none; got {text}"), text=quoted(text))
    return int(plain)


def _rule(terminal: Terminal, verb: Callable[[Transaction], AgentSettings], said: Callable[[AgentRules], str]) -> None:
    with terminal.home.agent.transaction(clock.now(), PERSON) as tx:
        verb(tx)
    held = rules(terminal.home, clock.now())
    terminal.emit(held, lambda: terminal.line(said(held)))


@click.command("never-send")
@click.argument("task", metavar="[TASK]", required=False, shell_complete=completion.tasks)
@click.option("--label", metavar="LABEL", help="All tasks with this label.")
@click.option("--category", metavar="CATEGORY", help="All tasks in this category.")
@click.option("--off", is_flag=True, help="Take the mark off.")
@common
def never_send(terminal: Terminal, task: str | None, label: str | None, category: str | None, off: bool) -> None:
    """Mark a task, a label or a category: nothing of it is sent to a model. Without one, list what is marked.

    \b
    lottisync agent never-send milk
    lottisync agent never-send --label health
    lottisync agent never-send --category family --off
    """
    with terminal.home.journal.transaction(clock.now(), PERSON) as tx:
        for ident in _named(tx, task, label, category):
            never_sent.mark(tx, ident, never=not off)
        marked = [MarkedAnswer(each.id, each.type, each.name) for each in never_sent.all_marked(tx)]
    terminal.emit(NeverSent(marked), lambda: _show_marked(terminal, marked))


def _named(reader: Reader, task: str | None, label: str | None, category: str | None) -> list[str]:
    found = [finding.resolve(reader, task, "task")] if task is not None else []
    found += [names.find_known(reader, "label", label)] if label is not None else []
    return found + ([names.find_known(reader, "category", category)] if category is not None else [])


def _show_marked(terminal: Terminal, marked: list[MarkedAnswer]) -> None:
    if not marked:
        terminal.line(
            say("Nothing is marked. A model may be told of every task that has an agent, and of linked ones.")
        )
        return
    terminal.line(say("Never sent to a model:"), "bold")
    terminal.table(["id", "", "name"], [(short(each.id), each.type, each.name) for each in marked])


@click.command("sent")
@click.argument("which", metavar="TASK", shell_complete=completion.tasks)
@click.argument("number", type=int, required=False)
@common
def sent(terminal: Terminal, which: str, number: int | None) -> None:
    """List what was sent to the model of the agent of TASK, on this device, the latest first; or show the request
    NUMBER byte for byte.

    \b
    lottisync agent sent milk
    lottisync agent sent milk 7
    """
    found = agent_of(terminal.home, which)
    with terminal.home.agent.reading() as reader:
        kept = [SentAnswer(*each) for each in requests.requests(reader, found.id)]
        body = requests.body(reader, found.id, number) if number is not None else None
    if number is None:
        rows = [
            (each.number, local(each.at, SECONDS), each.run_key[:RUN_CHARACTERS], each.address, f"{each.bytes:,}")
            for each in kept
        ]

        def shown() -> None:
            if rows:
                terminal.table(["number", "when", "wake", "sent to", "bytes"], rows)
            else:
                terminal.line(say("Nothing was sent from this device."))

        terminal.emit(Sent(kept), shown)
        return
    about = next((each for each in kept if each.number == number), None)
    if body is None or about is None:
        raise Problem(
            "unknown-id",
            "no request {number} of {name} is kept. See: lottisync agent sent {which}",
            number=number,
            name=found.display_name,
            which=which,
        )
    terminal.emit(SentBody(about, body.decode()), lambda: file_line(body, escaped))


@click.command("attended")
@click.argument("which", metavar="TASK", shell_complete=completion.tasks)
@common
def attended(terminal: Terminal, which: str) -> None:
    """Settle it that the agent of TASK asked for your attention: you have looked.

    \b
    lottisync agent attended milk
    """
    home = terminal.home
    found = agent_of(home, which)
    with home.agent.transaction(clock.now(), PERSON) as tx:
        attention.settle(tx, found.id)
    page = agent_page(home, found, clock.now())
    terminal.emit(page, lambda: terminal.line(say("{name} knows that you have looked.", name=page.name)))


@click.command("model")
@click.argument("which", metavar="TASK", shell_complete=completion.tasks)
@click.argument("model", required=False)
@click.option("--endpoint", metavar="NAME", help="A server of config.toml; none: the one that the environment names.")
@common
def choose_model(terminal: Terminal, which: str, model: str | None, endpoint: str | None) -> None:
    """Choose the model, or the server, that the agent of TASK asks from its next question on.

    \b
    lottisync agent model milk qwen3 --endpoint home
    lottisync agent model milk --endpoint none
    """
    home = terminal.home
    found = agent_of(home, which)
    fields: dict[str, str | None] = {} if model is None else {"config/model": model}
    if endpoint is not None:
        fields["config/endpoint"] = None if endpoint == NONE else _known(terminal, found.home_device, endpoint)
    if fields:
        with home.agent.transaction(clock.now(), PERSON) as tx:
            tx.put(found.id, "agent", fields)
            found = lifecycle.read(tx, found.id)
    page = agent_page(home, found, clock.now())
    server = (
        say("at {endpoint}", endpoint=page.endpoint)
        if page.endpoint
        else say("at the server that the environment names")
    )
    terminal.emit(
        page,
        lambda: terminal.line(
            say("{name} asks {model} {server}.", name=page.name, model=page.model or DEFAULT_MODEL, server=server)
        ),
    )


def _known(terminal: Terminal, home_device: str, endpoint: str) -> str:
    """The name, if this device has that endpoint. What another device has is not known here."""
    from lottisync.daemon.settings import read_settings

    there = read_settings(terminal.home.path).endpoints
    if home_device == terminal.home.key.device_id and endpoint not in there:
        raise Usage(
            "unknown-endpoint",
            say("config.toml has no endpoint {name}. There are: {names}"),
            name=quoted(endpoint),
            names=", ".join(sorted(there)) or "none",
        )
    return endpoint
