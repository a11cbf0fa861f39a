"""A decision may arrive before its effect."""

from tests.conformance.mutants.planting import run

from lottisync.sync import exchange

exchange.DELIVERY_ORDER = ("agent", "journal", "space")
run()
