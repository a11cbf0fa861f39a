"""A copy of this device, and putting it back (docs/specs/17-backup.md)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from lottisync.answers.devices import BackedUp, Restored
from lottisync.cli.terminal import Terminal, common
from lottisync.cli.times import SECONDS, local
from lottisync.device import clock
from lottisync.language import marked, say
from lottisync.store.instant import iso, millis

SECRET = marked("It holds this device's key: anyone who reads it can act as this device.")


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--keep", type=click.IntRange(1), metavar="N", help="Then remove all but the N newest of this device.")
@common
def backup(terminal: Terminal, folder: Path, keep: int | None) -> None:
    """Make a checked copy of this device in DIR, while other programs go on.

    \b
    lottisync backup /media/usb/lottisync
    lottisync backup --keep 7 /media/usb/lottisync     (from a timer, once a day)
    """
    from lottisync.device.backup import back_up, rotate

    home = terminal.home
    with _gauged(terminal) as progress:
        made = back_up(home, folder, clock.now(), progress)
    removed = rotate(folder, home.id, keep) if keep is not None else []
    value = BackedUp(str(made.folder), made.described.stores, [str(each.folder) for each in removed])

    def shown() -> None:
        terminal.line(say("Backed up to {folder}, and checked.", folder=made.folder), "green")
        terminal.line(say(SECRET), "yellow")
        if removed:
            terminal.line(
                say(
                    "Removed {count} older: {names}",
                    count=len(removed),
                    names=", ".join(each.folder.name for each in removed),
                ),
                "dim",
            )

    terminal.emit(value, shown)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@common
def restore(terminal: Terminal, folder: Path) -> None:
    """Make a home of a backup, or of the newest backup in DIR. The home must not exist yet.

    The home is the same device as the one that was backed up. If that one still runs, make one of the two a device
    of its own: lottisync devices renew NAME

    \b
    lottisync restore ~/backups --home ~/restored
    """
    from lottisync.device import backup

    with _gauged(terminal) as progress:
        restored = backup.restore(folder, terminal.path, progress)
    said = restored.described
    value = Restored(said.device, said.name, str(terminal.path), iso(millis(said.at)))

    def shown() -> None:
        terminal.line(
            say(
                "{path} is {name} again, as it was at {at}.",
                path=terminal.path,
                name=said.name,
                at=local(value.at, SECONDS),
            ),
            "green",
        )
        terminal.line(
            say("What it wrote later comes back from your other devices. Start it with: lottisync daemon"), "dim"
        )

    terminal.emit(value, shown)


PARTS = {"copy": marked("copying"), "check": marked("checking")}
"""What a backup and its restoring are made of."""


@contextmanager
def _gauged(terminal: Terminal) -> Iterator[Callable[[str, int, int], None]]:
    with terminal.gauge(say("working")) as advance:
        yield lambda what, done, of: advance(say(PARTS[what]), done / of if of else 1.0)
