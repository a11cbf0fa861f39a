"""What a peer has brought is sent back to it."""

from collections.abc import Iterable

from tests.conformance.mutants.planting import run

from lottisync.causality.vector_clock import Clock
from lottisync.sync.agreement import Believed
from lottisync.sync.inventory import HeldDot


def learns(self: Believed, knowledge: Clock, held: Iterable[HeldDot] = ()) -> None:
    pass


Believed.learns = learns  # type: ignore[method-assign]
run()
