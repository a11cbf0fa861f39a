"""Who may see the pages: a token is exchanged once for a session (docs/specs/18-web.md, section 3).

Every program of this machine can connect to a loopback port, also one of another user. What they cannot do is read a
file of the home. So the home has a file with a token. Who sends the token gets a session, as a cookie, and the token
is worth nothing any more; the file then holds the next one.

A browser sends cookies to every port of a host name. So the pages have a host name of their own under `.localhost`
that nobody guesses, and other pages of this machine do not get our cookie. Sessions are in memory alone: they end with
the daemon. A cookie that somebody else's server caught while no daemon ran is worth nothing to them later.
"""

import hashlib
import hmac
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

FILE = "web.json"
SESSION_MILLIS = 12 * 3_600_000
"""How long a session lives without use."""
MAX_SESSIONS = 32
"""Sessions at one time. The one that was used longest ago makes room."""
COOKIE = "lottisync"


class Door(msgspec.Struct, frozen=True):
    """`web.json`: where the pages are, and the token that opens them once. `pid` is the daemon that serves them:
    the file stays when that has ended, and the next one may serve none. `network` are the origins at which a browser of
    the person's network finds them, and `fingerprint` is that of the authority which it has to trust."""

    host: str
    port: int
    token: str
    pid: int = 0
    network: list[str] = []
    fingerprint: str = ""

    @property
    def origin(self) -> str:
        return f"http://{host_header(self.host, self.port, 'http')}"

    @property
    def address(self) -> str:
        """The address that lets one browser in."""
        return f"{self.origin}/enter?token={self.token}"


class BrowserSession(msgspec.Struct):
    """`form_token` is in every form of its pages (CSRF); `used` is when it was used last (ms); `browser` is the name of
    an admitted browser."""

    form_token: str
    used: int
    browser: str = ""


class Entrance(Protocol):
    """A way to the pages: on this machine (`Access`), or from the person's network (`admission.Network`). `hosts` are
    the values of `Host` that it answers to; `near` says that who comes this way is a user of this machine."""

    @property
    def near(self) -> bool: ...

    @property
    def scheme(self) -> str: ...

    @property
    def cookie(self) -> str: ...

    @property
    def hosts(self) -> frozenset[str]: ...

    def enter(self, token: str, name: str) -> str | None:
        """A new session for the token, as the value of its cookie; None for any other token."""

    def session(self, cookie: str | None) -> BrowserSession | None:
        """The session of a cookie, which is used now; None if there is none, or it is too old."""

    def wrote(self, session: BrowserSession, path: str, verb: str, what: str) -> None:
        """Note a form that the session sent: where to, what is to be done, and with what."""

    def renewed(self, cookie: str | None) -> str | None:
        """A cookie that takes the place of this one; None if it stays."""

    def leave(self, cookie: str | None) -> None:
        """End a session."""


def host_header(host: str, port: int, scheme: str) -> str:
    """How a browser writes a host with its port: without the port that belongs to the scheme."""
    named = f"[{host}]" if ":" in host else host
    return named if port == {"http": 80, "https": 443}[scheme] else f"{named}:{port}"


class Access:
    """The entrance on this machine, with its sessions. `secret` gives a new text that nobody guesses, of letters and
    digits."""

    near = True
    scheme = "http"
    cookie = COOKIE

    def __init__(self, home: Path, port: int, now: Callable[[], int], secret: Callable[[], str]) -> None:
        self._file = home / FILE
        self._now = now
        self._secret = secret
        self._sessions: dict[bytes, BrowserSession] = {}
        known = read_door(home)
        host = known.host if known is not None else f"{secret()[:20]}.localhost"
        self.door = Door(host, port, secret(), os.getpid())
        write_door(self._file, self.door)

    @property
    def hosts(self) -> frozenset[str]:
        return frozenset({host_header(self.door.host, self.door.port, self.scheme)})

    def announce(self, network: list[str], fingerprint: str) -> None:
        """Say in the file where browsers of the network find the pages."""
        self.door = msgspec.structs.replace(self.door, network=network, fingerprint=fingerprint)
        write_door(self._file, self.door)

    def enter(self, token: str, name: str = "") -> str | None:
        if not hmac.compare_digest(token.encode(), self.door.token.encode()):
            return None
        self.door = msgspec.structs.replace(self.door, token=self._secret())
        write_door(self._file, self.door)
        while len(self._sessions) >= MAX_SESSIONS:
            del self._sessions[min(self._sessions, key=lambda key: self._sessions[key].used)]
        cookie = self._secret()
        self._sessions[_hashed(cookie)] = BrowserSession(self._secret(), self._now())
        return cookie

    def session(self, cookie: str | None) -> BrowserSession | None:
        key = _hashed(cookie or "")
        found = self._sessions.get(key)
        if found is None:
            return None
        if self._now() - found.used > SESSION_MILLIS:
            del self._sessions[key]
            return None
        found.used = self._now()
        return found

    def wrote(self, session: BrowserSession, path: str, verb: str, what: str) -> None:
        """Notes nothing, because the stores say that the person did it, on this device."""

    def renewed(self, cookie: str | None) -> str | None:
        return None

    def leave(self, cookie: str | None) -> None:
        self._sessions.pop(_hashed(cookie or ""), None)


def _hashed(cookie: str) -> bytes:
    """The hash of a cookie. A session is found by it, so that the time of the search tells nothing of the cookies that
    are there."""
    return hashlib.sha256(cookie.encode()).digest()


def read_door(home: Path) -> Door | None:
    """What the file says; None if there is none, or it cannot be read."""
    try:
        return msgspec.json.decode((home / FILE).read_bytes(), type=Door)
    except (OSError, msgspec.MsgspecError):
        return None


def write_door(file: Path, door: Door) -> None:
    write_private(file, msgspec.json.encode(door))


def write_private(file: Path, content: bytes) -> None:
    """Write a file whole or not at all, readable by its owner only from the first byte."""
    fresh = file.with_name(file.name + ".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(content)
    fresh.rename(file)
