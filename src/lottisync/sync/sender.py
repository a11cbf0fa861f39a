"""What waits for the socket of a connection. A peer that reads slowly holds up this queue, and nothing else.

Writing outlives the rest of the connection for a moment, so that the last word is neither lost nor cut in two.
"""

from collections.abc import Callable

import anyio
from anyio.abc import ByteStream

LOST = (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)
"""How a connection ends without a word. OSError: ssl's errors, for bytes that somebody has damaged on the way."""


class Sender:
    """The frames that wait for `stream`, in order. `sent` is called after each that has left, or was lost."""

    def __init__(self, stream: ByteStream, sent: Callable[[], None]) -> None:
        self.leaving = False
        """Whether the connection is over: what waits is still written, and then writing ends."""
        self._stream, self._sent = stream, sent
        self._frames: list[bytes] = []
        self._writable = anyio.Event()
        self._emptied = anyio.Event()

    def __len__(self) -> int:
        return len(self._frames)

    def put(self, frame: bytes) -> None:
        """Have a frame written, after those that wait."""
        self._frames.append(frame)
        self._writable.set()

    def leave(self) -> None:
        """The connection is over."""
        self.leaving = True
        self._writable.set()

    async def drained(self) -> None:
        """Wait until everything has left for the socket."""
        while self._frames:
            await self._emptied.wait()

    async def write(self, scope: anyio.CancelScope) -> None:
        """Write what waits and what comes, within `scope`, until the connection is over."""
        with scope:
            while self._frames or not self.leaving:
                if not self._frames:
                    self._emptied.set()
                    self._emptied = anyio.Event()
                    await self._writable.wait()
                    self._writable = anyio.Event()
                    continue
                try:
                    await self._stream.send(self._frames[0])
                    self._frames.pop(0)
                except LOST:
                    self._frames.clear()
                self._sent()
