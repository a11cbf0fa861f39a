"""The clock of a new write is the wall clock, even where that was set back."""

from tests.conformance.mutants.planting import plant, run

from lottisync.causality import hlc
from lottisync.causality.hlc import Hlc


def tick(_: Hlc, now: int) -> Hlc:
    return Hlc(now, 0)


plant(hlc.tick, tick)
run()
