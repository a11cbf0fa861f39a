"""Knowledge is taken over with every frame, and not with the last one."""

from tests.conformance.mutants.planting import run

from lottisync.adapter.round import Round
from lottisync.entities.entity import HIGH

original = Round.deliver


def deliver(self: Round, number: int) -> None:
    original(self, number)
    with self.target.store(self.store_name).transaction(self.now, HIGH) as tx:
        tx.adopt(self._incoming.begin.knowledge)


Round.deliver = deliver  # type: ignore[method-assign]
run()
