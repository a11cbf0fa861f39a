"""Entities in the JSON form of the conformance contract, and back.

The contract's form spells every write out; ours is compact. Whatever does not fit the contract is a
`BadRequest` that says where.
"""

from typing import Any

import msgspec

from lottisync.causality.hlc import Hlc
from lottisync.causality.vector_clock import Host
from lottisync.entities import canonical, version
from lottisync.entities.entity import Entity
from lottisync.entities.registers import Registers, Stamp, Write, ordered


class BadRequest(ValueError):
    """A request that the contract does not allow."""


class WireWrite(msgspec.Struct, forbid_unknown_fields=True):
    value: Any
    precedence: int
    hlc: tuple[int, int]
    host: Host
    counter: int


class WireEntity(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    type: str
    clock: dict[Host, int]
    registers: dict[str, list[WireWrite]]


def read(raw: Any) -> Entity:
    """The entity of a request; refuses what no replica could hold, by the rules for what peers send."""
    try:
        wire = msgspec.convert(raw, WireEntity)
        entity = Entity(
            wire.id,
            wire.type,
            {host: counter for host, counter in wire.clock.items() if counter},
            Registers.of({p: ordered(map(_write, writes)) for p, writes in wire.registers.items() if writes}),
        )
        if not entity.registers:
            raise BadRequest(f"entity {entity.id[:80]!r} has no register")
        return version.open_foreign(version.close(entity))
    except (msgspec.ValidationError, ValueError) as error:
        raise BadRequest(str(error)) from None


def _write(wire: WireWrite) -> Write:
    return Write(Stamp(wire.precedence, *wire.hlc, wire.host, wire.counter), canonical.encode(wire.value))


def written(entity: Entity) -> dict[str, Any]:
    """An entity in the contract's form: hosts and paths sorted, winners first."""
    return {
        "id": entity.id,
        "type": entity.type,
        "clock": dict(sorted(entity.clock.items())),
        "registers": {
            p: [
                {
                    "value": canonical.decode(write.value),
                    "precedence": write.stamp.precedence,
                    "hlc": [write.stamp.millis, write.stamp.ticks],
                    "host": write.stamp.host,
                    "counter": write.stamp.counter,
                }
                for write in writes
            ]
            for p, writes in sorted(entity.registers.items())
        },
    }


def digest(entity: Entity) -> str:
    """What the entity adds to a store's digest, as 64 hexadecimal digits: zeros for a clean tombstone."""
    return version.close(entity).hash().hex() if version.adds_to_digest(entity) else "0" * 64


def hlc(raw: Any) -> Hlc:
    try:
        return Hlc(*msgspec.convert(raw, tuple[int, int]))
    except msgspec.ValidationError as error:
        raise BadRequest(f"an hlc is [milliseconds, counter]: {error}") from None
