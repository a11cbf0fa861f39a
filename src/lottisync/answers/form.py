"""The form of every answer that a program gets (docs/json.md): the structs of this package, as JSON.

An answer is one object on one line. Its first member is the version of the whole contract. The version belongs to the
form and not to the structs, so that the same structs serve inside other answers, and in pages.
"""

from typing import Annotated

import msgspec

VERSION = 1
"""Goes up when a member is removed, is renamed, or means something else. A new member does not change it."""

Instant = Annotated[
    str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", extra_json_schema={"title": "instant"})
]
"""UTC with milliseconds: `2026-02-28T22:00:00.000Z`. As text they sort as they happened."""

Day = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\d$", extra_json_schema={"title": "day"})]
"""A local date: `2026-02-28`."""

Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$", extra_json_schema={"title": "hex"})]
"""32 bytes in hex."""

DeviceId = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$", extra_json_schema={"title": "device id"})]
"""What a device's public key is known by (06-identity-and-pairing.md, ID-1)."""


class Error(msgspec.Struct, frozen=True):
    """What was wrong: `code` for programs, `message` the sentence for people."""

    code: str
    message: str


class FailedAnswer(msgspec.Struct, frozen=True):
    """The answer of a command that could not be done."""

    error: Error


def encoded(answer: msgspec.Struct) -> bytes:
    """An answer as one line of JSON (UTF-8, without the line's end), with the version first."""
    body = msgspec.json.encode(answer, enc_hook=str)  # a `Sentence` is text to a program
    head = b'{"lottisync":%d' % VERSION
    return head + b"}" if body == b"{}" else head + b"," + body[1:]
