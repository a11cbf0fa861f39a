"""Counters that start at 0: merging leaves a host's first write out."""

from tests.conformance.mutants.planting import plant, run

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Clock

original = vector_clock.merge


def merge(a: Clock, b: Clock) -> Clock:
    return {host: counter for host, counter in original(a, b).items() if counter > 1}


plant(original, merge)
run()
