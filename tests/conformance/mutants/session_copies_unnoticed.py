"""Nobody looks whether two chains of one host are the same."""

from tests.conformance.mutants.planting import run

from lottisync.protocol import message as m
from lottisync.store.reader import Reader
from lottisync.sync.agreement import Agreement, _Search


def difference(self: Agreement, reader: Reader, theirs: m.Have) -> _Search | None:
    return None


Agreement._difference = difference  # type: ignore[method-assign]
run()
