"""Taking the data out, and putting it back (docs/specs/17-backup.md)."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from lottisync.answers.devices import BackedUp, Restored
from lottisync.answers.stores import Exported
from lottisync.cli.terminal import Terminal, common
from lottisync.device import clock
from lottisync.problem import Problem
from lottisync.store.instant import iso, millis

SECRET = "It holds this device's key: anyone who reads it can act as this device."


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
        terminal.line(f"Backed up to {made.folder}, and checked.", "green")
        terminal.line(SECRET, "yellow")
        if removed:
            terminal.line(f"Removed {len(removed)} older: {', '.join(each.folder.name for each in removed)}", "dim")

    terminal.emit(value, shown)


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@common
def restore(terminal: Terminal, folder: Path) -> None:
    """Make a home of a backup, or of the newest backup in DIR. The home must not exist yet.

    The home is the same device as the one that was backed up. If that one still runs, make one of the two a device
    of its own: lottisync devices renew NAME
    """
    from lottisync.device import backup

    with _gauged(terminal) as progress:
        restored = backup.restore(folder, terminal.path, progress)
    said = restored.described
    value = Restored(said.device, said.name, str(terminal.path), iso(millis(said.at)))

    def shown() -> None:
        terminal.line(f"{terminal.path} is {said.name} again, as it was at {said.at}.", "green")
        terminal.line("What it wrote later comes back from your other devices. Start it with: lottisync daemon", "dim")

    terminal.emit(value, shown)


@click.command("export")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True))
@common
def export_file(terminal: Terminal, file: Path) -> None:
    """Write everything to FILE ('-': standard output) as lines of JSON: documents, clocks, conflicts, history.

    \b
    lottisync export everything.jsonl
    lottisync export - | gzip > everything.jsonl.gz
    """
    from lottisync.device import export

    home = terminal.home
    stores = {name: store for name, store in home.stores.items() if name != home.space.schema.name}
    done = 0

    def count(at: int, of: int) -> None:
        nonlocal done
        done = at
        advance("exporting", at / of if of else 1.0)

    with terminal.gauge("exporting") as advance:
        lines = export.lines(stores, count)
        if str(file) == "-":
            for line in lines:
                sys.stdout.buffer.write(line + b"\n")
            return
        _write(file, lines)
    value = Exported(str(file), done)
    terminal.emit(value, lambda: terminal.line(f"Exported {done:,} entities to {file}", "green"))


def _write(file: Path, lines: Iterator[bytes]) -> None:
    """The whole file or none: it is written beside, and moved into its place."""
    building = file.with_name(f"{file.name}.new")
    try:
        with building.open("wb") as written:
            for line in lines:
                written.write(line + b"\n")
        building.replace(file)
    except OSError as error:
        raise Problem(
            "cannot-write", "{file} cannot be written: {strerror}", file=file, strerror=error.strerror or error
        ) from None
    finally:
        building.unlink(missing_ok=True)


@contextmanager
def _gauged(terminal: Terminal) -> Iterator[Callable[[str, int, int], None]]:
    with terminal.gauge("working") as advance:
        yield lambda what, done, of: advance(what, done / of if of else 1.0)
