"""The daemon: the one place where everything is put together, started, and stopped in order.

    home -> locked, so that one program at a time syncs it
         -> confirmations that a crash left half done are finished (or found undone)
         -> the sync engine
         -> the web pages, which load when somebody opens them
         -> the invitations that were given out
         -> the agents at home on this device, if a model is configured
         -> the command that calls the person, if one is set
         -> daemon.json, rewritten whenever something changed that a person may want to see

A stop (SIGTERM, SIGINT) closes the connections with a reason and leaves nothing behind. Whatever else stops
it, the stores are what they were at the last commit.
"""

import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

import anyio
from anyio.abc import TaskGroup

from lottisync.daemon import pages as web_pages
from lottisync.daemon.home import TaskHome
from lottisync.daemon.lines import Lines
from lottisync.daemon.pages import Where
from lottisync.daemon.status import DaemonStatus, encoded
from lottisync.device import clock, purging
from lottisync.device.alone import STATUS_FILE, alone
from lottisync.net.address import Address
from lottisync.net.listener import Listen
from lottisync.problem import Problem
from lottisync.relay.reached import Reached
from lottisync.store.idle import QUIET_SECONDS, Idle
from lottisync.store.instant import iso
from lottisync.sync.engine import Engine

SETTLE_SECONDS = 0.05
"""How long changes of the status are gathered before the file is written."""
STATUS_PAUSE_SECONDS = 0.4
"""How long it is not written again after that: nobody reads it so often, and every change would wait for it."""
TIDY_SECONDS = 24 * 60 * 60
LINES_SECONDS = 60.0
"""How long lines of one kind are counted together."""
AGAIN_SECONDS = 30.0
"""Until what failed is tried again."""


class _Changed:
    """Whether the status may say something else than what is in its file."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def note(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        """Wait for a change, and until what belongs to it has happened, too. What happens after this is the next
        change."""
        await self._event.wait()
        await anyio.sleep(SETTLE_SECONDS)
        self._event = anyio.Event()


class _StatusFile:
    """What the daemon says of itself, in a file of the home. What cannot be written now (a full disk) is written at the
    next change; the connections go on."""

    def __init__(self, home: TaskHome, engine: Engine, changed: _Changed, say: Callable[[str, str], None]) -> None:
        self._home, self._engine, self.changed, self._say = home, engine, changed, say
        self.relay: Callable[[], Reached | None] = lambda: None
        self._started_at = iso(clock.now())
        self._failing = False

    async def keep(self) -> None:
        """Keep the file up to date, until cancelled."""
        while True:
            await self.changed.wait()
            await self.write()
            await anyio.sleep(STATUS_PAUSE_SECONDS)

    async def write(self) -> None:
        try:
            _write_status(self._home, await self._described())
            self._failing = False
        except (OSError, Problem) as error:
            if not self._failing:
                reason = error.message if isinstance(error, Problem) else error.strerror or str(error)
                self._say("failed", f"{self._home.path / STATUS_FILE} cannot be written: {reason}")
            self._failing = True

    async def _described(self) -> DaemonStatus:
        return DaemonStatus(
            os.getpid(),
            self._engine.port,
            self._started_at,
            await self._engine.snapshot(),
            self._engine.nearby(),
            self._engine.scrub.damaged(),
            self._engine.duplicate_key_at,
            self._engine.unusable(),
            self.relay(),
        )


async def run(
    home: TaskHome,
    *,
    listen: Listen,
    discover: bool,
    say: Callable[[str, str], None],
    started: Callable[[int], None],
    agents: bool = False,
    pages: Where | None = None,
) -> None:
    """Run until cancelled. `started` is called with the port, and `say` with what happens (code, sentence). With
    `agents`, those at home on this device wake by themselves; with `pages`, a browser is served there.

    Raises `Problem` if another program syncs this home, or the port cannot be had."""
    say = lines = Lines(say)
    async with alone(home.path):
        if (doubt := clock.doubt(clock.now())) is not None:
            say("clock-wrong", doubt)
        _recover(home, say)
        changed = _Changed()
        engine = Engine(home, listen, discover=discover, chance=clock.chance(), report=say, status=changed.note)
        status = _StatusFile(home, engine, changed, say)
        try:
            with one_problem():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_until_signalled, tasks.cancel_scope)
                    tasks.start_soon(status.keep)
                    tasks.start_soon(_count_lines, lines)
                    port = await tasks.start(engine.run)
                    await status.write()
                    if pages is not None:
                        await _start_pages(tasks, home, pages, Address(listen.host, 0), say, discover=discover)
                    started(port)
                    # What is not needed to listen is loaded from here on.
                    _announce_box_key(home)  # not before the port is had: a daemon that cannot start writes nothing
                    tasks.start_soon(_kept_up, "forgetting", partial(_purge, home), say)
                    tasks.start_soon(_kept_up, "tidying", partial(_remove_old_sets, home), say)
                    tasks.start_soon(_kept_up, "resting", partial(_carry_over_idle, home), say)
                    tasks.start_soon(_kept_up, "visiting the relay", partial(_visit_relay, home, status, say), say)
                    tasks.start_soon(_kept_up, "answering invitations", partial(_answer_invitations, home, say), say)
                    tasks.start_soon(_kept_up, "on-pending", partial(_call_person, home, say), say)
                    if agents:
                        tasks.start_soon(_kept_up, "waking agents", partial(_run_agents, home, say), say)
        finally:
            lines.turn()
            with suppress(FileNotFoundError):
                (home.path / STATUS_FILE).unlink()


@contextmanager
def one_problem() -> Iterator[None]:
    """Raises one error in place of the group in which a task group wraps what its tasks raise: the first `Problem`, or
    else what the system refused first (`OSError`). If anything else went wrong, the group is raised."""
    try:
        yield
    except BaseExceptionGroup as group:
        refused, others = group.split((Problem, OSError))
        if refused is None or others is not None:
            raise
        problems, _ = refused.split(Problem)
        error: BaseException = problems or refused
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        raise error from None


def _recover(home: TaskHome, say: Callable[[str, str], None]) -> None:
    from lottisync.review import unfinished

    if not {"journal", "agent"} <= {*home.stores}:
        return  # one is damaged: `status` says so
    if not unfinished.is_needed(home.journal, home.agent):
        return
    from lottisync.journal.toolbox import ACTIONS
    from lottisync.review.verdict import Verdicts

    verdicts = Verdicts(home.journal, home.agent, ACTIONS, device_id=home.key.device_id, new_id=clock.new_id)
    for outcome in verdicts.recover(clock.now()):
        say(
            "recovered",
            f"finished a verdict that was interrupted: {outcome.item} {outcome.result} {outcome.message}".rstrip(),
        )


async def _count_lines(lines: Lines) -> None:
    while True:
        await anyio.sleep(LINES_SECONDS)
        lines.turn()


async def _kept_up(
    what: str, work: Callable[[], Awaitable[None]], say: Callable[[str, str], None], pause: float = AGAIN_SECONDS
) -> None:
    """Do `work` until it ends by itself. Where the disk or the system refuses something, that is said once for each
    reason, and it is tried again: it stops nothing that runs beside it (CLI-49)."""
    reported = ""
    while True:
        try:
            await work()
            return
        except (OSError, Problem) as error:
            reason = error.message if isinstance(error, Problem) else error.strerror or str(error)
            if reason != reported:
                say("failed", f"{what} failed, and is tried again: {reason}")
            reported = reason
        await anyio.sleep(pause)


def _announce_box_key(home: TaskHome) -> None:
    """Announce this device's box key, so that others wrap keys for it before its first visit to a relay. If the disk
    takes nothing, the daemon starts all the same, and the key is announced at the first visit."""
    from lottisync.relay.circle import Circle

    with suppress(Problem):
        Circle(home).announce(clock.now())


async def _answer_invitations(home: TaskHome, say: Callable[[str, str], None]) -> None:
    from lottisync.device.invitation_server import InvitationServer

    await InvitationServer(home, say).run()


async def _visit_relay(home: TaskHome, status: _StatusFile, say: Callable[[str, str], None]) -> None:
    from lottisync.relay.visits import Visits

    visits = Visits(home, clock.draw, lambda code, sentence: say(code, str(sentence)), noted=status.changed.note)
    status.relay = lambda: visits.reached
    await visits.run()


async def _purge(home: TaskHome) -> None:
    """Once a day, what was deleted long ago is forgotten."""
    while True:
        await anyio.to_thread.run_sync(purging.purge, home, clock.now())
        await anyio.sleep(TIDY_SECONDS)


async def _remove_old_sets(home: TaskHome) -> None:
    """Once a day, change sets that were settled long ago go."""
    from lottisync.review.cleanup import remove_old_sets

    while True:
        await anyio.to_thread.run_sync(remove_old_sets, home.agent, clock.now())
        await anyio.sleep(TIDY_SECONDS)


async def _carry_over_idle(home: TaskHome) -> None:
    idle = Idle(home.stores)
    while True:
        await anyio.sleep(QUIET_SECONDS)
        await anyio.to_thread.run_sync(idle.look)


async def _start_pages(
    tasks: TaskGroup, home: TaskHome, where: Where, pair_at: Address, say: Callable[[str, str], None], *, discover: bool
) -> None:
    """If nobody has said at which address they are to be, a daemon that cannot serve them goes on without pages."""
    serve = partial(web_pages.serve, discover=discover, report=say)
    try:
        await tasks.start(serve, home, web_pages.listen(where), where.network, pair_at)
    except (OSError, Problem) as error:
        if where.firm or where.network:
            raise
        say("failed", f"no pages are served: {error.message if isinstance(error, Problem) else error.strerror}")


async def _run_agents(home: TaskHome, say: Callable[[str, str], None]) -> None:
    from lottisync.agents.endpoint import Endpoint, choice
    from lottisync.agents.model import ModelError
    from lottisync.agents.openai_client import model_from_environment
    from lottisync.daemon.settings import read_settings

    def endpoints() -> dict[str, Endpoint]:
        return read_settings(home.path).endpoints

    try:
        model_from_environment(os.environ)
    except ModelError as error:
        if not endpoints():
            say("agents-asleep", f"agents do not wake by themselves: {error.message}")
            return
    from lottisync.agents.model_process import ModelProcess
    from lottisync.agents.runtime import Machine, Runtime

    await Runtime(
        home.journal,
        home.agent,
        home.key.device_id,
        # Read again each time: an agent waits for an endpoint that is not in the file yet.
        lambda living: ModelProcess(choice(living), endpoints()),
        Machine(clock.now, clock.new_id, clock.chance().random, home.device_name, endpoints),
        say,
    ).run()


async def _call_person(home: TaskHome, say: Callable[[str, str], None]) -> None:
    from lottisync.daemon.settings import read_settings

    if (chosen := read_settings(home.path).on_pending) is not None:
        from lottisync.daemon import pending

        await pending.run(home, chosen, say)


async def _until_signalled(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()
            return


def _write_status(home: TaskHome, status: DaemonStatus) -> None:
    temporary = home.path / (STATUS_FILE + ".new")
    temporary.write_bytes(encoded(status))
    temporary.rename(home.path / STATUS_FILE)
