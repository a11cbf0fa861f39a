"""What comes behind something that the stores have refused is taken all the same."""

from tests.conformance.mutants.planting import run

from lottisync.sync.conversation import Conversation

Conversation.waiting = property(lambda self: bool(self.pending or self._met))  # type: ignore[assignment, method-assign]
run()
