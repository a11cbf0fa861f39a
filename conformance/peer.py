"""A device that exists in a scenario only: what it has written, and what it says to a replica over a session.

`Past` is what it could have written, with the chain of its host (docs/specs/13-copies.md); `Peer` is its end of
one connection. It says what a scenario tells it to, be that right or wrong, and holds everything that it hears
to the rules of who may say what when (07-sync.md, section 4).
"""

import base64
import copy
import hashlib
from typing import Any

from conformance import wire
from conformance.generate import reference
from conformance.testee import Failure
from conformance.wire import Message
from conformance.world import AGENT, JOURNAL, SPACE, START, Replica, World

VERSION = 1
STORES = (SPACE, JOURNAL, AGENT)
NOBODY, SOMEBODY = b"\xee" * 32, b"\xab" * 32
"""Device ids."""
FIRST_CREDIT = 8
LARGE = ("chain", "batch", "keys", "mend")
ANYTIME = ("want", "probe", "probed", "ack", "reject", "gossip", "compare", "mend", "mended", "credit", "ping", "pong")
H, G = "cc" * 8, "dd" * 8
"""Hosts."""
Json = dict[str, Any]


# -- chains


def genesis(host: str) -> bytes:
    return hashlib.sha256(b"lottisync/chain/1\0" + host.encode()).digest()[:16]


def chained(before: bytes, form: bytes) -> bytes:
    """The value after a write that made this version."""
    return hashlib.sha256(before + hashlib.sha256(form).digest()).digest()[:16]


def branch(value: bytes) -> str:
    """The host of the branch whose first write has this value."""
    return hashlib.sha256(b"lottisync/branch/1\0" + value).hexdigest()[:16]


def key(ident: str) -> bytes:
    """What an entity is called among the keys for one who is behind."""
    return hashlib.sha256(ident.encode()).digest()[:8]


def version(entity: Json) -> list[Any]:
    """An entity as it crosses the wire."""
    ident, kind, *rest = reference.parts(entity)
    return [ident, kind, *map(reference.canonical, rest)]


class Past:
    """What one host has written. Written once, `values[n]` is the chain's value at write n."""

    def __init__(self, host: str = H) -> None:
        self.host = host
        self.entities: dict[str, Json] = {}
        self.values = [genesis(host)]

    @property
    def counter(self) -> int:
        return len(self.values) - 1

    @property
    def knowledge(self) -> dict[str, int]:
        return {self.host: self.counter} if self.counter else {}

    def write(self, ident: str, fields: Json, *, millis: int | None = None, over: Json | None = None) -> Json:
        """A person's write of flat fields, which has seen all that is here, and `over` (an entity of others)."""
        seen = over or self.entities.get(ident) or {"id": ident, "type": "task", "clock": {}, "registers": {}}
        counter = self.counter + 1
        stamp = {"precedence": 1, "hlc": [millis or START + counter, 0], "host": self.host, "counter": counter}
        written = {path: [{"value": value, **stamp}] for path, value in fields.items()}
        entity = {
            **seen,
            "clock": {**seen["clock"], self.host: counter},
            "registers": {**seen["registers"], **written},
        }
        self.entities[ident] = entity
        self.values.append(chained(self.values[-1], reference.form(entity)))
        return entity

    def copied(self) -> "Past":
        """What a restored backup or a second device with the same key goes on from."""
        return copy.deepcopy(self)

    # -- what it says of itself

    def versions(self) -> list[list[Any]]:
        """Everything, in the order in which it was written last."""
        return [version(e) for e in sorted(self.entities.values(), key=lambda e: e["clock"].get(self.host, 0))]

    def chain(self, round: int = 1, number: int = 0, first: int = 1) -> Message:
        before, values = self.values[first - 1], b"".join(self.values[first:])
        return ["chain", round, number, self.host, "", first, before, values]

    def digest(self) -> bytes:
        total = sum(int(reference.digest(entity), 16) for entity in self.entities.values())
        return (total % 2**256).to_bytes(32, "big")

    def summary(self) -> list[bytes]:
        hosts = {self.host: [self.counter, self.counter, self.values[-1].hex()]} if self.counter else {}
        return [known(hosts), self.digest()]

    def have(self) -> list[Any]:
        hosts = {self.host: [self.counter, self.counter, self.values[-1]]} if self.counter else {}
        return [self.summary(), hosts, [], [], {}]


def known(hosts: Json, held: list[Any] | None = None, nodes: list[str] | None = None) -> bytes:
    """What a store knows: each host has its counters and the value of its chain in hexadecimal."""
    hashes = (hashlib.sha256(reference.canonical([host, *log])).digest() for host, log in hosts.items())
    total = sum(int.from_bytes(each, "big") for each in hashes) % 2**256
    return hashlib.sha256(reference.canonical([f"{total:064x}", held or [], nodes or []])).digest()[:16]


def state(summaries: dict[str, list[bytes]]) -> bytes:
    """What a greeting says of all stores."""
    whole = b"".join(name.encode() + b"\0" + b"".join(summaries[name]) for name in sorted(summaries))
    return hashlib.sha256(whole).digest()[:16]


def empty() -> list[Any]:
    """What a device says of a store in which there is nothing."""
    return Past().have()


def end(past: Past, round: int = 1) -> Message:
    return ["end", round, past.summary()]


def begin(past: Past, round: int = 1, store: str = JOURNAL, count: int | None = None) -> Message:
    how_many = len(past.entities) if count is None else count
    return ["begin", round, store, past.knowledge, {}, False, how_many]


def whole(past: Past, round: int = 1) -> list[Message]:
    """A round with all that it has, as it should be."""
    return [begin(past, round), past.chain(round), ["batch", round, 1, past.versions()], end(past, round)]


# -- a connection


class Peer:
    """The far end of a session with `replica`, which accepts the connection unless `role` says otherwise.

    What the replica says is in `heard`, all of it; every word that goes in answers with what it brought."""

    def __init__(self, world: World, replica: Replica, role: str = "responder", device: bytes = NOBODY) -> None:
        self._world = world
        self._replica = replica
        self.heard: list[Message] = []
        self.events: list[Json] = []
        self.closed: Json | None = None
        self.credit = FIRST_CREDIT
        """How many large messages this side may say."""
        self._grammar = Grammar()
        self.device = device
        opened = replica.ask("session.open", role=role, now=world.now)
        self.session = opened["session"]
        self._hear(opened["send"])

    # -- what it does

    def say(self, *messages: Message) -> list[Message]:
        """One frame; what the replica answers."""
        return self.bytes(wire.frame(*messages))

    def bytes(self, data: bytes) -> list[Message]:
        return self._answered("session.receive", bytes=base64.b64encode(data).decode())

    def wait(self, seconds: float) -> list[Message]:
        """Time passes, and the replica is told."""
        self._world.now += round(seconds * 1000)
        return self._answered("session.tick")

    def hang_up(self) -> None:
        """The connection is cut."""
        self._replica.ask("session.close", session=self.session)

    # -- what is usual

    def hello(self, **other: Any) -> Message:
        fields = {"version": VERSION, "device": self.device, "boot": b"b" * 16, "state": b"s" * 16, "gossip": b"h" * 8,
                  "encodings": [wire.PLAIN], **other}  # fmt: skip
        return ["hello", *fields.values()]

    def greet(self, **haves: list[Any]) -> list[Message]:
        """Hello, and a Want of all stores; of those that are not named this device has nothing. The hash of what
        it has heard is the replica's own, so that nobody speaks of others."""
        heard = {"gossip": self.last("hello")[5]} if self.said("hello") else {}
        stores = {name: haves.get(name, empty()) for name in STORES}
        return self.say(self.hello(**heard), ["want", stores])

    def said(self, tag: str) -> list[Message]:
        """Every message of this kind that was heard."""
        return [message for message in self.heard if message[0] == tag]

    def last(self, tag: str) -> Message:
        found = self.said(tag)
        if not found:
            raise Failure(f"the replica says {tag}", tag, [message[0] for message in self.heard])
        return found[-1]

    def expect_closed(self, what: str, code: str) -> None:
        """The replica has ended the session, and said why with its last word."""
        words = [message[1] for message in self.heard[-1:] if message[0] == "close"]
        got = {"closed": self.closed and self.closed["code"], "last word": words}
        self._world.expect(f"{what} ends the session", got, {"closed": code, "last word": [code]})

    # -- within

    def _answered(self, op: str, **fields: Any) -> list[Message]:
        answer = self._replica.ask(op, session=self.session, now=self._world.now, **fields)
        self.events += answer["events"]
        self.closed = answer["closed"]
        return self._hear(answer["send"])

    def _hear(self, frames: list[str]) -> list[Message]:
        try:
            said = [m for each in frames for m in wire.messages(base64.b64decode(each, validate=True))]
        except ValueError as error:
            raise Failure(f"the replica's bytes are frames with messages: {error}", got=frames) from None
        for message in said:
            fault = self._grammar.step(message)
            if fault:
                raise Failure(f"the replica keeps to its turn: {fault}", got=[each[0] for each in self.heard + said])
            if message[0] == "credit":
                self.credit += message[1]
        self.heard += said
        return said

    def grant(self, batches: int) -> list[Message]:
        self._grammar.credit += batches
        return self.say(["credit", batches])


class Grammar:
    """What one side may say when: the table of 07-sync.md, section 4, and the numbers of rounds."""

    def __init__(self) -> None:
        self.state = "greeting"
        self.credit = FIRST_CREDIT
        self._round = self._frames = self._left = 0
        self._stage = "chain"

    def step(self, message: Message) -> str | None:
        """Take one message; what is wrong with it, or None."""
        tag = message[0]
        if tag in LARGE:
            self.credit -= 1
            if self.credit < 0:
                return f"a {tag} without credit"
        match self.state, tag:
            case ("greeting", "hello"):
                self.state = "quiet"
            case ("greeting" | "quiet" | "in-round", "close"):
                self.state = "closed"
            case ("quiet" | "in-round", _) if tag in ANYTIME:
                pass
            case ("quiet", "begin") if message[1] > self._round:
                self.state, self._stage = "in-round", "chain"
                self._round, self._frames, self._left = message[1], 0, message[6]
            case ("in-round", "chain" | "batch" | "keys") if message[1:3] == [self._round, self._frames]:
                self._frames += 1
                order = ("chain", "batch", "keys")
                if order.index(tag) < order.index(self._stage):
                    return f"a {tag} behind a {self._stage}"
                self._stage = tag
                self._left -= len(message[3]) if tag == "batch" else 0
                if self._left < 0:
                    return "more versions than were announced"
            case ("in-round", "end") if message[1] == self._round and self._left == 0:
                self.state = "quiet"
            case ("in-round", "abort") if message[1] == self._round:
                self.state = "quiet"
            case _:
                return f"{message[:3] if tag != 'hello' else tag} when {self.state}, round {self._round}"
        return None
