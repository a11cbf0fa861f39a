"""Chat Completions: the dialect that every server of this kind understands (`lottisync.agents.openai_client`).

*Servers split tool calls differently.* By the specification, the first piece of a call has index, id and name, and the
following ones have the index and a part of the arguments. Ollama gives every call of a turn index 0
(ollama/ollama#15457), older versions leave the index out, and some servers give every piece a new id. So `Answer`
has this rule: a piece starts a call if it has a name, and an id that the call at its index does not have.
"""

from collections.abc import Sequence
from typing import assert_never

import msgspec

from lottisync.agents import answer
from lottisync.agents.model import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSchema,
    UserMessage,
)

PATH = "/chat/completions"


class _FunctionPiece(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _CallPiece(msgspec.Struct):
    index: int | None = None
    id: str | None = None
    function: _FunctionPiece | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_CallPiece] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Count(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Chunk(msgspec.Struct):
    """One event of the stream, as far as we read it; the last one may have no choice and only count tokens."""

    choices: list[_Choice] | None = None
    usage: _Count | None = None


class _Call:
    def __init__(self, call_id: str, name: str) -> None:
        self.id = call_id
        self.name = name
        self.pieces: list[str] = []


class Answer(answer.StreamedAnswer):
    """Whole when its finish reason is there."""

    def __init__(self, *, id_prefix: str) -> None:
        super().__init__(id_prefix=id_prefix)
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._asked: list[_Call] = []
        self._call_at: dict[int | None, _Call] = {}

    @property
    def refusal(self) -> str:
        return "".join(self._refusal)

    def _take(self, event: object) -> None:
        chunk = msgspec.convert(event, _Chunk)
        if chunk.usage is not None:
            self._count(chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
        for choice in chunk.choices or ():
            if choice.delta is not None:
                self._text.append(choice.delta.content or "")
                self._refusal.append(choice.delta.refusal or "")
                for piece in choice.delta.tool_calls or ():
                    self._add_call_piece(piece)
            if choice.finish_reason:
                self._finish_reason = choice.finish_reason

    def _add_call_piece(self, piece: _CallPiece) -> None:
        name = piece.function.name if piece.function is not None else None
        call = self._call_at.get(piece.index)
        if call is None or (name and piece.id and piece.id != call.id):
            call = _Call(piece.id or f"{self._id_prefix}-{len(self._asked)}", name or "")
            self._asked.append(call)
            self._call_at[piece.index] = call
        if piece.function is not None:
            call.pieces.append(piece.function.arguments or "")

    def _words(self) -> str:
        return "".join(self._text)

    def _calls(self) -> tuple[ToolCall, ...]:
        return tuple(ToolCall(call.id, call.name, "".join(call.pieces)) for call in self._asked)


def request(model: str, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> dict[str, object]:
    """The body of one request. It sets no temperature, because reasoning models refuse one. It sets no token limit,
    because that has two names, and for each of them some server does not know it."""
    body: dict[str, object] = {
        "model": model,
        "messages": [_wire_message(message) for message in messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if tools:  # OpenAI rejects an empty list
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in tools
        ]
    return body


def _wire_message(message: Message) -> dict[str, object]:
    match message:
        case SystemMessage(text):
            return {"role": "system", "content": text}
        case UserMessage(text):
            return {"role": "user", "content": text}
        case AssistantMessage(text, ()):
            return {"role": "assistant", "content": text}
        case AssistantMessage(text, tool_calls):
            return {
                "role": "assistant",
                "content": text or None,
                "tool_calls": [
                    {
                        "id": call.id,
                        "type": "function",
                        "function": {"name": call.name, "arguments": wire_arguments(call.arguments)},
                    }
                    for call in tool_calls
                ],
            }
        case ToolMessage(tool_call_id, text):
            return {"role": "tool", "tool_call_id": tool_call_id, "content": text}
    assert_never(message)


def wire_arguments(arguments: str) -> str:
    """An earlier call's arguments as the server gets them back.

    Servers that render the conversation through a template parse these, and fail the whole request over one that
    is not a JSON object. The model learns what was wrong from the tool message that answers the call.
    """
    try:
        msgspec.json.decode(arguments, type=dict[str, object])
    except msgspec.DecodeError:
        return "{}"
    return arguments
