"""The one hash function of the data layer: SHA-256."""

from collections.abc import Callable, Iterable
from functools import cache
from operator import methodcaller
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash

_digest = methodcaller("digest")


@cache
def hashing() -> "Callable[[bytes], _Hash]":
    """The function that makes a hash, for loops. It is imported once, and not before it is needed: importing it loads
    OpenSSL, and a command that only reads hashes nothing. An import statement takes a third of what a short hash takes,
    each time."""
    import hashlib

    return hashlib.sha256


def sha256(data: bytes) -> bytes:
    """32 bytes."""
    return hashing()(data).digest()


def sha256_of_each(many: Iterable[bytes]) -> list[bytes]:
    """The SHA-256 of each of these values; the loop runs in C."""
    return list(map(_digest, map(hashing(), many)))
