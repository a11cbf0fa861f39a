"""`check`, `history`, `conflicts` and `purge`: looking into the stores, and clearing them."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

import click
import msgspec

from lottisync.answers.stores import (
    Accepted,
    Checked,
    ConflictAnswer,
    Conflicts,
    HeldBack,
    History,
    Purged,
    Settled,
    Write,
    Writer,
    Written,
)
from lottisync.causality.vector_clock import Host
from lottisync.cli.acts import acting
from lottisync.cli.dates import MORNING, day, moment, today
from lottisync.cli.help_pages import Group
from lottisync.cli.task_change import spent
from lottisync.cli.terminal import Terminal, common, cut, judging_the_call, short
from lottisync.cli.times import SECONDS, local
from lottisync.daemon.home import TaskHome
from lottisync.daemon.overview import device_names
from lottisync.device import clock, purging
from lottisync.entities.entity import DELETED_AT, Entity
from lottisync.entities.path import split
from lottisync.journal import finding, repetition, task_values, tasks, words
from lottisync.journal import names as label_names
from lottisync.journal.types import Task
from lottisync.language import marked, say, several, translated
from lottisync.problem import Fault, Problem, Sentence
from lottisync.review import index
from lottisync.review.precedence import PERSON
from lottisync.shown import quoted
from lottisync.store import conflict as conflicts_of
from lottisync.store import damage, lookups, mending, overwritten
from lottisync.store.check import broken_invariants
from lottisync.store.conflict import Conflict
from lottisync.store.instant import holds_instant, iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

DAY = 24 * 3_600_000
MILLISECONDS = "at_ms"
"""The register of a signed record with the time of the signature."""
WRITERS: Mapping[Writer, str] = {"user": marked("user"), "agent": marked("agent")}
SHORTEST_ID = 4
"""Characters of an id by which a conflict may be meant."""


@click.command()
@click.option("--accept", "accepted", metavar="ID", help="What the damaged row ID shows now is right: write it again.")
@common
def check(terminal: Terminal, accepted: str | None) -> None:
    """Look through the whole home for what should not be. Exit code 1 if something is wrong.

    Reads only, without --accept.

    \b
    lottisync check
    lottisync check --accept 4f0c
    """
    if accepted is not None:
        _accept(terminal, accepted)
        return
    found: dict[str, list[Fault]] = {}
    outdated = False
    for name, store in terminal.home.stores.items():
        with store.reading() as reader, terminal.progress(name, reader.count()) as advance:
            done = 0

            def step(now: int, of: int, advance: Any = advance) -> None:
                nonlocal done
                advance(now - done)
                done = now

            found[name] = broken_invariants(reader, step)
            if store is terminal.home.agent:
                faults_of_index = list(index.faults(reader, clock.now()))
                found[name] += faults_of_index
                outdated = bool(faults_of_index)

    def shown() -> None:
        for name, faults in found.items():
            said = several("{count} fault", "{count} faults", len(faults)) if faults else say("sound")
            terminal.line(f"{name:8} {said}", "red" if faults else "green")
            for fault in faults:
                terminal.line(f"  {translated(fault)}", "red")
        if any(found.values()):
            if outdated:
                terminal.line(say("This computes the index of change sets again: lottisync review reindex"), "dim")
            terminal.line(say("What another device can help to mend, this mends: lottisync verify"), "dim")
            terminal.line(say("If what a damaged row shows now is right: lottisync check --accept ID"), "dim")

    codes = {name: [fault.code for fault in faults] for name, faults in found.items()}
    terminal.emit(Checked({name: [*map(str, faults)] for name, faults in found.items()}, codes), shown)
    if any(found.values()):
        raise click.exceptions.Exit(1)


def _accept(terminal: Terminal, ident: str) -> None:
    """Accept a damaged row, in the store where it is damaged. If it is damaged in no store, the error says so."""
    if named := _named_again(terminal, ident):
        said = say("Only the id was damaged: this is {ident} again.", ident=named)
        terminal.emit(Accepted(named), lambda: terminal.line(said, "green"))
        return
    holding = []
    for store in terminal.home.stores.values():
        with store.reading() as reader:
            row = damage.raw_row(reader, ident)
        if row is not None:
            holding.append((row.version.hash() == row.hash, store))
    if not holding:
        raise Problem("unknown-id", "nothing has the id {quoted}", quoted=quoted(ident))
    _, store = min(holding, key=lambda one: one[0])
    with store.transaction(clock.now(), PERSON) as tx:
        mending.accept(tx, ident)
    terminal.emit(Accepted(ident), lambda: terminal.line(say("{ident} holds what it shows now.", ident=ident), "green"))


def _named_again(terminal: Terminal, ident: str) -> str | None:
    """The id of a row that is shown under `ident`, and of which nothing else is damaged: it has its id again."""
    for store in terminal.home.stores.values():
        with store.transaction(clock.now(), None) as tx:
            if own := mending.name_again(tx, damage.shown_as(tx, ident)):
                return own[0]
    return None


@click.command()
@click.option(
    "--days", type=click.IntRange(0, 36_500), default=30, show_default=True, help="Keep what was deleted since."
)
@common
def purge(terminal: Terminal, days: int) -> None:
    """Forget for good what was deleted long ago and every other device has seen. A running daemon does it daily.

    A device that was away for long holds it back; `lottisync devices retire NAME` says not to wait for it.

    \b
    lottisync purge --days 60
    """
    home = terminal.home
    now, min_age = clock.now(), days * DAY
    forgotten = purging.purge(home, now, min_age)
    roster = home.roster()
    held = [
        HeldBack(device, roster.members[device].name, count)
        for device, count in purging.held_back(home, now, min_age).items()
    ]

    def shown() -> None:
        total = sum(forgotten.values())
        terminal.line(
            several("{count} deleted entity forgotten.", "{count} deleted entities forgotten.", total),
            "green",
        )
        for one in held:
            terminal.line(
                several(
                    *(
                        "{name} has not seen {count} more yet; it stays until it has.",
                        "{name} has not seen {count} more yet; they stay until it has.",
                    ),
                    one.holds_back,
                    name=one.name,
                ),
                "yellow",
            )

    terminal.emit(Purged(forgotten, held), shown)


@click.command()
@click.argument("entity_id", metavar="ID")
@common
def history(terminal: Terminal, entity_id: str) -> None:
    """Show who wrote which field of ID, on which device, when, and what it replaced. A piece of a task's title will do.

    What was replaced is kept on the device where that happened: at most 100 values a field.

    \b
    lottisync history 4f0c
    """
    home = terminal.home
    store, ident = _where(home, entity_id)
    with store.reading() as reader:
        lines = overwritten.history(reader, ident)
    names, called = device_names(home), _called(home)
    rows = [
        Write(
            iso(line.stamp.millis),
            _writer(line.stamp.precedence),
            line.stamp.host,
            names.get(line.stamp.host),
            line.path,
            line.value,
            line.current,
            line.replaced,
        )
        for line in lines
    ]

    def shown() -> None:
        lines = [
            (
                local(r.at, SECONDS),
                say(WRITERS[r.by]),
                r.device_name or r.host,
                words.field(r.path if r.path in words.FIELDS else _field(r.path, called)),
                _held(r.path, r.value, called),
                _held(r.path, r.replaced, called),
            )
            for r in rows
        ]
        terminal.table(["when", "who", "on", "field", "value", "before"], lines)

    terminal.emit(History(ident, rows), shown)


def _called(home: TaskHome) -> dict[str, str]:
    """What the labels and the categories are called, by id."""
    with home.journal.reading() as reader:
        return {**label_names.of_all(reader, "category"), **label_names.of_all(reader, "label")}


def _field(path: str, labels: Mapping[str, str]) -> str:
    """What people call a register. A plain field has its own name: `conflicts keep` takes it."""
    match split(path):
        case "labels", str(label):
            return say("label {label}", label=labels.get(label, label))
        case "receipts", str():
            return say("confirmed proposal")
        case "deletedAt", None:
            return say("deleted")
        case _:
            return path


def _held(path: str, value: Any, called: Mapping[str, str]) -> str:
    """What a register held, for people: a deletion is a word, and not its clocks; a receipt is its result; a category
    its name."""
    if path == "status" and isinstance(value, str):
        return words.value(path, value)
    if path == "categoryId" and isinstance(value, str):
        return called.get(value, value)
    if split(path)[0] == "receipts" and isinstance(value, dict):
        return _brief(value.get("result"))
    return "deleted" if path == DELETED_AT and value is not None else _plain(path, value)


def _plain(path: str, value: Any) -> str:
    """What a register holds, an instant by this device's clock."""
    name = split(path)[0]
    if isinstance(value, str) and holds_instant(name):
        return local(value, SECONDS)
    if isinstance(value, int) and name == MILLISECONDS:
        return local(iso(value), SECONDS)
    return _brief(value)


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else msgspec.json.encode(value).decode()
    return cut(text, 60)


@click.group(cls=Group, invoke_without_command=True)
@common
@click.pass_context
def conflicts(context: click.Context, terminal: Terminal) -> None:
    """Without a verb: list where two devices wrote different things without knowing of each other.

    \b
    lottisync conflicts
    """
    if context.invoked_subcommand is not None:
        return
    home = terminal.home
    found = _all(home)
    labels = _called(home)

    def shown() -> None:
        if not found:
            terminal.line(say("No conflict."), "green")
            return
        terminal.table(
            ["id", "title", "field", "shown", "also written"],
            [
                (
                    short(c.id),
                    c.title,
                    _field(c.path, labels),
                    _said(c, c.values[0]),
                    "; ".join(_said(c, o) for o in c.values[1:]),
                )
                for c in found
            ],
        )
        terminal.line("lottisync conflicts keep ID FIELD N  ·  combine ID FIELD VALUE", "dim")

    terminal.emit(Conflicts(found), shown)


@conflicts.command("show")
@click.argument("entity_id", metavar="ID")
@common
def show_conflicts(terminal: Terminal, entity_id: str) -> None:
    """Show the conflicts of ID, value beside value.

    \b
    lottisync conflicts show 4f0c
    """
    home = terminal.home
    store, ident = _in_conflict(home, entity_id)
    names, labels = device_names(home), _called(home)
    with store.reading() as reader:
        entity = reader.entity(ident)
        found = _decisions(reader, entity, names) if entity is not None else []

    def shown() -> None:
        for one in found:
            rows = [
                (
                    str(n),
                    _said(one, each),
                    say(WRITERS[each.by]),
                    each.device_name or each.host,
                    local(each.at, SECONDS),
                )
                for n, each in enumerate(one.values, 1)
            ]
            terminal.table(["", _field(one.path, labels), "by", "on", "at"], rows)
            terminal.line(f"lottisync conflicts keep {short(one.id)} {one.path} N", "dim")

    if not found:
        name = f"{short(ident)} {_title(entity)}" if entity is not None else ident
        raise Problem("no-conflict", "{ident} has no conflict. See: lottisync conflicts", ident=name)
    terminal.emit(Conflicts(found), shown)


@conflicts.command("keep")
@click.argument("entity_id", metavar="ID")
@click.argument("field")
@click.argument("number", type=int, metavar="N")
@common
def keep(terminal: Terminal, entity_id: str, field: str, number: int) -> None:
    """Keep the N-th value of FIELD (1 is the one that is shown now).

    \b
    lottisync conflicts keep 4f0c title 2
    """
    store, ident = _in_conflict(terminal.home, entity_id)
    field = _path_meant(terminal.home, store, ident, field)
    with acting(
        terminal, Sentence("settled {field}", field=Sentence(words.FIELDS.get(field, field))), store=store
    ) as tx:
        conflicts_of.keep(tx, ident, field, number)
    _settled(terminal, store, ident, field)


@conflicts.command("combine")
@click.argument("entity_id", metavar="ID")
@click.argument("field")
@click.argument("value")
@common
def combine(terminal: Terminal, entity_id: str, field: str, value: str) -> None:
    """Settle FIELD with a new VALUE: JSON, or text as it stands.

    \b
    lottisync conflicts combine 4f0c title "Buy oat milk"
    """
    store, ident = _in_conflict(terminal.home, entity_id)
    field = _path_meant(terminal.home, store, ident, field)
    with acting(
        terminal, Sentence("settled {field}", field=Sentence(words.FIELDS.get(field, field))), store=store
    ) as tx:
        entity = tx.entity(ident)
        found = [one for one in conflicts_of.of_entity(entity) if one.path == field] if entity is not None else []
        typed = _typed(tx, found[0], value, journal=store is terminal.home.journal) if found else value
        conflicts_of.combine(tx, ident, field, typed)
    _settled(terminal, store, ident, field)


def _typed(tx: Transaction, conflict: Conflict, text: str, *, journal: bool) -> Any:
    """The value that a person typed for a field, as it is stored: a field of a task as its verb takes it, text where
    the field holds text, else JSON."""
    try:
        decoded = msgspec.json.decode(text)
    except msgspec.DecodeError:
        decoded = text
    said = decoded if isinstance(decoded, str) else text
    checked = _CHECKED.get((conflict.type, conflict.path)) if journal else None
    if checked is not None:
        with judging_the_call():
            return checked(tx, conflict.entity, said)
    holds_text = decoded is not None and any(isinstance(one.value, str) for one in conflict.candidates)
    return said if holds_text else decoded


Read = Callable[[Transaction, str, str], Any]
"""Of the text that was typed for a field of an entity, by its id: what the field stores."""


def _of_text(checked: Callable[[str], Any]) -> Read:
    return lambda tx, ident, text: checked(text)


def _or_none(checked: Read) -> Read:
    return lambda tx, ident, text: None if text.strip().lower() in ("none", "null") else checked(tx, ident, text)


def _rule(tx: Transaction, task: str, text: str) -> str:
    due = tasks.read(tx, task, "task", Task).due
    return repetition.said(text, date.fromisoformat(task_values.checked_day(due or today(tx.now)))).stored()


_CHECKED: Mapping[tuple[str, str], Read] = {
    **{(name, "title"): _of_text(task_values.checked_title) for name in ("task", "checklist", "checklistItem")},
    ("entry", "text"): _of_text(task_values.checked_text),
    ("task", "priority"): _of_text(task_values.checked_priority),
    ("task", "due"): _or_none(_of_text(lambda text: day(text, clock.now()))),
    ("task", "remindAt"): _or_none(_of_text(lambda text: moment(text, clock.now(), at=MORNING))),
    ("task", "estimate"): _or_none(_of_text(spent)),
    ("task", "repeat"): _or_none(_rule),
    ("task", "categoryId"): _or_none(lambda tx, ident, text: label_names.find_or_make(tx, "category", text)),
    ("task", "languageCode"): _or_none(_of_text(task_values.checked_language)),
}
"""What brings a typed value into the form in which the field holds it, or refuses it; by type and path."""


def _settled(terminal: Terminal, store: Store, ident: str, field: str) -> None:
    entity = store.read(ident)
    said = say("{field} is settled.", field=_field(field, _called(terminal.home)))
    if entity is not None and split(field)[1] is None:
        said += f"  {_value(field, entity.value(field))}"
    terminal.emit(Settled(ident, field), lambda: terminal.line(said.rstrip(), "green"))


def _all(home: TaskHome) -> list[ConflictAnswer]:
    """The open conflicts, one for each decision of the person."""
    names = device_names(home)
    found = []
    for store in home.stores.values():
        with store.reading() as reader:
            for entity in reader.conflicted():
                found += _decisions(reader, entity, names)
    return found


def of_task(home: TaskHome, task_id: str) -> list[ConflictAnswer]:
    """The conflicts of a task and of what belongs to it, one for each decision."""
    names = device_names(home)
    found = []
    with home.journal.reading() as reader:
        for entity in reader.conflicted():
            if task_id in (entity.id, entity.value("taskId")):
                found += _decisions(reader, entity, names)
    return found


def _decisions(reader: Reader, entity: Entity, names: Mapping[Host, str]) -> list[ConflictAnswer]:
    return [_answer(entity, one, names) for one in conflicts_of.decisions(reader, conflicts_of.of_entity(entity))]


def show_of_task(terminal: Terminal, found: list[ConflictAnswer]) -> None:
    """All values of each conflict, and the verb that settles it."""
    labels = _called(terminal.home)
    for one in found:
        values = "  |  ".join(f"{number} {_said(one, each)}" for number, each in enumerate(one.values, 1))
        terminal.line(f"! {one.title}: {words.field(_field(one.path, labels))}: {values}", "bold yellow")
        terminal.line(f"  lottisync conflicts keep {short(one.id)} {one.path} N", "dim")


def _where(home: TaskHome, abbreviated: str) -> tuple[Store, str]:
    """The store that has an id (whole, or its first or last characters), or that has a task with this piece in its
    title."""
    found: list[tuple[Store, str]] = []
    for store in home.stores.values():
        with store.reading() as reader:
            if reader.version(abbreviated) is not None:
                return store, abbreviated
            found += [(store, ident) for ident in lookups.ids_like(reader, abbreviated, 2)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Problem("unknown-id", "several ids begin or end with {quoted}", quoted=quoted(abbreviated))
    return home.journal, _titled(home, abbreviated)


def _in_conflict(home: TaskHome, named: str) -> tuple[Store, str]:
    """Where the entity in conflict is that a person means: by its id, or by a piece of what `conflicts` calls it, which
    is the title of an item, a label or a note as well."""
    holding = [(store, entity) for store in home.stores.values() for entity in _conflicted(store)]
    whole = [one for one in holding if one[1].id == named]
    piece = " ".join(named.removesuffix("…").split()).casefold()
    fitting = [one for one in holding if piece and piece in _whole_title(one[1]).casefold()]
    exact = [one for one in fitting if _whole_title(one[1]).casefold() == piece]
    by_id = [(store, entity) for store, entity in holding if piece and _fits(entity.id, piece)]
    found = whole or by_id or exact or fitting
    if not found:
        return _where(home, named)  # which says that there is none, or what else it is
    if len(found) > 1:
        raise Problem(
            "ambiguous-id",
            "{quoted} fits more than one conflict: {candidates}. Give more of the id or the title",
            quoted=quoted(named),
            candidates=", ".join(f"{short(entity.id)} {quoted(_title(entity))}" for _, entity in found[:5]),
        )
    return found[0][0], found[0][1].id


def _conflicted(store: Store) -> list[Entity]:
    with store.reading() as reader:
        return list(reader.conflicted())


def _fits(ident: str, piece: str) -> bool:
    plain, typed = ident.replace("-", "").lower(), piece.replace("-", "")
    return len(typed) >= SHORTEST_ID and (plain.startswith(typed) or plain.endswith(typed))


def _path_meant(home: TaskHome, store: Store, ident: str, named: str) -> str:
    """The register in conflict that a person means: by its own name, or as a page calls it."""
    entity = store.read(ident)
    paths = [one.path for one in conflicts_of.of_entity(entity)] if entity is not None else []
    if named in paths:
        return named
    labels, wanted = _called(home), named.casefold()
    called = {path: (_field(path, labels), words.field(_field(path, labels))) for path in paths}
    fitting = [path for path, names in called.items() if wanted in [each.casefold() for each in names]]
    return fitting[0] if len(fitting) == 1 else named


def _titled(home: TaskHome, piece: str) -> str:
    """The task with that piece in its title; `Problem` if several have it, or none."""
    try:
        with home.journal.reading() as reader:
            return finding.resolve(reader, piece, "task")
    except Problem as problem:
        if problem.code != "unknown-id":
            raise
    raise Problem(
        "unknown-id",
        "nothing has an id that begins or ends with {quoted}, and no task has it in its title",
        quoted=quoted(piece),
    )


def _said(conflict: ConflictAnswer, written: Written) -> str:
    return f"{_value(conflict.path, written.value)} ({written.device_name or written.host})"


def _value(path: str, value: Any) -> str:
    if path == DELETED_AT:
        return "edited" if value is None else "deleted"
    if value is None or path in ("status", "isChecked", "isArchived") or holds_instant(path):
        return words.value(path, value)
    return _plain(path, value)


def _answer(entity: Entity, conflict: Conflict, names: Mapping[Host, str]) -> ConflictAnswer:
    return ConflictAnswer(
        conflict.entity,
        conflict.type,
        _title(entity),
        conflict.path,
        conflict.deleted,
        [
            Written(c.value, _writer(c.precedence), c.host, names.get(c.host), iso(c.millis))
            for c in conflict.candidates
        ],
    )


def _title(entity: Entity) -> str:
    """What a person knows an entity by: its title, name or text, else its type."""
    return _brief(_whole_title(entity))


def _whole_title(entity: Entity) -> str:
    values = (entity.value(path) for path in ("title", "displayName", "name", "text"))
    return next((value for value in values if isinstance(value, str) and value), entity.type)


def _writer(precedence: int) -> Writer:
    return "user" if precedence else "agent"
