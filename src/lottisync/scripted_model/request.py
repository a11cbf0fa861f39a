"""Which requests OpenAI would reject: as much of their shape as a client can plausibly get wrong."""

from typing import Annotated, Any, Literal

import msgspec


class _Function(msgspec.Struct):
    name: str
    arguments: str


class _CallEntry(msgspec.Struct):
    id: str
    type: Literal["function"]
    function: _Function


_Content = str | list[dict[str, Any]]


class _SystemEntry(msgspec.Struct, tag_field="role", tag="system"):
    content: _Content


class _DeveloperEntry(msgspec.Struct, tag_field="role", tag="developer"):
    content: _Content


class _UserEntry(msgspec.Struct, tag_field="role", tag="user"):
    content: _Content


class _AssistantEntry(msgspec.Struct, tag_field="role", tag="assistant"):
    content: _Content | None = None
    tool_calls: Annotated[list[_CallEntry], msgspec.Meta(min_length=1)] | None = None


class _ToolEntry(msgspec.Struct, tag_field="role", tag="tool"):
    tool_call_id: str
    content: _Content


class _Signature(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(pattern="^[a-zA-Z0-9_-]{1,64}$")]
    parameters: dict[str, Any] | None = None


class _Tool(msgspec.Struct):
    type: Literal["function"]
    function: _Signature


class _Request(msgspec.Struct):
    """As much of a request's shape as a client can plausibly get wrong."""

    model: str
    messages: Annotated[
        list[_SystemEntry | _DeveloperEntry | _UserEntry | _AssistantEntry | _ToolEntry], msgspec.Meta(min_length=1)
    ]
    tools: Annotated[list[_Tool], msgspec.Meta(min_length=1)] | None = None
    stream: bool | None = None


def complaint(body: dict[str, Any]) -> str | None:
    """Why OpenAI would reject this request, or None."""
    try:
        request = msgspec.convert(body, _Request)
    except msgspec.ValidationError as error:
        return f"Invalid request: {error}"
    unanswered: set[str] = set()
    for index, message in enumerate(request.messages):
        if isinstance(message, _ToolEntry):
            if message.tool_call_id not in unanswered:
                return (
                    f"messages[{index}] with role 'tool' must be a response to a preceding message with 'tool_calls'."
                )
            unanswered.discard(message.tool_call_id)
        elif unanswered:
            break
        elif isinstance(message, _AssistantEntry):
            unanswered = {call.id for call in message.tool_calls or ()}
    if unanswered:
        return f"'tool_calls' must be followed by tool messages: {sorted(unanswered)} have no response."
    return None
