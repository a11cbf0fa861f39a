"""One answer of a model as its events come in, whatever the dialect (`lottisync.agents.openai_client`).

It is a turn when its end has come and nothing before: what a stream that broke off has said is dropped, tool calls
included. That is said here, once, for the dialects that only differ in how they say it.
"""

from abc import ABC, abstractmethod

from lottisync.agents.model import TokenUsage, ToolCall, Turn


class Answer(ABC):
    """`failure` are the server's words if it gave up in the middle. `id_prefix` begins the ids of calls that came
    without one, unique in the conversation: tool messages refer to them."""

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
        """Take the next event of the stream; `msgspec.ValidationError` if it is none."""
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
