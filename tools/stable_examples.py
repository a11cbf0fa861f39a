"""Examples that are the same each time they are made.

A tour through the commands gives new ids, secrets, ports and times each time. On a page they would change with each
regeneration, and two branches that both wrote the page would conflict in every line. So each value that comes from
chance is replaced by one of the same shape:

- The first id that is seen becomes the first of a fixed sequence, and so on. One id has one replacement in all
  examples, also where its first digits stand alone.
- An instant near the time of the tour becomes the same distance from a fixed instant, in steps of five minutes. For a
  tour takes seconds, and which of its steps share a millisecond is chance.
- Ports are counted from 40001. Numbers and words that differ from run to run have one fixed value for each member.
"""

import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import Any

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
STEP = timedelta(minutes=5)
NEAR = timedelta(days=1)
KNOWN_PORTS = frozenset({"22067", "22443"})
FIXED: dict[str, Any] = {"pid": 4711, "words": ["mountain", "lark"]}
"""Member -> what it always is."""

HEX = "0123456789abcdef"
ALNUM = "0123456789abcdefghijklmnopqrstuvwxyz"
KINDS = {
    "uuid": (r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", HEX),
    "hex": (r"[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{20}|[0-9a-f]{16}", HEX),
    "digits": (r"[0-9]{3}-[0-9]{3}-[0-9]{3}", "0123456789"),
    "code": (r"[0-9a-z]{4}-[0-9a-z]{4}-[0-9a-z]{4}", ALNUM),
    "fingerprint": (r"[0-9A-F]{4} [0-9A-F]{4}", HEX.upper()),
    "base64": (r"(?<=device=)[\w-]+|(?<=secret=)[\w-]+", ALNUM + ALNUM[10:].upper() + "-_"),
}
"""What comes from chance: how it looks, and the characters of which one like it is made."""
ID = re.compile(rf"(?<![\w-])(?:{'|'.join(f'(?P<{kind}>{look})' for kind, (look, _) in KINDS.items())})(?![\w-])")
BEGINNING = re.compile(r"([0-9a-f]{4,15})(\.[0-9]+)?")
INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z")
SECONDS = re.compile(r"(?<=[?&]until=)[0-9]+")
STAMP = re.compile(r"(?<=/)[0-9]{8}-[0-9]{6}")
"""The name of a folder that is called after the time."""
DOOR = re.compile(r"(?<=\.localhost:)[0-9]+")
"""The port of the web pages: the usual one, or another where that one is taken."""
MINUTE = re.compile(r"(?<=Now it is )[^(]*\([^)]*\)")
"""What an agent is told of the time, in the zone of this machine."""
FREE = re.compile(r"[0-9,]+(?= MB are free)")
PORT = re.compile(r"(?<=127\.0\.0\.1:)[0-9]+")


class Stable:
    """Replaces what comes from chance. `now` is the time of the tour."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._ids: dict[str, str] = {}
        self._ports: dict[str, str] = {}

    def value(self, value: Any, member: str = "") -> Any:
        """`value` of the member `member`, with the same shape."""
        if member in FIXED and value is not None:
            return FIXED[member]
        if isinstance(value, dict):
            return {self._text(name): self.value(each, name) for name, each in _in_order(value)}
        if isinstance(value, list):
            if member == "devices":  # in the order of their ids
                value = sorted(value, key=lambda device: str(device["name"]))
            return [self.value(each) for each in value]
        if isinstance(value, str):
            return self._text(value)
        return int(self._port(str(value))) if member == "port" and value is not None else value

    def _text(self, text: str) -> str:
        if (short := BEGINNING.fullmatch(text)) is not None:
            return self._beginning(short[1]) + (short[2] or "")
        text = INSTANT.sub(lambda found: self._instant(found[0]), text)
        text = SECONDS.sub(lambda found: self._seconds(int(found[0])), text)
        text = STAMP.sub(f"{NOON:%Y%m%d-%H%M%S}", text)
        text = DOOR.sub("22080", text)
        text = MINUTE.sub(f"{NOON:%A, %Y-%m-%d, %H:%M} (UTC, UTC+00:00)", text)
        text = FREE.sub("50,000", text)
        text = PORT.sub(lambda found: self._port(found[0]), text)
        return ID.sub(self._id, text)

    def _id(self, found: re.Match[str]) -> str:
        _, alphabet = KINDS[str(found.lastgroup)]
        return self._ids.setdefault(found[0], like(found[0], alphabet, len(self._ids) + 1))

    def _beginning(self, digits: str) -> str:
        """The first digits of an id that was seen before, or other text as it is."""
        full = next((ident for ident in self._ids if ident.startswith(digits)), None)
        return digits if full is None else self._ids[full][: len(digits)]

    def _port(self, port: str) -> str:
        if port in KNOWN_PORTS or len(port) < 5:
            return port
        return self._ports.setdefault(port, str(40_001 + len(self._ports)))

    def _instant(self, text: str) -> str:
        at = self._moved(datetime.fromisoformat(text))
        return text if at is None else at.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def _seconds(self, seconds: int) -> str:
        at = self._moved(datetime.fromtimestamp(seconds, UTC))
        return str(seconds if at is None else int(at.timestamp()))

    def _moved(self, at: datetime) -> datetime | None:
        """The instant as far from the fixed one as it is from the tour; None if it has nothing to do with the tour."""
        return NOON + (at - self._now) // STEP * STEP if abs(at - self._now) < NEAR else None


def like(text: str, alphabet: str, number: int) -> str:
    """The text that stands for the `number`-th id: as long, made of `alphabet`, with the same separators."""
    drawn = hashlib.shake_256(str(number).encode()).digest(len(text))
    return "".join(
        alphabet[byte % len(alphabet)] if letter in alphabet else letter
        for letter, byte in zip(text, drawn, strict=True)
    )


def _in_order(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """The members in their order; of an object whose keys are ids, in the order of the values, for the ids come from
    chance."""
    if value and all(ID.fullmatch(name) for name in value):
        return sorted(value.items(), key=lambda pair: str(pair[1]))
    return list(value.items())
