"""Finding devices on the local network (docs/specs/12-transport.md).

mDNS is a hint, never liveness: a peer that was killed is not reported gone for minutes, and an
instance that was started while its link was down may never see anything. So the interfaces are
watched and everything is made anew when they change, and whoever uses this remembers addresses that
worked. The instance name is opaque and differs at every start; there is no name of a person or a
device in what is broadcast.

zeroconf is asyncio-only; this module is the edge where it stays.
"""

import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import anyio
import ifaddr
from zeroconf import IPVersion, ServiceStateChange, Zeroconf
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

SERVICE = f"_{os.environ.get('LOTTISYNC_SERVICE', 'lottisync')}._tcp.local."
"""Programs with another service do not find each other: so tests and the demo keep to themselves on a network where
real devices announce themselves."""
WATCH_SECONDS = 5
RESOLVE_MILLIS = 3000


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Found(NamedTuple):
    """A service somebody announces. `role` is `sync` or `pair`, `nonce` the opaque instance name, `digit` the
    discriminator of the code that is shown there, if one is."""

    nonce: str
    role: str
    addresses: tuple[Address, ...]
    digit: str = ""


class Announcement(NamedTuple):
    """What this program announces: `nonce` makes the instance name (hex); `digit` as in `Found`."""

    role: str
    port: int
    nonce: str
    digit: str = ""


def interfaces(listen_host: str) -> list[str]:
    """The IPv4 addresses on which to speak mDNS: the one listened on, else all of this machine's; the
    loopback's only if there is no other; none for an IPv6 address, which we do not announce."""
    if listen_host not in ("0.0.0.0", "::", ""):
        try:
            found = socket.getaddrinfo(listen_host, None, socket.AF_INET, socket.SOCK_STREAM)
        except OSError:
            return []
        return sorted({str(address[0]) for *_, address in found})
    others = [
        str(ip.ip)
        for adapter in ifaddr.get_adapters()
        for ip in adapter.ips
        if ip.is_IPv4 and not str(ip.ip).startswith("127.")
    ]
    return others or ["127.0.0.1"]


@contextlib.asynccontextmanager
async def discovering(
    listen_host: str,
    announce: Announcement | None,
    on_found: Callable[[Found], None],
    on_lost: Callable[[str], None] = lambda nonce: None,
) -> AsyncIterator[None]:
    """Announce (if told to) and browse for as long as the block runs. `on_found` is called in the event
    loop for every service of another program that appears or changes, `on_lost` when one says goodbye."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_keep_browsing, listen_host, announce, on_found, on_lost)
        try:
            yield
        finally:
            tasks.cancel_scope.cancel()


async def _keep_browsing(
    listen_host: str,
    announce: Announcement | None,
    on_found: Callable[[Found], None],
    on_lost: Callable[[str], None],
) -> None:
    while True:
        using = interfaces(listen_host)
        try:
            async with contextlib.AsyncExitStack() as stack:
                if using:
                    await stack.enter_async_context(_instance(using, announce, on_found, on_lost))
                while interfaces(listen_host) == using:  # noqa: ASYNC110 - the system has no portable event for it
                    await anyio.sleep(WATCH_SECONDS)
        except* OSError:
            # An interface went away between the look and the use, or has no multicast. Only a hint is missing.
            await anyio.sleep(WATCH_SECONDS)


@contextlib.asynccontextmanager
async def _instance(
    using: list[str],
    announce: Announcement | None,
    on_found: Callable[[Found], None],
    on_lost: Callable[[str], None],
) -> AsyncIterator[None]:
    for host in using:
        # An address that is gone is found out here: zeroconf would leave a socket open that nobody can close.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probing:
            probing.bind((host, 0))
    zeroconf = AsyncZeroconf(interfaces=using, ip_version=IPVersion.V4Only)
    own = f"{announce.nonce}.{SERVICE}" if announce else ""
    async with anyio.create_task_group() as tasks:

        async def resolve(name: str) -> None:
            info = AsyncServiceInfo(SERVICE, name)
            if await info.async_request(zeroconf.zeroconf, RESOLVE_MILLIS) and info.port:
                role, digit = (
                    (info.properties.get(key) or b"").decode("ascii", "replace") for key in (b"role", b"digit")
                )
                addresses = tuple(Address(host, info.port) for host in info.parsed_addresses(IPVersion.V4Only))
                on_found(Found(name.removesuffix(f".{SERVICE}"), role, addresses, digit))

        def changed(zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange) -> None:
            if name == own:
                return
            if state_change is ServiceStateChange.Removed:
                on_lost(name.removesuffix(f".{SERVICE}"))
            else:
                tasks.start_soon(resolve, name)

        browser = AsyncServiceBrowser(zeroconf.zeroconf, [SERVICE], handlers=[changed])
        info = _info(using, announce, own) if announce else None
        try:
            if info is not None:
                # Answered from the moment it is registered; probing first would cost each start a second.
                await zeroconf.async_register_service(info, cooperating_responders=True)
            yield
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await browser.async_cancel()
                if info is not None:
                    # The first await sends nothing yet; without the second no goodbye is said.
                    goodbye = await zeroconf.async_unregister_service(info)
                    await goodbye
                await zeroconf.async_close()


def _info(using: list[str], announce: Announcement, name: str) -> AsyncServiceInfo:
    return AsyncServiceInfo(
        SERVICE,
        name,
        addresses=[socket.inet_aton(host) for host in using],
        port=announce.port,
        properties={"role": announce.role, "v": "1"} | ({"digit": announce.digit} if announce.digit else {}),
        server=f"{announce.nonce}.local.",
    )
