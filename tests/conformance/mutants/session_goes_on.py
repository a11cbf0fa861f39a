"""What comes behind something that the stores have refused is taken all the same."""

from tests.conformance.mutants.planting import run

from lottisync.adapter.conversation import Conversation
from lottisync.protocol import message as m

original = Conversation._accepted


def accepted(self: Conversation, breath: list[m.AnyMessage]) -> bool:
    original(self, breath)
    return True


Conversation._accepted = accepted  # type: ignore[method-assign]
run()
