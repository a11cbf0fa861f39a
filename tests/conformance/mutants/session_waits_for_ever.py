"""A peer may be silent as long as it likes."""

from tests.conformance.mutants.planting import run

from lottisync.protocol import session

session.DEAD_SECONDS = 10**9
run()
