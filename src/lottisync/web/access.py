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

import msgspec

FILE = "web.json"
SESSION_MILLIS = 12 * 3_600_000
"""How long a session lives that nobody uses."""
MOST_SESSIONS = 32
"""Sessions at one time. The one that was used longest ago makes room."""
COOKIE = "lottisync"


class Door(msgspec.Struct, frozen=True):
    """`web.json`: where the pages are, and the token that opens them once."""

    host: str
    port: int
    token: str

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def address(self) -> str:
        """The address that lets one browser in."""
        return f"{self.origin}/enter?token={self.token}"


class Session(msgspec.Struct):
    """`form_token` stands in every form of its pages (CSRF); `used` is when it was used last (ms)."""

    form_token: str
    used: int


class Access:
    """The sessions of one daemon. `secret` gives a new text that nobody guesses, of letters and digits."""

    def __init__(self, home: Path, port: int, now: Callable[[], int], secret: Callable[[], str]) -> None:
        self._file = home / FILE
        self._now = now
        self._secret = secret
        self._sessions: dict[bytes, Session] = {}
        known = read_door(home)
        host = known.host if known is not None else f"{secret()[:20]}.localhost"
        self.door = Door(host, port, secret())
        write_door(self._file, self.door)

    def enter(self, token: str) -> str | None:
        """A new session for the token, as the value of its cookie; None for any other token."""
        if not hmac.compare_digest(token.encode(), self.door.token.encode()):
            return None
        self.door = msgspec.structs.replace(self.door, token=self._secret())
        write_door(self._file, self.door)
        while len(self._sessions) >= MOST_SESSIONS:
            del self._sessions[min(self._sessions, key=lambda key: self._sessions[key].used)]
        cookie = self._secret()
        self._sessions[_hashed(cookie)] = Session(self._secret(), self._now())
        return cookie

    def session(self, cookie: str | None) -> Session | None:
        """The session of a cookie, which is used now; None if there is none, or it is too old."""
        key = _hashed(cookie or "")
        found = self._sessions.get(key)
        if found is None:
            return None
        if self._now() - found.used > SESSION_MILLIS:
            del self._sessions[key]
            return None
        found.used = self._now()
        return found

    def leave(self, cookie: str | None) -> None:
        """End a session."""
        self._sessions.pop(_hashed(cookie or ""), None)


def _hashed(cookie: str) -> bytes:
    """Looked up by its hash, so that the time it takes tells nothing of the cookies that are there."""
    return hashlib.sha256(cookie.encode()).digest()


def read_door(home: Path) -> Door | None:
    """What the file says; None if there is none, or it cannot be read."""
    try:
        return msgspec.json.decode((home / FILE).read_bytes(), type=Door)
    except (OSError, msgspec.MsgspecError):
        return None


def write_door(file: Path, door: Door) -> None:
    """Whole or not at all, and readable by its owner only from the first byte."""
    fresh = file.with_name(file.name + ".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(msgspec.json.encode(door))
    fresh.rename(file)
