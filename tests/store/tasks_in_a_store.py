"""A task put into a store, and what must hold of every store."""

from typing import Any

from tests.support.stores import NOON, every_version, true_digest

from lottisync.causality.vector_clock import Dot, Host
from lottisync.entities.entity import HIGH
from lottisync.store.store import Store


def put(store: Store, ident: str, now: int = NOON, precedence: int = HIGH, **fields: Any) -> Dot:
    with store.transaction(now, HIGH) as tx:
        return tx.put(ident, "task", fields, precedence=precedence)


def knowledge(store: Store) -> dict[Host, int]:
    with store.reading() as reader:
        return reader.knowledge()


def digest(store: Store) -> bytes:
    with store.reading() as reader:
        return reader.digest()


def sound(store: Store) -> None:
    """What must hold of every store at every moment."""
    assert digest(store) == true_digest(store)
    with store.reading() as reader:
        assert reader.local("pragma integrity_check") == [("ok",)]
        assert reader.knowledge().get(reader.host, 0) == reader.counter
        components = {
            (host, counter, ident)
            for host, counter, ident in reader.local(
                "select h.host, c.counter, r.id from components c join hosts h on h.n = c.host join rows r on r.n = c.n"
            )
        }
    clocks = {
        (host, counter, version.id)
        for version in every_version(store)
        for host, counter in version.read_clock().items()
    }
    assert components == clocks
