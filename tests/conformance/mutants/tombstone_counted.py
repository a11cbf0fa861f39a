"""Tombstones stand in the digest, so that a purge would change it."""

from tests.conformance.mutants.planting import plant, run

from lottisync.entities import version
from lottisync.entities.entity import Entity


def adds_to_digest(_: Entity) -> bool:
    return True


plant(version.adds_to_digest, adds_to_digest)
run()
