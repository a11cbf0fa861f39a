"""`purge`: forgetting for good what was deleted long ago."""

import click

from lottisync.answers.stores import HeldBack, Purged
from lottisync.cli.terminal import Terminal, common
from lottisync.device import clock, purging
from lottisync.language import several

DAY = 24 * 3_600_000


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
