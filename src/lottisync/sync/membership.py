"""The roster as it lies in the `space` store (docs/specs/06-identity-and-pairing.md).

`lottisync.identity.roster` knows what the records mean; here they are read from, and written to, the
replicated documents that carry them.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from lottisync.entities.entity import Entity
from lottisync.entities.path import nest
from lottisync.entities.space import HOST_BINDING, MEMBERSHIP
from lottisync.identity.device_key import DeviceKey, IdentityError
from lottisync.identity.roster import HostBinding, MembershipRecord, Roster, binding_id
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

R = TypeVar("R", MembershipRecord, HostBinding)


def read_roster(reader: Reader, own_certificate: bytes) -> Roster:
    """Who belongs to this person's devices, as far as this store knows. A record that cannot be read, or
    lies under an id that is not its own, counts as absent."""
    memberships = _records(reader.by_type(MEMBERSHIP), MembershipRecord.from_fields)
    bindings = _records(reader.by_type(HOST_BINDING), HostBinding.from_fields)
    return Roster.fold(own_certificate, memberships, bindings)


def _records(entities: Iterable[Entity], read: Callable[[dict[str, object]], R]) -> list[R]:
    records = []
    for entity in entities:
        try:
            record = read(nest(entity.document()))
        except IdentityError:
            continue
        if record.record_id == entity.id:
            records.append(record)
    return records


def put_membership(tx: Transaction, record: MembershipRecord) -> None:
    if tx.version(record.record_id) is None:
        tx.put(record.record_id, MEMBERSHIP, record.to_fields())


def bind_hosts(stores: dict[str, Store], key: DeviceKey, now: int) -> None:
    """Say in `space` which device the stores' present hosts belong to; peers refuse hosts of nobody."""
    hosts = {}
    for name, store in stores.items():
        with store.reading() as reader:
            hosts[name] = reader.host
    space = stores["space"]
    with space.reading() as reader:
        unbound = [(name, host) for name, host in hosts.items() if reader.version(binding_id(host)) is None]
    missing = [HostBinding.signed_by(key, host=host, store=name) for name, host in unbound]
    if missing:
        with space.transaction(now) as tx:
            for binding in missing:
                if tx.version(binding.record_id) is None:
                    tx.put(binding.record_id, HOST_BINDING, binding.to_fields())
