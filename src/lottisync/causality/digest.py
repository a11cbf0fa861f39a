"""The one hash function of the data layer: SHA-256."""

from collections.abc import Iterable
from operator import methodcaller

_digest = methodcaller("digest")


def sha256(data: bytes) -> bytes:
    """32 bytes."""
    import hashlib  # here: it loads OpenSSL, and a command that only reads hashes nothing

    return hashlib.sha256(data).digest()


def sha256_of_each(many: Iterable[bytes]) -> list[bytes]:
    """The same of each: a loop of C."""
    import hashlib

    return list(map(_digest, map(hashlib.sha256, many)))
