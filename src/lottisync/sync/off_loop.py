"""Store calls off the event loop, which never waits for a store (SYNC-43)."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import anyio

T = TypeVar("T")


class Caller(Protocol):
    """Runs a call that may wait for a store. `in_thread` is the one for programs; tests run it on the spot."""

    def __call__(self, work: Callable[[], T]) -> Awaitable[T]: ...


async def in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)
