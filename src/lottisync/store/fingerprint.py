"""Where two stores differ that should not: a range comparison (docs/specs/15-mending.md).

Two devices in step whose digests differ hold some entity with different content. To find it, the entities are hung in
a tree by their keys, 32 branches to a node; a node's *fingerprint* is the sum of the hashes below it. One device sends
the 32 fingerprints below the root, the other answers with those below each branch that differs, and so on in turns:
one differing entity among a million is found with five messages of half a kilobyte. Where few entities are left,
their ids and the beginnings of their hashes are sent instead.

The hashes are of what the rows *hold*, not those that are stored beside them: the stored ones are what the digest is
made of, and a flipped bit would hide behind them.

A tree of a million entities is made in one pass and takes some ten megabytes: the sums of the upper levels, and the
row numbers of the entities sorted by branch. What lies deeper is read and hashed again when it is asked for.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from lottisync.causality import vector_clock
from lottisync.entities import version
from lottisync.entities.entity import DELETED_AT
from lottisync.entities.version import BadVersion, Version
from lottisync.problem import Invalid
from lottisync.store import quarantine, tables
from lottisync.store.forgetting import entity_key
from lottisync.store.quarantine import QuarantinedVersion
from lottisync.store.reader import Reader
from lottisync.store.rows import MODULUS

BITS = 5
FAN = 1 << BITS
"""Branches of a node. 16 would take more messages, 64 more bytes."""
DEPTH = 12
"""The longest prefix: 60 of a key's 64 bits."""
FEW = 32
"""Entities that are named one by one, instead of 32 fingerprints of 16 bytes."""
BYTES = 16
HASH_BYTES = 8
MAX_UPPER_LEVELS = 3
"""Levels of which the sums are kept: below each of 32,768 nodes a million entities leave 31."""
_MODULUS = 2 ** (8 * BYTES)
_DELETED_AT = f'"{DELETED_AT}"'.encode()
_STRIDE = 1_000

Item = tuple[str, bytes]
"""An entity's id and the first 8 bytes of the hash of what it holds."""


class Subtree(NamedTuple):
    """What one device says of the entities whose keys begin with `prefix` (5 bits a byte): the fingerprints of its 32
    branches, or, where they are few, the entities themselves."""

    prefix: bytes
    children: list[bytes] | None
    items: list[Item] | None


def checked(node: Subtree) -> Subtree:
    """A node as it came from a peer; `Invalid` if its form is wrong."""
    prefix, children, items = node
    if len(prefix) > DEPTH or any(digit >= FAN for digit in prefix):
        raise Invalid(
            "a prefix has at most {depth} digits below {fan}; got {prefix}",
            depth=DEPTH,
            fan=FAN,
            prefix=prefix[:40].hex(),
        )
    if (children is None) == (items is None):
        raise Invalid("a node has either fingerprints or entities")
    if children is not None and (len(prefix) == DEPTH or [len(child) for child in children] != [BYTES] * FAN):
        raise Invalid("a node above the lowest has {fan} fingerprints of {size} bytes each", fan=FAN, size=BYTES)
    if any(len(start) != HASH_BYTES for _, start in items or ()):
        raise Invalid("an entity is named with {size} bytes of its hash", size=HASH_BYTES)
    return node


class Fingerprints:
    """The tree over one moment of a store: give it a snapshot, or use it within one transaction. Building reads
    and hashes everything once; `progress(done, of)` counts entities.

    `total` is the sum over all. `stored_total` is the digest that the stored hashes and marks make, with all its 32
    bytes: a damaged hash may differ in any of them. `damaged` names the entities whose content does not have the hash,
    or not the mark of a tombstone, that was stored with it."""

    def __init__(self, reader: Reader, progress: Callable[[int, int], None] = lambda done, of: None) -> None:
        self._reader = reader
        self._kept: dict[str, list[QuarantinedVersion]] = {}
        for kept in reader.quarantined():
            self._kept.setdefault(kept.version.id, []).append(kept)
        self.damaged: list[str] = []
        self.damaged_rows: list[int] = []
        """The numbers of the rows among them: a damaged id names none."""
        self._stored = 0
        """What the stored hashes and marks add to the digest."""
        total = reader.count() + sum(map(len, self._kept.values()))
        self._upper = next(
            level
            for level in range(1, MAX_UPPER_LEVELS + 1)
            if total <= FAN ** (level + 1) or level == MAX_UPPER_LEVELS
        )
        sums = [0] * FAN**self._upper
        where, numbers = array("I"), array("Q")
        for done, (n, entity_id, weight) in enumerate(self._weighed(), 1):
            if weight is not None:
                bucket = int.from_bytes(entity_key(entity_id)[:2], "big") >> 16 - BITS * self._upper
                sums[bucket] = (sums[bucket] + weight) % _MODULUS
                where.append(bucket)
                numbers.append(n)
            if done % _STRIDE == 0:
                progress(done, total)
        progress(total, total)
        self._levels = _levels(sums)
        self._starts, self._numbers = _sorted_by_bucket(where, numbers, len(sums))

    @property
    def total(self) -> bytes:
        return self._levels[0][0].to_bytes(BYTES, "big")

    @property
    def stored_total(self) -> bytes:
        return (self._stored % MODULUS).to_bytes(32, "big")

    def count(self, prefix: bytes) -> int:
        """How many entities that count in the digest have keys beginning with `prefix`."""
        if len(prefix) > self._upper:
            return sum(1 for _ in self._below(prefix))
        first, end = self._buckets(prefix)
        return self._starts[end] - self._starts[first]

    def children(self, prefix: bytes) -> list[bytes]:
        """The fingerprints of the 32 branches of a node."""
        level = len(prefix) + 1
        if level <= self._upper:
            first = _position(prefix) * FAN
            found = self._levels[level][first : first + FAN]
        else:
            found = [0] * FAN
            for entity_id, content_hash in self._below(prefix):
                branch = digits(entity_id)[len(prefix)]
                found[branch] = (found[branch] + int.from_bytes(content_hash, "big")) % _MODULUS
        return [fingerprint.to_bytes(BYTES, "big") for fingerprint in found]

    def items(self, prefix: bytes) -> list[Item]:
        """The entities below a node, by id."""
        return sorted((entity_id, content_hash[:HASH_BYTES]) for entity_id, content_hash in self._below(prefix))

    def root(self) -> Subtree:
        """What a comparison begins with."""
        return self.node(b"")

    def node(self, prefix: bytes) -> Subtree:
        if len(prefix) == DEPTH or self.count(prefix) <= FEW:
            return Subtree(prefix, None, self.items(prefix))
        return Subtree(prefix, self.children(prefix), None)

    # -- what lies in the rows

    def _weighed(self) -> Iterator[tuple[int, str, int | None]]:
        """For every row and kept version: its number, its id, and what it adds; None if it counts for nothing."""
        last = -1
        while rows := self._reader.local(
            f"""select n, {tables.RAW_COLUMNS}, hash, clean_tombstone from rows
                where n > ? order by n limit {_STRIDE}""",
            (last,),
        ):
            for last, *parts, stored, marked in rows:
                row = tables.raw_version(*parts)
                content_hash, clean, stood_for = row.hash(), _is_clean(row), self._stood_for(row)
                weight = None if clean or stood_for else int.from_bytes(content_hash, "big")
                if content_hash != stored or clean != marked:
                    self.damaged.append(row.id)
                    self.damaged_rows.append(last)
                    self._stored += 0 if marked or stood_for else int.from_bytes(stored, "big")
                else:
                    self._stored += weight or 0
                yield last, row.id, weight
        for held in self._kept.values():
            for kept in held:
                content_hash = kept.version.hash()
                weight = int.from_bytes(content_hash, "big") if kept.counted else None
                if content_hash != kept.hash:
                    self.damaged.append(kept.version.id)
                self._stored += kept.weight
                yield kept.n, kept.version.id, weight

    def _stood_for(self, row: Version) -> bool:
        held = self._kept.get(row.id)
        if held is None:
            return False
        try:
            clock = version.clock_of(row)
        except BadVersion:
            return False
        return any(vector_clock.covers(kept.clock, clock) for kept in held)

    def _below(self, prefix: bytes) -> Iterator[tuple[str, bytes]]:
        """The id and the hash of the content for each entity below a node that counts."""
        first, end = self._buckets(prefix[: self._upper])
        for n in self._numbers[self._starts[first] : self._starts[end]]:
            found = self._version(n)
            if digits(found.id)[: len(prefix)] == prefix:
                yield found.id, found.hash()

    def _buckets(self, prefix: bytes) -> tuple[int, int]:
        """The nodes of the lowest level that is kept below a node of it or above."""
        width = FAN ** (self._upper - len(prefix))
        return _position(prefix) * width, (_position(prefix) + 1) * width

    def _version(self, n: int) -> Version:
        rows = self._reader.local(f"select {tables.RAW_COLUMNS} from rows where n = ?", (n,))
        if rows:
            return tables.raw_version(*rows[0])
        kept = self._reader.local(f"select {quarantine.VERSION_COLUMNS} from quarantine where n = ?", (n,))
        return Version(*kept[0])


def differing(own: Fingerprints, nodes: Iterable[Subtree]) -> tuple[list[Subtree], list[str]]:
    """One turn of a comparison: what to answer to a peer's nodes, and the ids of the entities that turn out to differ.
    No answer and no id mean that the two hold the same. Raises `ValueError` for malformed nodes. Each answer is one
    level lower than what it answers."""
    answers: list[Subtree] = []
    found: set[str] = set()
    for node in map(checked, nodes):
        if node.items is not None:
            found.update(entity_id for entity_id, _ in set(own.items(node.prefix)) ^ set(node.items))
        elif node.children is not None:
            for digit, (ours, theirs) in enumerate(zip(own.children(node.prefix), node.children, strict=True)):
                if ours != theirs:
                    answers.append(own.node(node.prefix + bytes([digit])))
    return answers, sorted(found)


def digits(entity_id: str) -> bytes:
    """The way to an entity: the first 60 bits of its key, 5 a byte."""
    key = int.from_bytes(entity_key(entity_id), "big")
    return bytes(key >> (64 - BITS * level) & (FAN - 1) for level in range(1, DEPTH + 1))


def _is_clean(row: Version) -> bool:
    """Whether the content is that of a clean tombstone; what cannot be read is taken for one that is not."""
    if _DELETED_AT not in row.document:
        return False
    try:
        return not version.adds_to_digest(version.open_foreign(row))
    except BadVersion:
        return False


def _position(prefix: bytes) -> int:
    """The position of a node among those of its level."""
    at = 0
    for digit in prefix:
        at = at * FAN + digit
    return at


def _levels(sums: list[int]) -> list[list[int]]:
    """The sums of every level from the root down to the given ones."""
    levels = [sums]
    while len(levels[0]) > 1:
        lower = levels[0]
        levels.insert(0, [sum(lower[at : at + FAN]) % _MODULUS for at in range(0, len(lower), FAN)])
    return levels


def _sorted_by_bucket(where: "array[int]", numbers: "array[int]", buckets: int) -> tuple["array[int]", "array[int]"]:
    """Row numbers in the order of their buckets, and where each bucket starts."""
    sizes = [0] * buckets
    for bucket in where:
        sizes[bucket] += 1
    starts = array("I", [0, *accumulate(sizes)])
    free, result = starts[:], array("Q", bytes(8 * len(numbers)))
    for bucket, n in zip(where, numbers, strict=True):
        result[free[bucket]] = n
        free[bucket] += 1
    return starts, result
