"""`check`, `history`, `conflicts` and `purge`: looking into the stores, and clearing them."""

from collections.abc import Mapping
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
from lottisync.cli.terminal import Terminal, common, short
from lottisync.daemon.home import TaskHome
from lottisync.daemon.overview import device_names
from lottisync.device import clock, purging
from lottisync.entities import canonical
from lottisync.entities.entity import DELETED_AT, Entity
from lottisync.entities.registers import Stamp
from lottisync.problem import Problem
from lottisync.review import index
from lottisync.review.precedence import PERSON
from lottisync.shown import quoted
from lottisync.store import conflict as conflicts_of
from lottisync.store import mending
from lottisync.store.check import broken_invariants
from lottisync.store.conflict import Conflict
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store

DAY = 24 * 3_600_000


@click.command()
@click.option("--accept", "accepted", metavar="ID", help="What the damaged row ID shows now is right: write it again.")
@common
def check(terminal: Terminal, accepted: str | None) -> None:
    """Look through the whole home for what should not be. Exit code 1 if something is wrong.

    Reads only, without --accept."""
    if accepted is not None:
        _accept(terminal, accepted)
        return
    found: dict[str, list[str]] = {}
    for name, store in terminal.home.stores.items():
        with store.reading() as reader, terminal.progress(name, reader.count()) as advance:
            done = 0

            def step(now: int, of: int, advance: Any = advance) -> None:
                nonlocal done
                advance(now - done)
                done = now

            found[name] = broken_invariants(reader, step)
            if store is terminal.home.agent:
                found[name] += index.faults(reader, clock.now())

    def shown() -> None:
        for name, faults in found.items():
            terminal.line(
                f"{name:8} {'sound' if not faults else f'{len(faults)} faults'}", "red" if faults else "green"
            )
            for fault in faults:
                terminal.line(f"  {fault}", "red")
        if any(found.values()):
            terminal.line("What another device can help to mend, this mends: lottisync verify", "dim")
            terminal.line("If what a damaged row shows now is right: lottisync check --accept ID", "dim")

    terminal.emit(Checked(found), shown)
    if any(found.values()):
        raise click.exceptions.Exit(1)


def _accept(terminal: Terminal, ident: str) -> None:
    """In the store where the row is damaged, or else the store that has it and says that it is sound."""
    holding = []
    for store in terminal.home.stores.values():
        with store.reading() as reader:
            row = reader.raw_row(ident)
        if row is not None:
            holding.append((row.version.hash() == row.hash, store))
    if not holding:
        raise Problem("unknown-id", "nothing has the id {quoted}", quoted=quoted(ident))
    _, store = min(holding, key=lambda one: one[0])
    with store.transaction(clock.now(), PERSON) as tx:
        mending.accept(tx, ident)
    terminal.emit(Accepted(ident), lambda: terminal.line(f"{ident} holds what it shows now.", "green"))


@click.command()
@click.option(
    "--days", type=click.IntRange(0, 36_500), default=30, show_default=True, help="Keep what was deleted since."
)
@common
def purge(terminal: Terminal, days: int) -> None:
    """Forget for good what was deleted long ago and every other device has seen. A running daemon does it daily.

    A device that was away for long holds it back; `lottisync devices retire NAME` says not to wait for it."""
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
        terminal.line(f"{total:,} deleted {'entity' if total == 1 else 'entities'} forgotten.", "green")
        for one in held:
            terminal.line(f"{one.name} has not seen {one.holds_back:,} more yet; they stay until it has.", "yellow")

    terminal.emit(Purged(forgotten, held), shown)


@click.command()
@click.argument("entity_id", metavar="ID")
@common
def history(terminal: Terminal, entity_id: str) -> None:
    """Show who wrote which field of ID, on which device, when, and what it replaced.

    What was replaced is kept on the device where that happened: at most 100 values a field."""
    home = terminal.home
    store, ident = _where(home, entity_id)
    with store.reading() as reader:
        entity = reader.entity(ident)
        old = reader.overwritten(ident)
    assert entity is not None
    names = device_names(home)
    # Not what was there before by the clock: of two that did not know of each other, neither replaced the other.
    # Of several that went at once it is the one that was shown, the greatest.
    old.sort(key=lambda o: (o.precedence, o.millis, o.ticks, o.host, o.counter))
    replaced = {(o.path, o.by_host, o.by_counter): canonical.decode(o.value) for o in old}

    def row(path: str, value: bytes, stamp: Stamp, *, current: bool) -> Write:
        return Write(
            iso(stamp.millis),
            _writer(stamp.precedence),
            stamp.host,
            names.get(stamp.host),
            path,
            canonical.decode(value),
            current,
            replaced.get((path, *stamp.dot)),
        )

    rows = [row(o.path, o.value, Stamp(o.precedence, o.millis, o.ticks, o.host, o.counter), current=False) for o in old]
    rows += [
        row(path, held.value, held.stamp, current=True) for path, writes in entity.registers.items() for held in writes
    ]
    rows.sort(key=lambda each: (each.at, each.path))

    def shown() -> None:
        terminal.table(
            ["when", "who", "on", "field", "value", "before"],
            [
                (
                    r.at[:19].replace("T", " "),
                    r.by,
                    r.device_name or r.host,
                    r.path,
                    _brief(r.value),
                    _brief(r.replaced),
                )
                for r in rows
            ],
        )

    terminal.emit(History(ident, rows), shown)


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else f"{text[:57]}..."


@click.group(invoke_without_command=True)
@common
@click.pass_context
def conflicts(context: click.Context, terminal: Terminal) -> None:
    """Without a verb: list where two devices wrote different things without knowing of each other."""
    if context.invoked_subcommand is not None:
        return
    home = terminal.home
    found = _all(home)

    def shown() -> None:
        if not found:
            terminal.line("No conflict.", "green")
            return
        terminal.table(
            ["id", "title", "field", "shown", "also written"],
            [
                (short(c.id), c.title, c.path, _said(c, c.values[0]), "; ".join(_said(c, o) for o in c.values[1:]))
                for c in found
            ],
        )
        terminal.line("lottisync conflicts keep ID FIELD N  ·  combine ID FIELD VALUE", "dim")

    terminal.emit(Conflicts(found), shown)


@conflicts.command("show")
@click.argument("entity_id", metavar="ID")
@common
def show_conflicts(terminal: Terminal, entity_id: str) -> None:
    """Show the conflicts of ID, value beside value."""
    home = terminal.home
    store, ident = _where(home, entity_id)
    entity = store.read(ident)
    names = device_names(home)
    found = [_answer(entity, one, names) for one in conflicts_of.of_entity(entity)] if entity is not None else []

    def shown() -> None:
        for one in found:
            rows = [
                (str(n), _said(one, each), each.by, each.device_name or each.host, each.at[:19])
                for n, each in enumerate(one.values, 1)
            ]
            terminal.table(["", one.path, "by", "on", "at"], rows)

    if not found:
        raise Problem("no-conflict", "{ident} has no conflict. See: lottisync conflicts", ident=ident)
    terminal.emit(Conflicts(found), shown)


@conflicts.command("keep")
@click.argument("entity_id", metavar="ID")
@click.argument("field")
@click.argument("number", type=int, metavar="N")
@common
def keep(terminal: Terminal, entity_id: str, field: str, number: int) -> None:
    """Keep the N-th value of FIELD (1 is the one that is shown now)."""
    store, ident = _where(terminal.home, entity_id)
    with store.transaction(clock.now(), PERSON) as tx:
        conflicts_of.keep(tx, ident, field, number)
    _settled(terminal, ident, field)


@conflicts.command("combine")
@click.argument("entity_id", metavar="ID")
@click.argument("field")
@click.argument("value")
@common
def combine(terminal: Terminal, entity_id: str, field: str, value: str) -> None:
    """Settle FIELD with a new VALUE: JSON, or text as it stands."""
    store, ident = _where(terminal.home, entity_id)
    try:
        decoded: Any = msgspec.json.decode(value)
    except msgspec.DecodeError:
        decoded = value
    with store.transaction(clock.now(), PERSON) as tx:
        conflicts_of.combine(tx, ident, field, decoded)
    _settled(terminal, ident, field)


def _settled(terminal: Terminal, ident: str, field: str) -> None:
    terminal.emit(Settled(ident, field), lambda: terminal.line(f"{field} is settled.", "green"))


def _all(home: TaskHome) -> list[ConflictAnswer]:
    """What there is to decide on, one for each decision."""
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
    for one in found:
        values = "  |  ".join(f"{number} {_said(one, each)}" for number, each in enumerate(one.values, 1))
        terminal.line(f"! {one.title}: {one.path}: {values}", "bold yellow")
        terminal.line(f"  lottisync conflicts keep {short(one.id)} {one.path} N", "dim")


def _where(home: TaskHome, abbreviated: str) -> tuple[Store, str]:
    """The store that has an id, which may be abbreviated to its first or last characters."""
    found: list[tuple[Store, str]] = []
    for store in home.stores.values():
        with store.reading() as reader:
            if reader.version(abbreviated) is not None:
                return store, abbreviated
            found += [(store, ident) for ident in reader.ids_like(abbreviated, 2)]
    if len(found) == 1:
        return found[0]
    what = "nothing has" if not found else "several things have"
    raise Problem("unknown-id", "{what} an id that begins or ends with {quoted}", what=what, quoted=quoted(abbreviated))


def _said(conflict: ConflictAnswer, written: Written) -> str:
    return f"{_value(conflict.path, written.value)} ({written.device_name or written.host})"


def _value(path: str, value: Any) -> str:
    if path == DELETED_AT:
        return "edited" if value is None else "deleted"
    return _brief(value)


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
    values = (entity.value(path) for path in ("title", "displayName", "name", "text"))
    return _brief(next((value for value in values if isinstance(value, str) and value), entity.type))


def _writer(precedence: int) -> Writer:
    return "user" if precedence else "agent"
