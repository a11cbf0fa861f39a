"""Pairing over the network: the shell around `lottisync.identity.pairing` (docs/specs/06-identity-and-pairing.md).

The side that shows a code listens on a port of its own, inside TLS without client certificates, and
announces itself by mDNS as `role=pair`. The side that types looks for such announcements, or goes to
the address that the person gave. Each tries one connection at a time; a code is burnt by runs that
start, so a stranger who connects in between costs the person at most a retry.
"""

from collections.abc import Callable
from typing import NamedTuple

import anyio
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from anyio.streams.tls import TLSAttribute, TLSStream

from lottisync.identity.device_key import DeviceKey
from lottisync.identity.pairing import MAX_PAIRING_MESSAGE, CodeOffer, CodeShown, CodeTyped, Paired, PairingError
from lottisync.net import tls
from lottisync.net.discovery import Address, Announcement, Found, discovering
from lottisync.problem import Problem
from lottisync.protocol.framing import BadFrame, FrameBuffer, frame

MESSAGE_SECONDS = 10
"""Within which each message of a run must come; nobody types during a run."""
SEARCH_SECONDS = 20
"""How long the typing side looks for a device that shows a code."""


class Self(NamedTuple):
    """Who this device is in the exchange; `chance` gives random bytes."""

    key: DeviceKey
    name: str
    chance: Callable[[int], bytes]


class _Channel:
    """Whole messages over a stream."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._buffer = FrameBuffer(MAX_PAIRING_MESSAGE + 1)

    async def send(self, message: bytes) -> None:
        await self._stream.send(frame(message))

    async def receive(self) -> bytes:
        with anyio.fail_after(MESSAGE_SECONDS):
            while (body := self._buffer.next_body()) is None:
                self._buffer.feed(await self._stream.receive(4096))
        return body


async def show_code(
    me: Self,
    offer: CodeOffer,
    listen: Address,
    *,
    discover: bool,
    clock: Callable[[], int],
    ready: Callable[[int], None],
) -> Paired:
    """Listen until somebody has typed the code, or it is no longer good. `ready` is told the port.

    Raises `Problem` when the code has expired or was tried too often."""
    outcome: list[Paired] = []
    complaint: list[str] = []
    done = anyio.Event()

    async def serve(raw: SocketStream) -> None:
        try:
            async with raw:
                with anyio.fail_after(MESSAGE_SECONDS):
                    stream = await tls.secured(raw, tls.pairing_context(me.key), server=True)
                paired = await _run_shown(_Channel(stream), me, offer, clock)
        except PairingError as error:
            complaint[:] = [error.sentence]
        except (OSError, TimeoutError, BadFrame, anyio.EndOfStream, anyio.BrokenResourceError):
            complaint[:] = ["a device connected and went away"]
        else:
            outcome.append(paired)
        if outcome or not offer.open_at(clock()):
            done.set()

    try:
        listener = await anyio.create_tcp_listener(local_host=listen.host, local_port=listen.port)
    except OSError as error:
        raise Problem("cannot-listen", f"cannot listen on {listen} ({error.strerror or error})") from None
    port = int(listener.extra(SocketAttribute.local_port))
    announcement = Announcement("pair", port, me.chance(8).hex()) if discover else None
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        if announcement is not None:
            await tasks.start(_announce, listen.host, announcement)
        ready(port)
        with anyio.move_on_after(max(0, offer.expires_at_ms - clock()) / 1000):
            await done.wait()
        tasks.cancel_scope.cancel()
    if outcome:
        return outcome[0]
    why = f" ({complaint[0]})" if complaint else ""
    if offer.runs_left <= 0:
        raise Problem("too-many-runs", f"the code was tried too often{why}. Make a new one: lottisync pair")
    raise Problem("expired", f"the code has expired{why}. Make a new one: lottisync pair")


async def _announce(
    host: str, announcement: Announcement, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    async with discovering(host, announcement, lambda found: None):
        task_status.started()
        await anyio.sleep_forever()


async def _run_shown(channel: _Channel, me: Self, offer: CodeOffer, clock: Callable[[], int]) -> Paired:
    run = CodeShown(offer=offer, key=me.key, name=me.name, scalar=me.chance(32), nonce=me.chance(32))
    try:
        while run.result is None:
            for message in run.receive(await channel.receive(), clock()):
                await channel.send(message)
    except PairingError as error:
        if error.refusal is not None:
            await channel.send(error.refusal)
        raise
    return run.result


async def type_code(me: Self, code: str, *, at: Address | None, search_from: str) -> Paired:
    """Find the device that shows `code` and pair with it.

    Raises `PairingError` with what the other device said, `Problem` if there is none."""
    if at is not None:
        return await _type_at(me, code, at)
    refusal: PairingError | None = None
    send, receive = anyio.create_memory_object_stream[Address](16)

    def found(service: Found) -> None:
        if service.role == "pair":
            for address in service.addresses:
                try:
                    send.send_nowait(address)
                except anyio.WouldBlock:
                    return

    with anyio.move_on_after(SEARCH_SECONDS):
        async with send, receive, discovering(search_from, None, found):
            async for address in receive:
                try:
                    return await _type_at(me, code, address)
                except PairingError as error:
                    # Another household's device may show a code, too; but one that knew ours wrong has burnt a run.
                    refusal = error
                    break
                except Problem:
                    continue
    if refusal is not None:
        raise refusal
    raise Problem(
        "nobody-found",
        f"no device that shows a code was found within {SEARCH_SECONDS} s."
        " Run `lottisync pair` on the other device, or give its address with --at HOST:PORT",
    )


async def _type_at(me: Self, code: str, address: Address) -> Paired:
    try:
        with anyio.fail_after(MESSAGE_SECONDS):
            raw = await anyio.connect_tcp(address.host, address.port)
            try:
                stream = await tls.secured(raw, tls.pairing_context(None), server=False)
            except BaseException:
                await anyio.aclose_forcefully(raw)
                raise
    except (OSError, TimeoutError, anyio.EndOfStream, anyio.BrokenResourceError):
        raise Problem(
            "unreachable", f"no device shows a code at {address}. Is `lottisync pair` running there?"
        ) from None
    try:
        return await _run_typed(_Channel(stream), stream, me, code)
    except (OSError, TimeoutError, BadFrame, anyio.EndOfStream, anyio.BrokenResourceError):
        raise Problem("broken-off", f"the device at {address} broke the pairing off. Try again") from None
    finally:
        await anyio.aclose_forcefully(stream)


async def _run_typed(channel: _Channel, stream: TLSStream, me: Self, code: str) -> Paired:
    shown = stream.extra(TLSAttribute.peer_certificate_binary)
    assert shown is not None, "a TLS server always has a certificate"
    run = CodeTyped(
        code=code, key=me.key, name=me.name, scalar=me.chance(32), nonce=me.chance(32), server_certificate=shown
    )
    try:
        await channel.send(run.start())
        while run.result is None:
            for message in run.receive(await channel.receive()):
                await channel.send(message)
    except PairingError as error:
        if error.refusal is not None:
            await channel.send(error.refusal)
        raise
    return run.result
