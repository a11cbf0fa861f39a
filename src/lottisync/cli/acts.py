"""Noting what is done from this terminal, so that `lottisync undo` can take it back (docs/specs/11-command-line.md)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from lottisync.device import acts, clock
from lottisync.review.precedence import PERSON
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

if TYPE_CHECKING:
    from lottisync.cli.terminal import Terminal

STARTED = 19
"""The index of the start time among the fields after the name of a process in `/proc/PID/stat`."""


def this_terminal() -> str:
    """The terminal, as the session of processes that this one belongs to. The system may give a number a
    second time, so the time at which the session began is part of it, where the system says that."""
    session = os.getsid(0)
    began = ""
    with suppress(OSError, IndexError):
        began = Path(f"/proc/{session}/stat").read_text().rpartition(")")[2].split()[STARTED]
    return f"terminal {session} {began}".strip()


@contextmanager
def acting(
    terminal: "Terminal", said: str, *, store: Store | None = None, now: int | None = None
) -> Iterator[Transaction]:
    """A transaction of the person's, in the journal or in another store, at `now` or at this moment. It is noted as an
    act, if it is one of the journal's; `said` says what is done."""
    home, moment = terminal.home, clock.now() if now is None else now
    if store is not None and store is not home.journal:
        with store.transaction(moment, PERSON) as tx:
            yield tx
        return
    with acts.acting(home.journal, moment, this_terminal(), said) as tx:
        yield tx
