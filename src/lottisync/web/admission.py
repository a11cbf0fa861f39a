"""Browsers of the person's own network: let in by a code, listed, and put out again (docs/specs/18-web.md, section 4).

    web-admission.json    the code that lets one browser in, until it is used or ten minutes have passed
    browsers/<id>.json    a browser that was let in; its time of change is when it was seen last
    web-acts.jsonl        what browsers did, a line each: the stores say that the person did it, on this device

A file for each browser, because two processes look at them: the daemon, and the command line that puts one out. Who
removes the file has put the browser out, at once, and nobody can bring it back by writing an old list over a new one.

A cookie is `id.time.mac`: when it was made, and a MAC of both under the browser's secret. It is good for a week, and a
new one is made when it is an hour old. So nothing has to be written when it is renewed.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from lottisync.problem import Problem
from lottisync.web.access import BrowserSession, write_private

OFFER_FILE = "web-admission.json"
FOLDER = "browsers"
ACTS_FILE = "web-acts.jsonl"
MAX_ACTS_BYTES = 1_000_000
"""Then the file is put aside, in the place of the one before it."""
OFFER_MILLIS = 10 * 60_000
COOKIE_MILLIS = 7 * 24 * 3_600_000
"""A browser that is not used for so long has to be let in again."""
RENEW_MILLIS = 3_600_000
SEEN_MILLIS = 60_000
"""How exactly it is known when a browser was seen."""
MAX_BROWSERS = 16
LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
"""None of them is taken for another one."""
CODE_LENGTH = 12
"""Each one of 31 letters: 59 bits, which nobody guesses within ten minutes."""


class BrowserCode(msgspec.Struct, frozen=True):
    """A code that lets one browser in, until a time (ms)."""

    code: str
    until: int


class BrowserRecord(msgspec.Struct, frozen=True):
    """What is kept of a browser that was let in, since `admitted` (ms). Its cookie is signed with `secret`."""

    name: str
    admitted: int
    secret: str


class BrowserAct(msgspec.Struct, frozen=True):
    """A form that a browser sent: when (ms), which browser, where to, which verb, on what."""

    at: int
    browser: str
    path: str
    verb: str
    what: str


class Browser(msgspec.Struct, frozen=True):
    """A browser that was let in; times in ms."""

    id: str
    name: str
    admitted: int
    seen: int


def new_code(entropy: bytes) -> str:
    """A code of `CODE_LENGTH` letters, in groups of four, of 16 bytes of entropy."""
    number = int.from_bytes(entropy)
    letters = ""
    for _ in range(CODE_LENGTH):
        number, digit = divmod(number, len(LETTERS))
        letters += LETTERS[digit]
    return "-".join(letters[n : n + 4] for n in range(0, CODE_LENGTH, 4))


def admission_address(origin: str, code: str) -> str:
    """What the QR code holds: a page with a button."""
    return f"{origin}/enter?token={code}"


def _take(home: Path, code: str, now: int) -> bool:
    """Whether the code is good. It is worth nothing afterwards: of two that come at once, one removes the file."""
    file = home / OFFER_FILE
    try:
        there = msgspec.json.decode(file.read_bytes(), type=BrowserCode)
        if now >= there.until or not hmac.compare_digest(_letters(code), _letters(there.code)):
            return False
        file.unlink()
    except (OSError, msgspec.MsgspecError):
        return False
    return True


def _letters(code: str) -> bytes:
    """The letters of a code that was typed on a phone: capitals, spaces and hyphens do not matter."""
    return re.sub(r"[\s-]+", "", code).lower().encode()


class Browsers:
    """The browsers of one home. `secret` gives 64 hexadecimal digits that nobody guesses."""

    def __init__(self, home: Path, now: Callable[[], int], secret: Callable[[], str]) -> None:
        self._home = home
        self._folder = home / FOLDER
        self._now = now
        self._secret = secret

    def all(self) -> list[Browser]:
        """The one that was seen last comes first."""
        found = []
        for file in self._folder.glob("*.json"):
            kept, seen = self._kept(file.stem), _seen(file)
            if kept is not None and self._now() - seen < COOKIE_MILLIS:
                found.append(Browser(file.stem, kept.name, kept.admitted, seen))
        return sorted(found, key=lambda one: (-one.seen, one.id))

    def offer(self) -> BrowserCode:
        """Let one browser in by a new code, and by no earlier one."""
        code = new_code(bytes.fromhex(self._secret()[:32]))
        made = BrowserCode(code, self._now() + OFFER_MILLIS)
        write_private(self._home / OFFER_FILE, msgspec.json.encode(made))
        return made

    def admit(self, code: str, name: str) -> str | None:
        """Let a browser in; gives its cookie, or None for a code that is not good."""
        if not _take(self._home, code, self._now()):
            return None
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for old in self.all()[MAX_BROWSERS - 1 :]:
            self._file(old.id).unlink(missing_ok=True)
        ident = self._secret()[:16]
        kept = BrowserRecord(" ".join(name.split())[:60] or "browser", self._now(), self._secret())
        write_private(self._file(ident), msgspec.json.encode(kept))
        self._touch(ident)
        return self._cookie(ident, kept)

    def revoke(self, wanted: str) -> Browser:
        """Put out the browser of this id or name. Raises `Problem`."""
        fitting = [one for one in self.all() if wanted in (one.id, one.name)]
        if not fitting:
            raise Problem("unknown-browser", "no browser {wanted!r} is let in", wanted=wanted[:60])
        if len(fitting) > 1:
            ids = ", ".join(one.id for one in fitting)
            raise Problem(
                "ambiguous", "several browsers are called {wanted!r}. Say which: {ids}", wanted=wanted, ids=ids
            )
        self._file(fitting[0].id).unlink(missing_ok=True)
        return fitting[0]

    def session(self, cookie: str) -> BrowserSession | None:
        """The session of a cookie, which is used now; None if it is not ours, too old, or of a browser that is out."""
        parts = _parts(cookie)
        if parts is None:
            return None
        ident, made = parts
        kept = self._kept(ident)
        if kept is None or not hmac.compare_digest(cookie, _signed(ident, made, kept)):
            return None
        if not 0 <= self._now() - made < COOKIE_MILLIS:
            return None
        self._touch(ident)
        return BrowserSession(_mac(kept, "form"), self._now(), kept.name)

    def renewed(self, cookie: str) -> str | None:
        """A new cookie for one that is good, and an hour old; else None."""
        parts = _parts(cookie)
        if parts is None or self._now() - parts[1] < RENEW_MILLIS or (kept := self._kept(parts[0])) is None:
            return None
        return self._cookie(parts[0], kept)

    def leave(self, cookie: str) -> None:
        """A browser that leaves is put out."""
        parts = _parts(cookie)
        if parts is not None and self.session(cookie) is not None:
            self._file(parts[0]).unlink(missing_ok=True)

    def did(self, act: BrowserAct) -> None:
        """Note what a browser does. If the disk is full, people can still decide."""
        file = self._home / ACTS_FILE
        with suppress(OSError):
            if file.exists() and file.stat().st_size > MAX_ACTS_BYTES:
                file.replace(file.with_suffix(".old"))
            with open(file, "ab", opener=_own) as opened:
                opened.write(msgspec.json.encode(act) + b"\n")

    def acts(self) -> list[BrowserAct]:
        """What browsers did, the latest last; a line that cannot be read is left out."""
        found = []
        with suppress(OSError):
            for line in (self._home / ACTS_FILE).read_bytes().splitlines():
                with suppress(msgspec.MsgspecError):
                    found.append(msgspec.json.decode(line, type=BrowserAct))
        return found

    def _cookie(self, ident: str, kept: BrowserRecord) -> str:
        return _signed(ident, self._now(), kept)

    def _file(self, ident: str) -> Path:
        return self._folder / f"{ident}.json"

    def _kept(self, ident: str) -> BrowserRecord | None:
        try:
            return msgspec.json.decode(self._file(ident).read_bytes(), type=BrowserRecord)
        except (OSError, msgspec.MsgspecError):
            return None

    def _touch(self, ident: str) -> None:
        """Note that it was seen. This does not bring back the file of a browser that was put out meanwhile."""
        file, now = self._file(ident), self._now()
        try:
            if abs(now - _seen(file)) > SEEN_MILLIS:
                os.utime(file, ns=(now * 1_000_000, now * 1_000_000))
        except OSError:
            return


def _seen(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0


def _own(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _parts(cookie: str) -> tuple[str, int] | None:
    found = re.fullmatch(r"([0-9a-z-]{16})\.([0-9]{1,15})\.[0-9a-f]{64}", cookie, re.ASCII)
    return (found[1], int(found[2])) if found else None


def _signed(ident: str, made: int, kept: BrowserRecord) -> str:
    return f"{ident}.{made}.{_mac(kept, f'cookie {ident} {made}')}"


def _mac(kept: BrowserRecord, text: str) -> str:
    return hmac.digest(kept.secret.encode(), text.encode(), hashlib.sha256).hex()


class Network:
    """The entrance for browsers of the person's network. `hosts` is set by the daemon, which knows the certificate."""

    near = False
    scheme = "https"
    cookie = "__Host-lottisync"

    def __init__(self, browsers: Browsers) -> None:
        self.hosts: frozenset[str] = frozenset()
        self._browsers = browsers

    def enter(self, code: str, name: str) -> str | None:
        return self._browsers.admit(code, name)

    def session(self, cookie: str | None) -> BrowserSession | None:
        return self._browsers.session(cookie or "")

    def wrote(self, session: BrowserSession, path: str, verb: str, what: str) -> None:
        self._browsers.did(BrowserAct(session.used, session.browser, path[:200], verb[:40], what[:200]))

    def renewed(self, cookie: str | None) -> str | None:
        return self._browsers.renewed(cookie or "")

    def leave(self, cookie: str | None) -> None:
        self._browsers.leave(cookie or "")
