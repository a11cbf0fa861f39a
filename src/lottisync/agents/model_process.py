"""The model's client in a process of its own (docs/specs/09-agents.md, section 10).

    one question on standard input -> the client -> one answer on standard output, and the process is gone

The client's package takes 24 MB and a second to load, and Python gives neither back. A daemon waits for all but minutes
of a day, so it asks through a child and stays as small as it was. The price is that second of one core for every turn,
beside the seconds that a model takes. A command that wakes an agent and ends has no use for this and asks directly.

The child has no home and opens no store. It takes address and key from the same environment as its parent, so no key
goes through a pipe. Cancelled, the question is killed with its process, and its connection is closed.
"""

import os
import sys
from collections.abc import Sequence

import anyio
import msgspec

from lottisync.agents.model import Message, ModelError, ModelErrorCode, ToolSchema, Turn
from lottisync.agents.openai_client import model_for
from lottisync.problem import Problem


class Question(msgspec.Struct, frozen=True):
    """`model` is what the agent is configured for (`model_for`)."""

    model: str | None
    messages: Sequence[Message]
    tools: Sequence[ToolSchema]


class ModelFailure(msgspec.Struct, frozen=True):
    """A `ModelError`."""

    code: ModelErrorCode
    message: str


class ModelReply(msgspec.Struct, frozen=True):
    """One of the two."""

    turn: Turn | None = None
    failure: ModelFailure | None = None


class ModelProcess:
    """A `Model` that loads nothing here. `configured` as for `model_for`."""

    def __init__(self, configured: object) -> None:
        self._configured = configured if isinstance(configured, str) else None

    async def complete(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Turn:
        """See `Model.complete`."""
        reply = ModelReply()
        try:
            child = await anyio.run_process(
                [sys.executable, "-m", __name__],
                input=msgspec.json.encode(Question(self._configured, messages, tools)),
                check=False,
                # Not interrupted by the keyboard beside its parent, who kills it.
                start_new_session=True,
            )
            reply = msgspec.json.decode(child.stdout, type=ModelReply)
        except* (OSError, anyio.BrokenResourceError, msgspec.DecodeError):
            pass  # it could not be started, died before it had read the question, or before it had answered
        if reply.failure is not None:
            raise ModelError(reply.failure.code, reply.failure.message)
        if reply.turn is None:
            raise ModelError("server-error", "the process that asks the model died of itself: is there memory left?")
        return reply.turn


async def answered(question: Question) -> ModelReply:
    """What the model says, or why it does not."""
    try:
        return ModelReply(await model_for(question.model, os.environ).complete(question.messages, question.tools))
    except ModelError as error:
        return ModelReply(failure=ModelFailure(error.code, error.message))
    except Problem as problem:
        return ModelReply(failure=ModelFailure("not-configured", problem.message))


def main() -> None:
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=Question)
    sys.stdout.buffer.write(msgspec.json.encode(anyio.run(answered, question)))


if __name__ == "__main__":
    main()
