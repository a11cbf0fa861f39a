"""A join that lets the greater clock win whole, and the first of two concurrent versions."""

from tests.conformance.mutants.planting import plant, run

from lottisync.causality.vector_clock import covers, merge
from lottisync.entities import entity
from lottisync.entities.entity import Entity


def join(a: Entity, b: Entity) -> Entity:
    winner = b if covers(b.clock, a.clock) else a
    return Entity(a.id, a.type, merge(a.clock, b.clock), winner.registers)


plant(entity.join, join)
run()
