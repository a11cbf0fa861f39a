"""`conflicts`: what two devices wrote without knowing of each other, and the verbs that settle it."""

from collections.abc import Mapping

import click

from lottisync.answers.stores import ConflictAnswer, Conflicts, Settled, Written
from lottisync.causality.vector_clock import Host
from lottisync.cli import entity_names, field_words, typed_values
from lottisync.cli.acts import acting
from lottisync.cli.field_words import FieldWords
from lottisync.cli.help_pages import Group
from lottisync.cli.terminal import Terminal, common, short
from lottisync.cli.times import SECONDS, local
from lottisync.daemon.home import TaskHome
from lottisync.daemon.overview import device_names
from lottisync.entities.entity import Entity
from lottisync.entities.path import split
from lottisync.journal import words
from lottisync.language import headed, say
from lottisync.problem import Problem, Sentence
from lottisync.store import conflict as conflicts_of
from lottisync.store.conflict import Conflict
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store


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
                    said.name(c.path),
                    _said(said, c, c.values[0]),
                    "; ".join(_said(said, c, o) for o in c.values[1:]),
                )
                for said, c in found
            ],
        )
        terminal.line("lottisync conflicts keep ID FIELD N  ·  combine ID FIELD VALUE", "dim")

    terminal.emit(Conflicts([one for _, one in found]), shown)


@conflicts.command("show")
@click.argument("entity_id", metavar="ID")
@common
def show_conflicts(terminal: Terminal, entity_id: str) -> None:
    """Show the conflicts of ID, value beside value.

    \b
    lottisync conflicts show 4f0c
    """
    home = terminal.home
    store, ident = entity_names.in_conflict(home, entity_id)
    said = field_words.of_store(home, store)
    with store.reading() as reader:
        entity = reader.entity(ident)
        by = field_words.writers_of(home, store)
        found = _decisions(reader, entity, device_names(home), by) if entity is not None else []

    def shown() -> None:
        for one in found:
            rows = [
                (
                    str(n),
                    _said(said, one, each),
                    say(field_words.WRITERS[each.by]),
                    each.device_name or each.host,
                    local(each.at, SECONDS),
                )
                for n, each in enumerate(one.values, 1)
            ]
            terminal.table(["", said.name(one.path), "by", "on", "at"], rows)
            terminal.line(f"lottisync conflicts keep {short(one.id)} {one.path} N", "dim")

    if not found:
        name = f"{short(ident)} {field_words.title(entity)}" if entity is not None else ident
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
    store, ident = entity_names.in_conflict(terminal.home, entity_id)
    field = entity_names.path_meant(terminal.home, store, ident, field)
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
    store, ident = entity_names.in_conflict(terminal.home, entity_id)
    field = entity_names.path_meant(terminal.home, store, ident, field)
    with acting(
        terminal, Sentence("settled {field}", field=Sentence(words.FIELDS.get(field, field))), store=store
    ) as tx:
        entity = tx.entity(ident)
        found = [one for one in conflicts_of.of_entity(entity) if one.path == field] if entity is not None else []
        typed = typed_values.typed(tx, found[0], value, journal=store is terminal.home.journal) if found else value
        conflicts_of.combine(tx, ident, field, typed)
    _settled(terminal, store, ident, field)


def _settled(terminal: Terminal, store: Store, ident: str, field: str) -> None:
    entity = store.read(ident)
    words_of = field_words.of_store(terminal.home, store)
    said = say("{field} is settled.", field=words_of.name(field))
    if entity is not None and split(field)[1] is None:
        said += f"  {words_of.said(field, entity.value(field))}"
    terminal.emit(Settled(ident, field), lambda: terminal.line(said.rstrip(), "green"))


def _all(home: TaskHome) -> list[tuple[FieldWords, ConflictAnswer]]:
    """The open conflicts, one for each decision of the person, with the words of their store."""
    names = device_names(home)
    found = []
    for store in home.stores.values():
        by = field_words.writers_of(home, store)
        with store.reading() as reader:
            those = [one for entity in reader.conflicted() for one in _decisions(reader, entity, names, by)]
        if those:
            said = field_words.of_store(home, store)
            found += [(said, one) for one in those]
    return found


def of_task(home: TaskHome, task_id: str) -> list[ConflictAnswer]:
    """The conflicts of a task and of what belongs to it, one for each decision."""
    names, by = device_names(home), field_words.writers_of(home, home.journal)
    found = []
    with home.journal.reading() as reader:
        for entity in reader.conflicted():
            if task_id in (entity.id, entity.value("taskId")):
                found += _decisions(reader, entity, names, by)
    return found


def _decisions(
    reader: Reader, entity: Entity, names: Mapping[Host, str], by: field_words.WriterOf
) -> list[ConflictAnswer]:
    return [_answer(entity, one, names, by) for one in conflicts_of.decisions(reader, conflicts_of.of_entity(entity))]


def show_of_task(terminal: Terminal, found: list[ConflictAnswer]) -> None:
    """All values of each conflict, and the verb that settles it."""
    said = field_words.of_store(terminal.home, terminal.home.journal)
    for one in found:
        values = "  |  ".join(f"{number} {_said(said, one, each)}" for number, each in enumerate(one.values, 1))
        terminal.line(f"! {headed(one.title, headed(said.heading(one.path), values))}", "bold yellow")
        terminal.line(f"  lottisync conflicts keep {short(one.id)} {one.path} N", "dim")


def _said(said: FieldWords, conflict: ConflictAnswer, written: Written) -> str:
    return f"{said.said(conflict.path, written.value)} ({written.device_name or written.host})"


def _answer(entity: Entity, conflict: Conflict, names: Mapping[Host, str], by: field_words.WriterOf) -> ConflictAnswer:
    return ConflictAnswer(
        conflict.entity,
        conflict.type,
        field_words.title(entity),
        conflict.path,
        conflict.deleted,
        [
            Written(c.value, by(conflict.path, c.precedence), c.host, names.get(c.host), iso(c.millis))
            for c in conflict.candidates
        ],
    )
