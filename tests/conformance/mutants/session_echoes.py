"""What a peer has brought is sent back to it."""

from collections.abc import Iterable

from tests.conformance.mutants.planting import run

from lottisync.causality.vector_clock import Clock
from lottisync.sync.agreement import RemoteState
from lottisync.sync.local_state import HeldDot


def learns(self: RemoteState, knowledge: Clock, held: Iterable[HeldDot] = ()) -> None:
    pass


RemoteState.learns = learns  # type: ignore[method-assign]
run()
