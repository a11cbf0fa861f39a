"""What is typed: the nine digits of a code, and what is offered with it for a short time (PAIR-3 to PAIR-7, PAIR-21).

Of the nine digits eight are secret. The first is the *discriminator*: it is announced with the offer, so that where
several people pair at once each is led to the device in the hand, and tries no code at another's. It is drawn like
the others, and nothing that is announced is computed from them, or a listener could try all codes at home.

An offer takes an invitation in place of the code, too (`lottisync.identity.invitation`).
"""

import re
from typing import NamedTuple

from lottisync.identity.device_key import (
    IdentityError,
)
from lottisync.identity.pairing_message import PairingError
from lottisync.problem import Sentence

OFFER_LIFETIME_MS = 120_000
"""Long enough to walk to the other device and type; short enough that a code on a photo is worth nothing."""
RUNS_PER_OFFER = 3
"""A person mistypes once or twice. Three guesses at 10^8 secrets leave an attacker 3 in 100 million."""
CODE_DIGITS = 9
_CHANNEL = b"lottisync/pairing/1"
_CODE = re.compile(r"\A([0-9]{3})[- ]?([0-9]{3})[- ]?([0-9]{3})\Z")


def new_code(random_bytes: bytes) -> str:
    """Nine digits, every code equally likely. `random_bytes`: 32 or more from a cryptographic source.

    Eight bytes at a time, and those above the last whole multiple of 10^9 are passed over: a remainder of them
    would come up more often. Raises `IdentityError` if none is left, which 32 random bytes do not do.
    """
    codes = 10**CODE_DIGITS
    fair = 2**64 - 2**64 % codes
    for at in range(0, len(random_bytes) - 7, 8):
        drawn = int.from_bytes(random_bytes[at : at + 8])
        if drawn < fair:
            return f"{drawn % codes:0{CODE_DIGITS}d}"
    raise IdentityError("a pairing code is drawn from 32 or more random bytes")


def parse_code(text: str) -> str:
    """The nine digits of what a person typed: '123456789', '123-456-789' or '123 456 789'."""
    typed = text.strip(" \t\r\n")
    if not (groups := _CODE.match(typed)):
        raise PairingError(
            "malformed-code", "a pairing code has 9 digits, like 123-456-789; got {typed!r}", typed=typed[:20]
        )
    return "".join(groups.groups())


def discriminator(code: str) -> str:
    """The digit of a code that is not a secret, by which one recognises the device that shows it (PAIR-21)."""
    return parse_code(code)[0]


class Password(NamedTuple):
    """What both sides have to know. `channel` tells a code from an invitation, so that neither passes for the other;
    `device` is the device that shows it, where that is known beforehand."""

    channel: bytes
    secret: bytes
    device: str | None = None


def code_password(code: str) -> Password:
    """The password of nine digits. Raises `PairingError`."""
    return Password(_CHANNEL, parse_code(code).encode("ascii"))


class Offer:
    """A code or an invitation that is being shown: until it expires, for so many runs, for one device. `what` is its
    name for people.

    `now_ms` is in milliseconds of any one clock, best a monotonic one; `expires_at_ms` is of the same clock.
    """

    what = Sentence("this offer")

    def __init__(self, password: Password, expires_at_ms: int, runs_left: int) -> None:
        self.password = password
        self.expires_at_ms = expires_at_ms
        self.runs_left = runs_left
        self.used = False

    def open_at(self, now_ms: int) -> bool:
        """Whether a run may begin now; a listener with no open offer closes."""
        return not self.used and self.runs_left > 0 and now_ms < self.expires_at_ms

    def begin(self, now_ms: int) -> None:
        """Use up one run (PAIR-5, PAIR-6). Raises `PairingError` used, too-many-runs or expired."""
        if self.used:
            raise PairingError("used", "{what} has paired a device already; make a new one", what=self.what)
        if self.runs_left <= 0:
            raise PairingError("too-many-runs", "{what} was tried too often; make a new one", what=self.what)
        if now_ms >= self.expires_at_ms:
            raise PairingError("expired", "{what} has expired; make a new one", what=self.what)
        self.runs_left -= 1

    def take(self) -> None:
        """Use up the offer: of the runs under way only this one may end well (PAIR-7)."""
        if self.used:
            raise PairingError("used", "{what} has paired a device already; make a new one", what=self.what)
        self.used = True

    def __repr__(self) -> str:
        # Without the secret: an offer that is printed ends in a log.
        state = f"runs_left={self.runs_left}, expires_at_ms={self.expires_at_ms}, used={self.used}"
        return f"{type(self).__name__}({state})"


class CodeOffer(Offer):
    """A code that is being shown: for 120 seconds, for three runs."""

    what = Sentence("this code")

    def __init__(self, code: str, expires_at_ms: int, runs_left: int = RUNS_PER_OFFER) -> None:
        super().__init__(code_password(code), expires_at_ms, runs_left)
        self.code = parse_code(code)

    @property
    def shown(self) -> str:
        """The code as people read it: 123-456-789."""
        return f"{self.code[:3]}-{self.code[3:6]}-{self.code[6:]}"
