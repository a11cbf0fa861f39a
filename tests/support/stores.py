"""Stores in a folder, and for the tests of `store` what a round does with one, step by step.

A store does not know how devices talk. So the tests of the layers below `sync` call the same operations as a round
does: chains, versions, knowledge. All other tests take a round of the production conversation (`tests.support.rounds`).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import apsw
from tests.support.counted import NOON as NOON

from lottisync.causality.chain import VALUE_BYTES, ChainPart, LogEnd, genesis
from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities.entity import HIGH
from lottisync.entities.schema import StoreSchema
from lottisync.entities.version import Version, adds_to_digest, open_foreign
from lottisync.journal.types import JOURNAL
from lottisync.store import chain, fork, lookups
from lottisync.store.peer_chain import extend
from lottisync.store.reader import Reader
from lottisync.store.store import Store


def minting(number: int) -> Callable[[], Host]:
    """Host names that a test can distinguish: `number`, then how many were made."""
    minted = 0

    def mint() -> Host:
        nonlocal minted
        minted += 1
        return Host(f"{number:08x}{minted:08x}")

    return mint


def new_store(folder: Path, number: int = 1, schema: StoreSchema = JOURNAL) -> Store:
    return Store.create(folder / f"{schema.name}-{number}.sqlite", schema, minting(number))


def lacking(sender: Store, receiver: Store) -> tuple[list[Version], dict[Host, int], dict[Host, int]]:
    """What a round would send, the knowledge it would hand over, and the knowledge it was computed from."""
    with receiver.reading() as reader:
        base, held = reader.knowledge(), lookups.held_beyond(reader)
    snapshot = sender.snapshot()
    try:
        return snapshot.versions(snapshot.lacking(base, held)), snapshot.knowledge(), base
    finally:
        snapshot.close()


def send_chains(sender: Store, receiver: Store, *, now: int = NOON, limit: int = 1_000) -> bytes | None:
    """Send all chain values that the receiver lacks. Returns the fork node, if the chains differ."""
    with sender.reading() as reader, receiver.transaction(now, HIGH) as tx:
        for host in chain.log_ends(reader):
            held = chain.log_of(tx, host)
            after = held.end.end if held else 0
            while part := part_beyond(reader, host, after, limit):
                if node := extend(tx, part):
                    return node
                after = part.end
    return None


def with_chains(store: Store, clock: Clock, *, now: int = NOON) -> None:
    """Have a store hold the chains of these hosts up to these counters, as if a peer had sent them; the values of
    those that it does not hold are made up."""
    with store.transaction(now, HIGH) as tx:
        for host, counter in clock.items():
            held = chain.log_of(tx, host)
            end = held.end if held else LogEnd(1, 0, genesis(host))
            values = b"".join(bytes([VALUE_BYTES]) * VALUE_BYTES for _ in range(end.end, counter))
            if values:
                assert extend(tx, ChainPart(host, "", end.end + 1, end.value, values)) is None


def greet(a: Store, b: Store, *, now: int = NOON) -> None:
    """What two devices do before any round: no log of one differs from the other's when this returns."""
    while True:
        with a.transaction(now, HIGH) as ours, b.transaction(now, HIGH) as theirs:
            for tx, other in ((ours, theirs), (theirs, ours)):
                fork.split(tx, fork.nodes(other))
            node = parting(ours, theirs)
            if node is None:
                for tx, other in ((ours, theirs), (theirs, ours)):
                    held = chain.log_of(other, tx.host)
                    fork.mint_if_behind(tx, held.end.end if held else 0)
                return
            assert fork.split(ours, [node])
            assert fork.split(theirs, [node])


def parting(a: Reader, b: Reader) -> bytes | None:
    """A node where two stores' logs of one host part, None if none do."""
    ours, theirs = chain.log_ends(a), chain.log_ends(b)
    for host in ours.keys() & theirs.keys():
        low, high = ours[host].first - 1, min(ours[host].end, theirs[host].end) + 1
        if ours[host].first != theirs[host].first:
            continue  # one of them has no values: a branch that it has only heard of
        while high - low > 1:
            middle = (low + high) // 2
            same = chain.value_at(a, host, middle) == chain.value_at(b, host, middle)
            low, high = (middle, high) if same else (low, middle)
        if high <= min(ours[host].end, theirs[host].end):
            return chain.value_at(a, host, low)
    return None


def meet(a: Store, b: Store, *, now: int = NOON) -> None:
    """Greet, and a round each way."""
    greet(a, b, now=now)
    send(a, b, now=now)
    send(b, a, now=now)


def copied(store: Store, file: Path, number: int, *, detect: Literal["early", "late"] = "late") -> Store:
    """What was committed in `store`, opened from another file. Nothing shows that it is a copy."""
    source, target = apsw.Connection(str(store.file)), apsw.Connection(str(file))
    with target.backup("main", source, "main") as backup:
        backup.step()
    source.close()
    target.close()
    return Store.open(file, store.schema, minting(number), detect=detect)


def send(sender: Store, receiver: Store, *, abort_after: int | None = None, now: int = NOON) -> list[str]:
    """One round: the chains first, then one version in each frame, and no more than `frames` of them. Returns the
    ids that arrived."""
    assert send_chains(sender, receiver, now=now) is None, "the two have to be greeted before"
    versions, knowledge, _ = lacking(sender, receiver)
    arriving = versions if abort_after is None else versions[:abort_after]
    for version in arriving:
        with receiver.transaction(now, HIGH) as tx:
            tx.apply([(version, open_foreign(version))])
    if len(arriving) == len(versions) and abort_after is None:
        with receiver.transaction(now, HIGH) as tx:
            tx.adopt(knowledge)
    return [version.id for version in arriving]


def digest_of(store: Store) -> bytes:
    with store.reading() as reader:
        return reader.digest()


def dump(store: Store) -> dict[str, object]:
    """All that a store holds, to compare with later."""
    with store.reading() as reader:
        return {
            "rows": reader.local("select * from rows order by id"),
            "components": reader.local("select * from components order by 1, 2, 3"),
            "hosts": reader.local("select * from hosts order by n"),
            "state": reader.local("select * from state"),
        }


def true_digest(store: Store) -> bytes:
    """The digest from content: every row opened, hashed and added up again."""
    total = 0
    for version in every_version(store):
        if adds_to_digest(open_foreign(version)):
            total += int.from_bytes(version.hash(), "big")
    return (total % 2**256).to_bytes(32, "big")


def every_version(store: Store) -> Iterator[Version]:
    with store.reading() as reader:
        for (ident,) in reader.local("select id from rows order by id"):
            version = reader.version(ident)
            assert version is not None
            yield version


def part_beyond(reader: Reader, host: Host, after: int, limit: int) -> ChainPart | None:
    """At most `limit` values of a host's log behind counter `after`; None if there are none."""
    log = chain.log_of(reader, host)
    return None if log is None else chain.part_of(reader, host, log, after, limit)
