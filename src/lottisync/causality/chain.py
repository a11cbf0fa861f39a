"""Chain values: they distinguish the writes of one host from those of its copy.

A chain value is a hash over a write and all earlier writes of its host. Why counters are not enough, and what happens
where two chains part: docs/specs/13-copies.md.
"""

from collections.abc import Iterable
from typing import NamedTuple

from lottisync.causality.digest import hashing, sha256
from lottisync.causality.vector_clock import Host

VALUE_BYTES = 16
_LABEL = b"lottisync/chain/1\x00"
_BRANCH_LABEL = b"lottisync/branch/1\x00"


class LogEnd(NamedTuple):
    """How far a host's chain is held: from counter `first` to `end`, with the value at `end`. One without values
    ends at `first - 1`, with the value ahead of them: the genesis, or the node that the branch begins behind."""

    first: int
    end: int
    value: bytes


class ChainPart(NamedTuple):
    """A stretch of a host's chain: 16 bytes of `values` for each counter from `first` on, `before` the value ahead
    of them. `parent` is the host that this one was branched off, "" for a host that was minted."""

    host: Host
    parent: str
    first: int
    before: bytes
    values: bytes

    @property
    def end(self) -> int:
        return self.first + len(self.values) // VALUE_BYTES - 1


def genesis(host: str) -> bytes:
    """The chain's value before a host's first write."""
    return sha256(_LABEL + host.encode())[:VALUE_BYTES]


def chained(before: bytes, hashes: Iterable[bytes]) -> list[bytes]:
    """The chain's values after the writes that made the versions with these hashes, one after the other."""
    new, values = hashing(), []
    for version_hash in hashes:
        before = new(before + version_hash).digest()[:VALUE_BYTES]
        values.append(before)
    return values


def branch_name(first: bytes) -> Host:
    """The host of the branch whose first write has this chain value."""
    return Host(sha256(_BRANCH_LABEL + first).hex()[:16])
