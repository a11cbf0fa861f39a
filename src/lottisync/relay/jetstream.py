"""A relay on NATS JetStream: one stream per person, and a subject for each channel of a lane
(docs/specs/19-relay.md, section 10).

    ls.<space>.<tag>.<lane>.<channel>        all in hexadecimal but the channel

JetStream keeps messages in order and gives each a sequence number. The id of a message names it, and is also what the
server recognises a repetition by. nats-py runs on asyncio alone, so this is the edge.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    PubAck,
    StreamInfo,
)
from nats.js.errors import APIError, NotFoundError

from lottisync.device import clock
from lottisync.problem import Problem
from lottisync.relay import stream
from lottisync.relay.connection import RelayConnection, connect, has_no_room, stalled
from lottisync.relay.deletion import Purge
from lottisync.relay.header import LANE_BYTES, Name
from lottisync.relay.lane import Moved, Publication
from lottisync.relay.setting import RelaySetting
from lottisync.relay.trial import Trial

REQUEST_SECONDS = 10.0
LISTED_TOGETHER = 256
DELETED_TOGETHER = 64
"""Requests that are under way at once: a server far away answers each after a while."""
LISTING_SECONDS = 0.5
"""For which messages of a list are waited for, before it is asked how many are left."""
STORED_WITHIN = (0.02, 0.1, 0.5, 1.0)
"""Seconds for which what was heard of is looked for, one after the other. What a server refuses is never stored."""
STORED_LATER = (3.0, 10.0, 30.0)
"""Seconds after which it is looked for again, while other work goes on: a slow disk may store it by then."""
COPIED_WITHIN = (0.02, 0.1, 0.5)
"""The same, for which a copy of a stream may lack what its leader has acknowledged."""
WRONG_LAST_SEQUENCE = 10_071


class _Position(NamedTuple):
    subject: str
    sequence: int


class _Listed(NamedTuple):
    """Our messages; the number of the last message of each subject, ours or not; and the number of the last message of
    all."""

    found: dict[Name, _Position]
    ends: dict[str, int]
    last: int


class JetStream:
    """Made by `connect`. `changed` is set whenever another program has published something. `replaced` are the names
    that the last look found again, and under them another message than was found or put there before."""

    def __init__(self, client: RelayConnection, context: JetStreamContext, setting: RelaySetting, tag: bytes) -> None:
        self._client, self._context, self._setting = client, context, setting
        self._prefix = f"ls.{setting.space.hex()}"
        self._stream = f"LS-{setting.space.hex()}"
        self._tag = tag
        self._positions: dict[Name, _Position] = {}
        self._ends: dict[str, int] = {}
        self._last = 0
        self._heard: set[Name] = set()
        """What was published, as the server has passed it on: it may be stored a moment later."""
        self._copied_within: tuple[float, ...] = ()
        self.replaced: set[Name] = set()
        self.changed = asyncio.Event()

    # -- coming and going

    @classmethod
    async def connect(cls, setting: RelaySetting, tag: bytes) -> "JetStream":
        """Connect, and make the stream if it is not there. Raises `Problem`."""
        client = await connect(setting)
        try:
            return await cls.opened(client, setting, tag)
        except Problem:
            await client.close()
            raise

    @classmethod
    async def opened(
        cls, client: RelayConnection, setting: RelaySetting, tag: bytes, patience: float = REQUEST_SECONDS
    ) -> "JetStream":
        """At a server that is connected. `patience` (seconds) bounds each request. Raises `Problem`; the caller still
        has to close the connection."""
        relay = cls(client, client.jetstream(timeout=patience), setting, tag)
        with relay.asking():
            await relay._make_stream()
            await client.subscribe(f"{relay._prefix}.>", cb=relay._note_change)
        client.when_closed = relay.changed.set
        return relay

    @contextmanager
    def asking(self) -> Iterator[None]:
        """A context for requests to the server, in which a request that it does not fulfil is a `Problem`."""
        try:
            yield
        except (TimeoutError, NatsError) as error:
            raise stalled(self._setting, error, self._client.refused) from None

    async def _make_stream(self) -> None:
        info = await stream.opened(self._context, self._stream, f"{self._prefix}.>")
        self._copied_within = COPIED_WITHIN if (info.config.num_replicas or 1) > 1 else ()

    async def _note_change(self, message: Msg) -> None:
        name = _name(message.subject, (message.headers or {}).get("Nats-Msg-Id", ""))
        if name is not None:
            self._heard.add(name)
        self.changed.set()

    async def close(self) -> None:
        await self._client.close()

    # -- what a participant asks for

    async def names(self) -> list[Name]:
        """All that lies there, by the headers alone."""
        found, ends, last = await self._listed(DeliverPolicy.ALL, None)
        self.replaced = self._others(found)
        self._positions, self._ends, self._last = found, ends, last
        if not self._heard <= found.keys():
            self.changed.set()
        return list(found)

    async def news(self) -> list[Name]:
        """What has come since it was looked last, by the headers alone (RELAY-836)."""
        found = await self._since_last()
        for pause in STORED_WITHIN:
            if self._heard <= self._positions.keys() | found.keys():
                break
            await asyncio.sleep(pause)
            found |= await self._since_last()
        self.replaced = self._others(found)
        self._positions |= found
        if not self._heard <= self._positions.keys():
            self._look_later()
        self._heard.clear()
        return list(found)

    def _look_later(self) -> None:
        """Look again later, because of a message that was announced and is not stored yet (RELAY-1181)."""
        for pause in STORED_LATER:
            asyncio.get_running_loop().call_later(pause, self.changed.set)

    async def _since_last(self) -> dict[Name, _Position]:
        found, ends, last = await self._listed(DeliverPolicy.BY_START_SEQUENCE, self._last + 1)
        self._ends |= ends
        self._last = max(self._last, last)
        return found

    def _others(self, found: dict[Name, _Position]) -> set[Name]:
        return {name for name, at in found.items() if self._positions.get(name, at) != at}

    async def _listed(self, policy: DeliverPolicy, first: int | None) -> _Listed:
        """Delete a list, because the server would keep it for a while, and an account has room for few of them
        (RELAY-1045). Nobody waits for that."""
        config = ConsumerConfig(
            deliver_policy=policy, opt_start_seq=first, ack_policy=AckPolicy.NONE, headers_only=True, mem_storage=True,
            inactive_threshold=30.0,
        )  # fmt: skip
        listing = await self._context.pull_subscribe(f"{self._prefix}.>", stream=self._stream, config=config)
        try:
            return await self._read_list(listing)
        finally:
            await listing.unsubscribe()
            await self._client.publish(f"$JS.API.CONSUMER.DELETE.{self._stream}.{config.name}")

    async def _read_list(self, listing: JetStreamContext.PullSubscription) -> _Listed:
        found: dict[Name, _Position] = {}
        ends: dict[str, int] = {}
        last, received, left = 0, 0, await _left(listing, 0)
        silent = 0.0
        while left > 0:
            asked = min(left, LISTED_TOGETHER)
            messages = await _some(listing, asked)
            for message in messages:
                last = ends[message.subject] = message.metadata.sequence.stream
                name = _name(message.subject, (message.headers or {}).get("Nats-Msg-Id", ""))
                if name is not None:
                    found[name] = _Position(message.subject, last)
            received += len(messages)
            left -= len(messages)
            if len(messages) < asked:  # the server is slow, or a device has deleted some of them meanwhile
                left = await _left(listing, received)
            silent = 0.0 if messages else silent + LISTING_SECONDS
            if silent > REQUEST_SECONDS:
                raise TimeoutError("the list of what lies there does not come")
        return _Listed(found, ends, last)

    async def fetch(self, name: Name) -> bytes | None:
        """What lies there under this name; None if it is gone."""
        position = self._positions.get(name)
        return await self._stored(position) if position is not None else None

    async def _stored(self, position: _Position) -> bytes | None:
        """The message as it is stored. Any node that has a copy of the stream may answer, also one that lags behind
        (RELAY-982)."""
        for pause in (*self._copied_within, None):
            try:
                return (await self._context.get_msg(self._stream, seq=position.sequence, direct=True)).data
            except NotFoundError:
                if pause is not None:
                    await asyncio.sleep(pause)
        return None

    async def put(self, publication: Publication) -> None:
        """Raises `Moved`, and `Problem` for a relay that is full. For two minutes a server takes a message for a
        repetition by its id alone, no matter who has published it. If it holds something else under that id, the
        message is published under one that nobody could guess (RELAY-572, RELAY-1240)."""
        name, subject = publication.name, self._subject(publication.name.lane, publication.name.channel)
        if await self._holds(self._positions.get(name), publication):
            return
        last, ident = self._ends.get(subject, 0), f"{name.lane.hex()}-{name.channel}-{name.number}"
        done = await self._published(subject, publication, last, ident)
        if done.duplicate and not await self._holds(_Position(subject, done.seq), publication):
            done = await self._published(subject, publication, last, f"{ident}.{clock.token(8)}")
        self._ends[subject] = max(done.seq, last)
        self._positions[name] = _Position(subject, done.seq)

    async def _holds(self, position: _Position | None, publication: Publication) -> bool:
        return position is not None and await self._stored(position) == publication.data

    async def _published(self, subject: str, publication: Publication, last: int, ident: str) -> PubAck:
        """Stored only if `last` is still the subject's last message. A server that says a lower number has lost that
        one, or has lost count (RELAY-1183): nothing newer lies there in either case."""
        headers = {"Nats-Msg-Id": ident, "Nats-Expected-Last-Subject-Sequence": str(last)}
        try:
            return await self._context.publish(subject, publication.data, stream=self._stream, headers=headers)
        except APIError as error:
            if has_no_room(error):
                raise Problem(
                    "relay-full", "the relay is full: it took nothing more. Give the stream {name} more room",
                    name=self._stream,
                ) from None  # fmt: skip
            if error.err_code != WRONG_LAST_SEQUENCE:
                raise
            if (said := _number_at_the_end(error.description)) is None or said >= last:
                raise Moved from None
        return await self._published(subject, publication, said, ident)

    async def purge(self, purge: Purge) -> None:
        """Delete message by message. If a whole subject is purged while another device reads a list, the server leaves
        messages out of that list which come before the rest of the subject (RELAY-1120; seen with 2.9)."""
        gone = [
            name
            for name in self._positions
            if (name.lane, name.channel) == (purge.lane, purge.channel) and name.number < purge.below
        ]
        for first in range(0, len(gone), DELETED_TOGETHER):
            sequences = {name: self._positions[name].sequence for name in gone[first : first + DELETED_TOGETHER]}
            await asyncio.gather(*(stream.delete(self._context, self._stream, at) for at in sequences.values()))
            for name in sequences:
                del self._positions[name]

    # -- what a person asks for

    async def info(self) -> StreamInfo:
        """How the stream is set, and what is stored."""
        return await self._context.stream_info(self._stream)

    async def room(self) -> tuple[int, int | None]:
        """The bytes that are stored, and how many may be; None without a bound."""
        info = await self.info()
        most = info.config.max_bytes
        return info.state.bytes, most if most is not None and most >= 0 else None

    def trial(self) -> Trial:
        """A message that shows what is permitted here."""
        return Trial(self._context, self._stream, f"{self._prefix}.{self._tag.hex()}.probe")

    def _subject(self, lane: bytes, channel: str) -> str:
        return f"{self._prefix}.{self._tag.hex()}.{lane.hex()}.{channel}"


async def _left(listing: JetStreamContext.PullSubscription, received: int) -> int:
    """How many messages of a list are to come: what the server has not sent, and what is on its way (RELAY-902)."""
    info = await listing.consumer_info()
    sent = info.delivered.consumer_seq if info.delivered is not None else 0
    return (info.num_pending or 0) + max(0, sent - received)


async def _some(listing: JetStreamContext.PullSubscription, count: int) -> list[Msg]:
    """At most that many messages of a list."""
    try:
        return await listing.fetch(count, timeout=LISTING_SECONDS)
    except TimeoutError:
        return []


def _number_at_the_end(said: str | None) -> int | None:
    """The number in an error like `wrong last sequence: 12`."""
    digits = (said or "").rpartition(" ")[2]
    return int(digits) if digits.isdecimal() else None


def _name(subject: str, ident: str) -> Name | None:
    """Which message it is, as the relay says; None for one that is not ours."""
    tokens, (lane, _, rest) = subject.split("."), ident.partition("-")
    channel, _, end = rest.rpartition("-")
    number, _, _ = end.partition(".")
    if len(tokens) < 5 or tokens[3] != lane or ".".join(tokens[4:]) != channel or not number.isdecimal():
        return None
    if len(lane) != 2 * LANE_BYTES or len(number) > 16:
        return None
    try:
        return Name(bytes.fromhex(lane), channel, int(number))
    except ValueError:
        return None
