"""The summary: SYNC-15."""

import hashlib

from lottisync.causality.vector_clock import Host
from lottisync.protocol.summary import summary

A, B = Host("a" * 16), Host("b" * 16)
DIGEST = bytes(range(32))


def test_sync_15_the_known_hash_is_to_the_byte() -> None:
    found = summary({B: 2, A: 1}, [(B, 5, "t2"), (A, 3, "t1")], DIGEST)
    text = b'[{"aaaaaaaaaaaaaaaa":1,"bbbbbbbbbbbbbbbb":2},[["aaaaaaaaaaaaaaaa",3,"t1"],["bbbbbbbbbbbbbbbb",5,"t2"]]]'
    assert found.known == hashlib.sha256(text).digest()
    assert found.digest == DIGEST


def test_sync_15_of_an_empty_store() -> None:
    assert summary({}, [], bytes(32)).known == hashlib.sha256(b"[{},[]]").digest()


def test_sync_15_order_and_zeros_do_not_matter_and_every_number_does() -> None:
    held = [(A, 3, "t1"), (B, 5, "t2")]
    same = summary({A: 1, B: 2}, held, DIGEST)
    assert summary({B: 2, A: 1, Host("c" * 16): 0}, reversed(held), DIGEST) == same
    others = [
        summary({A: 1, B: 3}, held, DIGEST),
        summary({A: 1}, held, DIGEST),
        summary({A: 1, B: 2}, held[:1], DIGEST),
        summary({A: 1, B: 2}, [(A, 4, "t1"), (B, 5, "t2")], DIGEST),
        summary({A: 1, B: 2}, [(A, 3, "t2"), (B, 5, "t2")], DIGEST),
    ]
    assert len({other.known for other in [same, *others]}) == 6
