"""One good message of every kind, for tests that need any."""

from typing import get_args

import msgspec

from lottisync.causality.vector_clock import Host
from lottisync.entities.version import Version
from lottisync.protocol import message as m
from lottisync.protocol.framing import PLAIN

DEVICE = "d" * 64
HOST = Host("0123456789abcdef")
SUMMARY = m.Summary(b"k" * 16, b"d" * 32)
VALUE = b"l" * 16
HAVE = m.Have(SUMMARY, {HOST: m.Log(1, 2, VALUE)}, [(HOST, 2, "t1")], [b"n" * 16], {HOST: 1})
VERSION = Version("t1", "task", b'{"0123456789abcdef":1}', b'[[1,1,0,"0123456789abcdef",1],{},{}]', b'{"title":"Milk"}')


def hello(
    device: str, boot: bytes, encodings: tuple[int, ...] = (PLAIN,), *, version: int = m.PROTOCOL_VERSION
) -> m.Hello:
    """The greeting of a device; nothing but its id is set."""
    return m.Hello(version, bytes.fromhex(device), boot, b"s" * 16, b"h" * 8, encodings)


HELLO = hello(DEVICE, b"b" * 16)
EVERY: dict[type[m.Message], m.AnyMessage] = {
    m.Hello: HELLO,
    m.Want: m.Want({"journal": HAVE}, ["agent"]),
    m.Probe: m.Probe("journal", HOST, [1, 2]),
    m.Probed: m.Probed("journal", HOST, {1: VALUE}),
    m.Begin: m.Begin(1, "journal", {HOST: 1}, {}, behind=False, count=1),
    m.Chain: m.Chain(1, 0, HOST, "", 1, VALUE, VALUE + VALUE),
    m.Batch: m.Batch(1, 0, [VERSION]),
    m.Keys: m.Keys(1, 0, b"i" * 16),
    m.End: m.End(1, SUMMARY),
    m.Abort: m.Abort(1),
    m.Ack: m.Ack(1, "journal", {HOST: 1}, SUMMARY),
    m.Reject: m.Reject(1, "journal", "no"),
    m.Gossip: m.Gossip({"journal": {DEVICE: {HOST: 1}}}),
    m.Compare: m.Compare(
        "journal", b"k" * 16, [m.TreeNode(b"\x01", [VALUE] * 32), m.TreeNode(b"", None, [("t1", b"h" * 8)])]
    ),
    m.Mend: m.Mend("journal", [VERSION], ["t2"]),
    m.DuplicateKey: m.DuplicateKey(b"program started."),
    m.Mended: m.Mended("journal", 1, SUMMARY, ""),
    m.Credit: m.Credit(4),
    m.Ping: m.Ping(1),
    m.Pong: m.Pong(1),
    m.Close: m.Close("goodbye", "bye"),
}
assert set(EVERY) == set(get_args(m.AnyMessage))


def with_field(message: m.Message, place: int, value: object) -> bytes:
    """The bytes of a message in which one field (counted from 1; 0 is the tag) has another value."""
    fields = msgspec.msgpack.decode(m.encode(message))
    fields[0][place] = value
    return msgspec.msgpack.encode(fields)
