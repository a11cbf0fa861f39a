"""A store's state in 64 bytes (docs/specs/07-sync.md, section 5).

Two stores are in sync when their knowledge is equal and so are the dots they hold beyond it. Then,
and only then, their digests must be equal. One exchange of these says all of it, for ten entities as
for ten million.
"""

import hashlib
from collections.abc import Iterable

from lottisync.causality.knowledge import in_order
from lottisync.causality.vector_clock import Clock
from lottisync.entities import canonical
from lottisync.protocol.message import Summary


def summary(knowledge: Clock, held: Iterable[tuple[str, int, str]], digest: bytes) -> Summary:
    """`known` is SHA-256 over the canonical JSON `[knowledge, held]`, held sorted, zeros left out."""
    ordered = sorted([host, counter, entity] for host, counter, entity in held)
    return Summary(hashlib.sha256(canonical.encode([in_order(knowledge), ordered])).digest(), digest)
