"""This machine's addresses, and when they change (docs/specs/16-meeting.md, sections 4 and 5).

Linux reports changes on a netlink socket. Elsewhere the addresses are read every second: there is no portable
event. One change often comes as several events (an interface, its addresses, its routes), so it is reported after a
short pause.
"""

import array
import contextlib
import fcntl
import ipaddress
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import anyio
import ifaddr

from lottisync.net.address import Address

POLL_SECONDS = 1.0
SETTLE_SECONDS = 0.2
_NETLINK_ROUTE = 0
_GROUPS = 0x1 | 0x10 | 0x100
"""Links, IPv4 addresses, IPv6 addresses (RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR)."""
_SIOCGIFFLAGS = 0x8913
_RUNNING = 0x40


class Interface(NamedTuple):
    """An address of this machine. `scope` names its interface, for a link-local address; `number`
    is the interface's index."""

    host: str
    scope: str
    number: int

    @property
    def ipv6(self) -> bool:
        return ":" in self.host

    @property
    def loopback(self) -> bool:
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def link_local(self) -> bool:
        return self.ipv6 and ipaddress.IPv6Address(self.host).is_link_local


def interfaces() -> list[Interface]:
    """The addresses of this machine's interfaces that are up, loopback included, in a stable order."""
    found = set()
    for adapter in ifaddr.get_adapters():
        if not _is_up(adapter.name):
            continue
        for ip in adapter.ips:
            host = str(ip.ip) if ip.is_IPv4 else str(ipaddress.IPv6Address(ip.ip[0]))
            link_local = ip.is_IPv6 and ipaddress.IPv6Address(host).is_link_local
            found.add(Interface(host, adapter.name if link_local else "", adapter.index or 0))
    return sorted(found)


def listened_on(host: str) -> list[Interface]:
    """The addresses of this machine at which a listener on `host` is reached; the loopback's only if it is listened on
    alone, or there are no others."""
    here = interfaces()
    if host in ("::", "0.0.0.0"):
        fitting = [each for each in here if host == "::" or not each.ipv6]
        return [each for each in fitting if not each.loopback] or fitting
    wanted = _resolved(host)
    return [each for each in here if (each.host, each.scope) in wanted or (each.host, "") in wanted]


def reached_at(host: str, port: int) -> list[Address]:
    """Where a listener on `host` is reached by other machines, the likeliest first: addresses of private networks, then
    all others, then link-local ones."""

    others = [each for each in listened_on(host) if not each.loopback]

    def rank(each: Interface) -> tuple[bool, bool, str]:
        return each.link_local, not ipaddress.ip_address(each.host).is_private, each.host

    return list(dict.fromkeys(Address(each.host, port) for each in sorted(others, key=rank)))


def leads_to(host: str, listening: str) -> bool:
    """Whether `host`, an address of this machine, leads to a listener on the host `listening`."""
    if listening in ("::", "0.0.0.0"):
        return listening == "::" or ":" not in host
    return host in {each for each, _ in _resolved(listening)}


def named_scope(host: str) -> str:
    """A link-local host with the name of its interface, where it has the number: `fe80::1%eth0` for `fe80::1%2`."""
    bare, _, scope = host.partition("%")
    if scope.isdigit():
        with contextlib.suppress(OSError):
            return f"{bare}%{socket.if_indextoname(int(scope))}"
    return host


def scopes() -> list[str]:
    """The interfaces that have a link-local IPv6 address: on each of them a link-local address of another device may be
    tried."""
    return sorted({each.scope for each in interfaces() if each.link_local})


async def watch(changed: Callable[[], None]) -> None:
    """Call `changed` whenever this machine's addresses have changed, until cancelled."""
    known = interfaces()
    with _watching() as watching:
        while True:
            await _something(watching)
            now = interfaces()
            if now != known:
                known = now
                changed()


async def _something(watching: socket.socket | None) -> None:
    """Wait until something may have changed, and has settled."""
    if watching is None:
        await anyio.sleep(POLL_SECONDS)
        return
    await anyio.wait_readable(watching)
    await anyio.sleep(SETTLE_SECONDS)
    with contextlib.suppress(OSError):  # no more to read, or more came than the socket holds: we look anyway
        while watching.recv(65536):
            pass


@contextlib.contextmanager
def _watching() -> Iterator[socket.socket | None]:
    """A socket that is readable when something has changed; None where there is no such thing."""
    if sys.platform != "linux":
        yield None
        return
    try:
        watching = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, _NETLINK_ROUTE)
        watching.bind((0, _GROUPS))
    except OSError:
        yield None
        return
    with watching:
        yield watching


def _is_up(name: str) -> bool:
    """Whether an interface is up and has a carrier. Linux keeps the IPv4 addresses of an interface without a
    carrier."""
    if sys.platform != "linux":
        return True
    request = array.array("B", struct.pack("16sh22x", name.encode()[:15], 0))
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            fcntl.ioctl(asking, _SIOCGIFFLAGS, request)
    except OSError:
        return False
    return bool(struct.unpack_from("H", request, 16)[0] & _RUNNING)


def _resolved(host: str) -> set[tuple[str, str]]:
    """What a host means on this machine: addresses, each with the interface that it names, if any."""
    bare, _, scope = host.partition("%")
    try:
        found = socket.getaddrinfo(bare, None, type=socket.SOCK_STREAM)
    except OSError:
        return set()
    return {(str(ipaddress.ip_address(str(where[0]).partition("%")[0])), scope) for *_, where in found}
