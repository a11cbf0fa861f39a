"""Answers are said although the peer has closed the session."""

from tests.conformance.mutants.planting import run

from lottisync.protocol.session import Session

Session.open = property(lambda self: True)  # type: ignore[assignment, method-assign]
run()
