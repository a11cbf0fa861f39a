"""Who is let in at the engine's port (docs/specs/12-transport.md, section 1).

A connection takes a slot until the handshake has proved which device it is (`lottisync.net.doorway`). From then on
it counts for that device. A device has one connection that lasts, and some that come and go beside it. More than
`EACH_DEVICE` at once are closed: a paired device that opens connections and says nothing must not use up our file
descriptors.
"""

import contextlib
import ssl
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable

import anyio
from anyio.abc import SocketStream
from anyio.streams.tls import TLSStream

from lottisync.net import tls
from lottisync.net.doorway import Slots, remote_host
from lottisync.protocol import message as m
from lottisync.protocol.framing import frame
from lottisync.sync.connections import REVOKED
from lottisync.sync.handshake import HANGS_UP, why_refused

EACH_DEVICE = 8
"""Connections that one device has opened to us, at one time: two programs with its key, both dialling again."""
FAREWELL_SECONDS = 1.0
"""How long a device that was revoked may take to read that."""


class Reception:
    """`report` is called with (code, sentence) for each connection that is refused before it has proved a device, and
    when none can be taken; `too_many` with the device, if a connection is closed because its device has enough of
    them."""

    def __init__(self, report: Callable[[str, str], None], too_many: Callable[[str], None]) -> None:
        self._report, self._too_many = report, too_many
        self._cannot_accept = ""
        self._slots = Slots()
        self._known: set[str] = set()
        self._of_device: Counter[str] = Counter()

    @property
    def unproved(self) -> int:
        """How many connections have not yet proved who they are."""
        return self._slots.taken

    def connections(self, device: str) -> int:
        """How many connections that a device has opened are served."""
        return self._of_device[device]

    def know(self, hosts: Iterable[str]) -> None:
        """Take these addresses, and no others, as those where devices of this person are, or were: slots are kept for
        them."""
        self._known = {_without_scope(host) for host in hosts}

    def met(self, host: str) -> None:
        """A device of this person was reached at this address a moment ago."""
        self._known.add(_without_scope(host))

    async def receive(
        self, raw: SocketStream, context: ssl.SSLContext, serve: Callable[[TLSStream, str], Awaitable[object]]
    ) -> None:
        """Have a connection prove its device, and serve it. `serve` closes the stream that it is given."""
        host = remote_host(raw)
        known = _without_scope(host) in self._known
        if not self._slots.take(host, known=known):
            self._refused(host, None)
            await anyio.aclose_forcefully(raw)
            return
        try:
            stream = await self._proved(raw, host, context)
        finally:
            self._slots.leave(host, known=known)
        if stream is not None:
            await self._serve(stream, tls.peer_device(stream), serve)

    def no_connection(self, error: OSError) -> None:
        """The system gives no connection now, and the listener tries again. The same reason is reported once."""
        reason = error.strerror or str(error)
        if reason != self._cannot_accept:
            self._report("failed", f"no connection can be taken, and it is tried again: {reason}")
        self._cannot_accept = reason

    async def _proved(self, raw: SocketStream, host: str, context: ssl.SSLContext) -> TLSStream | None:
        try:
            with anyio.fail_after(tls.HANDSHAKE_SECONDS):
                return await tls.secured(raw, context, server=True)
        except (OSError, TimeoutError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
            self._refused(host, error)
            await anyio.aclose_forcefully(raw)
            return None
        except BaseException:
            await anyio.aclose_forcefully(raw)
            raise

    def _refused(self, host: str, error: Exception | None) -> None:
        """A connection proved nothing; or (None) there was no slot for it. A peer that hangs up by itself was not
        refused: when two devices dial each other at once, each ends the attempt that it does not need (NET-51)."""
        if isinstance(error, HANGS_UP):
            return
        reason = why_refused(error) if error is not None else "there are too many connections from there, or in all"
        self._report("refused", f"a connection from {host or 'an unknown address'} was refused: {reason}")

    async def _serve(
        self, stream: TLSStream, device: str, serve: Callable[[TLSStream, str], Awaitable[object]]
    ) -> None:
        if self._of_device[device] >= EACH_DEVICE:
            self._too_many(device)
            await anyio.aclose_forcefully(stream)
            return
        self._of_device[device] += 1
        try:
            await serve(stream, device)
        finally:
            self._of_device[device] -= 1


async def turn_out(stream: TLSStream) -> None:
    """Tell a device that it was revoked, and no more (NET-50): its person need not pair it again for nothing."""
    try:
        with anyio.move_on_after(FAREWELL_SECONDS), contextlib.suppress(OSError, *HANGS_UP):
            await stream.send(frame(m.encode(REVOKED)))
            await stream.receive()  # until it has hung up: a reset would overtake the word
    finally:
        await anyio.aclose_forcefully(stream)


def _without_scope(host: str) -> str:
    """The host without the interface of a link-local address. The interface is one of this machine, and not of the
    device."""
    return host.partition("%")[0]
