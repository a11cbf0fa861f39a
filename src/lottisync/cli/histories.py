"""`history`: who wrote which field, and what it replaced."""

import click

from lottisync.answers.stores import History, WriteAnswer
from lottisync.cli import entity_names, field_words
from lottisync.cli.terminal import Terminal, common
from lottisync.cli.times import SECONDS, local
from lottisync.daemon.overview import device_names
from lottisync.language import say
from lottisync.store import overwritten
from lottisync.store.instant import iso


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
    store, ident = entity_names.where(home, entity_id)
    with store.reading() as reader:
        lines = overwritten.history(reader, ident)
    names, said = device_names(home), field_words.of_store(home, store)
    by = field_words.writers_of(home, store)
    rows = [
        WriteAnswer(
            iso(line.stamp.millis),
            by(line.path, line.stamp.precedence),
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
                say(field_words.WRITERS[r.by]),
                r.device_name or r.host,
                said.heading(r.path),
                said.held(r.path, r.value),
                said.held(r.path, r.replaced) if r.replaced is not None else "",
            )
            for r in rows
        ]
        terminal.table(["when", "who", "on", "field", "value", "before"], lines)

    terminal.emit(History(ident, rows), shown)
