"""`on-pending`: the person's own command, run when something awaits a decision (docs/specs/11-command-line.md,
section 7).

    a commit -> look: which open sets did no device announce yet? -> wait (gather, or "after") -> run -> announce

`PendingWatch` decides, and takes the time as an argument. `run` is the event loop around it. The device that the person
chose runs its command at once. Another device waits, and finds in `space` whether the person was notified meanwhile
(`lottisync.device.announced`). A device that crashes between its command and the record notifies a second time, which
is better than not at all.

Nothing that came from another device or a model is an argument or in the environment of the command. It is JSON on
standard input.
"""

import os
import signal
import subprocess
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from typing import NamedTuple

import anyio
from anyio.abc import Process

from lottisync.answers.form import encoded
from lottisync.answers.review import Proposals
from lottisync.causality.vector_clock import Clock, covers
from lottisync.daemon.home import TaskHome
from lottisync.daemon.settings import OnPending
from lottisync.device import clock
from lottisync.device.announced import announce, announced
from lottisync.device.membership import member_named
from lottisync.entities.version import Damaged, clock_of
from lottisync.journal.toolbox import ACTIONS
from lottisync.problem import Problem
from lottisync.review import index
from lottisync.review.inbox import Inbox, SetView
from lottisync.store.doorbell import UNHURRIED_SECONDS, Bell
from lottisync.store.reader import Reader
from lottisync.store.store import Store

GATHER_MS = 2_000
"""How long what arrives is gathered, so that one wake or one round is one call."""
AGAIN_MS = 60_000
"""Until a command that failed is run again, at least."""
LIMIT_SECONDS = 60.0
"""After this a command that has not ended is ended."""
MINUTE = 60_000
BELL = "on-pending"
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, BrokenPipeError, ConnectionResetError)
"""What the pipe to a command raises when the command has closed it."""


class Notification(NamedTuple):
    """The sets to notify the person of, and what was known of the agent store then."""

    sets: frozenset[str]
    known: Clock


class _Seen(NamedTuple):
    clock: Clock
    call_at: int


class PendingWatch:
    """When the person is notified, on one device. `delay` gives how long (ms) this device leaves a new set to
    others."""

    def __init__(self, space: Store, agent_store: Store, device: str, delay: Callable[[], int]) -> None:
        self._space, self._agent_store, self._device, self._delay = space, agent_store, device, delay
        self._seen: dict[str, _Seen] = {}
        self.next_look: int | None = None
        """When something will be due (ms); None while nothing waits."""

    def look(self, now: int) -> Notification | None:
        """What to notify the person of now: all sets that no device has announced, as soon as one of them is due."""
        with index.reading(self._agent_store, now) as reader:
            known = reader.knowledge()
            waiting = {row.set_id for row in index.entries(reader, only_open=True)}
            new = {ident: found for ident in waiting - self._seen.keys() if (found := _clock(reader, ident))}
        self._notice(waiting, new, now)
        with self._space.reading() as reader:
            clocks = announced(reader, self._agent_store.schema.name)
        unannounced = {
            ident: seen for ident, seen in self._seen.items() if not any(covers(each, seen.clock) for each in clocks)
        }
        self.next_look = min((seen.call_at for seen in unannounced.values()), default=None)
        if self.next_look is None or self.next_look > now:
            return None
        return Notification(frozenset(unannounced), known)

    def _notice(self, waiting: Iterable[str], new: dict[str, Clock], now: int) -> None:
        call_at = now + self._delay() if new else now
        fresh = {ident: _Seen(each, call_at) for ident, each in new.items()}
        self._seen = {ident: seen for ident, seen in (self._seen | fresh).items() if ident in waiting}

    def called(self, batch: Notification, now: int) -> None:
        """Note that the command did its work."""
        announce(self._space, self._device, self._agent_store.schema.name, batch.known, now)

    def failed(self, batch: Notification, now: int) -> None:
        """Note that the command failed: other devices go on waiting for it, and this one tries again later."""
        again = now + max(self._delay(), AGAIN_MS)
        self._seen |= {ident: self._seen[ident]._replace(call_at=again) for ident in batch.sets if ident in self._seen}


def _clock(reader: Reader, ident: str) -> Clock | None:
    """The clock of a set; None for a set that cannot be read, which can neither be shown nor decided."""
    with suppress(Damaged):
        if (version := reader.version(ident)) is not None:
            return clock_of(version)
    return None


async def run(home: TaskHome, chosen: OnPending, say: Callable[[str, str], None]) -> None:
    """Until cancelled. A command that runs then is ended."""
    watch = PendingWatch(home.space, home.agent, home.id, lambda: _delay(home, chosen))
    with closing(Bell(home.bells, BELL)) as bell:
        while True:
            bell.clear()
            batch = await anyio.to_thread.run_sync(watch.look, clock.now())
            if batch is not None:
                await _call(home, watch, batch, chosen, say)
                continue
            ahead = UNHURRIED_SECONDS if watch.next_look is None else max(0, watch.next_look - clock.now()) / 1000
            with anyio.move_on_after(min(ahead, UNHURRIED_SECONDS)):
                await anyio.wait_readable(bell)


def _delay(home: TaskHome, chosen: OnPending) -> int:
    """How long (ms) this device leaves a new set to others. If no device has the name that was set, each of them
    waits."""
    if chosen.device is None:
        return GATHER_MS
    with suppress(Problem):
        if member_named(home.roster(), chosen.device).device == home.id:
            return GATHER_MS
    return max(GATHER_MS, chosen.after * MINUTE)


async def _call(
    home: TaskHome, watch: PendingWatch, batch: Notification, chosen: OnPending, say: Callable[[str, str], None]
) -> None:
    views = await anyio.to_thread.run_sync(_shown, home, batch)
    why = await ended(chosen.command, views, str(home.path)) if views else None
    if why is None:
        await anyio.to_thread.run_sync(watch.called, batch, clock.now())
        return
    say("on-pending-failed", f"the on-pending command {chosen.command[0]} {why}. It is tried again later")
    watch.failed(batch, clock.now())


def _shown(home: TaskHome, batch: Notification) -> list[SetView]:
    shown = Inbox(home.journal, home.agent, ACTIONS).open_sets(clock.now())
    return [one for one in shown if one.id in batch.sets]


async def ended(command: list[str], sets: list[SetView], home: str, limit: float = LIMIT_SECONDS) -> str | None:
    """Run a command to its end with the sets on its standard input. Says why it failed; None if it did not."""
    environment = os.environ | {
        "LOTTISYNC_HOME": home,
        "LOTTISYNC_PENDING": str(sum(one.waiting for one in sets)),
    }
    try:
        process = await anyio.open_process(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return f"cannot be started: {getattr(error, 'strerror', None) or error}"
    try:
        with anyio.move_on_after(limit):
            await _tell(process, encoded(Proposals(sets)) + b"\n")
            await process.wait()
    finally:
        code = process.returncode
        if code is None:  # with all that it started: they are a session of their own
            os.killpg(process.pid, signal.SIGKILL)
        with anyio.CancelScope(shield=True), suppress(*_GONE):
            await process.aclose()
    if code is None:
        return f"did not end within {limit:.0f} s and was ended"
    return f"ended with the code {code}" if code else None


async def _tell(process: Process, text: bytes) -> None:
    """Write the sets to the command's standard input, which the command need not read."""
    assert process.stdin is not None
    with suppress(*_GONE):
        await process.stdin.send(text)
    with suppress(*_GONE):
        await process.stdin.aclose()
