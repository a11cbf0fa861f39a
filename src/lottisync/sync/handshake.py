"""Dialling one address: TCP, then TLS; and in words why it came to nothing (docs/specs/12-transport.md)."""

import os
import socket
import ssl

import anyio

from lottisync.net import tls
from lottisync.net.address import Address
from lottisync.problem import Sentence
from lottisync.sync.dial_plan import DIAL_SECONDS, Failure
from lottisync.sync.dialling import Connected, Unreachable

HANGS_UP = (anyio.BrokenResourceError, anyio.EndOfStream, ssl.SSLZeroReturnError)
"""How it looks when the other side ends a handshake; the last with an older OpenSSL."""

NO_ANSWER = Sentence("no answer in time")
NOTHING_LISTENS = Sentence("nothing listens there")
HUNG_UP = Sentence("what answers there hung up in the middle of the handshake")


async def dial(address: Address, context: ssl.SSLContext, name: str) -> Connected:
    """A stream to the device `name` at `address`, which has proved that it is one of the person's. A host that is a
    name is resolved now, each time (MEET-19). Raises `Unreachable`."""
    try:
        with anyio.fail_after(DIAL_SECONDS):
            raw = await anyio.connect_tcp(address.host, address.port)
            try:
                stream = await tls.secured(raw, context, server=False)
            except BaseException:
                await anyio.aclose_forcefully(raw)
                raise
    except (OSError, TimeoutError, *HANGS_UP) as error:
        raise Unreachable(why(error, address.host, name)) from None
    return Connected(stream, tls.peer_device(stream))


def why(error: BaseException, host: str, name: str) -> Failure:
    """Why the device `name` was not reached at `host`, in words for a person."""
    cause = _cause(error)
    text = str(cause)
    if isinstance(error, TimeoutError):
        return Failure("unreachable", NO_ANSWER)
    if isinstance(cause, socket.gaierror):
        return Failure(
            "unreachable",
            Sentence("the name {host} leads to no address ({why})", host=host, why=cause.strerror or text),
        )
    if isinstance(error, anyio.EndOfStream | ssl.SSLZeroReturnError):
        return Failure("refused", HUNG_UP, stranger=True)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return Failure(
            "refused",
            Sentence(
                "something else than {name} answers there, with a key that is none of your devices'."
                " The address belongs to another device now, or {name} was set up again",
                name=name,
            ),
            stranger=True,
        )
    if isinstance(cause, ConnectionRefusedError):
        return Failure("unreachable", NOTHING_LISTENS)
    if isinstance(cause, ssl.SSLError):
        return Failure("refused", Sentence("what answers there does not sync ({why})", why=text), stranger=True)
    if isinstance(cause, OSError) and cause.errno is not None:
        # By its number: the text of asyncio's errors is the call that failed, with its arguments.
        return Failure("unreachable", Sentence("{why}", why=os.strerror(cause.errno)))
    return Failure("unreachable", Sentence("{why}", why=text or type(cause).__name__))


def why_refused(error: Exception) -> str:
    """Why a connection that came was turned away, in words for a person."""
    text = str(_cause(error))
    if isinstance(error, TimeoutError):
        return "it proved no key in time"
    if "CERTIFICATE_VERIFY_FAILED" in text or "PEER_DID_NOT_RETURN_A_CERTIFICATE" in text:
        return "the device there is not paired with this one"
    return text or type(error).__name__


def _cause(error: BaseException) -> BaseException:
    """The first error that another one was made of: several addresses of a name may have failed."""
    while True:
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        elif error.__cause__ is not None:
            error = error.__cause__
        else:
            return error
