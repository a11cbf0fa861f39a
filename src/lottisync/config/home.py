"""A home: the folder that holds one device's key and its three stores (docs/specs/05-store.md, section 8).

    device.json     the device's secret key and nothing else, readable by its owner only
    journal.sqlite  agent.sqlite  space.sqlite
    bells/          named pipes of running listeners
    daemon.json     where a running daemon can be reached, and what it said last

Everything is opened when it is first used: a command that only reads tasks opens one file.
"""

import json
import os
import shutil
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lottisync.config import clock
from lottisync.entities.agent import AGENT_STORE, LOCAL_TABLES
from lottisync.entities.journal import JOURNAL
from lottisync.entities.path import nest
from lottisync.entities.schema import StoreSchema
from lottisync.entities.space import HOST_BINDING, MEMBERSHIP, SPACE
from lottisync.problem import Problem, Usage
from lottisync.store.store import Store, Transaction

if TYPE_CHECKING:
    from lottisync.identity.device_key import DeviceKey
    from lottisync.identity.roster import HostBinding, MembershipRecord, Roster

DELIVERY_ORDER = ("space", "journal", "agent")
"""A decision never arrives before its effect, nor data before the host that wrote it is known."""


def default_path(given: str | None) -> Path:
    """`--home`, else `LOTTISYNC_HOME`, else the platform's data directory."""
    if given:
        return Path(given).expanduser()
    if from_environment := os.environ.get("LOTTISYNC_HOME"):
        return Path(from_environment).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("lottisync", appauthor=False))


class Home:
    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def open(path: Path) -> "Home":
        """An initialised home; `Problem` if there is none."""
        if not (path / "device.json").exists():
            raise Problem("not-initialised", f"{path} is not a lottisync home. Run: lottisync init --name NAME")
        return Home(path)

    @staticmethod
    def create(path: Path, name: str, seed: bytes, now: int) -> "Home":
        """Make a home with a device of its own. All or nothing: it is built beside `path` and moved there."""
        from lottisync.identity.device_key import DeviceKey

        if (path / "device.json").exists():
            raise Problem("exists", f"{path} is a lottisync home already; it was left as it is")
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise Usage("exists", f"{path} exists and is not empty. Choose another folder with --home")
        building = path.with_name(path.name + ".new")
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(mode=0o700, parents=True)
        home = Home(building)
        home._write_key(DeviceKey.from_seed(seed))
        for schema, extra in ((SPACE, ""), (JOURNAL, ""), (AGENT_STORE, LOCAL_TABLES)):
            Store.create(building / f"{schema.name}.sqlite", schema, clock.new_host, extra).close()
        home.join_roster(name, now)
        home.bind_hosts(now)
        home.close()
        building.rename(path)
        return Home(path)

    def _write_key(self, key: "DeviceKey") -> None:
        descriptor = os.open(self.path / "device.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump({"seed": key.seed.hex(), "device": key.device_id}, file)
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        for name in ("journal", "agent", "space"):
            store = self.__dict__.pop(name, None)
            if store is not None:
                store.close()

    # -- stores

    def _store(self, schema: StoreSchema) -> Store:
        return Store.open(self.path / f"{schema.name}.sqlite", schema, clock.new_host)

    @cached_property
    def journal(self) -> Store:
        return self._store(JOURNAL)

    @cached_property
    def agent(self) -> Store:
        return self._store(AGENT_STORE)

    @cached_property
    def space(self) -> Store:
        return self._store(SPACE)

    def stores(self) -> dict[str, Store]:
        """The three stores by name, in the order in which rounds deliver them."""
        return {name: getattr(self, name) for name in DELIVERY_ORDER}

    @property
    def bells(self) -> Path:
        return self.path / "bells"

    # -- this device and the others

    @cached_property
    def key(self) -> "DeviceKey":
        from lottisync.identity.device_key import DeviceKey

        try:
            document = json.loads((self.path / "device.json").read_text())
            return DeviceKey.from_seed(bytes.fromhex(document["seed"]))
        except (ValueError, KeyError, TypeError):
            raise Problem(
                "damaged", f"{self.path / 'device.json'} is damaged. Restore it from a backup, or pair this device anew"
            ) from None

    def device_id(self) -> str:
        return self.key.device_id

    def roster(self) -> "Roster":
        """Who belongs to this person's devices, as far as this device knows."""
        from lottisync.identity.roster import Roster

        with self.space.reading() as reader:
            memberships = [nest(entity.document()) for entity in reader.by_type(MEMBERSHIP)]
            bindings = [nest(entity.document()) for entity in reader.by_type(HOST_BINDING)]
        return Roster.fold(self.key.device_id, memberships, bindings)

    def name(self) -> str:
        return self.roster().members[self.key.device_id].name

    def join_roster(self, name: str, now: int) -> None:
        """The first record of every home: this device says who it is."""
        from lottisync.identity.roster import MembershipRecord

        record = MembershipRecord.added(self.key, self.key.device_id, name, self.key.certificate, now)
        with self.space.transaction(now) as tx:
            put_membership(tx, record)

    def add_device(self, device_id: str, name: str, certificate: bytes, now: int) -> None:
        """Sign another device into the roster, after pairing with it."""
        from lottisync.identity.roster import MembershipRecord

        record = MembershipRecord.added(self.key, device_id, name, certificate, now)
        with self.space.transaction(now) as tx:
            put_membership(tx, record)

    def bind_hosts(self, now: int) -> None:
        """Say in `space` which device the stores' present hosts belong to; others refuse unbound hosts."""
        from lottisync.identity.roster import HostBinding

        missing = [binding for binding in self._bindings(HostBinding) if self.space.read(binding.record_id) is None]
        if missing:
            with self.space.transaction(now) as tx:
                for binding in missing:
                    put_binding(tx, binding)

    def _bindings(self, kind: "type[HostBinding]") -> "Iterator[HostBinding]":
        for name, store in self.stores().items():
            with store.reading() as reader:
                host = reader.host
            yield kind.signed(self.key, host, name)


def put_membership(tx: Transaction, record: "MembershipRecord") -> None:
    if tx.version(record.record_id) is None:
        tx.put(record.record_id, MEMBERSHIP, record.to_fields())


def put_binding(tx: Transaction, binding: "HostBinding") -> None:
    if tx.version(binding.record_id) is None:
        tx.put(binding.record_id, HOST_BINDING, binding.to_fields())
