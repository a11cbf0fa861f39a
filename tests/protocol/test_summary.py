"""The hashes by which two stores know that they are in step: SYNC-15."""

import hashlib

from lottisync.causality.vector_clock import Host
from lottisync.protocol import summary
from lottisync.protocol.message import Summary
from lottisync.store.known_hosts import host_hash

A, B = Host("a" * 16), Host("b" * 16)
X, Y, N = b"x" * 16, b"y" * 16, b"n" * 16


def test_sync_15_the_known_hash_is_to_the_byte() -> None:
    host_hashes = host_hash(B, 2, 5, Y) + host_hash(A, 1, 3, X)
    found = summary.known(host_hashes, [(B, 5, "t2"), (A, 3, "t1")], [N])
    hashes = [hashlib.sha256(f'["{A}",1,3,"{X.hex()}"]'.encode()), hashlib.sha256(f'["{B}",2,5,"{Y.hex()}"]'.encode())]
    total = sum(int.from_bytes(one.digest(), "big") for one in hashes) % 2**256
    text = f'["{total:064x}",[["{A}",3,"t1"],["{B}",5,"t2"]],["{N.hex()}"]]'
    assert found == hashlib.sha256(text.encode()).digest()[:16]


def test_sync_15_of_an_empty_store() -> None:
    assert summary.known(0, [], []) == hashlib.sha256(b'["%s",[],[]]' % (b"0" * 64)).digest()[:16]


def test_sync_15_order_does_not_matter_and_every_part_does() -> None:
    held = [(A, 3, "t1"), (B, 5, "t2")]
    host_hashes = host_hash(A, 1, 3, X) + host_hash(B, 2, 5, Y)
    same = summary.known(host_hashes, held, [N, X])
    assert summary.known(host_hashes + 2**256, reversed(held), [X, N]) == same
    others = [
        summary.known(host_hash(A, 1, 3, X) + host_hash(B, 3, 5, Y), held, [N, X]),
        summary.known(host_hash(A, 1, 3, X) + host_hash(B, 2, 5, X), held, [N, X]),
        summary.known(host_hash(A, 1, 3, X), held, [N, X]),
        summary.known(host_hashes, held[:1], [N, X]),
        summary.known(host_hashes, [(A, 3, "t2"), (B, 5, "t2")], [N, X]),
        summary.known(host_hashes, held, [N]),
    ]
    assert len({same, *others}) == 7


def test_sync_15_the_state_is_over_all_stores_by_name() -> None:
    one, other = Summary(b"k" * 16, b"d" * 32), Summary(b"l" * 16, b"e" * 32)
    text = b"agent\0" + b"k" * 16 + b"d" * 32 + b"space\0" + b"l" * 16 + b"e" * 32
    assert summary.state({"space": other, "agent": one}) == hashlib.sha256(text).digest()[:16]


def test_sync_15_what_is_heard_in_eight_bytes_without_what_is_empty() -> None:
    text = f'{{"journal":{{"{"d" * 64}":{{"{A}":1}}}}}}'
    found = summary.gossip_hash(
        {"space": {}, "journal": {"e" * 64: {}, "d" * 64: {B: 0, A: 1}}, "agent": {"d" * 64: {}}}
    )
    assert found == hashlib.sha256(text.encode()).digest()[:8]
