"""Messages of a relay to the byte: header, seal, link, wrap, segment. Made by a second text of the rules."""

import hashlib
import hmac
import struct
from typing import Any

import msgspec
from conformance.generate.book import A, B, Book
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

SEED, SPACE, LANE, KEY = bytes([2]) * 32, bytes([1]) * 16, bytes([2]) * 8, bytes([5]) * 32
SALT, BEFORE = bytes([7]) * 16, bytes([3]) * 32
LABEL = b"lottisync/relay-envelope/1\x00"
WRAP = "01a8fa6dfdd777804cd19182da96bc0dbad821eb2f155adf3672d417d20dbd023621a94e187d5381379b2d54c0d796cab37e40f2e1fbd9"
"""The text "secret", sealed to the X25519 key of the device with `SEED`, as message 3. HPKE draws a key of its own for
each wrap, so it was made once."""
HEAD = ["journal", {A: 2}, {A: 3}, {B: 1}, {}, [], {A: bytes([9]) * 16}, [], False, 0]
CHAIN = ["chain", 1, 0, A, "", 3, bytes([8]) * 16, bytes([9]) * 16]


def epoch_id(key: bytes) -> bytes:
    return hashlib.sha256(b"lottisync/relay-epoch/1\x00" + key).digest()[:16]


def header(kind: int, number: int = 1) -> bytes:
    """version, kind, space, lane, number, link before, epoch, incarnation, salt"""
    return (
        struct.pack(">BB", 1, kind)
        + SPACE
        + LANE
        + struct.pack(">Q", number)
        + BEFORE
        + epoch_id(KEY)
        + bytes(16)
        + SALT
    )


def sealed(head: bytes, plaintext: bytes) -> bytes:
    """HKDF-SHA256 by hand: extract with the salt, expand once."""
    extracted = hmac.digest(SALT, KEY, "sha256")
    key = hmac.digest(extracted, LABEL + head + b"\x01", "sha256")
    return ChaCha20Poly1305(key).encrypt(bytes(12), plaintext, head)


def padded(body: bytes, size: int = 512) -> bytes:
    return (struct.pack(">IB", len(body) + 1, 0) + body).ljust(size, b"\x00")


def message(head: bytes, plaintext: bytes, seed: bytes = SEED) -> tuple[bytes, bytes]:
    """The message, and its link."""
    ciphertext = sealed(head, plaintext)
    signature = Ed25519PrivateKey.from_private_bytes(seed).sign(LABEL + head + hashlib.sha256(ciphertext).digest())
    return head + signature + ciphertext, hashlib.sha256(head + signature).digest()


def envelope() -> bytes:
    return msgspec.msgpack.encode([[[HEAD, [CHAIN]]], []])


def vectors() -> Book:
    book = Book(1, "relay")
    book.ok("epoch-id", "RELAY-9", "an id cannot be two keys", "relay.epoch", epoch_id(KEY).hex(), key=KEY.hex())
    place: dict[str, Any] = {"space": SPACE.hex(), "lane": LANE.hex(), "channel": "log", "number": 1}
    known = {"seed": SEED.hex(), "key": KEY.hex()}
    good, link = message(header(1), padded(envelope()))
    opened = {"kind": 1, "link": link.hex(), "body": envelope().hex()}
    comment = "a message is verified in its place, and opened"
    book.ok("open", "RELAY-2 RELAY-3 RELAY-6", comment, "relay.open", opened, message=good.hex(), **place, **known)
    for name, change in (
        ("lane", {"lane": bytes(8).hex()}),
        ("number", {"number": 2}),
        ("channel", {"channel": "state"}),
    ):
        comment = f"put by the relay under another {name}"
        fields = place | change
        book.error(
            f"another-{name}", "RELAY-3", comment, "relay.open", "bad-message", message=good.hex(), **fields, **known
        )
    for at, name in ((1, "kind"), (120, "signature"), (len(good) - 1, "ciphertext")):
        altered = good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]
        comment = f"a byte of the {name} is another one"
        book.error(
            f"altered-{name}", "RELAY-2", comment, "relay.open", "bad-message", message=altered.hex(), **place, **known
        )
    stranger, _ = message(header(1), padded(envelope()), bytes([3]) * 32)
    book.error(
        "stranger",
        "RELAY-2",
        "signed by another device",
        "relay.open",
        "bad-message",
        message=stranger.hex(),
        **place,
        **known,
    )
    long = message(header(1), struct.pack(">IB", 2**31, 0).ljust(512, b"\x00"))[0]
    book.error(
        "claims-too-much",
        "RELAY-8",
        "a body longer than the message",
        "relay.open",
        "bad-message",
        message=long.hex(),
        **place,
        **known,
    )
    wrap: dict[str, Any] = {"seed": SEED.hex(), "space": SPACE.hex(), "lane": LANE.hex(), "wrap": WRAP}
    book.ok("wrap", "RELAY-11", "sealed to one device", "relay.wrap", b"secret".hex(), number=3, **wrap)
    book.error("wrap-elsewhere", "RELAY-11", "as another message", "relay.wrap", "bad-message", number=4, **wrap)
    other: dict[str, Any] = wrap | {"seed": bytes([3]).hex() * 32}
    book.error(
        "wrap-of-another", "RELAY-11", "opened by another device", "relay.wrap", "bad-message", number=3, **other
    )
    shown = {"store": "journal", "base": {A: 2}, "knowledge": {A: 3}, "whole": False, "parts": ["chain"]}
    book.ok("segment", "RELAY-15", "what a segment is of", "relay.segment", [shown], body=envelope().hex())
    book.error(
        "segment-cut-short",
        "RELAY-15",
        "a field less",
        "relay.segment",
        "bad-message",
        body=msgspec.msgpack.encode([[]]).hex(),
    )
    return book
