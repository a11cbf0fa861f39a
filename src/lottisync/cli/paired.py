"""What the two ways of pairing share, by a code and by an invitation: this device's side, and the outcome."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lottisync.answers.devices import PairedWith
from lottisync.cli.terminal import Terminal
from lottisync.daemon.home import TaskHome
from lottisync.identity.device_key import grouped
from lottisync.language import say
from lottisync.net.address import Address, parse
from lottisync.shown import quoted

if TYPE_CHECKING:
    from lottisync.net.pairing import Self


def own_side(home: TaskHome) -> "Self":
    """This device in a pairing, with where its daemon is reached."""
    from lottisync.device.pairing import own_side as side

    return side(home, listens_at(home))


def listens_at(home: TaskHome) -> Address:
    """Where the daemon of this home listens. If none runs: where the settings say, else where it listened last."""
    from lottisync.daemon.settings import read_settings
    from lottisync.daemon.status import read_status
    from lottisync.device.pairing import listens_at as listened

    last = listened(home)
    wanted = read_settings(home.path).listen if read_status(home) is None else None
    if wanted is None:
        return last
    host, port = parse(wanted, last.port)
    return Address(host, port or last.port)


def tell_paired(
    terminal: Terminal, device: str, words: Sequence[str], peer: tuple[str, str], own: tuple[str, str]
) -> None:
    """The outcome of a pairing. `peer` and `own` are what each of the two was called, and is called now."""

    def shown() -> None:
        terminal.line(say("Paired with {peer}.", peer=peer[0]), "green")
        for which, (was, now) in ((say("the other device"), peer), (say("this one"), own)):
            if now != was:
                terminal.line(
                    say(
                        "Two of your devices were called {was}: {which} is called {now} now. "
                        "For another name: lottisync devices rename {shell_name} NEW",
                        was=was,
                        which=which,
                        now=now,
                        shell_name=quoted(now),
                    ),
                    "yellow",
                )
        terminal.line(say("Both devices show the same words:  {words}", words=" ".join(words)))
        terminal.line(say("device  {device}", device=grouped(device)), "dim")

    terminal.emit(PairedWith(device, peer[1], list(words), own[1]), shown)
