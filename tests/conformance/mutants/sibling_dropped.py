"""Last writer wins: a join keeps the winner of each register only."""

from tests.conformance.mutants.planting import plant, run

from lottisync.entities import entity
from lottisync.entities.entity import Entity
from lottisync.entities.registers import Registers

original = entity.join


def join(a: Entity, b: Entity) -> Entity:
    joined = original(a, b)
    kept = {p: writes[:1] for p, writes in joined.registers.items()}
    return Entity(joined.id, joined.type, joined.clock, Registers.of(kept))


plant(original, join)
run()
