"""How tests wait: docs/specs/decisions/0012-waiting-in-tests.md."""

import threading

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from tests.support import event_loop
from tests.support.event_loop import until

pytestmark = pytest.mark.anyio


async def test_what_a_task_does_and_takes_back_at_once_is_seen() -> None:
    """A timer would look at another moment."""
    seen: list[str] = []

    async def flash() -> None:
        await anyio.lowlevel.checkpoint()
        seen.append("light")
        await anyio.lowlevel.checkpoint()
        seen.clear()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(flash)
        await until(lambda: seen == ["light"])


async def test_what_a_thread_has_done_is_seen_when_its_work_ends() -> None:
    done = threading.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, done.set)
        await until(done.is_set)


async def test_nothing_is_asked_while_nothing_happens() -> None:
    looks = 0

    def look() -> bool:
        nonlocal looks
        looks += 1
        return False

    with anyio.move_on_after(0.1):
        await until(look)
    assert looks < 20


async def test_a_condition_that_cannot_be_asked_for_fails_the_test_and_not_the_loop() -> None:
    with pytest.raises(IndexError):
        await until(lambda: [][0])


async def test_what_never_happens_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_loop, "BOUND_SECONDS", 0.01)
    with pytest.raises(AssertionError, match="the moon did not happen within"):
        await until(lambda: False, "the moon")
