"""Finding devices on the local network (docs/specs/12-transport.md, docs/specs/16-meeting.md).

mDNS is a hint, never liveness: a peer that was killed is not reported gone for minutes, and a program that
was started while its network was down may never see anything. So everything is announced and browsed again
when this machine's addresses change, and every hour, under another name; and callers know other ways as well.

Only the name of a service costs nothing to see. So the name alone says whether a program belongs to one of the person's
devices. Other programs are asked nothing.

zeroconf needs asyncio. Only this module uses it.
"""

import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

import anyio
from zeroconf import IPVersion, ServiceStateChange, Zeroconf
from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

from lottisync.net.address import Address, BadAddress, parse_host
from lottisync.net.interfaces import Interface, listened_on, named_scope, watch

SERVICE = f"_{os.environ.get('LOTTISYNC_SERVICE', 'lottisync')}._tcp.local."
"""Programs with another service do not find each other: so tests and the demo keep to themselves on a network where
real devices announce themselves."""
NEW_NAME_SECONDS = 3600.0
"""How long a name is announced."""
RETRY_SECONDS = 2.0
"""After multicast could not be spoken: an IPv6 address, say, cannot be used in its first second."""
RESOLVE_MILLIS = 3000
RESOLVED_AT_ONCE = 16


class DiscoveredService(NamedTuple):
    """An announced service. `role` is `sync` or `pair`, `name` the opaque instance name, `digit` the
    discriminator of the code that is shown there, if one is."""

    name: str
    role: str
    addresses: tuple[Address, ...]
    digit: str = ""


class Announcement(NamedTuple):
    """What this program announces: `name` draws an instance name; `digit` as in `DiscoveredService`."""

    role: str
    port: int
    name: Callable[[], str]
    digit: str = ""


def spoken_on(listen_host: str) -> list[Interface]:
    """The addresses from which to speak mDNS: one of each interface in each family. Loopback has no IPv6 multicast."""
    chosen: dict[tuple[int, bool], Interface] = {}
    for each in listened_on(listen_host):
        if each.ipv6 and each.loopback:
            continue
        known = chosen.get((each.number, each.ipv6))
        if known is None or each.link_local:
            chosen[each.number, each.ipv6] = each
    return sorted(chosen.values())


@contextlib.asynccontextmanager
async def discovering(
    listen_host: str,
    announce: Announcement | None,
    on_found: Callable[[DiscoveredService], None],
    on_lost: Callable[[str], None] = lambda name: None,
    asks: Callable[[str], bool] = lambda name: True,
) -> AsyncIterator[Callable[[], None]]:
    """Browse for as long as the block runs, and announce if `announce` is given. `on_found` is called in the event loop
    for every service of another program that appears or changes, if `asks` says yes to its name: then the service is
    asked for its addresses. `on_lost` is called when one says goodbye. Returns a function that announces and browses
    again."""
    again = _Again()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch, again.set)
        tasks.start_soon(_keep_browsing, listen_host, announce, _Heard(on_found, on_lost, asks), again)
        try:
            yield again.set
        finally:
            tasks.cancel_scope.cancel()


class _Heard(NamedTuple):
    on_found: Callable[[DiscoveredService], None]
    on_lost: Callable[[str], None]
    asks: Callable[[str], bool]


class _Again:
    """An event that can be set and waited for many times."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self, seconds: float) -> None:
        """Wait until it is set, at most for that long."""
        with anyio.move_on_after(seconds):
            await self._event.wait()
        self._event = anyio.Event()


async def _keep_browsing(listen_host: str, announce: Announcement | None, heard: _Heard, again: _Again) -> None:
    while True:
        try:
            async with contextlib.AsyncExitStack() as stack:
                if using := spoken_on(listen_host):
                    await stack.enter_async_context(_instance(listen_host, using, announce, heard))
                await again.wait(NEW_NAME_SECONDS)
        except* OSError:
            # An interface went away between the look and the use, or has no multicast. Only a hint is missing.
            await again.wait(RETRY_SECONDS)


@contextlib.asynccontextmanager
async def _instance(
    listen_host: str, using: list[Interface], announce: Announcement | None, heard: _Heard
) -> AsyncIterator[None]:
    for each in using:
        _try_to_bind(each)
    zeroconf = AsyncZeroconf(interfaces=[each.host for each in using])
    try:
        # What is cancelled while it starts cannot be closed: zeroconf waits for the start, and finds it cancelled. To
        # start only opens the sockets.
        with anyio.CancelScope(shield=True):
            await zeroconf.zeroconf.async_wait_for_start()
        async with _browsing(zeroconf, listen_host, announce, heard):
            yield
    finally:
        with anyio.CancelScope(shield=True):
            await zeroconf.async_close()


@contextlib.asynccontextmanager
async def _browsing(
    zeroconf: AsyncZeroconf, listen_host: str, announce: Announcement | None, heard: _Heard
) -> AsyncIterator[None]:
    own = f"{announce.name()}.{SERVICE}" if announce else ""
    resolving = anyio.Semaphore(RESOLVED_AT_ONCE)
    async with anyio.create_task_group() as tasks:

        async def resolve(name: str) -> None:
            async with resolving:
                info = AsyncServiceInfo(SERVICE, name)
                if await info.async_request(zeroconf.zeroconf, RESOLVE_MILLIS) and info.port:
                    heard.on_found(_found(name, info))

        def changed(zeroconf: Zeroconf, service_type: str, name: str, state_change: ServiceStateChange) -> None:
            if name == own:
                return
            if state_change is ServiceStateChange.Removed:
                heard.on_lost(_instance_name(name))
            elif heard.asks(_instance_name(name)):
                tasks.start_soon(resolve, name)

        browser = AsyncServiceBrowser(zeroconf.zeroconf, [SERVICE], handlers=[changed])
        info = _info(listened_on(listen_host), announce, own) if announce else None
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


def _try_to_bind(each: Interface) -> None:
    """Find out here whether an address can be used: zeroconf would leave a socket open that cannot be closed."""
    family = socket.AF_INET6 if each.ipv6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probing:
        probing.bind((each.host, 0, 0, each.number if each.link_local else 0) if each.ipv6 else (each.host, 0))


def _info(reached: list[Interface], announce: Announcement, name: str) -> AsyncServiceInfo:
    return AsyncServiceInfo(
        SERVICE,
        name,
        addresses=[socket.inet_pton(socket.AF_INET6 if each.ipv6 else socket.AF_INET, each.host) for each in reached],
        port=announce.port,
        properties={"role": announce.role, "v": "1"} | ({"digit": announce.digit} if announce.digit else {}),
        server=f"{_instance_name(name)}.local.",
    )


def _found(name: str, info: AsyncServiceInfo) -> DiscoveredService:
    role, digit = ((info.properties.get(key) or b"").decode("ascii", "replace") for key in (b"role", b"digit"))
    addresses = []
    for host in info.parsed_scoped_addresses(IPVersion.All):
        with contextlib.suppress(BadAddress):
            addresses.append(Address(parse_host(named_scope(host), bracketed=":" in host), info.port or 0))
    return DiscoveredService(_instance_name(name), role, tuple(addresses), digit)


def _instance_name(name: str) -> str:
    return name.removesuffix(f".{SERVICE}")
