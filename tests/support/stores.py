"""Stores in a folder, and rounds between them as a link does them, without a network."""

from collections.abc import Callable, Iterator
from pathlib import Path

from lottisync.causality.vector_clock import Host
from lottisync.entities.journal import JOURNAL
from lottisync.entities.schema import StoreSchema
from lottisync.entities.version import Version, adds_to_digest, open_foreign
from lottisync.store.store import Store

NOON = 1_764_590_400_000  # 2025-12-01T12:00:00Z


def minting(number: int) -> Callable[[], Host]:
    """Hosts that a test can tell apart: `number`, then how many were minted."""
    minted = 0

    def mint() -> Host:
        nonlocal minted
        minted += 1
        return Host(f"{number:08x}{minted:08x}")

    return mint


def new_store(folder: Path, number: int = 1, schema: StoreSchema = JOURNAL, extra: str = "") -> Store:
    return Store.create(folder / f"{schema.name}-{number}.sqlite", schema, minting(number), extra)


def lacking(sender: Store, receiver: Store) -> tuple[list[Version], dict[Host, int], dict[Host, int]]:
    """What a round would send, the knowledge it would hand over, and the knowledge it was computed from."""
    with receiver.reading() as reader:
        base, held = reader.knowledge(), reader.held_beyond()
    snapshot = sender.snapshot()
    try:
        return snapshot.versions(snapshot.lacking(base, held)), snapshot.knowledge(), base
    finally:
        snapshot.close()


def send(sender: Store, receiver: Store, *, cut_after: int | None = None, now: int = NOON) -> list[str]:
    """One round, a version to a frame; cut off after some frames if told. Returns the ids that arrived."""
    versions, knowledge, _ = lacking(sender, receiver)
    arriving = versions if cut_after is None else versions[:cut_after]
    for version in arriving:
        with receiver.transaction(now) as tx:
            tx.apply([(version, open_foreign(version))])
    if len(arriving) == len(versions) and cut_after is None:
        with receiver.transaction(now) as tx:
            tx.adopt(knowledge)
    return [version.id for version in arriving]


def digest_of(store: Store) -> bytes:
    with store.reading() as reader:
        return reader.digest()


def dump(store: Store) -> dict[str, object]:
    """All that a store holds, for saying that nothing changed."""
    with store.reading() as reader:
        return {
            "rows": reader.local("select * from rows order by id"),
            "components": reader.local("select * from components order by 1, 2, 3"),
            "hosts": reader.local("select * from hosts order by n"),
            "state": reader.local("select * from state"),
        }


def true_digest(store: Store) -> bytes:
    """The digest from content: every row opened, hashed and added up anew."""
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
