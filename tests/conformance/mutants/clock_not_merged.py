"""A join that keeps its own clock: what it took in is taken in again, and overwritten writes come back."""

from tests.conformance.mutants.planting import plant, run

from lottisync.entities import entity
from lottisync.entities.entity import Entity

original = entity.join


def join(a: Entity, b: Entity) -> Entity:
    joined = original(a, b)
    held = {w.stamp.host: w.stamp.counter for writes in joined.registers.values() for w in writes}
    return Entity(joined.id, joined.type, {**held, **a.clock}, joined.registers)


plant(original, join)
run()
