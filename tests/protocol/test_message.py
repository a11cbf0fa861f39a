"""Messages: SYNC-2, SYNC-12 to SYNC-14. One fault at a time."""

import contextlib

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.messages import DEVICE, EVERY, HELLO, HOST, SUMMARY, VALUE, VERSION, with_field

from lottisync.causality.vector_clock import MAX_COUNTER
from lottisync.protocol import message as m
from lottisync.protocol.framing import ENCODINGS, frame

NESTED = 100_000


@pytest.mark.parametrize("message", EVERY.values(), ids=lambda message: type(message).__name__)
def test_sync_12_every_message_comes_back_as_it_was(message: m.AnyMessage) -> None:
    assert m.decode(m.encode(message)) == [message]


def test_sync_12_a_frame_carries_what_is_said_in_one_breath() -> None:
    said = list(EVERY.values())
    assert m.decode(m.encode(*said)) == said
    with pytest.raises(m.MalformedMessage, match="without a message"):
        m.decode(m.encode())


def test_sync_12_a_message_is_an_array_that_begins_with_its_tag() -> None:
    assert m.encode(m.Ping(7)) == b"\x91\x93\xa4ping\x07\x00"
    assert msgspec.msgpack.decode(m.encode(m.Begin(3, "journal", {HOST: 2}, {}, behind=False, count=1))) == [
        ["begin", 3, "journal", {HOST: 2}, {}, False, 1]
    ]


@pytest.mark.parametrize("message", EVERY.values(), ids=lambda message: type(message).__name__)
def test_sync_12_fields_that_a_later_version_adds_are_ignored(message: m.AnyMessage) -> None:
    (fields,) = msgspec.msgpack.decode(m.encode(message))
    assert m.decode(msgspec.msgpack.encode([[*fields, {"later": 1}]])) == [message]


BAD_COUNTERS = [0, -1, MAX_COUNTER + 1, 2**63, 2**64 - 1, 1.0, "1", None, True]
BAD_HOSTS = ["", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "0123456789abcdef\n", "\n0123456789abcdef"]


@pytest.mark.parametrize("counter", BAD_COUNTERS)
def test_sync_13_a_counter_is_1_to_2_53_less_1(counter: object) -> None:
    for bad in (
        with_field(EVERY[m.Begin], 3, {HOST: counter}),
        with_field(EVERY[m.Begin], 4, {HOST: counter}),
        with_field(EVERY[m.Ack], 3, {HOST: counter}),
        with_field(EVERY[m.Chain], 5, counter),
        with_field(EVERY[m.Probe], 3, [counter]),
        with_field(EVERY[m.Probed], 3, {counter: VALUE}),
        with_field(EVERY[m.Gossip], 1, {"journal": {DEVICE: {HOST: counter}}}),
        wanting(1, {HOST: [1, counter, VALUE]} if counter != 0 else {HOST: [1, -1, VALUE]}),
        wanting(2, [[HOST, counter, "t1"]]),
        wanting(4, {HOST: counter}),
    ):
        with pytest.raises(m.MalformedMessage):
            m.decode(bad)


def wanting(place: int, value: object) -> bytes:
    """A Want in which one part of what R has is another."""
    (fields,) = msgspec.msgpack.decode(m.encode(EVERY[m.Want]))
    fields[1]["journal"][place] = value
    return msgspec.msgpack.encode([fields])


def test_sync_13_the_greatest_counter_is_taken_and_where_there_is_nothing_0() -> None:
    assert m.decode(with_field(EVERY[m.Begin], 3, {HOST: MAX_COUNTER})) == [
        m.Begin(1, "journal", {HOST: MAX_COUNTER}, {}, behind=False, count=1)
    ]
    (want,) = m.decode(wanting(1, {HOST: [0, 0, VALUE]}))
    assert isinstance(want, m.Want)
    assert want.stores["journal"].hosts == {HOST: m.Log(0, 0, VALUE)}


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_sync_13_a_host_is_16_lowercase_hexadecimal_digits(host: str) -> None:
    for bad in (
        with_field(EVERY[m.Begin], 3, {host: 1}),
        with_field(EVERY[m.Chain], 3, host),
        with_field(EVERY[m.Chain], 4, host or "0"),
        with_field(EVERY[m.Probe], 2, host),
        wanting(1, {host: [1, 1, VALUE]}),
        wanting(2, [[host, 1, "t1"]]),
    ):
        with pytest.raises(m.MalformedMessage):
            m.decode(bad)


@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        (m.Hello, 1, "1"),
        (m.Hello, 2, b"d" * 31),
        (m.Hello, 2, b"d" * 33),
        (m.Hello, 3, b"b" * 15),
        (m.Hello, 3, b"b" * 17),
        (m.Hello, 4, b"s" * 15),
        (m.Hello, 4, b"s" * 17),
        (m.Hello, 5, b"h" * 7),
        (m.Want, 1, {"j" * 33: []}),
        (m.Probe, 3, []),
        (m.Probe, 3, [1] * (m.MAX_ASKED + 1)),
        (m.Probed, 3, {1: b"l" * 15}),
        (m.Begin, 2, "j" * 33),
        (m.Begin, 5, None),
        (m.Begin, 6, -1),
        (m.Chain, 6, b"l" * 15),
        (m.Chain, 7, b""),
        (m.Chain, 7, bytes(16 * m.MAX_VALUES + 1)),
        (m.Keys, 3, bytes(8 * m.MAX_KEYS + 1)),
        (m.Gossip, 1, {"journal": {"d" * 63: {}}}),
        (m.Gossip, 1, {"journal": {DEVICE[1:]: {HOST: 1}}}),
        (m.Gossip, 1, {"journal": {DEVICE + "d": {HOST: 1}}}),
        (m.Want, 2, ["journal"] * (m.MAX_FAILING + 1)),
        (m.Want, 2, ["j" * 33]),
        (m.Want, 2, {"journal": 1}),
        (m.Compare, 2, b"k" * 15),
        (m.Compare, 3, [[b"", [], None]] * (m.MAX_NODES + 1)),
        (m.Compare, 3, [[b"\x00" * 13, [], None]]),
        (m.Compare, 3, [[b"", [b"l" * 16] * 33, None]]),
        (m.Mend, 3, ["t" * 129]),
        (m.DuplicateKey, 1, b"b" * 15),
        (m.Mended, 2, -1),
        (m.Batch, 3, [["t1", "task", "text", b"", b""]]),
        (m.Batch, 3, [["t1", "task", b"", b""]]),
        (m.Batch, 3, [["t1", "task", b"", b"", b"", b""]]),
        (m.Reject, 3, "x" * (m.MAX_TEXT + 1)),
        (m.Close, 1, "x" * 65),
        (m.Close, 2, "x" * (m.MAX_TEXT + 1)),
        (m.Hello, 6, [0] * 17),
        (m.Hello, 6, ["zstd"]),
        (m.Credit, 1, 0),
        (m.Credit, 1, -1),
        (m.Credit, 1, m.MAX_CREDIT + 1),
        (m.Ping, 1, 2.5),
        (m.Ping, 0, "pingg"),
    ],
)
def test_sync_14_a_field_of_another_form_is_malformed(kind: type[m.Message], place: int, value: object) -> None:
    with pytest.raises(m.MalformedMessage):
        m.decode(with_field(EVERY[kind], place, value))


@pytest.mark.parametrize(
    "part", [{2: [[HOST, 1, "t" * 129]]}, {2: [[HOST, 1, "t1"]] * (m.MAX_HELD + 1)}, {2: [[HOST, 1]]}, {3: [b"n" * 15]},
    {3: [b"n" * 16] * 1_001}, {1: {HOST: [1, 1]}}, {0: [b"k" * 15, b"d" * 32]}, {0: [b"k" * 16, b"d" * 33]}],
)  # fmt: skip
def test_sync_14_a_part_of_what_r_has_in_another_form_is_malformed(part: dict[int, object]) -> None:
    ((place, value),) = part.items()
    with pytest.raises(m.MalformedMessage):
        m.decode(wanting(place, value))


@pytest.mark.parametrize(
    "message",
    [
        m.Reject(1, "j" * 32, "x" * m.MAX_TEXT),
        m.Close("x" * 64, "x" * m.MAX_TEXT),
        m.Want({"j" * 32: m.Have(SUMMARY, {}, [(HOST, 1, "t" * 128)] * m.MAX_HELD, [b"n" * 16] * 1_000)}),
        m.Want({}, ["j" * 32] * m.MAX_FAILING),
        m.Chain(1, 0, HOST, HOST, MAX_COUNTER, VALUE, VALUE * m.MAX_VALUES),
        m.Keys(1, 0, bytes(8 * m.MAX_KEYS)),
        m.Probe("journal", HOST, [1] * m.MAX_ASKED),
    ],
    ids=lambda message: type(message).__name__,
)
def test_sync_14_the_limits_themselves_are_taken(message: m.AnyMessage) -> None:
    assert m.decode(m.encode(message)) == [message]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        b"\xc0",
        b"\x00",
        b"\x90",
        b"\x92\xa4ping\x07",
        b"\x91\x91\xa4ping",
        b"\x91\x92\xa4ping\x07junk",
        b"\x91\x92\xa4\xff\xfe\xfd\xfc\x07",
        b"\x91\x94\xa6refuse\x01\xa0\xa2\xc3\x28",
        b"\x91\x81\xa4ping\x07",
        b"\xdd\xff\xff\xff\xff",
        b"\x91\xdd\xff\xff\xff\xff",
        b"\x91\x92\xa4ping\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\x91\x94\xa5batch\x01\x00\xdd\xff\xff\xff\xff",
        b"\x91\x92\xa4want\xdf\xff\xff\xff\xff",
        b"\x91" * NESTED,
        b"\x91\x92\xa4ping" + b"\x91" * NESTED,
        b"\x91\x93\xa4ping\x07" + b"\x91" * NESTED + b"\xc0",
        b"\x91\x92\xa4want" + b"\x81\xa1a" * NESTED,
    ],
    ids=lambda body: body[:12].hex(),
)
def test_sync_2_bytes_that_are_not_a_message_are_malformed_and_nothing_else(body: bytes) -> None:
    with pytest.raises(m.MalformedMessage, match=r"not messages|without a message"):
        m.decode(body)


@given(st.binary(max_size=200))
@example(b"\x92\xa4ping\xd3\x80\x00\x00\x00\x00\x00\x00\x00")
def test_sync_2_whatever_the_bytes_the_decoder_raises_only_malformed(body: bytes) -> None:
    with contextlib.suppress(m.MalformedMessage):
        m.decode(body)


@given(st.sampled_from(list(EVERY.values())), st.data())
def test_sync_2_a_damaged_message_is_a_message_or_malformed(message: m.AnyMessage, data: st.DataObject) -> None:
    body = bytearray(m.encode(message))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(m.MalformedMessage):
        m.decode(bytes(body[: data.draw(st.integers(0, len(body)))]))


STRUCTS = [each for each in vars(m).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_sync_12_all_that_is_said_is_an_array_and_stays_as_it_was_heard(struct: type[msgspec.Struct]) -> None:
    """SYNC-12: a part of a message, too, is an array on the wire, and two readers of one message read the same."""
    assert struct.__struct_config__.array_like
    assert struct.__struct_config__.frozen


def test_sync_14_the_limits_are_those_of_the_specification() -> None:
    """SYNC-11, SYNC-14, SYNC-45: numbers that two programs must agree on."""
    assert (m.PROTOCOL_VERSION, m.MAX_TEXT, m.MAX_HELD, m.HELD_BYTES) == (1, 500, 8_000, 786_432)
    assert (m.MAX_BATCH, m.MAX_VALUES, m.MAX_KEYS, m.MAX_ASKED) == (1_000, 16_384, 32_768, 64)
    assert (m.MAX_FORKS, m.MAX_NODES, m.FIRST_CREDIT, m.MAX_CREDIT) == (1_000, 128, 8, 1_024)


def test_sync_25_two_hellos_have_less_than_300_bytes() -> None:
    hello = m.Hello(m.PROTOCOL_VERSION, HELLO.device, HELLO.boot, HELLO.state, HELLO.gossip, tuple(ENCODINGS))
    assert 2 * len(frame(m.encode(hello))) < 250


def test_a_version_travels_as_the_bytes_that_are_hashed() -> None:
    (again,) = m.decode(m.encode(m.Batch(1, 0, [VERSION])))
    assert isinstance(again, m.Batch)
    assert again.versions[0].hash() == VERSION.hash()
