"""Knowledge is taken over whatever it claims."""

from tests.conformance.mutants.planting import run

from lottisync.store.merge import Merge
from lottisync.sync.incoming import Incoming


def refuse_unfounded(self: Incoming, tx: Merge) -> None:
    pass


Incoming._refuse_unfounded = refuse_unfounded  # type: ignore[method-assign]
run()
