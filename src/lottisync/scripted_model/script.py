"""What a script of the model sees, and what it may say (`lottisync.scripted_model.server` sends it).

A script is a function from `ChatRequest` to `Reply`. Besides saying something, a reply can be one of the ways in which
models and their servers fail; each is a class.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec


class ChatRequest(msgspec.Struct, frozen=True):
    """One request as the script sees it. `number` counts from 1; `body` is the JSON as it was sent."""

    number: int
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation so far, oldest first, in wire form."""
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages

    @property
    def tools(self) -> list[str]:
        """The names of the tools that may be called."""
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]

    def texts(self, role: str) -> list[str]:
        """What was said in that role ("system", "user", "assistant", "tool"), oldest first."""
        return [text_of(message) for message in self.messages if message["role"] == role]

    @property
    def turn(self) -> int:
        """Which answer of this conversation is asked for, from 1."""
        return 1 + len(self.texts("assistant"))

    @property
    def tool_results(self) -> list[str]:
        """The answers to the calls of the last turn, in order; empty at the start of a conversation."""
        results: list[str] = []
        for message in reversed(self.messages):
            if message["role"] != "tool":
                break
            results.append(text_of(message))
        return results[::-1]


class Say(msgspec.Struct, frozen=True):
    """A whole answer: words, tool calls (name, arguments), or both.

    `counts_tokens` False leaves the token count out even when it was asked for, as some servers do.
    """

    text: str = ""
    tool_calls: Sequence[tuple[str, dict[str, Any]]] = ()
    finish_reason: str | None = None
    counts_tokens: bool = True


class RawArguments(msgspec.Struct, frozen=True):
    """A whole answer with one tool call, whose arguments are this text, JSON or not."""

    name: str
    arguments: str


class Truncated(msgspec.Struct, frozen=True):
    """The first `events` events of an answer, then a clean end: no finish reason, no [DONE], no error."""

    answer: Say
    events: int


class Dropped(msgspec.Struct, frozen=True):
    """The first `events` events of an answer, then the connection breaks."""

    answer: Say
    events: int


class Stall(msgspec.Struct, frozen=True):
    """The first `events` events of an answer, then silence until the client goes away or the server closes.

    With 0 events not even the status and the headers of the response are sent.
    """

    answer: Say = Say()
    events: int = 0


class RawEvents(msgspec.Struct, frozen=True):
    """These events, word for word, as a stream: for what only some servers do."""

    events: Sequence[str]


class RateLimited(msgspec.Struct, frozen=True):
    """HTTP 429. `retry_after` is in seconds; None sends no Retry-After."""

    retry_after: float | None = None
    code: str = "rate_limit_exceeded"


class ServerError(msgspec.Struct, frozen=True):
    """An HTTP error of that status, with that message. `may_retry` False asks the client not to try again."""

    status: int = 500
    message: str = "The server had an error while processing your request."
    may_retry: bool = True


Reply = Say | RawArguments | Truncated | Dropped | Stall | RawEvents | RateLimited | ServerError
Script = Callable[[ChatRequest], Reply]


def text_of(message: dict[str, Any]) -> str:
    """What a message says; `content` is text or a list of parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""
