"""A home: the folder that holds one device's key and its three stores (docs/specs/05-store.md, section 8).

    device.json     the device's secret key and nothing else, readable by its owner only
    journal.sqlite  agent.sqlite  space.sqlite
    bells/          named pipes of running listeners
    daemon.json     where a running daemon can be reached, and what it said last

Everything is opened when it is first used: a command that only reads tasks opens one file.
"""

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lottisync.config import clock
from lottisync.device.space import LOCAL_TABLES as SPACE_TABLES
from lottisync.device.space import SPACE
from lottisync.entities.entity import HIGH
from lottisync.entities.schema import StoreSchema
from lottisync.journal.types import JOURNAL
from lottisync.problem import Problem, Usage
from lottisync.store.store import Store

if TYPE_CHECKING:
    from lottisync.identity.device_key import DeviceKey
    from lottisync.identity.roster import MembershipRecord, Roster

PURGED_AT_ONCE = 1_000
"""Entities forgotten in one transaction: a fraction of a second."""
DELIVERY_ORDER = ("space", "journal", "agent")
"""A decision never arrives before its effect, nor data before the host that wrote it is known."""


class KeyFile(msgspec.Struct):
    """`device.json`: seed and device id in hexadecimal."""

    seed: str
    device: str


def default_path(given: str | None) -> Path:
    """`--home`, else `LOTTISYNC_HOME`, else the platform's data directory."""
    if given := given or os.environ.get("LOTTISYNC_HOME"):
        return Path(given).expanduser().absolute()
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
        import shutil  # here: every command would load it, and the compressors with it

        from lottisync.config.stores import AGENT_STORE, LOCAL_TABLES
        from lottisync.identity.device_key import DeviceKey

        if (path / "device.json").exists():
            raise Problem("exists", f"{path} is a lottisync home already; it was left as it is")
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise Usage("exists", f"{path} exists and is not empty. Choose another folder with --home")
        building = path.with_name(path.name + ".new")
        home = Home(building)
        try:
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir(mode=0o700, parents=True)
            _write_key(building / "device.json", DeviceKey.from_seed(seed))
            for schema, extra in ((SPACE, SPACE_TABLES), (JOURNAL, ""), (AGENT_STORE, LOCAL_TABLES)):
                Store.create(building / f"{schema.name}.sqlite", schema, clock.new_host, extra).close()
            home.add_device(name, home.key.certificate, now)
            home.bind_hosts(now)
            home.close()
            building.rename(path)
        except BaseException as error:
            home.close()
            shutil.rmtree(building, ignore_errors=True)
            if isinstance(error, OSError):
                raise Problem("cannot-create", f"{path} cannot be made: {error.strerror or error}") from None
            raise
        return Home(path)

    def renew(self, name: str, seed: bytes, now: int) -> None:
        """Make a home that was copied a device of its own, called `name`: a new key, new hosts, and all that the copy
        holds (COPY-11). Whom the copied device trusts it trusts, and the copied device, too; to them it is unknown
        until it is paired with one of them. Killed before its end it is the copy, and can be renewed again. No
        other program may be at work with this home."""
        from lottisync.identity.device_key import DeviceKey
        from lottisync.identity.roster import MembershipRecord

        self.bind_hosts(now)  # what the copy wrote is the copied device's, and its key says so for the last time
        key, roster = DeviceKey.from_seed(seed), self.roster()
        records = [MembershipRecord.adding(key, certificate=key.certificate, name=name, at_ms=now)]
        records += [
            MembershipRecord.adding(
                key, certificate=each.certificate, name=each.name, at_ms=roster.next_at(each.device, now)
            )
            for each in roster.members.values()
            if each.status == "active"
        ]
        self._publish(records, now)
        fresh = self.path / "device.json.new"
        fresh.unlink(missing_ok=True)
        _write_key(fresh, key)
        fresh.replace(self.path / "device.json")
        del self.key
        for store in self.stores().values():
            with store.transaction(now, None) as tx:
                tx.new_host()
        self.bind_hosts(now)

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
        from lottisync.config.stores import AGENT_STORE

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
        from lottisync.identity.device_key import DeviceKey, IdentityError

        file = self.path / "device.json"
        try:
            held = msgspec.json.decode(file.read_bytes(), type=KeyFile)
            key = DeviceKey.from_seed(bytes.fromhex(held.seed))
            # Of 32 random bytes any 32 bytes are a good key: only the id shows that these are not ours.
            damaged = held.device != key.device_id
        except (msgspec.MsgspecError, ValueError, RecursionError, IdentityError):
            damaged = True
        except OSError as error:
            raise Problem("cannot-open", f"{file} cannot be read: {error.strerror or error}") from None
        if damaged:
            raise Problem("damaged", f"{file} is damaged. Restore it from a backup, or pair this device anew")
        return key

    def device_id(self) -> str:
        return self.key.device_id

    def roster(self) -> "Roster":
        """Who belongs to this person's devices, as far as this device knows."""
        from lottisync.device.membership import read_roster

        with self.space.reading() as reader:
            return read_roster(reader, self.key.certificate)

    def name(self) -> str:
        return self.roster().members[self.key.device_id].name

    def add_device(self, name: str, certificate: bytes, now: int) -> None:
        """Sign a device into the roster: this one at the beginning, another after pairing with it."""
        from lottisync.identity.device_key import device_id_of
        from lottisync.identity.roster import MembershipRecord

        at_ms = self.roster().next_at(device_id_of(certificate), now)
        record = MembershipRecord.adding(self.key, certificate=certificate, name=name, at_ms=at_ms)
        self._publish([record], now)

    def retire_device(self, device: str, now: int) -> None:
        """Say that nobody waits for a device any more. Raises `IdentityError` if no later record is possible."""
        from lottisync.identity.roster import MembershipRecord

        record = MembershipRecord.retiring(self.key, device=device, at_ms=self.roster().next_at(device, now))
        self._publish([record], now)

    def revoke_device(self, device: str, keep: Iterable[str], now: int) -> None:
        """Take a device out for good: lost, stolen, sold. `keep` are the ids of those that rest on it (`resting_on`)
        and stay: this device vouches for them now, in the same transaction (ROSTER-18). Raises `IdentityError`."""
        from lottisync.identity.roster import MembershipRecord

        roster = self.roster()
        records = [MembershipRecord.revoking(self.key, device=device, at_ms=roster.next_at(device, now))]
        for kept in keep:
            member, at_ms = roster.members[kept], roster.next_at(kept, now)
            records.append(
                MembershipRecord.adding(self.key, certificate=member.certificate, name=member.name, at_ms=at_ms)
            )
        self._publish(records, now)

    def rename_device(self, device: str, name: str, now: int) -> None:
        """Call a device something else. Raises `IdentityError` for what is no name."""
        from lottisync.identity.roster import MembershipRecord

        at_ms = self.roster().next_at(device, now)
        record = MembershipRecord.renaming(self.key, device=device, name=name, at_ms=at_ms)
        self._publish([record], now)

    def _publish(self, records: Iterable["MembershipRecord"], now: int) -> None:
        """Put signed statements about devices into the roster, all or none."""
        from lottisync.device.membership import put_membership

        with self.space.transaction(now, HIGH) as tx:
            for record in records:
                put_membership(tx, record)

    # -- forgetting

    def purge(self, now: int, min_age: int | None = None) -> dict[str, int]:
        """Forget what was deleted long ago (`min_age` in ms, else `forgetting.MIN_AGE`) and every active device has
        seen; how many, by store. A bounded number goes in one transaction, so that nobody waits long."""
        from lottisync.store import forgetting

        min_age = forgetting.MIN_AGE if min_age is None else min_age
        active = [member.device for member in self.roster().active_peers()]
        purged = dict.fromkeys(DELIVERY_ORDER, 0)
        for name, store in self.stores().items():
            gone = PURGED_AT_ONCE
            waited_for = forgetting.waited_for(name, self.stores(), active)
            while gone == PURGED_AT_ONCE:
                with store.transaction(now, None) as tx:
                    gone = forgetting.purge(tx, waited_for, min_age, PURGED_AT_ONCE)
                purged[name] += gone
        return purged

    def held_back(self, now: int, min_age: int | None = None) -> dict[str, int]:
        """How many deleted entities each active device holds back from being forgotten, by device id; only those
        that hold any back. `min_age` as for `purge`."""
        from lottisync.store import forgetting

        min_age = forgetting.MIN_AGE if min_age is None else min_age
        active = [member.device for member in self.roster().active_peers()]
        held: dict[str, int] = {}
        for name, store in self.stores().items():
            waited_for = forgetting.waited_for(name, self.stores(), active)
            with store.reading() as reader:
                for device, count in forgetting.holding_back(reader, waited_for, min_age, now).items():
                    held[device] = held.get(device, 0) + count
        return held

    def bind_hosts(self, now: int) -> None:
        from lottisync.device.membership import bind_hosts

        bind_hosts(self.stores(), self.key, now)


def _write_key(path: Path, key: "DeviceKey") -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(KeyFile(key.seed.hex(), key.device_id)))
        file.flush()
        os.fsync(file.fileno())
