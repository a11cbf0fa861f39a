"""A counter may be written 1.0 in a message."""

import msgspec
from tests.conformance.mutants.planting import plant, run

from lottisync.adapter.adapter import whole_numbers
from lottisync.protocol import message as m

original = m.decode


def decode(body: bytes | memoryview) -> list[m.AnyMessage]:
    try:
        return original(body)
    except m.MalformedMessage:
        return original(msgspec.msgpack.encode(whole_numbers(msgspec.msgpack.decode(body))))


plant(original, decode)
m.decode = decode
run()
