"""What is large may come without credit."""

from tests.conformance.mutants.planting import run

from lottisync.problem import Sentence
from lottisync.protocol import message as m
from lottisync.protocol.session import _Direction

original = _Direction.step


def step(self: _Direction, message: m.Message) -> Sentence | None:
    self.credit = max(self.credit, 1)
    return original(self, message)


_Direction.step = step  # type: ignore[method-assign]
run()
