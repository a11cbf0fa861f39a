"""Chains: how the writes of one host are distinguished from those of its copy (docs/specs/13-copies.md).

A counter names a write for ever, unless the store was copied or restored: then two branches count on from
one number, and neither clocks nor knowledge show it. So every write has a *chain value*, made of the one
before it and of what was written: the same value at the same counter means the same past, all of it. Whoever
holds anything of a host holds its chain as far as that goes, and no two devices exchange a version before
they have found their chains to be one the beginning of the other.

Where they are not, the last equal value is a *fork node*. The writes behind it, up to the next node, go on
under a host that is named by the first of them; every device that knows the node names them alike.
"""

from typing import NamedTuple

from lottisync.causality.digest import sha256
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


def chained(before: bytes, version_hash: bytes) -> bytes:
    """The chain's value after a write that made the version with this hash."""
    return sha256(before + version_hash)[:VALUE_BYTES]


def branch_name(first: bytes) -> Host:
    """The host of the branch whose first write has this chain value."""
    return Host(sha256(_BRANCH_LABEL + first).hex()[:16])
