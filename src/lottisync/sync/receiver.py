"""Reading from the socket of a connection.

Usually nothing more is read while the stores do what the peer has said, so a peer that asks much waits in its own
socket. While a round comes in that would waste time: the next frames can be read and unpacked while this one is
committed. Then the receiver reads ahead. Credit bounds what comes, and what has come meanwhile is carried out together,
with one commit.
"""

from collections.abc import Callable

import anyio
from anyio.abc import ByteStream

from lottisync.sync.sender import LOST


class Receiver:
    """`hear` takes bytes, and says whether to listen on; `reads_ahead` says whether to listen while something is being
    carried out."""

    def __init__(self, stream: ByteStream, hear: Callable[[bytes], bool], reads_ahead: Callable[[], bool]) -> None:
        self.busy = False
        """Whether something was heard and is not carried out yet."""
        self._stream, self._hear, self._reads_ahead = stream, hear, reads_ahead
        self._over = False
        self._fresh = False
        self._heard = anyio.Event()
        self._taken = anyio.Event()

    async def listen(self) -> None:
        """Listen until the peer has hung up, or nothing more is to be heard."""
        while not self._over:
            try:
                self._over = not self._hear(await self._stream.receive())
                self._fresh = self.busy = True
            except LOST:
                self._over = True
            self._heard.set()
            while self.busy and not self._reads_ahead():
                await self._taken.wait()

    async def more(self) -> bool:
        """Wait until more was heard; all that was heard before has been carried out. False if nothing more comes."""
        self.busy = self._fresh
        self.taken()
        while not (self._fresh or self._over):
            self._heard = anyio.Event()
            await self._heard.wait()
        found, self._fresh = self._fresh, False
        return found

    def taken(self) -> None:
        """Note that something was carried out: there may be room to listen."""
        self._taken.set()
        self._taken = anyio.Event()
