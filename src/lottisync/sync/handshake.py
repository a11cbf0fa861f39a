"""Dialling one address: TCP, then TLS; and in words why it came to nothing (docs/specs/12-transport.md)."""

import ssl

import anyio

from lottisync.net import tls
from lottisync.net.address import Address
from lottisync.sync.dial_plan import DIAL_SECONDS, Failure
from lottisync.sync.dialling import Connected, Unreachable


async def dial(address: Address, context: ssl.SSLContext) -> Connected:
    """A stream to the device at `address`, which has proved who it is. Raises `Unreachable`."""
    try:
        with anyio.fail_after(DIAL_SECONDS):
            raw = await anyio.connect_tcp(address.host, address.port)
            try:
                stream = await tls.secured(raw, context, server=False)
            except BaseException:
                await anyio.aclose_forcefully(raw)
                raise
    except (OSError, TimeoutError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
        raise Unreachable(*why(error)) from None
    return Connected(stream, tls.peer_device(stream))


def why(error: BaseException) -> Failure:
    """A handshake that failed, in words for a person."""
    cause = error.__cause__ if error.__cause__ is not None else error
    text = str(cause)
    if isinstance(error, TimeoutError):
        return Failure("unreachable", "no answer in time")
    if isinstance(error, anyio.EndOfStream):
        return Failure(
            "refused", "it hung up in the middle of the handshake, as a device does that is not paired with this one"
        )
    if "CERTIFICATE_VERIFY_FAILED" in text or "PEER_DID_NOT_RETURN_A_CERTIFICATE" in text:
        return Failure("refused", "the device there is not paired with this one")
    if isinstance(cause, ConnectionRefusedError) or "onnection refused" in text:
        return Failure("unreachable", "nothing listens there")
    if isinstance(cause, OSError) and cause.strerror:
        return Failure("unreachable", cause.strerror)
    return Failure("unreachable", text or type(cause).__name__)
