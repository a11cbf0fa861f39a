"""Whether two chains of one host are the same is not checked."""

from collections.abc import Mapping

from tests.conformance.mutants.planting import run

from lottisync.causality.vector_clock import Host
from lottisync.protocol import message as m
from lottisync.store.chain import HostLog
from lottisync.store.reader import Reader
from lottisync.sync.agreement import Agreement, _Search


def difference(self: Agreement, reader: Reader, logs: Mapping[Host, HostLog], theirs: m.Have) -> _Search | None:
    return None


Agreement._difference = difference  # type: ignore[method-assign]
run()
