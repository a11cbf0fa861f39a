"""One wrong clock carries everybody along."""

from tests.conformance.mutants.planting import plant, run

from lottisync.causality import hlc
from lottisync.causality.hlc import Hlc


def observe(last: Hlc, remote: Hlc, now: int) -> Hlc:
    return max(last, remote)


plant(hlc.observe, observe)
run()
