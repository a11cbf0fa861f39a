"""A proposal as a row of a page: which mark it bears, what it is called, what it says of itself.

Everything is taken from the item's view (`lottisync.review.item_view`); nothing is decided here.
"""

from collections import Counter
from operator import attrgetter
from typing import Any, NamedTuple

from lottisync.entities.entity import DELETED_AT
from lottisync.journal import words as task_words
from lottisync.journal.task_action import TaskAction, Topic
from lottisync.journal.toolbox import ACTIONS
from lottisync.journal.types import PRIORITIES, STATUSES
from lottisync.language import marked, say, spoken
from lottisync.review.action import Unreadable
from lottisync.review.change import ChangeDecision
from lottisync.review.effect import StaleField
from lottisync.review.inbox import SetView
from lottisync.review.item_view import ItemView
from lottisync.review.proposal import PROSE
from lottisync.review.set_counts import SetCount
from lottisync.web import clock_field, words

HEADINGS = {
    Topic.STATUS: marked("Status and title"),
    Topic.CHECKLIST: marked("Checklist"),
    Topic.PLAN: marked("Estimates and dates"),
    Topic.LABELS: marked("Labels"),
    Topic.FURTHER: marked("Follow-ups and links"),
}
"""The groups of a card, in their order (S1-41)."""
STATES = {
    "pending": marked("waits"),
    "contested": marked("decided differently on two devices"),
    "confirmed": marked("confirmed"),
    "rejected": marked("rejected"),
    "deferred": marked("put off"),
    "undone": marked("undone"),
    "retracted": marked("taken back by the agent"),
    "superseded": marked("taken back by the agent"),
    "expired": marked("expired"),
    "stale": marked("changed since"),
    "depends": marked("waits for another"),
    "satisfied": marked("already so"),
    "order-unknown": marked("order unknown"),
}
"""What is said of a state; of one that is not here, nothing."""
DECIDED = ("confirmed", "rejected", "deferred", "undone", "retracted")
HEEDED = ("stale", "contested", "order-unknown")
"""What needs a look: it is left out where many items are confirmed at once."""


class Value(NamedTuple):
    """A field now and then, in words; `label` comes before it where there are several."""

    label: str
    before: str
    after: str


class Was(NamedTuple):
    """A field that was changed since: what the proposer saw, what is there now, whether the person wrote that and on
    which host, what is proposed."""

    label: str
    was: str
    now: str
    by_you: bool
    host: str
    proposed: str


class Field(NamedTuple):
    """What a person may edit: the argument's name, its label, its value, the kind of input for it, and what there is to
    choose from: each value with its word."""

    name: str
    label: str
    value: str
    kind: str
    choices: tuple[tuple[str, str], ...] = ()


class ItemRow(NamedTuple):
    """An item: its state in a word, what it would change, and what a person may edit of it."""

    item: ItemView
    topic: Topic
    label: str
    state: str
    said: str
    values: list[Value]
    was: list[Was]
    fields: list[Field]

    @property
    def ident(self) -> str:
        return f"row-{self.item.id.replace(':', '-').replace('.', '-')}"

    @property
    def since(self) -> str:
        """What happened since it was proposed, to what a stale item would change."""
        if not self.was:
            came_back = all(field.now is None for field in self.item.stale_fields)
            return say("This was deleted and brought back since") if came_back else say("This was deleted since")
        if self.was[0].by_you:
            return say("You changed this since it was proposed")
        return say("This was changed since it was proposed")

    @property
    def waits(self) -> bool:
        """Whether a verdict is asked for now."""
        return self.item.status == "pending" and not self.item.expired

    @property
    def asks(self) -> bool:
        """Whether the person has something to say on it: also where devices decided differently."""
        return self.waits or self.item.contested

    @property
    def heeded(self) -> bool:
        return self.state in HEEDED

    @property
    def plain(self) -> bool:
        """Whether it is confirmed along with others: it waits, and there is nothing to look at first."""
        return self.waits and not self.heeded and not self.item.failure

    @property
    def decided(self) -> bool:
        return self.state in DECIDED


class TopicGroup(NamedTuple):
    """The rows of one topic, under its heading."""

    topic: Topic
    heading: str
    rows: list[ItemRow]

    @property
    def waiting(self) -> int:
        return sum(row.asks for row in self.rows)


class Card(NamedTuple):
    """What one agent proposes for one task."""

    task_id: str
    title: str
    agent_id: str
    agent: str
    created_at: str
    groups: list[TopicGroup]

    @property
    def ident(self) -> str:
        return card_ident(self.task_id, self.agent_id)

    @property
    def rows(self) -> list[ItemRow]:
        return [row for group in self.groups for row in group.rows]

    @property
    def waiting(self) -> int:
        return sum(row.asks for row in self.rows)

    @property
    def plain(self) -> list[ItemRow]:
        return [row for row in self.rows if row.plain]

    @property
    def heeded(self) -> int:
        """The rows that are not confirmed along with others."""
        return self.waiting - len(self.plain)


class Folded(NamedTuple):
    """A card in one line: its sets, unopened, and how many items wait in each of its groups."""

    task_id: str
    agent_id: str
    groups: list[tuple[str, int]]
    contested: bool
    sets: list[str]

    @property
    def waiting(self) -> int:
        return sum(count for _, count in self.groups)

    @property
    def ident(self) -> str:
        return card_ident(self.task_id, self.agent_id)


def card_ident(task_id: str, agent_id: str) -> str:
    return f"card-{task_id}-{agent_id}".replace(":", "-").replace(".", "-")


def folded(counts: list[SetCount], page: slice) -> list[Folded]:
    """A line for each task and agent on a page: those with something contested first, then the newest."""
    together: dict[tuple[str, str], list[SetCount]] = {}
    contested = set()
    for count in sorted(counts, key=attrgetter("created_at"), reverse=True):
        minding = count.task_id, count.agent_id
        together.setdefault(minding, []).append(count)
        if count.contested:
            contested.add(minding)
    ordered = [
        *(minding for minding in together if minding in contested),
        *(minding for minding in together if minding not in contested),
    ]
    return [
        Folded(*minding, _groups_of(many), minding in contested, [count.id for count in many])
        for minding in ordered[page]
        for many in (together[minding],)
    ]


def _groups_of(counts: list[SetCount]) -> list[tuple[str, int]]:
    """The headings of the groups in which something waits, each with how much."""
    found: Counter[Topic] = Counter()
    for count in counts:
        for tool, waiting in count.tools.items():
            found[_topic_of(tool)] += waiting
    return [(say(heading), found[topic]) for topic, heading in HEADINGS.items() if found[topic]]


def _topic_of(tool: str) -> Topic:
    """The group for the items of a tool; the first one for a tool that is not known here."""
    known = ACTIONS.tools.get(tool)
    return known.topic if known is not None and issubclass(known, TaskAction) else Topic.STATUS


def cards(sets: list[SetView]) -> list[Card]:
    """A card for each task and agent: those that need a look first, then the newest."""
    together: dict[tuple[str, str], list[SetView]] = {}
    for one in sets:
        together.setdefault((one.task_id, one.agent_id), []).append(one)
    made = [_card(many) for many in together.values()]
    newest = sorted(made, key=lambda card: card.created_at, reverse=True)
    return sorted(newest, key=lambda card: not card.heeded)


def _card(sets: list[SetView]) -> Card:
    rows = [row_of(item) for one in sets for item in one.items]
    groups = [
        TopicGroup(topic, say(heading), of_topic)
        for topic, heading in HEADINGS.items()
        if (of_topic := [row for row in rows if row.topic is topic])
    ]
    first = sets[0]
    title = first.task_title or say("A task that is not here")
    return Card(first.task_id, title, first.agent_id, first.agent_name, sets[-1].created_at, groups)


def row_of(item: ItemView) -> ItemRow:
    action = ACTIONS.read(item.tool, item.args)
    topic = Topic.STATUS if isinstance(action, Unreadable) else action.topic
    state = _state(item)
    values = [
        Value(
            task_words.field(change.path),
            words.value(change.path, change.before),
            words.value(change.path, change.after),
        )
        for change in item.changes
        if change.after != item.agent_reason  # it is below the row already
    ]
    fields = [] if isinstance(action, Unreadable) or (item.creates and topic is Topic.FURTHER) else _fields(item)
    return ItemRow(item, topic, _label(topic, item), state, say(STATES.get(state, "")), values, _was(item), fields)


def _label(topic: Topic, item: ItemView) -> str:
    """The label of a row, in a word or two."""
    if not item.changes:
        return item.summary
    change = item.changes[0]
    match topic:
        case Topic.CHECKLIST if item.creates:
            return say("Add")
        case Topic.CHECKLIST if change.path == "isChecked":
            return say("Tick off") if change.after else say("Untick")
        case Topic.CHECKLIST:
            return say("Rename")
        case Topic.LABELS:
            return say("Label")
        case Topic.FURTHER:
            return say("Follow-up task") if item.creates else say("Link")
        case _:
            return task_words.field(change.path)


def _state(item: ItemView) -> str:
    if item.contested:
        return "contested"
    if item.status != "pending":
        return "undone" if item.undone else item.status
    if item.expired:
        return "expired"
    if item.stale:
        return "stale"
    if item.depends_on:
        return "depends"
    if item.satisfied:
        return "satisfied"
    return "order-unknown" if item.order_unknown else "waits"


def said_of(state: str) -> str:
    """A state in a word or two."""
    return say(STATES.get(state, state))


def verdict_word(decision: ChangeDecision) -> str:
    """What a device decided, with what was put in other words. It is said in the reader's language; what this version
    cannot read, in the stored words."""
    if decision.edited:
        action = ACTIONS.read(decision.tool_name, decision.args, complete=False)
        held = decision.human_summary if isinstance(action, Unreadable) else action.summary(language=spoken())
        return say("confirmed as: {what}", what=held)
    return said_of(decision.verdict)


def _was(item: ItemView) -> list[Was]:
    """The fields with a value: a deletion is not one, and is said in words (`ItemRow.since`)."""
    return [_was_of(field) for field in item.stale_fields if field.path != DELETED_AT]


def _was_of(field: StaleField) -> Was:
    was, now, proposed = (words.value(field.path, held) for held in (field.was, field.now, field.proposed))
    return Was(task_words.field(field.path), was, now, field.by == "user", field.host or "", proposed)


def _fields(item: ItemView) -> list[Field]:
    """The arguments that a person may put in other words: texts, numbers and days. Ids and reasons stay."""
    found = []
    for name, held in item.args.items():
        if name in ACTIONS.unasked(item.tool) | PROSE:
            continue
        if isinstance(held, (str, int)) and not isinstance(held, bool):
            kind = "number" if isinstance(held, int) else _kind(name, held)
            choices = STATUSES if name == "status" else PRIORITIES if name == "priority" else ()
            named = tuple((one, words.value(name, one)) for one in choices)
            shown = clock_field.shown(str(held)) if kind == "datetime-local" else str(held)
            found.append(Field(name, task_words.field(CALLED.get(name, name)), shown, kind, named))
    return found


CALLED = {"dueDate": "due", "minutes": "estimate", "startTime": "at", "endTime": "end", "summary": "text"}
"""The register that an argument is about, where it is called otherwise."""


def _kind(name: str, text: str) -> str:
    """The kind of input for a text."""
    if CALLED.get(name) in ("at", "end") and clock_field.shown(text):
        return "datetime-local"
    return "date" if len(text) == 10 and words.day(text) != text else "text"


def edited(item: ItemView, typed: dict[str, str]) -> dict[str, Any]:
    """The arguments of an item with what a person typed in their place. What is not a number where there was one stays
    text: the tool says what is wrong with it."""
    args = dict(item.args)
    for field in _fields(item):
        text = typed.get(field.name, field.value).strip()
        if field.kind == "datetime-local":
            args[field.name] = clock_field.still(args[field.name], text)
        else:
            args[field.name] = int(text) if field.kind == "number" and text.isascii() and text.isdigit() else text
    return args
