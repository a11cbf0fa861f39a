"""Messages: SYNC-2, SYNC-12 to SYNC-14. One fault at a time."""

import contextlib

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.messages import EVERY, HELLO, HOST, SUMMARY, VERSION, with_field

from lottisync.causality.vector_clock import MAX_COUNTER
from lottisync.protocol import message as m

NESTED = 100_000


@pytest.mark.parametrize("message", EVERY.values(), ids=lambda message: type(message).__name__)
def test_sync_12_every_message_comes_back_as_it_was(message: m.AnyMessage) -> None:
    assert m.decode(m.encode(message)) == message


def test_sync_12_a_message_is_an_array_that_begins_with_its_tag() -> None:
    assert m.encode(m.Ping(7)) == b"\x92\xa4ping\x07"
    assert msgspec.msgpack.decode(m.encode(m.Begin(3, "journal", {}, {HOST: 2}, 1))) == [
        "begin",
        3,
        "journal",
        {},
        {HOST: 2},
        1,
    ]


@pytest.mark.parametrize("message", EVERY.values(), ids=lambda message: type(message).__name__)
def test_sync_12_fields_that_a_later_version_adds_are_ignored(message: m.AnyMessage) -> None:
    fields = msgspec.msgpack.decode(m.encode(message))
    assert m.decode(msgspec.msgpack.encode([*fields, {"later": 1}])) == message


BAD_COUNTERS = [0, -1, MAX_COUNTER + 1, 2**63, 2**64 - 1, 1.0, "1", None, True]
BAD_HOSTS = ["", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "0123456789abcdef\n", "\n0123456789abcdef"]


@pytest.mark.parametrize("counter", BAD_COUNTERS)
def test_sync_13_a_counter_is_1_to_2_53_less_1(counter: object) -> None:
    for bad in (
        with_field(EVERY[m.Begin], 3, {HOST: counter}),
        with_field(EVERY[m.Begin], 4, {HOST: counter}),
        with_field(EVERY[m.Told], 3, {HOST: counter}),
        with_field(EVERY[m.Want], 1, {"journal": [{HOST: counter}, []]}),
        with_field(EVERY[m.Want], 1, {"journal": [{}, [[HOST, counter, "t1"]]]}),
    ):
        with pytest.raises(m.MalformedMessage):
            m.decode(bad)


def test_sync_13_the_greatest_counter_is_taken() -> None:
    assert m.decode(with_field(EVERY[m.Begin], 3, {HOST: MAX_COUNTER})) == m.Begin(
        1, "journal", {HOST: MAX_COUNTER}, {HOST: 1}, 1
    )


@pytest.mark.parametrize("host", BAD_HOSTS)
def test_sync_13_a_host_is_16_lowercase_hexadecimal_digits(host: str) -> None:
    for bad in (
        with_field(EVERY[m.Begin], 3, {host: 1}),
        with_field(EVERY[m.Want], 1, {"journal": [{host: 1}, []]}),
        with_field(EVERY[m.Want], 1, {"journal": [{}, [[host, 1, "t1"]]]}),
    ):
        with pytest.raises(m.MalformedMessage):
            m.decode(bad)


@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        (m.Hello, 1, "1"),
        (m.Hello, 2, "d" * 63),
        (m.Hello, 2, "d" * 65),
        (m.Hello, 3, b"b" * 15),
        (m.Hello, 3, b"b" * 17),
        (m.Hello, 4, {"journal": [b"k" * 31, b"d" * 32]}),
        (m.Hello, 4, {"journal": [b"k" * 32, b"d" * 33]}),
        (m.Hello, 4, {"j" * 33: [b"k" * 32, b"d" * 32]}),
        (m.Want, 1, {"journal": [{}, [[HOST, 1, "t" * 129]]]}),
        (m.Want, 1, {"journal": [{}, [[HOST, 1, "t1"]] * (m.MAX_HELD + 1)]}),
        (m.Want, 1, {"journal": [{}, [[HOST, 1]]]}),
        (m.Begin, 2, "j" * 33),
        (m.Begin, 5, None),
        (m.Batch, 3, [["t1", "task", "text", b"", b""]]),
        (m.Batch, 3, [["t1", "task", b"", b""]]),
        (m.Batch, 3, [["t1", "task", b"", b"", b"", b""]]),
        (m.Refuse, 2, "x" * (m.MAX_TEXT + 1)),
        (m.Close, 1, "x" * 65),
        (m.Close, 2, "x" * (m.MAX_TEXT + 1)),
        (m.Hello, 5, [0] * 17),
        (m.Hello, 5, ["zstd"]),
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
    ("text", "what"),
    [
        (m.Refuse(1, "x" * m.MAX_TEXT), "reason"),
        (m.Close("x" * 64, "x" * m.MAX_TEXT), "close"),
        (m.Want({"j" * 32: m.Have({}, [(HOST, 1, "t" * 128)] * m.MAX_HELD)}), "held"),
    ],
)
def test_sync_14_the_limits_themselves_are_taken(text: m.AnyMessage, what: str) -> None:
    assert m.decode(m.encode(text)) == text, what


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xc1",
        b"\xc0",
        b"\x00",
        b"\x90",
        b"\x91\xa4ping",
        b"\x92\xa4ping\x07junk",
        b"\x92\xa4\xff\xfe\xfd\xfc\x07",
        b"\x93\xa6refuse\x01\xa2\xc3\x28",
        b"\x81\xa4ping\x07",
        b"\xdd\xff\xff\xff\xff",
        b"\x92\xa4ping\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\x94\xa5batch\x01\x00\xdd\xff\xff\xff\xff",
        b"\x92\xa4want\xdf\xff\xff\xff\xff",
        b"\x91" * NESTED,
        b"\x92\xa4ping" + b"\x91" * NESTED,
        b"\x93\xa4ping\x07" + b"\x91" * NESTED + b"\xc0",
        b"\x92\xa4want" + b"\x81\xa1a" * NESTED,
    ],
    ids=lambda body: body[:12].hex(),
)
def test_sync_2_bytes_that_are_no_message_are_malformed_and_nothing_else(body: bytes) -> None:
    with pytest.raises(m.MalformedMessage, match=r"not a message"):
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


def test_a_hello_is_small_enough_for_a_stranger() -> None:
    stores = dict.fromkeys(("space", "journal", "agent"), SUMMARY)
    assert len(m.encode(m.Hello(1, HELLO.device, HELLO.boot, stores))) < 400


def test_a_version_travels_as_the_bytes_that_are_hashed() -> None:
    again = m.decode(m.encode(m.Batch(1, 0, [VERSION])))
    assert isinstance(again, m.Batch)
    assert again.versions[0].hash() == VERSION.hash()
