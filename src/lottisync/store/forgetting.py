"""Forgetting: what each device knows, purging old deletions, and reconciling with a device that has forgotten more.

The rules, and why they are so: docs/specs/14-forgetting.md. `note` keeps what another device announced (section 1),
`purge` forgets (section 2), and the rest serves a device that is *behind* (sections 4 and 5).
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

import msgspec

from lottisync.causality import vector_clock
from lottisync.causality.digest import sha256
from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities import canonical, version
from lottisync.entities.entity import is_clean_tombstone
from lottisync.entities.version import Damaged
from lottisync.problem import Invalid
from lottisync.store import damage, tables
from lottisync.store.instant import iso
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader, Row
from lottisync.store.store import Store

MIN_AGE = 30 * 24 * 3_600_000
"""Milliseconds that a tombstone stays at least, so that a deletion can be seen and taken back for a while."""
NO_HOST = 0
"""In the place of a host's number: the row that says that a device has announced the store."""
KEY_BYTES = 8
STRIDE = 1_000
"""Rows read at a time."""

_read_clock = msgspec.json.Decoder(dict[Host, int]).decode


# -- what was forgotten, and what the others know


def forget(tx: Merge, clock: Clock) -> None:
    """Let F cover `clock`, too."""
    for host, counter in clock.items():
        tx.execute(
            """insert into forgotten values (?, ?)
               on conflict(host) do update set counter = max(counter, excluded.counter)""",
            (tx.host_number(host), counter),
        )


def acknowledged(reader: Reader, device: str | None = None) -> dict[str, Knowledge]:
    """What each device said last of its knowledge, by device id; a device that was never heard of is absent. Of one
    device, if it is named."""
    found: dict[str, Knowledge] = {}
    of_one, bindings = ("where t.device = ?", (device,)) if device else ("", ())
    for name, host, known in reader.local(
        f"""select t.device, h.host, t.known from acknowledged t left join hosts h on h.n = t.host
            {of_one} order by t.device, h.host""",
        bindings,
    ):
        knowledge = found.setdefault(name, {})
        if host is not None:
            knowledge[Host(host)] = known
    return found


def note(tx: Merge, device: str, knowledge: Clock, *, direct: bool) -> None:
    """Note what a device knows. What it says itself replaces what was noted, for it may have been restored from a
    backup; what a third says of it is older or newer, and only adds (FORGET-1, FORGET-223). Rings no bell.

    It is noted only for hosts that have written something that is here. The rest does not help to say what is lacking
    or may be forgotten, and a peer that invents hosts could make every device store them and pass them on. That the
    device has the store is noted even if nothing else is (FORGET-110)."""
    numbers = {
        host: number for number, host in tx.local("select n, host from hosts where n in (select host from chain)")
    }
    noted = acknowledged(tx, device)
    known_here = {host: known for host, known in knowledge.items() if host in numbers}
    after = known_here if direct else vector_clock.merge(noted.get(device, {}), known_here)
    if noted.get(device) == after:
        return
    tx.execute("delete from acknowledged where device = ?", (device,))
    pairs = [(NO_HOST, 0), *((numbers[host], known) for host, known in after.items())]
    rows = canonical.encode_normal(pairs).decode()
    tx.execute("insert into acknowledged select ?, value ->> 0, value ->> 1 from json_each(?)", (device, rows))


def waited_for(name: str, stores: Mapping[str, Store], active: Iterable[str]) -> set[str]:
    """The active devices that a purge of this store waits for: all but those that were heard of in another store and
    never in this one (FORGET-11)."""
    heard_of = {}
    for each, store in stores.items():
        with store.reading() as reader:
            heard_of[each] = set(acknowledged(reader))
    elsewhere = set().union(*heard_of.values())
    return {device for device in active if device in heard_of[name] or device not in elsewhere}


def lacking(reader: Reader, knowledge: Clock) -> int:
    """How many entities a device with this knowledge lacks."""
    found: set[int] = set()
    for number, host in reader.local("select n, host from hosts"):
        found.update(
            n
            for (n,) in reader.local(
                "select n from components where host = ? and counter > ?", (number, knowledge.get(host, 0))
            )
        )
    return len(found)


# -- purging


class _Tombstone(NamedTuple):
    id: str
    clock: Clock


def purge(tx: Merge, active: Iterable[str], min_age: int = MIN_AGE, limit: int | None = None) -> int:
    """Forget the tombstones that every device in `active` (ids, without this one) has seen and that no device wrote to
    for `min_age` ms; `limit` of them at most. Returns how many. The digest does not change (FORGET-3, FORGET-225)."""
    knowledge = acknowledged(tx)
    seen_by_all = [tx.knowledge(), *(knowledge.get(device, {}) for device in active)]
    gone: dict[Host, int] = {}
    purged = 0
    for tombstone in _tombstones(tx, tx.now - min_age):
        if purged == limit:
            break
        if all(vector_clock.covers(known, tombstone.clock) for known in seen_by_all) and _is_sound(tx, tombstone.id):
            _erase(tx, tombstone.id)
            gone = vector_clock.merge(gone, tombstone.clock)
            purged += 1
    forget(tx, gone)
    return purged


def holding_back(reader: Reader, active: Iterable[str], min_age: int, now: int) -> dict[str, int]:
    """For each device that has not seen them yet, how many tombstones are old enough to be forgotten but for it,
    and perhaps for others; devices that hold nothing back are left out."""
    own, knowledge = reader.knowledge(), acknowledged(reader)
    held = dict.fromkeys(active, 0)
    for tombstone in _tombstones(reader, now - min_age):
        if vector_clock.covers(own, tombstone.clock):
            for device in held:
                held[device] += not vector_clock.covers(knowledge.get(device, {}), tombstone.clock)
    return {device: count for device, count in held.items() if count}


def _tombstones(reader: Reader, until: int) -> list[_Tombstone]:
    """The tombstones that are marked as clean, were last written at `until` or before, and have no version in
    quarantine. One whose id or clock cannot be read is left out: it stays, and holds up no other (FORGET-12)."""
    found = []
    for table in tables.names(reader.schema):
        for entity_id, clock in reader.local(
            f"""select cast(id as blob), cast(clock as blob) from {table} where clean_tombstone and updated_at <= ?
                and id not in (select id from quarantine) order by updated_at""",
            (iso(max(until, 0)),),
        ):
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                found.append(_Tombstone(entity_id.decode(), _read_clock(clock)))
    return found


def _is_sound(reader: Reader, entity_id: str) -> bool:
    """Whether it is the tombstone that it is marked as: forgetting can't be taken back. One that cannot be read stays,
    and holds up no other."""
    try:
        entity = reader.entity(entity_id)
    except Damaged:
        return False
    return entity is not None and is_clean_tombstone(entity)


def _erase(tx: Merge, entity_id: str) -> None:
    tx.remove(entity_id)
    tx.execute("delete from history where entity = ?", (entity_id,))


# -- coming back


def entity_key(entity_id: str) -> bytes:
    """An id in 8 bytes, spread evenly: the first of its SHA-256."""
    return sha256(entity_id.encode())[:KEY_BYTES]


def keys(reader: Reader) -> bytes:
    """The keys of all that is held, in quarantine too, in order: 8 bytes an entity. Raises `Damaged` for a row of which
    the disk has left no id: the receiver drops what has no key here (FORGET-301)."""
    buckets = [array("Q") for _ in range(256)]
    for entity_id in _stored_ids(reader):
        key = entity_key(entity_id)
        buckets[key[0]].append(int.from_bytes(key, "big"))
    return b"".join(_big_endian(array("Q", sorted(set(bucket)))).tobytes() for bucket in buckets)


class KeySet:
    """What a sender holds: `entity_id in keys`. Raises `Invalid` for bytes that are not what `keys` gives."""

    def __init__(self, data: bytes) -> None:
        if len(data) % KEY_BYTES:
            raise Invalid("keys of entities have {limit} bytes each; got {size} bytes", limit=KEY_BYTES, size=len(data))
        self._keys = array("Q")
        self._keys.frombytes(data)
        _big_endian(self._keys)
        if any(a >= b for a, b in zip(self._keys, self._keys[1:], strict=False)):
            raise Invalid("keys of entities come in ascending order, each once")

    def __contains__(self, entity_id: str) -> bool:
        key = int.from_bytes(entity_key(entity_id), "big")
        at = bisect_left(self._keys, key)
        return at < len(self._keys) and self._keys[at] == key


def reconcile(tx: Merge, held: KeySet, knowledge: Clock, forgotten: Clock) -> tuple[int, int]:
    """At the end of a round to a device that was behind: `held` and `knowledge` are of the sender's snapshot,
    `forgotten` is the F of both. What the sender does not hold and knows of is dropped, the rest of what it does
    not hold is revived (FORGET-8). Returns how many of each."""
    dropped = revived = 0
    for entity_id in [entity_id for entity_id in _row_ids(tx) if entity_id not in held]:
        row = damage.raw_row(tx, entity_id)
        if row is None:
            continue
        if readable := row.is_sound:
            clock: Clock = version.open_stored(row.version).clock
        else:  # the index has what it has seen, too
            clock = damage.indexed_clock(tx, row.n)
        if vector_clock.covers(knowledge, clock):
            _erase(tx, entity_id)
            dropped += 1
        elif readable:
            tx.revive(entity_id, forgotten)
            revived += 1
    for kept in tx.quarantined():
        if kept.version.id not in held and vector_clock.covers(knowledge, kept.clock):
            tx.let_go(kept)
            dropped += 1
    return dropped, revived


def revive(tx: Merge, entity_id: str, forgotten: Clock) -> None:
    """Write an entity again, with a clock that covers everything that may have been forgotten (FORGET-9)."""
    tx.revive(entity_id, forgotten)


def complete(tx: Merge, knowledge: Clock, forgotten: Clock) -> None:
    """The end of a round: the sender's knowledge and its F are taken over together (FORGET-7)."""
    tx.adopt(knowledge)
    forget(tx, forgotten)


# -- rows


def _stored_ids(reader: Reader) -> Iterator[str]:
    """The ids under which entities were stored. If only the id of a row is damaged, the row now has another id than
    that."""
    last = -1
    while rows := reader.local(
        f"select n, {tables.RAW_COLUMNS}, hash, clean_tombstone from rows where n > ? order by n limit ?",
        (last, STRIDE),
    ):
        last = rows[-1][0]
        for n, held, *parts, stored_hash, clean in rows:
            row = Row(n, tables.raw_version(held, *parts), stored_hash, bool(clean))
            own = None if row.is_sound else damage.under_own_id(row, held, ())
            if own is None and not damage.is_text(held):
                raise Damaged(row.version.id, Invalid("its id is not UTF-8"))
            yield (own or row.version).id
    yield from (kept.version.id for kept in reader.quarantined())


def _row_ids(reader: Reader) -> Iterator[str]:
    """The ids of the rows. A row whose id the disk has damaged stays as it is."""
    last = -1
    while rows := reader.local("select n, cast(id as blob) from rows where n > ? order by n limit ?", (last, STRIDE)):
        last = rows[-1][0]
        yield from (held.decode() for _, held in rows if damage.is_text(held))


def _big_endian(numbers: "array[int]") -> "array[int]":
    """The array with each number's bytes turned round, where this machine has them the other way."""
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers
