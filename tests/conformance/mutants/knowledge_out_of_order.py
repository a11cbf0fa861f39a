"""The frame that ends a round completes it, whatever is still on its way."""

from tests.conformance.mutants.planting import run

from lottisync.adapter.round import Round
from lottisync.protocol import message as m

original = Round.deliver


def deliver(self: Round, number: int) -> None:
    original(self, number)
    end = m.decode(self._frames[number])[-1]
    if isinstance(end, m.End) and not self.complete:
        self._take(end)


Round.deliver = deliver  # type: ignore[method-assign]
run()
