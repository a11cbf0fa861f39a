"""What `review` prints: the page that a verdict is about, and what became of each verdict."""

from collections.abc import Iterable

import msgspec

from lottisync.cli.columns import Cell
from lottisync.cli.review_words import word
from lottisync.cli.terminal import Terminal
from lottisync.cli.times import local
from lottisync.device import clock
from lottisync.entities.entity import DELETED_AT
from lottisync.entities.version import Damaged
from lottisync.journal import words
from lottisync.journal.obstacles import in_titles
from lottisync.journal.task_action import ITEM, TASK
from lottisync.journal.toolbox import ACTIONS
from lottisync.language import headed, say, several, spoken
from lottisync.review.action import Action, FieldChange, Unreadable
from lottisync.review.change import ChangeDecision
from lottisync.review.effect import StaleField
from lottisync.review.inbox import Inbox, SetView
from lottisync.review.item_names import name_of
from lottisync.review.item_view import ItemView
from lottisync.review.outcome import Outcome

Parts = list[str]
"""A line, or a piece of one: texts, and `Cell`s with their styles."""
CHANGED = ("applied", "no-op", "already", "rejected", "deferred", "undone", "kept")
"""Results of a verdict that was carried out, or after which things are as the person wants them."""


def show_sets(terminal: Terminal, sets: list[SetView]) -> None:
    """Each item with all that will be written, why, and what it cites: this page is what a verdict is about."""
    for one in sets:
        terminal.line(_heading(one), "bold")
        names = max((len(item.name) for item in one.items), default=0)
        for item in one.items:
            terminal.pieces(_row(terminal, item, names))
            _show_ground(terminal, item, " " * names)


def _row(terminal: Terminal, item: ItemView, names: int) -> Parts:
    """`k7f2.3  Set estimate to 60 minutes  30 → 60  changed since`."""
    shown = (_summary(item), _change(item), _state(terminal, item))
    return [Cell(item.name.ljust(names), "dim"), *(part for each in shown if any(each) for part in ("  ", *each))]


def _show_ground(terminal: Terminal, item: ItemView, margin: str = "") -> None:
    """Why the agent proposes it, the words that it cites, and what it takes the place of."""
    if item.agent_reason:
        terminal.line(f"{margin}  " + say("why: {reason}", reason=item.agent_reason))
    for cited in item.cited:
        when = minute(cited.at) if cited.at else ""
        terminal.text(cited.text or "", f"{margin}  {when}  ")
    for names, sentence in (
        (item.supersedes, say("takes the place of")),
        ([item.superseded_by] if item.superseded_by else [], say("replaced by")),
    ):
        if names:
            terminal.line(f"{margin}  {sentence} {', '.join(_names(terminal, names))}", "dim")


def _names(terminal: Terminal, ids: list[str]) -> list[str]:
    with terminal.home.agent.reading() as reader:
        return [name_of(reader, ident) for ident in ids]


def _heading(one: SetView) -> str:
    return several(
        *('For "{task}" {agent} suggests {count} change', 'For "{task}" {agent} suggests {count} changes'),
        one.waiting,
        task=one.task_title or "",
        agent=one.agent_name,
    )


def _summary(item: ItemView) -> Parts:
    return [Cell(item.summary, "dim strike" if item.status in ("confirmed", "rejected", "retracted") else "")]


def _change(item: ItemView) -> Parts:
    parts: Parts = []
    for change in _beside_the_summary(item):
        parts += [", "] if parts else []
        parts += _before_and_after(item, change, named=len(item.changes) > 1)
    return parts


def _beside_the_summary(item: ItemView) -> list[FieldChange]:
    """What would be written, without the title of what is new: the summary says it."""
    return [change for change in item.changes if not (item.creates and change.path in (ITEM, TASK))]


def _before_and_after(item: ItemView, change: FieldChange, *, named: bool = False) -> Parts:
    """A field now and then; with its name where there are several. Where both are the same, as after it was confirmed,
    the value is there once."""
    parts: Parts = [headed(words.field(change.path))] if named else []
    if not item.creates and change.before != change.after:
        parts += [Cell(words.value(change.path, change.before), "red"), " → "]
    return [*parts, Cell(words.value(change.path, change.after), "green")]


def _state(terminal: Terminal, item: ItemView) -> Parts:
    if item.contested:
        return [Cell(word("contested"), "bold red")]
    if item.stale:
        return [Cell(say("changed since"), "yellow")]
    if item.depends_on:
        return [Cell(say("waits for another item"), "dim")]
    if item.satisfied:
        return [Cell(say("already so"), "dim")]
    if item.failure:
        return [Cell(_obstacle(terminal, item.failure), "red")]
    if item.expired:
        return [Cell(word("expired"), "dim")]
    if item.order_unknown:
        return [Cell(say("what it cites was written beside your change, not after it"), "yellow")]
    if item.undone:
        return [Cell(word("undone"), "dim")]
    if item.superseded_by:
        return [Cell(word("superseded"), "dim")]
    return [Cell("" if item.status == "pending" else word(item.status), "dim")]


def _obstacle(terminal: Terminal, sentence: str) -> str:
    """Why something cannot be done, or what else there is to say, with titles in place of ids."""
    if not sentence:
        return ""
    with terminal.home.journal.reading() as reader:
        return in_titles(reader, sentence)


def show_item(terminal: Terminal, item: ItemView) -> None:
    """All that would be written, why, and what it cites: what a person decides on."""
    terminal.line(f"{item.agent_name}  {item.task_title or ''}", "dim")
    terminal.line(item.summary, "bold")
    for change in _beside_the_summary(item):
        terminal.pieces(["  ", *_before_and_after(item, change, named=len(item.changes) > 1)])
    _show_ground(terminal, item)
    _show_stale(terminal, item.stale_fields)
    state = _state(terminal, item)
    if any(state):
        terminal.pieces(["  ", *state])
    args = msgspec.json.format(msgspec.json.encode(item.args), indent=0).decode()  # with spaces, for narrow terminals
    terminal.line(f"  {item.tool} {args}  {item.name}", "dim")


def show_outcomes(terminal: Terminal, outcomes: list[Outcome], inbox: Inbox, before: Iterable[ItemView]) -> None:
    """Print what became of each item, which is called as it was `before`: an effect may give its target another name.
    An item that has changed since it was shown is shown as it is now."""
    shown = {item.id: item for item in before}
    if not outcomes:
        terminal.line(say("Nothing waits for you."), "green")
    now = clock.now()
    for outcome in outcomes:
        style = "green" if outcome.result in CHANGED else "yellow"
        item = inbox.item(outcome.item, now)
        named = shown.get(item.id, item)
        about = headed(named.task_title or "", _took_effect(terminal, outcome, named))
        said = f"{word(outcome.result)}  {item.name}  {about}"
        terminal.line(f"{said}  {_obstacle(terminal, outcome.message)}".rstrip(), style)
        if outcome.view is not None:
            show_item(terminal, item)
        else:
            _show_stale(terminal, outcome.stale)
        if outcome.result == "applied":
            _show_next(terminal, named)


def _show_next(terminal: Terminal, item: ItemView) -> None:
    """The next task, if a task that repeats is done now."""
    from lottisync.cli.next_tasks import show_next_of

    if any(change.path == "status" for change in item.changes):
        show_next_of(terminal, [item.task_id])


def _took_effect(terminal: Terminal, outcome: Outcome, item: ItemView) -> str:
    """The sentence of what was decided: what the person made of the proposal, if they edited it."""
    if outcome.decision is None:
        return item.summary
    with terminal.home.agent.reading() as reader:
        document = reader.document(outcome.decision)
    decision = document.view(ChangeDecision) if document is not None else None
    if decision is None or not decision.edited:
        return item.summary
    action = ACTIONS.read(item.tool, {**item.args, **decision.args}, complete=False)
    if isinstance(action, Unreadable):
        return item.summary
    proposed, edited = ACTIONS.read(item.tool, item.args), name_now(terminal, action, item.task_id)
    same = not isinstance(proposed, Unreadable) and name_now(terminal, proposed, item.task_id) == edited
    return action.summary(item.about if same else edited, spoken())


def name_now(terminal: Terminal, action: Action, task_id: str) -> str | None:
    """What the thing that an action names is called now; None if it is not here, or damaged."""
    try:
        with terminal.home.journal.reading() as reader:
            return action.name(action.read_target(reader, task_id))
    except Damaged:
        return None


def _show_stale(terminal: Terminal, fields: list[StaleField]) -> None:
    for field in fields:
        terminal.line("  " + _stale(field), "yellow")


def _stale(field: StaleField) -> str:
    by = say("the user") if field.by == "user" else say("an agent")
    if field.path == DELETED_AT and field.now is None:
        return say("it was deleted and brought back, by {by}", by=by)
    if field.path == DELETED_AT:
        return say("it was deleted, by {by}", by=by)
    return say(
        "{field}: it was {was} and is now {now}, by {by}; proposed is {proposed}",
        field=words.field(field.path),
        was=words.value(field.path, field.was),
        now=words.value(field.path, field.now),
        by=by,
        proposed=words.value(field.path, field.proposed),
    )


def minute(instant: str) -> str:
    """An instant (ISO 8601) as it is printed: to the minute, in this device's zone."""
    return local(instant)
