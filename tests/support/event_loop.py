"""How a test waits for what this process does: for the event loop, and not for time.

What a test waits for is a condition on objects of this process: two stores are equal, a connection is gone. Only what
the event loop runs can change them (the work of a thread ends with a callback in the loop, too). So a condition is
looked at after each turn of the loop, and never while it sleeps. A busy machine is waited for as long as it needs, and
what holds between two looks of a timer is not missed.

asyncio makes its selector by `selectors.DefaultSelector`; conftest.py puts `WatchedSelector` there. What another
process changes wakes no loop of ours: `command_line.eventually` asks for that
(docs/specs/decisions/0012-waiting-in-tests.md).
"""

import asyncio
import selectors
import threading
from collections.abc import Callable

import anyio

BOUND_SECONDS = 60.0
"""After how long a test gives up: long enough for a machine that does ten other things."""


class _Wait:
    def __init__(self, condition: Callable[[], object]) -> None:
        self._condition = condition
        self._failure: Exception | None = None
        self._over = asyncio.Event()

    def look(self) -> bool:
        """Whether it is over: the condition holds, or could not be asked for."""
        try:
            over = bool(self._condition())
        except Exception as failure:  # noqa: BLE001 - it is the test's, and not the loop's
            self._failure, over = failure, True
        if over:
            self._over.set()
        return over

    async def end(self) -> None:
        await self._over.wait()
        if self._failure is not None:
            raise self._failure


class _Waits(threading.local):
    """Those of the loop that runs in this thread."""

    def __init__(self) -> None:
        self.open: list[_Wait] = []


_waits = _Waits()


class WatchedSelector(selectors.DefaultSelector):
    """The selector of asyncio, which looks at what is waited for after each turn of the loop."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        over = [wait for wait in _waits.open if wait.look()]
        return super().select(0 if over else timeout)


async def until(condition: Callable[[], object], what: str = "it") -> None:
    """Wait until a condition on this process holds; fail after a time."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        await _slept(condition, what)
    else:
        await _watched(condition, what)


async def _watched(condition: Callable[[], object], what: str) -> None:
    wait = _Wait(condition)
    wait.look()
    _waits.open.append(wait)
    try:
        with anyio.fail_after(BOUND_SECONDS):
            await wait.end()
    except TimeoutError as late:
        raise AssertionError(f"{what} did not happen within {BOUND_SECONDS} s") from late
    finally:
        _waits.open.remove(wait)


async def _slept(condition: Callable[[], object], what: str) -> None:
    """Under trio, which our tests run with a virtual clock alone: no time passes while it sleeps."""
    end = anyio.current_time() + BOUND_SECONDS
    while not condition():
        if anyio.current_time() > end:
            raise AssertionError(f"{what} did not happen within {BOUND_SECONDS} s of the virtual clock")
        await anyio.sleep(0.005)
