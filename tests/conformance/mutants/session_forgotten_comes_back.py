"""A round is taken from one who has not seen what was forgotten here."""

from tests.conformance.mutants.planting import run

from lottisync.store.reader import Reader
from lottisync.sync.incoming import Incoming


def has_seen(self: Incoming, tx: Reader) -> bool:
    return True


Incoming._has_seen_what_is_forgotten = has_seen  # type: ignore[method-assign]
run()
