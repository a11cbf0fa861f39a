"""Two stores compared and mended as a connection does it, without a network."""

from collections.abc import Container
from typing import NamedTuple

from lottisync.entities.entity import HIGH
from lottisync.entities.version import BadVersion, open_foreign
from lottisync.store import mending
from lottisync.store.fingerprint import Fingerprints, Subtree, differing
from lottisync.store.store import Store


class RangeComparison(NamedTuple):
    """`ids` are those that differ. `messages` is how many nodes were exchanged, `size` how many bytes they would
    have in messages."""

    ids: set[str]
    messages: int
    size: int


def compare(a: Fingerprints, b: Fingerprints) -> RangeComparison:
    found: set[str] = set()
    nodes, messages, size = [a.root()], 0, 0
    sides = (b, a)
    while nodes:
        size += sum(map(weight, nodes))
        nodes, ids = differing(sides[messages % 2], nodes)
        found.update(ids)
        messages += 1
    return RangeComparison(found, messages, size)


def weight(node: Subtree) -> int:
    """Bytes of a node: prefix, fingerprints, ids with their hashes, and a byte for each thing's length."""
    return (
        1
        + len(node.prefix)
        + sum(1 + len(child) for child in node.children or ())
        + sum(2 + len(entity_id) + len(start) for entity_id, start in node.items or ())
    )


def compare_stores(a: Store, b: Store) -> RangeComparison:
    with a.reading() as ours, b.reading() as theirs:
        return compare(Fingerprints(ours), Fingerprints(theirs))


def meet(a: Store, b: Store, now: int) -> int:
    """Compare, and mend on both sides; returns how many entities changed on either."""
    ids = sorted(compare_stores(a, b).ids)
    with a.reading() as ours, b.reading() as theirs:
        sent = {b: mending.sound(ours, ids), a: mending.sound(theirs, ids)}
    mended = 0
    for store, versions in sent.items():
        with store.transaction(now, HIGH) as tx:
            good = []
            for version in versions:
                try:
                    good.append((version, open_foreign(version)))
                except BadVersion as error:
                    tx.quarantine(version, error.sentence)
            mended += mending.mend(tx, good)
    return mended


def repair(store: Store, now: int, same_there: Container[str] = ()) -> int:
    with store.transaction(now, HIGH) as tx:
        return mending.repair(tx, same_there)


def damaged(store: Store) -> set[str]:
    """The ids of the rows that do not have their own hash."""
    with store.reading() as reader:
        ids = dict(reader.local("select n, id from rows"))
        return {ids[n] for n in mending.still_damaged(reader, ids)}
