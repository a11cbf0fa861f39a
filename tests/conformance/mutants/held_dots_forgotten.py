"""What a cut round left behind is not named to the next sender: all of it is sent again."""

from tests.conformance.mutants.planting import plant, run

from lottisync.causality.vector_clock import Clock, Host
from lottisync.store import lookups
from lottisync.store.reader import Reader


def held_of(reader: Reader, known: Clock) -> list[tuple[Host, int, str]]:
    return []


plant(lookups.held_of, held_of)
run()
