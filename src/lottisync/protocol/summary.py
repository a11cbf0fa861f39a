"""A store's state in 48 bytes (docs/specs/07-sync.md, section 6).

Two stores are in sync when their knowledge is equal, with the chains that lead there, and so are the dots they
hold beyond it and the fork nodes they have heard of. Then, and only then, their digests must be equal. One
exchange of a hash over these says all of it, for three stores as for one, for ten entities as for ten million.
"""

from collections.abc import Iterable, Mapping

from lottisync.causality.digest import sha256
from lottisync.causality.knowledge import in_order
from lottisync.causality.vector_clock import Clock
from lottisync.entities import canonical
from lottisync.protocol.message import Summary

HALF = 16


def known(host_hashes: int, held: Iterable[tuple[str, int, str]], nodes: Iterable[bytes]) -> bytes:
    """16 bytes of SHA-256 over the canonical JSON `[host_hashes, held, nodes]`, all sorted, hashes in hexadecimal.
    `host_hashes` is their sum modulo 2^256, so that a change costs what it changes, however many hosts there are."""
    dots = sorted([host, counter, entity] for host, counter, entity in held)
    total = f"{host_hashes % 2**256:064x}"
    return sha256(canonical.encode_normal([total, dots, sorted(node.hex() for node in nodes)]))[:HALF]


def state(summaries: Mapping[str, Summary]) -> bytes:
    """One hash for all stores: 16 bytes of SHA-256 over `name NUL known digest` of each, by name."""
    parts = (name.encode() + b"\x00" + one.known + one.digest for name, one in sorted(summaries.items()))
    return sha256(b"".join(parts))[:HALF]


def gossip_hash(knowledge: Mapping[str, Mapping[str, Clock]]) -> bytes:
    """The first 8 bytes of a hash over the devices' knowledge, store -> device -> K; what is empty is left out."""
    plain = {}
    for store, devices in sorted(knowledge.items()):
        known_by = {device: in_order(k) for device, k in sorted(devices.items()) if any(k.values())}
        if known_by:
            plain[store] = known_by
    return sha256(canonical.encode_normal(plain))[:8]
