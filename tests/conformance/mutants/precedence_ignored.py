"""Latest first, no matter who wrote it."""

from collections.abc import Iterable

from tests.conformance.mutants.planting import plant, run

from lottisync.entities import registers
from lottisync.entities.registers import Write


def ordered(writes: Iterable[Write]) -> tuple[Write, ...]:
    return tuple(sorted(set(writes), key=lambda write: (write.stamp[1:], write.value), reverse=True))


plant(registers.ordered, ordered)
run()
