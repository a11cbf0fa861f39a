"""Rounds may be refused without end."""

from tests.conformance.mutants.planting import run

from lottisync.sync import rounds_in

rounds_in.MAX_REFUSALS = 10**9
run()
