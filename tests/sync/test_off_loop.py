"""Store calls are made on threads, and the event loop never waits for one."""

import threading
from typing import NoReturn

import anyio
import pytest

from lottisync.sync.off_loop import in_thread

pytestmark = pytest.mark.anyio


class Gate:
    """A call that goes on when it is let."""

    def __init__(self) -> None:
        self.entered, self._open = threading.Event(), threading.Event()
        self.ended = False

    def __call__(self) -> int:
        self.entered.set()
        self._open.wait(60)
        self.ended = True
        return 1

    def let_go_on(self) -> None:
        self._open.set()


async def entered(*gates: Gate) -> None:
    for gate in gates:
        assert await anyio.to_thread.run_sync(gate.entered.wait, 60)


async def test_sync_43_a_call_runs_on_another_thread_while_the_loop_goes_on() -> None:
    """SYNC-43"""
    gate = Gate()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(in_thread, gate)
        await entered(gate)
        assert await in_thread(threading.get_ident) != threading.get_ident()
        gate.let_go_on()


async def test_what_a_call_raises_is_raised_where_it_is_waited_for() -> None:
    """SYNC-43"""

    def fails() -> NoReturn:
        raise OSError("the disk")

    with pytest.raises(OSError, match="the disk"):
        await in_thread(fails)
    assert await in_thread(lambda: 2) == 2, "the thread goes on"


async def test_sync_970_a_caller_that_is_cancelled_waits_until_its_call_has_ended() -> None:
    """SYNC-970"""
    gate = Gate()
    seen: list[bool] = []

    async def caller() -> None:
        try:
            await in_thread(gate)
        finally:
            seen.append(gate.ended)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(caller)
        await entered(gate)
        tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await anyio.wait_all_tasks_blocked()  # a caller that did not wait would have ended by now
        gate.let_go_on()
    assert seen == [True]


async def test_a_caller_that_was_cancelled_before_begins_no_call() -> None:
    """SYNC-970"""
    begun: list[int] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        await in_thread(lambda: begun.append(1))
    assert not begun
