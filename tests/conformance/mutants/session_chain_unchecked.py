"""Versions are taken whose writes lie beyond every chain that came."""

from collections.abc import Iterable

from tests.conformance.mutants.planting import run

from lottisync.causality.vector_clock import Clock
from lottisync.store.transaction import Transaction
from lottisync.sync.incoming import Incoming


def refuse_unchained(self: Incoming, tx: Transaction, clocks: Iterable[tuple[str, Clock]]) -> None:
    pass


Incoming._refuse_unchained = refuse_unchained  # type: ignore[method-assign]
run()
