"""The stream of a person at a JetStream server: how it is set, and that the first device which comes makes it
(docs/specs/19-relay.md, section 10)."""

import asyncio
from contextlib import suppress

from nats.js import JetStreamContext
from nats.js.api import DiscardPolicy, StorageType, StreamConfig, StreamInfo
from nats.js.errors import APIError, NotFoundError

from lottisync.relay.server_files import MAX_PAYLOAD, STREAM_BYTES

AGE_SECONDS = 90 * 24 * 3_600
"""After this time a relay forgets a message."""
DUPLICATE_SECONDS = 120.0
"""For which a server recognises a repetition by its id."""
IN_USE = frozenset({10_058, 10_065})
"""What a server says of a stream whose name or subjects another has."""
NO_SUCH_MESSAGE = frozenset({10_037, 10_043, 10_057})
"""What a server says of a message that is gone: not found, no such number, not deleted."""
MADE_WITHIN = (0.02, 0.1, 0.5, 1.0)
"""Seconds for which a stream that another device makes is looked for, one after the other."""


async def opened(context: JetStreamContext, name: str, subjects: str) -> StreamInfo:
    """The stream of that name, which is made if it is not there. Raises what the server says against it."""
    with suppress(NotFoundError):
        return await context.stream_info(name)
    try:
        return await context.add_stream(_config(name, subjects))
    except APIError as error:
        if error.err_code not in IN_USE:
            raise
        return await _made_by_another(context, name, error)


def _config(name: str, subjects: str) -> StreamConfig:
    return StreamConfig(
        name=name,
        subjects=[subjects],
        storage=StorageType.FILE,
        discard=DiscardPolicy.NEW,
        max_bytes=STREAM_BYTES,
        max_age=AGE_SECONDS,
        max_msg_size=MAX_PAYLOAD,
        duplicate_window=DUPLICATE_SECONDS,
        allow_direct=True,
        allow_rollup_hdrs=False,
    )


async def _made_by_another(context: JetStreamContext, name: str, refused: APIError) -> StreamInfo:
    """Another device makes the stream at the same time (RELAY-1180)."""
    for pause in MADE_WITHIN:
        with suppress(NotFoundError):
            return await context.stream_info(name)
        await asyncio.sleep(pause)
    raise refused


async def delete(context: JetStreamContext, name: str, sequence: int) -> None:
    """Delete a message of a stream. It may be gone already."""
    try:
        await context.delete_msg(name, sequence)
    except APIError as error:
        if error.err_code not in NO_SUCH_MESSAGE:
            raise
