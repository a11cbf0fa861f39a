"""The model's client in a process of its own (docs/specs/09-agents.md, section 10).

    a line with a question on standard input -> the client -> a line with the answer on standard output
    standard input ends -> the process is gone

The client's package takes 24 MB and a second to load, and Python does not give the memory back. A daemon waits for all
but minutes of a day, so it asks through a child and stays as small as it was. A wake has one child for all its turns,
so the package is loaded once; and it is loaded while the wake reads its context. A command that wakes an agent and ends
has no use for this and asks directly.

The child has no home and opens no store. It takes address and key from the same environment as its parent, so no key
goes through a pipe. A question that is cancelled is killed with its process, and its connection is closed.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import anyio
import msgspec
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from lottisync.agents.endpoint import Endpoint, ModelChoice, model_for
from lottisync.agents.model import Message, ModelError, ModelErrorCode, ModelRequest, ToolSchema, Turn
from lottisync.problem import Problem
from lottisync.wording import Wording, sentence, written


class Question(msgspec.Struct, frozen=True):
    """The arguments of `endpoint.model_for` and of `Model.complete`."""

    chosen: ModelChoice
    endpoints: Mapping[str, Endpoint]
    messages: Sequence[Message]
    tools: Sequence[ToolSchema]


class ModelFailure(msgspec.Struct, frozen=True):
    """A `ModelError`."""

    code: ModelErrorCode
    said: Wording


class ModelReply(msgspec.Struct, frozen=True):
    """The child's answer: `turn` or `failure` is set, and the other is None."""

    turn: Turn | None = None
    failure: ModelFailure | None = None


MOST_BYTES = 100_000_000
"""For an answer: more than any model says."""


class ModelProcess:
    """A `Model` that loads nothing here. The arguments are those of `model_for`. The process is there inside of
    `async with`, from its beginning on; one that has died is started again by the next question."""

    def __init__(self, chosen: ModelChoice, endpoints: Mapping[str, Endpoint]) -> None:
        self._chosen, self._endpoints = chosen, endpoints
        self._child: Process | None = None

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._end()

    def request(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> ModelRequest:
        """See `Model.request`. The child writes the same bytes."""
        return model_for(self._chosen, self._endpoints, os.environ).request(messages, tools)

    async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Turn:
        """See `Model.complete`."""
        reply = await self._reply(Question(self._chosen, self._endpoints, messages, tools))
        if reply.failure is not None:
            said = sentence(reply.failure.said)
            arguments: Any = said.arguments
            raise ModelError(reply.failure.code, said.template, **arguments)
        if reply.turn is None:
            await self._end()
            raise ModelError(
                "model-server-error", "the process that asks the model died of itself: is there memory left?"
            )
        return reply.turn

    async def _reply(self, question: Question) -> ModelReply:
        """The child's answer, without a turn and a failure if the child could not be started, or died before it
        answered."""
        child = self._child or await self._start()
        if child is None or child.stdin is None or child.stdout is None:
            return ModelReply()
        try:
            await child.stdin.send(msgspec.json.encode(question) + b"\n")
            # One question at a time: nothing is left over behind the answer.
            line = await BufferedByteReceiveStream(child.stdout).receive_until(b"\n", MOST_BYTES)
            return msgspec.json.decode(line, type=ModelReply)
        except (OSError, anyio.BrokenResourceError, anyio.IncompleteRead, anyio.DelimiterNotFound, msgspec.DecodeError):
            return ModelReply()
        except BaseException:
            child.kill()  # Cancelled: its answer would be taken for that of another question.
            raise

    async def _start(self) -> Process | None:
        try:
            self._child = await anyio.open_process(
                [sys.executable, "-m", __name__],
                stderr=subprocess.DEVNULL,
                # Not interrupted by the keyboard beside its parent, who ends it.
                start_new_session=True,
            )
        except OSError:
            self._child = None
        return self._child

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.aclose()


async def answered(question: Question) -> ModelReply:
    """What the model says, or why it does not."""
    try:
        model = model_for(question.chosen, question.endpoints, os.environ)
        return ModelReply(await model.complete(question.messages, question.tools))
    except ModelError as error:
        return ModelReply(failure=ModelFailure(error.code, written(error)))
    except Problem as problem:
        return ModelReply(failure=ModelFailure("model-not-configured", written(problem)))


def main() -> None:
    import openai  # noqa: F401 -- now, while the parent reads what it is going to ask

    for line in sys.stdin.buffer:
        question = msgspec.json.decode(line, type=Question)
        sys.stdout.buffer.write(msgspec.json.encode(anyio.run(answered, question)) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
