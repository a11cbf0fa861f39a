"""`lottisync verify`: ask for stores to be compared, and see to it that somebody does it.

A running daemon hears of the request by its bell. If none runs, the home's lock is free, and this program runs an
engine itself for as long as the comparison takes; should a daemon end meanwhile, this one takes over.
"""

import contextlib
from collections.abc import Callable, Iterable

import anyio
from anyio.abc import TaskStatus

from lottisync.daemon.daemon import one_problem
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.device.alone import alone
from lottisync.net.listener import Listen
from lottisync.problem import Problem
from lottisync.store.doorbell import FALLBACK_SECONDS, Bell
from lottisync.sync.engine import Engine
from lottisync.sync.off_loop import in_thread
from lottisync.sync.verification_request import VerificationRequest, VerificationState, ask, requests, withdraw


async def verify(
    home: TaskHome,
    devices: Iterable[str],
    *,
    listen: Listen,
    discover: bool,
    wait: float,
    report: Callable[[str, str], None],
    progress: Callable[[list[VerificationRequest]], None],
) -> list[VerificationRequest]:
    """Compare all stores with those of these devices, and mend what differs; how each came out.

    A device that could not be reached, or did not come to know the same, within `wait` seconds is left with its request
    open: state `ASKED` or `WAITING`. `progress` is called after each change."""
    bell_name = f"verify-{clock.token(6)}"
    wanted = [(device, store) for device in devices for store in home.stores]
    with one_problem():
        async with contextlib.AsyncExitStack() as stack:
            bell = Bell(home.bells, bell_name)
            stack.callback(bell.close)
            await in_thread(lambda: ask(home.space, bell_name, wanted, clock.now()))
            stack.push_async_callback(_withdraw, home, bell_name)
            tasks = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(tasks.cancel_scope.cancel)
            standing_in = False
            patience = _Patience(wait)
            while True:
                if not standing_in:
                    standing_in = await tasks.start(_stand_in, home, listen, discover, report)
                found = await in_thread(lambda: requests(home.space, bell_name))
                progress(found)
                if not patience.waits_for(found, anyio.current_time()):
                    return found
                with anyio.move_on_after(FALLBACK_SECONDS):
                    await anyio.wait_readable(bell)
                bell.clear()


async def _withdraw(home: TaskHome, bell: str) -> None:
    with anyio.CancelScope(shield=True), contextlib.suppress(Problem):
        # If it cannot be done now, an engine does it: nobody listens to the bell any more.
        await in_thread(lambda: withdraw(home.space, [bell], clock.now()))


async def _stand_in(
    home: TaskHome, listen: Listen, discover: bool, report: Callable[[str, str], None], *, task_status: TaskStatus[bool]
) -> None:
    """Run an engine if no other program has this home; says whether it does."""
    try:
        async with alone(home.path, tries=1):
            engine = Engine(home, listen, discover=discover, chance=clock.chance(), report=report)
            task_status.started(value=True)
            await engine.run()
    except Problem as problem:
        if problem.code != "running":
            raise
        task_status.started(value=False)


class _Patience:
    """How long devices are waited for: each for `seconds` from when it moved last, unless it is comparing now."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._moved: dict[str, tuple[list[VerificationRequest], float]] = {}

    def waits_for(self, found: list[VerificationRequest], now: float) -> bool:
        """Whether anything is still to be waited for; to be asked whenever something may have moved."""
        waiting = False
        for device in {request.device for request in found}:
            waiting |= self._waits([request for request in found if request.device == device], device, now)
        return waiting

    def _waits(self, found: list[VerificationRequest], device: str, now: float) -> bool:
        before, since = self._moved.get(device, ([], now))
        if found != before:
            before, since = self._moved[device] = found, now
        unfinished = [request for request in found if request.open]
        comparing = any(request.state is VerificationState.COMPARING for request in unfinished)
        return bool(unfinished) and (comparing or now - since < self._seconds)
