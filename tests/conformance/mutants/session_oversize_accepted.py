"""A frame may be as large as its length says."""

from tests.conformance.mutants.planting import run

from lottisync.protocol.framing import FrameBuffer

original = FrameBuffer.next_body


def next_body(self: FrameBuffer) -> bytes | None:
    self.limit = 2**32
    return original(self)


FrameBuffer.next_body = next_body  # type: ignore[method-assign]
run()
