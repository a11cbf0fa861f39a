"""The port to a language model: a conversation and some tools go in, one turn comes out.

An agent asks a model one thing: given the conversation so far, and the tools that it may call, what is the next turn?
`Model` is that question. It keeps no state between calls: the conversation belongs to the agent, which stores every
turn before it acts on it. So a killed wake goes on from its own record, and needs no id on a server.

The answer is not trusted. A `Turn` holds the model's texts as they arrived. The arguments of a tool call are text;
the toolbox decides whether they are JSON, fit a schema, and name existing entities. A `Turn` promises only that it is
*whole*: an answer that was cut off is a `ModelError`, because half of a list of changes looks like a shorter list.
"""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec

from lottisync.problem import Problem

Api = Literal["chat", "responses"]
"""The two protocols that servers of models speak."""

ModelErrorCode = Literal[
    "model-not-configured",  # nobody said which model to use
    "model-unreachable",  # no connection to the server
    "model-timed-out",  # connected, then silence, or longer than the whole call may take
    "model-unauthorized",  # the key is missing, wrong, or not allowed to do this
    "model-rate-limited",  # too many requests, or nothing left on the account
    "model-rejected",  # the server understood the request and will not have it: model name, size, parameter
    "model-truncated",  # the connection ended before the answer did
    "model-output-limit",  # the model itself stopped in the middle, at the length it is allowed
    "model-malformed",  # what came back is not the protocol
    "model-refused",  # the model, or a filter before it, declined to answer
    "model-server-error",  # the server failed
]


class ModelError(Problem):
    """No turn could be had; the sentence says what to do.

    The message never holds a key, and `str()` of the error is that message. Adapters raise it with no exception
    chained to it, since a chained one may hold the request and, in its headers, the key.
    """

    code: ModelErrorCode

    def __init__(self, code: ModelErrorCode, template: str, *, hint: str = "", **arguments: object) -> None:
        super().__init__(code, template, hint=hint, **arguments)


class ToolCall(msgspec.Struct, frozen=True):
    """One call the model asks for. `arguments` is the text as it came, not checked to be JSON."""

    id: str
    name: str
    arguments: str


class TokenUsage(msgspec.Struct, frozen=True):
    """The tokens of one turn, as the server counted them."""

    prompt_tokens: int
    completion_tokens: int


class Turn(msgspec.Struct, frozen=True):
    """One whole answer.

    `finish_reason` is the server's word ("stop", "tool_calls", ...) and only informs: some servers say "stop" with
    tool calls. `usage` is None where the server does not count.
    """

    text: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str
    usage: TokenUsage | None


class SystemMessage(msgspec.Struct, frozen=True, tag="system"):
    text: str


class UserMessage(msgspec.Struct, frozen=True, tag="user"):
    text: str


class AssistantMessage(msgspec.Struct, frozen=True, tag="assistant"):
    """What the model said in an earlier turn, with the calls it asked for, each answered by a `ToolMessage`."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()


class ToolMessage(msgspec.Struct, frozen=True, tag="tool"):
    """The answer to the call of that id."""

    tool_call_id: str
    text: str


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


class ToolSchema(msgspec.Struct, frozen=True):
    """A tool, as it is described to the model. `parameters` is a JSON Schema of type "object"."""

    name: str
    description: str
    parameters: dict[str, Any]


class ModelRequest(msgspec.Struct, frozen=True):
    """What is sent to ask for a turn: the server's address as messages may show it, and the body. No key is in it."""

    address: str
    body: bytes


class Model(Protocol):
    """Asks a model for its next turn."""

    def request(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> ModelRequest:
        """What `complete` sends for these arguments, byte for byte. Sends nothing.

        Raises `ModelError` or `Problem` if no model is configured."""
        ...

    async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Turn:
        """Return the model's answer to `messages`, in which it may call any of `tools`.

        Raises `ModelError` when no whole answer came. Cancelling the call ends it and leaves no connection open.
        """
        ...
