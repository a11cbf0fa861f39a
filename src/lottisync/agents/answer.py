"""One answer of a model while its events arrive, for every dialect (`lottisync.agents.openai_client`).

It becomes a turn when its end has arrived, and not before. If the stream breaks off, everything is dropped, also tool
calls. The dialects differ only in how they write this.
"""

from abc import ABC, abstractmethod

from lottisync.agents.model import TokenUsage, ToolCall, Turn


class StreamedAnswer(ABC):
    """`failure` is the server's error text if it gave up in the middle. `id_prefix` begins the ids of calls that came
    without one. They are unique in the conversation, because tool messages refer to them."""

    def __init__(self, *, id_prefix: str) -> None:
        self._id_prefix = id_prefix
        self._finish_reason: str | None = None
        self._usage: TokenUsage | None = None
        self.has_begun = False
        self.failure: str | None = None

    @property
    def is_whole(self) -> bool:
        return self._finish_reason is not None

    def add(self, event: object) -> None:
        """Add the next event of the stream; `msgspec.ValidationError` if it is not an event."""
        self._take(event)
        self.has_begun = True

    def turn(self) -> Turn:
        assert self._finish_reason is not None, "only a whole answer is a turn"
        return Turn(self._words(), self._calls(), self._finish_reason, self._usage)

    def _count(self, read: int | None, written: int | None) -> None:
        """What the server counted, if it did."""
        if read is not None:
            self._usage = TokenUsage(read, written or 0)

    @property
    @abstractmethod
    def refusal(self) -> str:
        """Why the model would not answer, in its words; '' if it did."""

    @abstractmethod
    def _take(self, event: object) -> None: ...

    @abstractmethod
    def _words(self) -> str: ...

    @abstractmethod
    def _calls(self) -> tuple[ToolCall, ...]: ...
