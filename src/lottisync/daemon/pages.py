"""The web pages of a daemon: two sockets that listen, and nothing more until somebody comes.

What the pages are made of (uvicorn, Starlette, Jinja2) is loaded when the first connection is there. A daemon whose
pages nobody opens starts as fast, and rests as quietly, as one without them.

Both loopback addresses are taken, IPv4 and IPv6. A browser that asks for a name under `.localhost` may try either, and
must not find somebody else's server at one of them.
"""

import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskStatus

from lottisync.daemon import settings
from lottisync.daemon.home import TaskHome
from lottisync.daemon.network_pages import NetworkPages, OnNetwork
from lottisync.daemon.status import DaemonStatus, absences, lacked, last_seen, read_status
from lottisync.device import clock
from lottisync.device.absence import shown_away
from lottisync.net.address import Address
from lottisync.net.listener import listening
from lottisync.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Collection

    from lottisync.web.access import Door
    from lottisync.web.site import DeviceLine, Setting

DEFAULT_PORT = 22080
LOOPBACK = ("127.0.0.1", "::1")
TRIES = 20
"""Ports that are tried before the home is left without pages: each has to be free in both families."""


class Where:
    """Where the pages are wanted: a loopback host, a port; `firm` if no other port will do. With `network`, other
    machines get them, too, at a socket of its own."""

    def __init__(
        self, host: str = "", port: int = DEFAULT_PORT, *, firm: bool = False, network: OnNetwork | None = None
    ) -> None:
        if host not in ("", "localhost", *LOOPBACK):
            raise Problem(
                "not-loopback",
                "the pages are served on this machine only, at 127.0.0.1:PORT; got {host}",
                host=host,
            )
        self.port = port
        self.firm = firm
        self.network = network.checked() if network else None


def listen(where: Where) -> list[socket.socket]:
    """Sockets on one port of both loopback addresses. Raises `Problem` if a firm port cannot be had."""
    ports = [where.port] if where.firm else [where.port, *([0] * TRIES)]
    for port in ports:
        with suppress(OSError):
            return _both(port)
    raise Problem(
        "port-taken", "the pages cannot be served at port {port}: it is taken. Choose another one", port=where.port
    )


def _both(port: int) -> list[socket.socket]:
    with ExitStack() as opened:
        first = opened.enter_context(listening(socket.AF_INET, LOOPBACK[0], port))
        made = [first]
        if _has_ipv6():
            made.append(opened.enter_context(listening(socket.AF_INET6, LOOPBACK[1], first.getsockname()[1])))
        opened.pop_all()
        return made


def _has_ipv6() -> bool:
    if not socket.has_ipv6:
        return False
    with suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK[1], 0))
        return True
    return False


async def serve(
    home: TaskHome,
    sockets: list[socket.socket],
    wanted: OnNetwork | None,
    pair_at: Address,
    *,
    discover: bool = True,
    report: Callable[[str, str], None] = lambda code, sentence: None,
    task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
) -> None:
    """Serve the pages of a home until cancelled, to the network as `wanted`; started once a browser can be let in. A
    code that a page shows is typed at `pair_at`, and announced with `discover`. `report` hears what goes wrong.
    Raises `OSError` before that if the home cannot be written to, and `Problem` if the network cannot be served."""
    from lottisync.web.access import Access  # light: it says where the pages are, before anybody comes
    from lottisync.web.admission import Browsers, Network

    browsers = Browsers(home.path, clock.now, new_secret)
    with ExitStack() as opened:
        for each in sockets:
            opened.callback(each.close)
        access = Access(home.path, sockets[0].getsockname()[1], clock.now, new_secret)
        network = Network(browsers)
        outside = NetworkPages(home.path, wanted, network, access, report) if wanted else None
        if outside is not None:
            opened.callback(outside.socket.close)
        async with anyio.create_task_group() as tasks:
            if outside is not None:
                tasks.start_soon(outside.keep_current)
            task_status.started()
            await _first_of([*sockets, *([outside.socket] if outside else [])])
            await anyio.to_thread.run_sync(_load)
            from lottisync.web.application import application
            from lottisync.web.pairing import Pairing
            from lottisync.web.server import serve as answer
            from lottisync.web.site import Site

            def lines() -> "list[DeviceLine]":
                return device_lines(home, read_status(home))

            pairing = Pairing(home, pair_at, discover=discover)
            await tasks.start(pairing.run)
            site = Site(
                *(home, clock.now, clock.new_id, lines, browsers, lambda: access.door),
                *(pairing, Configured(home.path)),
            )
            tasks.start_soon(answer, application(site, access), sockets)
            if outside is not None:
                app = application(site, network, outside.authority, outside.fingerprint)
                tasks.start_soon(answer, app, [outside.socket], outside.context)


def new_secret() -> str:
    return clock.token(32)


async def _first_of(sockets: list[socket.socket]) -> None:
    """Wait until somebody connects to one of them. The connection stays where it is, for the server to take."""
    async with anyio.create_task_group() as waiting:

        async def watch(each: socket.socket) -> None:
            await anyio.wait_readable(each)
            waiting.cancel_scope.cancel()

        for each in sockets:
            waiting.start_soon(watch, each)


def _load() -> None:
    """Load the pages, in a thread: it takes a good part of a second, and connections are to be answered meanwhile."""
    import lottisync.web.application
    import lottisync.web.server  # noqa: F401


def device_lines(home: TaskHome, running: DaemonStatus | None) -> "list[DeviceLine]":
    """The state of this person's devices, as far as this one knows: this one first, the others by their names."""
    from lottisync.web import words
    from lottisync.web.site import DeviceLine

    connected = {state.device for state in running.peers if state.connected} if running else set()
    lacks, seen = lacked(home, running), last_seen(home, running)
    away = {device: each for device, each in absences(home, running).items() if device not in connected}
    lines = [
        DeviceLine(
            member.name,
            member.device,
            member.status,
            member.device == home.key.device_id,
            member.device in connected,
            lacks.get(member.device, {}),
            seen.get(member.device),
            shown_away(away[member.device], words.instant) if member.device in away else "",
        )
        for member in home.roster().members.values()
    ]
    return sorted(lines, key=lambda line: (not line.this, line.name.casefold(), line.device))


class Configured:
    """`config.toml` of a home, as the pages show it."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def all(self) -> "list[Setting]":
        from lottisync.web.site import Setting

        usual, given = settings.Settings(), settings.given(self._home)
        return [
            Setting(name, settings.value_of(self._home, name), getattr(usual, name, None), name in given)
            for name in settings.NAMES
        ]

    def change(self, name: str, text: str | None) -> None:
        settings.change(self._home, name, text)

    def language(self) -> str | None:
        try:
            return settings.read_settings(self._home).language
        except Problem:
            return None

    def endpoints(self) -> "Collection[str] | None":
        try:
            return settings.read_settings(self._home).endpoints
        except Problem:
            return None


def door_of(home: TaskHome) -> "Door":
    """Where the pages of the daemon that runs are. Raises `Problem` if none runs, or if it serves none."""
    from lottisync.web.access import read_door

    running, door = read_status(home), read_door(home.path)
    if running is None:
        raise Problem("not-running", "no daemon runs for {path}", hint="daemon", path=home.path)
    if door is None or door.pid != running.pid:
        raise Problem("no-pages", "the daemon that runs serves no pages", hint="pages")
    return door


def where_of(host: str, port: int, certificate: Path | None, key: Path | None) -> Where:
    """What `--web HOST:PORT` asks for: another port on this machine, or the network. Raises `Problem`."""
    if host not in ("localhost", *LOOPBACK):
        return Where(network=OnNetwork(host, port, certificate, key))
    if certificate is not None or key is not None:
        raise Problem("bad-certificate", "a certificate is for pages on the network", hint="web-network")
    return Where(host, port, firm=True)
