"""One small message that no device reads: it shows what this device may do at a relay (`relay doctor`)."""

from nats.js import JetStreamContext

from lottisync.relay import stream


class Trial:
    """A message that is put there, read, and deleted again. Each step raises the error of the server."""

    def __init__(self, context: JetStreamContext, stream_name: str, subject: str) -> None:
        self._context, self._stream, self._subject = context, stream_name, subject
        self._sequence = 0

    async def put(self) -> None:
        self._sequence = (await self._context.publish(self._subject, b"lottisync", stream=self._stream)).seq

    async def stored_at(self) -> float:
        """When the server has stored it, by its clock (seconds since 1970)."""
        found = await self._context.get_msg(self._stream, subject=self._subject, direct=True)
        return found.time.timestamp() if found.time is not None else 0.0

    async def delete(self) -> None:
        await stream.delete(self._context, self._stream, self._sequence)
