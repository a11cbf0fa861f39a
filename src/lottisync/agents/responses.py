"""Responses: the dialect of OpenAI itself (`lottisync.agents.openai_client`).

We use two kinds of events of the stream: every completed item of the answer, and the last event, which says how the
answer ended. Before the last event there is no answer, as with the other dialect.

The model's hidden reasoning is not sent back in later turns. It could be sent in encrypted form. But then our record
would hold text that nobody can read, and another model could not continue a wake.
"""

from collections.abc import Sequence
from typing import assert_never

import msgspec

from lottisync.agents import answer
from lottisync.agents.chat_completions import wire_arguments
from lottisync.agents.model import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSchema,
    UserMessage,
)

PATH = "/responses"


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    """A part of the answer: a message, a call, or something that we pass over (reasoning)."""

    type: str = ""
    content: list[_Part] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class _Count(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Error(msgspec.Struct):
    message: str | None = None


class _Details(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    output: list[_Item] | None = None
    usage: _Count | None = None
    error: _Error | None = None
    incomplete_details: _Details | None = None


class _Event(msgspec.Struct):
    type: str
    item: _Item | None = None
    response: _Response | None = None
    message: str | None = None


_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""Why an answer is incomplete, in the words of the other dialect."""


class Answer(answer.StreamedAnswer):
    """Whole when `response.completed` or `response.incomplete` is there."""

    def __init__(self, *, id_prefix: str) -> None:
        super().__init__(id_prefix=id_prefix)
        self._items: list[_Item] = []

    @property
    def refusal(self) -> str:
        return "".join(part.refusal or "" for part in self._parts())

    def _take(self, event: object) -> None:
        received = msgspec.convert(event, _Event)
        match received.type:
            case "response.output_item.done" if received.item is not None:
                self._items.append(received.item)
            case "response.completed" if received.response is not None:
                self._end(received.response, "stop")
                if self._calls():
                    self._finish_reason = "tool_calls"
            case "response.incomplete" if received.response is not None:
                reason = received.response.incomplete_details and received.response.incomplete_details.reason
                self._end(received.response, _REASONS.get(reason or "", "length"))
            case "response.failed" if received.response is not None:
                error = received.response.error
                self.failure = (error and error.message) or "no reason given"
            case "error":
                self.failure = received.message or "no reason given"

    def _end(self, response: _Response, finish_reason: str) -> None:
        # Some servers tell the items in the end only.
        self._items = self._items or response.output or []
        if response.usage is not None:
            self._count(response.usage.input_tokens, response.usage.output_tokens)
        self._finish_reason = finish_reason

    def _parts(self) -> list[_Part]:
        return [part for item in self._items if item.type == "message" for part in item.content or ()]

    def _words(self) -> str:
        return "".join(part.text or "" for part in self._parts())

    def _calls(self) -> tuple[ToolCall, ...]:
        asked = [item for item in self._items if item.type == "function_call"]
        return tuple(
            ToolCall(item.call_id or f"{self._id_prefix}-{index}", item.name or "", item.arguments or "")
            for index, item in enumerate(asked)
        )


def request(model: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> dict[str, object]:
    """The body of one request. Nothing of it is kept at the server."""
    body: dict[str, object] = {
        "model": model,
        "input": [item for message in messages for item in _wire_items(message)],
        "stream": True,
        "store": False,
    }
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                # Strict schemas have no optional arguments; ours do, and are validated here.
                "strict": False,
            }
            for tool in tools
        ]
    return body


def _wire_items(message: Message) -> list[dict[str, object]]:
    match message:
        case SystemMessage(text):
            return [{"role": "system", "content": text}]
        case UserMessage(text):
            return [{"role": "user", "content": text}]
        case AssistantMessage(text, tool_calls):
            said: list[dict[str, object]] = [{"role": "assistant", "content": text}] if text else []
            return said + [
                {
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": wire_arguments(call.arguments),
                }
                for call in tool_calls
            ]
        case ToolMessage(tool_call_id, text):
            return [{"type": "function_call_output", "call_id": tool_call_id, "output": text}]
    assert_never(message)
