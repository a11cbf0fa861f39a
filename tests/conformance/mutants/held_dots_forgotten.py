"""What a cut round left behind is not named to the next sender: all of it is sent again."""

from tests.conformance.mutants.planting import run

from lottisync.causality.vector_clock import Host
from lottisync.store.reader import Reader


def held_beyond(self: Reader) -> list[tuple[Host, int, str]]:
    return []


Reader.held_beyond = held_beyond  # type: ignore[method-assign]
run()
