"""What a cut round left behind is not named to the next sender: all of it is sent again."""

from tests.conformance.mutants.planting import run

from lottisync.causality.vector_clock import Clock, Host
from lottisync.store.reader import Reader


def held_of(self: Reader, known: Clock) -> list[tuple[Host, int, str]]:
    return []


Reader.held_of = held_of  # type: ignore[method-assign]
run()
