"""One replica of the conformance contract: a folder with the three stores of a device, and further ones.

Nothing is kept outside of the folder, so a runner can restore and clone a device by copying it. Chance comes from the
`seed` of `open`: hosts are hashes of it, so that a run can be repeated. For the same reason a runner gives another seed
when it opens a copy: with the same random numbers, the copy would take the same host names.
"""

import hashlib
from collections.abc import Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Literal

import msgspec

from lottisync.adapter import wire_entity
from lottisync.adapter.wire_entity import BadRequest
from lottisync.causality.vector_clock import Clock, Dot, Host
from lottisync.daemon.stores import STORES
from lottisync.device.clock import Environment
from lottisync.device.device import Device
from lottisync.device.folder import StoreFolder
from lottisync.device.membership import NoStrangers, Strangers
from lottisync.entities import canonical
from lottisync.entities.entity import DELETED_AT, Entity, is_deleted
from lottisync.entities.identifier import time_ordered
from lottisync.entities.schema import StoreSchema
from lottisync.identity.device_key import DeviceKey
from lottisync.problem import Problem
from lottisync.protocol.message import MAX_BATCH
from lottisync.store import lookups, tables
from lottisync.store.check import broken_invariants
from lottisync.store.store import Store


def device_of(name: str) -> str:
    """The device id of the replica that a runner calls by this name."""
    return DeviceKey.from_seed(seed_of(name)).device_id


def seed_of(name: str) -> bytes:
    """The seed of its key. It is made from the name, because a replica has nothing else of its own."""
    return hashlib.sha256(b"lottisync/replica/1\x00" + name.encode()).digest()


class _Chance:
    """Random numbers that can be repeated: hashes of what they are drawn from, and of how many were drawn before."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._drawn = count()

    def draw(self, size: int) -> bytes:
        """At most 32 bytes."""
        return hashlib.sha256(f"{self._source}/{next(self._drawn)}".encode()).digest()[:size]

    def host(self) -> Host:
        return Host(self.draw(8).hex())

    def seed(self) -> bytes:
        return self.draw(32)


def shown(entity: Entity) -> dict[str, Any]:
    """What `entity.read` answers: the document, and the losers that differ from it."""
    return {
        "fields": {path: value for path, value in entity.document().items() if path != DELETED_AT},
        "conflicts": entity.conflicts(),
    }


class _Device(Device):
    """All replicas belong to one person, and no roster says so."""

    def strangers(self) -> Strangers:
        return NoStrangers()


class Replica:
    """The operations of the contract on one device (`device`)."""

    def __init__(
        self,
        name: str,
        folder: Path,
        seed: object,
        now: int,
        frame_entities: int = MAX_BATCH,
        detect: Literal["early", "late"] = "early",
        further: Iterable[StoreSchema] = (),
    ) -> None:
        self.name = name
        self.household = folder.resolve().parent
        self.frame_entities = frame_entities
        chance = _Chance(f"{seed}/{name}/{now}")
        self._files = StoreFolder(folder, [*STORES, *further], chance.host, detect=detect)
        environment = Environment(lambda: now, lambda now: time_ordered(now, chance.draw(10)), chance.host, chance.seed)
        self.device = _Device(self._files, lambda: DeviceKey.from_seed(seed_of(name)), environment)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Problem(
                "cannot-open", "{folder} cannot be made: {strerror}", folder=folder, strerror=error.strerror or error
            ) from None
        try:
            self._files.create(self._files.missing())
            for store in self.stores.values():
                store.settle(now)
        except BaseException:  # raised again, whatever it is: no store must stay open
            self.close()
            raise

    def close(self) -> None:
        self._files.close()

    @property
    def stores(self) -> Mapping[str, Store]:
        return self.device.stores

    def store(self, name: str) -> Store:
        if name not in self.stores:
            raise BadRequest(f"'store' is one of {', '.join(self.stores)}; got {name!r}")
        return self.stores[name]

    def hosts(self) -> dict[str, Host]:
        found = {}
        for name, store in self.stores.items():
            with store.reading() as reader:
                found[name] = reader.host
        return found

    # -- writing

    def write(
        self,
        store: str,
        entity: str,
        type_name: str,
        fields: dict[str, Any],
        precedence: int,
        seen: Clock | None,
        now: int,
    ) -> Dot:
        with self.store(store).transaction(now, precedence) as tx:
            return tx.put(entity, type_name, fields, seen=seen)

    def delete(self, store: str, entity: str, precedence: int, now: int) -> Dot:
        with self.store(store).transaction(now, precedence) as tx:
            return tx.delete(entity)

    def undelete(self, store: str, entity: str, precedence: int, now: int) -> Dot:
        with self.store(store).transaction(now, precedence) as tx:
            return tx.undelete(entity)

    # -- reading

    def read(self, store: str, entity_id: str) -> dict[str, Any] | None:
        entity = self.store(store).read(entity_id)
        if entity is None:
            return None
        return {**shown(entity), "clock": dict(sorted(entity.clock.items())), "deleted": is_deleted(entity)}

    def knowledge(self, store: str) -> dict[Host, int]:
        with self.store(store).reading() as reader:
            return dict(sorted(reader.knowledge().items()))

    def digest(self, store: str) -> str:
        with self.store(store).reading() as reader:
            return reader.digest().hex()

    def dump(self, store: str) -> list[dict[str, Any]]:
        """Every entity, tombstones too, by id."""
        with self.store(store).reading() as reader:
            ids = lookups.ids(reader)
            return [wire_entity.written(entity) for ident in ids if (entity := reader.entity(ident)) is not None]

    # -- damage

    def check(self) -> list[str]:
        found = []
        for name, store in self.stores.items():
            with store.reading() as reader:
                found += [f"{name}: {broken}" for broken in broken_invariants(reader)]
        return found

    def corrupt(self, store: str, entity: str, path: str, value: Any, *, drop: bool) -> None:
        """Change one value of a row's document where it lies, as somebody with an SQLite browser would. Hash, digest
        and clocks stay as they are."""
        with self.store(store).transaction(0, None) as tx:
            rows = tx.local("select serialized from rows where id = ?", (entity,))
            if not rows:
                raise Problem("unknown-id", "there is no {entity} in the {store} store", entity=entity, store=store)
            document: dict[str, msgspec.Raw] = msgspec.json.decode(rows[0][0], type=dict[str, msgspec.Raw])
            if path not in document:
                raise Problem("unknown-path", "{entity} has no {path!r}", entity=entity, path=path)
            if drop:
                del document[path]
            else:
                document[path] = msgspec.Raw(canonical.encode(value))
            edited = msgspec.json.encode(document, order="deterministic").decode()
            for table in tables.names(tx.schema):
                tx.execute(f"update {table} set serialized = ? where id = ?", (edited, entity))
