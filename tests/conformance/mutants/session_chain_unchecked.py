"""Versions are taken whose writes lie beyond every chain that came."""

from collections.abc import Iterable

from tests.conformance.mutants.planting import run

from lottisync.causality.vector_clock import Clock
from lottisync.sync import incoming


def refuse_unchained(ends: Clock, clocks: Iterable[tuple[str, Clock]]) -> None:
    pass


incoming.refuse_unchained = refuse_unchained
run()
