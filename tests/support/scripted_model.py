"""A model that follows a script, in the same process: the port of `lottisync.agents.model`, kept to the letter.

Each step of the script answers one question: a `Turn`, a `ModelError` or another exception to raise, or a function
of the messages that gives one of those (to answer with ids that stand in what the model was told, or to do
something while the agent waits). A question beyond the script's end is a failure of the test."""

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from lottisync.agents.model import Message, ModelRequest, TokenUsage, ToolCall, ToolMessage, ToolSchema, Turn

Answer = Turn | BaseException
Step = Answer | Callable[[Sequence[Message]], Answer]


class Killed(BaseException):
    """The process ends here: no code runs after it, and no code catches it."""


def call(name: str, /, **arguments: Any) -> tuple[str, str]:
    return name, json.dumps(arguments)


def say(text: str = "", *calls: tuple[str, str], usage: TokenUsage | None = None) -> Turn:
    """A turn that says `text` and calls each `(name, arguments as text)`."""
    asked = tuple(ToolCall(f"call_{place}", name, arguments) for place, (name, arguments) in enumerate(calls))
    return Turn(text, asked, "tool_calls" if calls else "stop", usage or TokenUsage(100, 10))


class ScriptedModel:
    """`asked` holds the messages of every question, in order, `offered` the tools of the last one."""

    def __init__(self, *script: Step) -> None:
        self._script = list(script)
        self.asked: list[list[Message]] = []
        self.offered: list[ToolSchema] = []

    def request(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> ModelRequest:
        return ModelRequest("http://127.0.0.1/v1", msgspec.json.encode([messages, tools]))

    async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Turn:
        self.asked.append(copy.copy(list(messages)))
        self.offered = list(tools)
        assert self._script, f"question {len(self.asked)} is beyond the script's end"
        step = self._script.pop(0)
        answer = step(messages) if callable(step) else step
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def results(self) -> list[str]:
        """The answers to the model's calls, up to its last question."""
        return [message.text for message in self.asked[-1] if isinstance(message, ToolMessage)]
