"""A decision may arrive before its effect."""

from tests.conformance.mutants.planting import run

from lottisync.sync.parties import Parties

Parties.shared_in_order = lambda self: list(self.stores)[::-1]  # type: ignore[method-assign]
run()
