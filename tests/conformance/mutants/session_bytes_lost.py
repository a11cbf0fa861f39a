"""What was held of half a frame is lost when the rest of it comes."""

from tests.conformance.mutants.planting import run

from lottisync.protocol.framing import FrameBuffer


def feed(self: FrameBuffer, data: bytes) -> None:
    self._held = bytearray(data)


FrameBuffer.feed = feed  # type: ignore[method-assign]
run()
