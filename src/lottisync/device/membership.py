"""The roster as it lies in the `space` store (docs/specs/06-identity-and-pairing.md).

`lottisync.identity.roster` knows what the records mean; here they are read from, and written to, the
replicated documents that carry them.
"""

import re
from collections.abc import Callable, Container, Iterable, Mapping
from typing import TypeVar

from lottisync.causality.vector_clock import Host
from lottisync.device.space import HOST_BINDING, MEMBERSHIP
from lottisync.entities import canonical
from lottisync.entities.canonical import NotCanonical
from lottisync.entities.entity import HIGH
from lottisync.entities.path import nest
from lottisync.identity.device_key import DeviceKey, IdentityError, device_id_of, grouped
from lottisync.identity.device_name import MAX_NAME_CHARACTERS, likeness
from lottisync.identity.roster import Member, Roster
from lottisync.identity.statement import HostBinding, MembershipRecord, binding_id
from lottisync.problem import Problem, counted
from lottisync.shown import quoted
from lottisync.store import chain
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

R = TypeVar("R", MembershipRecord, HostBinding)
IN_USE = ("active", "retired")
LEAST_OF_AN_ID = 4
SHOWN_OF_AN_ID = 9


def read_roster(reader: Reader, own_certificate: bytes) -> Roster:
    """Who belongs to this person's devices, as far as this store knows. A record counts if its row or its second copy
    can be read (ROSTER-21). What cannot be read at all, or lies under an id that is not its own, counts as absent."""
    bindings = _records(reader, HOST_BINDING, HostBinding.from_fields)
    return Roster.fold(own_certificate, read_records(reader), bindings)


def read_records(reader: Reader) -> list[MembershipRecord]:
    """The signed statements themselves, true or not."""
    return _records(reader, MEMBERSHIP, MembershipRecord.from_fields)


def member_named(roster: Roster, name: str) -> Member:
    """The device that a person calls by name, or by the beginning of its id as it is printed: with dashes or without,
    in capitals or not, cut or whole. `Problem` if none or several fit."""
    ident = re.sub(r"[\s.…-]", "", name).lower()
    fitting = [
        member
        for member in roster.members.values()
        if member.name == name or (len(ident) >= LEAST_OF_AN_ID and member.device.startswith(ident))
    ]
    if len(in_use := [member for member in fitting if member.status in IN_USE]) == 1:
        return in_use[0]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise Problem("unknown-device", "no device is called {quoted}", hint="devices", quoted=quoted(name))
    known = ", ".join(f"{member.name} {grouped(member.device)[:SHOWN_OF_AN_ID]}" for member in fitting)
    raise Problem(
        "unknown-device",
        "{devices} are called {quoted}: {known}. Give the id of one",
        devices=counted("{count} device", "{count} devices", len(fitting)),
        quoted=quoted(name),
        known=known,
    )


def same_name(roster: Roster, name: str, but: Container[str] = ()) -> Member | None:
    """A device in use, other than those with the ids `but`, whose name a person would take for `name`."""
    return next(
        (
            member
            for member in roster.members.values()
            if member.device not in but and member.status in IN_USE and likeness(member.name) == likeness(name)
        ),
        None,
    )


def free_name(roster: Roster, name: str, but: Container[str] = ()) -> str:
    """`name`, or with the first number from 2 on that makes it a name which no device in use has."""
    numbered = (f"{name[: MAX_NAME_CHARACTERS - 4]} {number}" for number in range(2, len(roster.members) + 3))
    return next(each for each in (name, *numbered) if same_name(roster, each, but) is None)


def _records(reader: Reader, type_name: str, read: Callable[[dict[str, object]], R]) -> list[R]:
    """The records of a type, each once: a sound row and its second copy are the same bytes."""
    held = {(entity.id, entity.registers.stored) for entity in reader.by_type(type_name)}
    kept = reader.local("select cast(id as blob), cast(fields as blob) from statements where type = ?", (type_name,))
    records = []
    for ident, stored in sorted(held | {(raw.decode(errors="replace"), fields) for raw, fields in kept}):
        try:
            record = read(nest(canonical.decode_document(stored)))
        except (IdentityError, NotCanonical):
            continue
        if record.record_id == ident:
            records.append(record)
    return records


class Members:
    """The devices of a person, as one of them reads and changes their roster: each verb signs a statement and writes
    it down. All raise `IdentityError` for a statement that cannot be made."""

    def __init__(self, space: Store, key: DeviceKey) -> None:
        self._space, self._key = space, key

    def roster(self) -> Roster:
        """Who belongs to this person's devices, as far as this device knows."""
        with self._space.reading() as reader:
            return read_roster(reader, self._key.certificate)

    def add(self, name: str, certificate: bytes, now: int) -> None:
        """Take in a device: this one at the beginning, another one after pairing with it."""
        at_ms = self.roster().next_at(device_id_of(certificate), now)
        self.publish([MembershipRecord.adding(self._key, certificate=certificate, name=name, at_ms=at_ms)], now)

    def add_paired(self, name: str, certificate: bytes, now: int) -> tuple[str, str]:
        """Take in the device that was paired with, and see to it that no two devices are called alike (CLI-48): what it
        and this device are called then. Where the two have one name, the one with the greater id gets another; as both
        do this, they agree."""
        peer, me = device_id_of(certificate), self._key.device_id
        roster = self.roster()
        own_name = roster.members[me].name
        peer_name = free_name(roster, name, {peer} if me < peer else {peer, me})
        self.add(peer_name, certificate, now)
        free = free_name(self.roster(), own_name, {me})
        if free != own_name:
            self.rename(me, free, now)
        return peer_name, free

    def retire(self, device: str, now: int) -> None:
        """Say that the others no longer wait for a device."""
        at_ms = self.roster().next_at(device, now)
        self.publish([MembershipRecord.retiring(self._key, device=device, at_ms=at_ms)], now)

    def revoke(self, device: str, keep: Iterable[str], now: int) -> None:
        """Take a device out for good: lost, stolen, sold. `keep` are the ids of those that rest on it (`resting_on`)
        and stay: this device vouches for them now, in the same transaction (ROSTER-18)."""
        roster = self.roster()
        records = [MembershipRecord.revoking(self._key, device=device, at_ms=roster.next_at(device, now))]
        records += [self.vouching(roster, roster.members[kept], now) for kept in keep]
        self.publish(records, now)

    def rename(self, device: str, name: str, now: int) -> None:
        """Call a device something else."""
        at_ms = self.roster().next_at(device, now)
        self.publish([MembershipRecord.renaming(self._key, device=device, name=name, at_ms=at_ms)], now)

    def renew(self, key: DeviceKey, name: str, now: int) -> None:
        """Take in the device `key`, called `name`, on its own word. It vouches for every active device."""
        own = MembershipRecord.adding(key, certificate=key.certificate, name=name, at_ms=now)
        roster, renewed = self.roster(), Members(self._space, key)
        active = [member for member in roster.members.values() if member.status == "active"]
        self.publish([own, *(renewed.vouching(roster, member, now) for member in active)], now)

    def vouching(self, roster: Roster, member: Member, now: int) -> MembershipRecord:
        """This device's word that another one, which is known already, belongs to the person."""
        at_ms = roster.next_at(member.device, now)
        return MembershipRecord.adding(self._key, certificate=member.certificate, name=member.name, at_ms=at_ms)

    def publish(self, records: Iterable[MembershipRecord], now: int) -> None:
        """Write signed statements down, all or none."""
        with self._space.transaction(now, HIGH) as tx:
            for record in records:
                put_membership(tx, record)


class Strangers:
    """Finds hosts that belong to no device that ever was this person's: such a host is bad input (SYNC-9). A branch
    belongs to whom the host belonged from which it was cut. The roster is read again only for a host that is new."""

    def __init__(self, space: Store, own_certificate: bytes) -> None:
        self._space, self._certificate = space, own_certificate
        self._owned: frozenset[Host] = frozenset()

    def among(self, tx: Merge, hosts: Iterable[Host]) -> Host | None:
        """The first of these hosts that is a stranger's; `tx` is a transaction of the store that they write in."""
        roots = {host: chain.root(tx, host) for host in hosts if host not in self._owned}
        if roots:
            with self._space.reading() as reader:  # within a transaction of `space` that is the same one
                self._owned = frozenset(Host(host) for host in read_roster(reader, self._certificate).host_owner)
        return next((host for host, root in roots.items() if root not in self._owned), None)


class NoStrangers(Strangers):
    """For devices that nobody has paired, and that sign nothing: replicas of the conformance contract, which belong to
    one person."""

    def __init__(self) -> None:
        """Takes no roster."""

    def among(self, tx: Merge, hosts: Iterable[Host]) -> Host | None:
        return None


def put_membership(tx: Transaction, record: MembershipRecord) -> None:
    if tx.version(record.record_id) is None:
        tx.put(record.record_id, MEMBERSHIP, record.to_fields())


def come_back(space: Store, key: DeviceKey, now: int) -> bool:
    """A device that reads that it was retired is not away: it signs itself back in (ROSTER-20). False if it is not
    retired, or if the record says so until the end of time."""
    with space.reading() as reader:
        roster = read_roster(reader, key.certificate)
    own = roster.members[key.device_id]
    if own.status != "retired":
        return False
    try:
        at_ms = roster.next_at(key.device_id, now)
    except IdentityError:
        return False
    with space.transaction(now, HIGH) as tx:
        put_membership(tx, MembershipRecord.adding(key, certificate=key.certificate, name=own.name, at_ms=at_ms))
    return True


def tell_apart(space: Store, key: DeviceKey, now: int) -> str | None:
    """Devices that were paired with different ones may have one name, and learn of each other later. All but the one
    with the smallest id take another (CLI-48). Gives this device's new name, None if the present one is its own.

    A device changes only its own name, and only for one with a smaller id. So this ends, also when several
    do it at once."""
    members = Members(space, key)
    roster = members.roster()
    own = roster.members[key.device_id]
    later = {device for device in roster.members if device >= own.device}
    if own.status not in IN_USE or same_name(roster, own.name, later) is None:
        return None
    name = free_name(roster, _without_number(own.name, len(roster.members)), {own.device})
    try:
        members.rename(own.device, name, now)
    except IdentityError:  # the present name is said to be valid until the end of time
        return None
    return name


def _without_number(name: str, limit: int) -> str:
    """The name without a number that `free_name` has added."""
    base, _, number = name.rpartition(" ")
    return base if base and number.isdecimal() and 2 <= int(number) <= limit + 1 else name


def bind_hosts(stores: Mapping[str, Store], key: DeviceKey, now: int) -> None:
    """Say in `space` which device the stores' present hosts belong to; peers refuse hosts that belong to no device."""
    hosts = {}
    for store in stores.values():
        store.settle(now)
    for name, store in stores.items():
        with store.reading() as reader:
            hosts[name] = reader.host
    space = stores["space"]
    with space.reading() as reader:
        unbound = [(name, host) for name, host in hosts.items() if reader.version(binding_id(host)) is None]
    missing = [HostBinding.signed_by(key, host=host, store=name) for name, host in unbound]
    if missing:
        with space.transaction(now, HIGH) as tx:
            for binding in missing:
                if tx.version(binding.record_id) is None:
                    tx.put(binding.record_id, HOST_BINDING, binding.to_fields())
