"""The pages for browsers of the person's network: HTTPS on a socket of its own (docs/specs/18-web.md, section 4).

The certificate is the person's own, or one that the home's authority signs. It is looked at again every hour, and when
the machine's addresses change; connections that are open stay.
"""

import ipaddress
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio

from lottisync.device import clock
from lottisync.net.interfaces import reached_at, watch
from lottisync.problem import Problem

if TYPE_CHECKING:
    from lottisync.web.access import Access
    from lottisync.web.admission import Network

REFRESH_SECONDS = 3600.0


class OnNetwork(NamedTuple):
    """Where the network gets the pages: an address of this machine, or 0.0.0.0 or :: for all; a certificate and its key
    (PEM), or None for one of the home's authority."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None

    def checked(self) -> "OnNetwork":
        """Raises `Problem` for what cannot be served."""
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            raise Problem(
                "bad-address", "pages need an address of this machine, like 0.0.0.0; got {host}", host=self.host
            ) from None
        if (self.certificate is None) != (self.key is None):
            raise Problem("bad-certificate", "a certificate needs its key, and a key its certificate", hint="web-key")
        return self


class NetworkPages:
    """The listening socket, its TLS context, and the names under which browsers of the network find it. `report` hears
    once why a certificate is not taken by browsers, or not renewed (code, sentence)."""

    def __init__(
        self,
        home: Path,
        wanted: OnNetwork,
        network: "Network",
        access: "Access",
        report: Callable[[str, str], None] = lambda code, sentence: None,
    ) -> None:
        self._home = home
        self._report = report
        self._reported = ""
        self._wanted = wanted
        self._network = network
        self._access = access
        self.authority: bytes | None = None
        self.fingerprint = ""
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.socket = _bound(wanted)
        self.port = int(self.socket.getsockname()[1])
        try:
            self.refresh()
        except BaseException:  # raised again, whatever it is: the socket must not stay open
            self.socket.close()
            raise

    def refresh(self) -> None:
        """Take the certificate as it is now, and say where the pages are. Raises `Problem`."""
        from lottisync.web.access import host_header
        from lottisync.web.authority import Authority, doubt, names_in

        here = tuple(dict.fromkeys(each.host for each in reached_at(self._wanted.host, self.port)))
        if self._wanted.certificate is not None:
            file, key = self._wanted.certificate, self._wanted.key
        else:
            authority = Authority(self._home, clock.now())
            file, key = authority.signed(here or (self._wanted.host,), clock.now()), None
            self.authority, self.fingerprint = authority.der, authority.fingerprint
        names = names_in(file)
        try:
            self.context.load_cert_chain(file, key)
        except (OSError, ssl.SSLError) as error:
            raise Problem(
                "bad-certificate", "{file} and its key cannot be used: {error}", file=file, error=error
            ) from None
        self._network.hosts = frozenset(host_header(name, self.port, "https") for name in names)
        first = [name for name in names if name in here] + [name for name in names if name not in here]
        self._access.announce([f"https://{host_header(name, self.port, 'https')}" for name in first], self.fingerprint)
        self._report_once(doubt(file, clock.now()))

    async def keep_current(self) -> None:
        """Refresh every hour and when addresses change, until cancelled. What fails is tried again then."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, self._try)
            while True:
                await anyio.sleep(REFRESH_SECONDS)
                self._try()

    def _try(self) -> None:
        try:
            self.refresh()
        except (Problem, OSError) as error:
            self._report_once(error.message if isinstance(error, Problem) else error.strerror or str(error))

    def _report_once(self, reason: str) -> None:
        if reason and reason != self._reported:
            self._report("failed", f"the pages for your network: {reason}")
        self._reported = reason


def _bound(wanted: OnNetwork) -> socket.socket:
    family = socket.AF_INET6 if ":" in wanted.host else socket.AF_INET
    try:
        return socket.create_server((wanted.host, wanted.port), family=family, backlog=32)
    except OSError as error:
        raise Problem(
            "port-taken",
            "the pages cannot be served at {host} port {port}: {error}. Choose another one",
            host=wanted.host,
            port=wanted.port,
            error=error.strerror or error,
        ) from None
