"""One good message of every kind, for tests that need any."""

from typing import get_args

import msgspec

from lottisync.causality.vector_clock import Host
from lottisync.entities.version import Version
from lottisync.protocol import message as m

DEVICE = "d" * 64
HOST = Host("0123456789abcdef")
SUMMARY = m.Summary(b"k" * 32, b"d" * 32)
VERSION = Version("t1", "task", b'{"0123456789abcdef":1}', b'[[1,1,0,"0123456789abcdef",1],{},{}]', b'{"title":"Milk"}')
HELLO = m.Hello(m.PROTOCOL_VERSION, DEVICE, b"b" * 16, {"journal": SUMMARY})
EVERY: dict[type[m.Message], m.AnyMessage] = {
    m.Hello: HELLO,
    m.Want: m.Want({"journal": m.Have({HOST: 1}, [(HOST, 2, "t1")])}),
    m.Begin: m.Begin(1, "journal", {}, {HOST: 1}, 1),
    m.Batch: m.Batch(1, 0, [VERSION]),
    m.End: m.End(1, SUMMARY),
    m.Cut: m.Cut(1),
    m.Told: m.Told(1, "journal", {HOST: 1}, SUMMARY),
    m.Refuse: m.Refuse(1, "no"),
    m.Credit: m.Credit(4),
    m.Ping: m.Ping(1),
    m.Pong: m.Pong(1),
    m.Close: m.Close("goodbye", "bye"),
}
assert set(EVERY) == set(get_args(m.AnyMessage))


def with_field(message: m.Message, place: int, value: object) -> bytes:
    """The bytes of a message in which one field (counted from 1; 0 is the tag) has another value."""
    fields = msgspec.msgpack.decode(m.encode(message))
    fields[place] = value
    return msgspec.msgpack.encode(fields)
