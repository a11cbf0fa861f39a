"""A store that keeps only the fields that its version of the program has heard of."""

from tests.conformance.mutants.planting import plant, run

from lottisync.entities import version
from lottisync.entities.entity import Entity
from lottisync.entities.registers import Registers
from lottisync.entities.version import Version

original = version.open_foreign
KNOWN = ("title", "due", "priority", "estimate", "labels", "deletedAt", "displayName", "value")


def open_foreign(received: Version) -> Entity:
    entity = original(received)
    known = {path: writes for path, writes in entity.registers.items() if path.partition("/")[0] in KNOWN}
    return Entity(entity.id, entity.type, entity.clock, Registers.of(known) if known else entity.registers)


plant(original, open_foreign)
run()
