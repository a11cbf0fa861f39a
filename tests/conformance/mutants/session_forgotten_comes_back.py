"""A round is taken from one who has not seen what was forgotten here."""

from tests.conformance.mutants.planting import run

from lottisync.causality.vector_clock import Clock
from lottisync.sync.incoming import Incoming


def has_seen(self: Incoming, forgotten: Clock) -> bool:
    return True


Incoming._has_seen_what_is_forgotten = has_seen  # type: ignore[method-assign]
run()
