"""Listening in both families (docs/specs/16-meeting.md, section 5).

`[::]` means all addresses of this machine, IPv4 and IPv6, through one socket, also those that it gets later. A system
without IPv6 listens on IPv4 alone. Any other host, `0.0.0.0` included, means exactly what it says.
"""

import errno
import socket
from typing import NamedTuple

import anyio
from anyio import TypedAttributeLookupError
from anyio.abc import ByteStream, Listener, SocketAttribute, SocketListener, SocketStream

from lottisync.net.address import Address
from lottisync.problem import Problem

EVERYWHERE = "::"
DEFAULT_PORT = 22067
"""Firewalls like a port that stays."""
BACKLOG = 128
_NO_IPV6 = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.EPROTONOSUPPORT)
_IPV4_IN_IPV6 = "::ffff:"


async def listen(address: Address) -> Listener[SocketStream]:
    """Listen on `address`; with port 0 on any. Raises `OSError`."""
    if address.host == EVERYWHERE:
        return await SocketListener.from_socket(_everywhere(address.port))
    several = await anyio.create_tcp_listener(local_host=address.host, local_port=address.port)
    return several.listeners[0] if len(several.listeners) == 1 else several


class Listen(NamedTuple):
    """Where to listen. `firm` is false if any other port will do when this one is taken."""

    host: str
    port: int
    firm: bool = True


async def open_listener(where: Listen) -> Listener[SocketStream]:
    """Listen there. Raises `Problem` (`cannot-listen`); `OSError` if this program has no descriptor left."""
    host, port, firm = where
    for candidate in (port,) if firm or port == 0 else (port, 0):
        try:
            return await listen(Address(host, candidate))
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise  # another port does not help
            reason = error.strerror or str(error)
    raise Problem(
        "cannot-listen",
        "cannot listen on {where} ({reason})",
        hint="other-port",
        where=Address(host, port),
        reason=reason,
    )


def is_free(port: int) -> bool:
    """Whether `port` could be listened on now. No peer can connect meanwhile."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trying:
            trying.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trying.bind(("0.0.0.0", port))
    except OSError:
        return False
    return True


def port_of(listener: Listener[SocketStream]) -> int:
    return int(listener.extra(SocketAttribute.local_port))


def remote_of(stream: SocketStream) -> Address | None:
    """Who is at the other end; None if it has gone. An IPv4 peer is shown as such."""
    try:
        address = stream.extra(SocketAttribute.remote_address)
    except (LookupError, ValueError, OSError, anyio.ClosedResourceError):
        return None
    return Address(address[0].removeprefix(_IPV4_IN_IPV6), int(address[1])) if isinstance(address, tuple) else None


def local_host(stream: ByteStream) -> str:
    """The address of this machine that a connection has; empty if it has gone."""
    try:
        address = stream.extra(SocketAttribute.local_address)
    except (LookupError, ValueError, OSError, anyio.ClosedResourceError, TypedAttributeLookupError):
        return ""
    return address[0].removeprefix(_IPV4_IN_IPV6).partition("%")[0] if isinstance(address, tuple) else ""


def _everywhere(port: int) -> socket.socket:
    try:
        return listening(socket.AF_INET6, "::", port)
    except OSError as error:
        if error.errno not in _NO_IPV6:
            raise
    return listening(socket.AF_INET, "0.0.0.0", port)


def listening(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises `OSError`."""
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.settimeout(0)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        made.bind((host, port))
        made.listen(BACKLOG)
    except BaseException:  # raised again, whatever it is: the socket must not stay open
        made.close()
        raise
    return made
