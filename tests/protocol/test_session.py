"""The session: SYNC-1, SYNC-3, SYNC-16 to SYNC-23. No socket, no store, no clock."""

from collections.abc import Callable, Iterable, Iterator
from itertools import product

import msgspec
import pytest
from tests.support.messages import DEVICE, EVERY, HELLO, HOST, SUMMARY, VALUE, VERSION

from lottisync.language import speaking, translated
from lottisync.problem import LocalError, Sentence
from lottisync.protocol import message as m
from lottisync.protocol.framing import ENCODINGS, MAX_FRAME, MAX_FRAME_BEFORE_HELLO, frame
from lottisync.protocol.session import (
    DEAD_SECONDS,
    GREETING_SECONDS,
    PING_SECONDS,
    TRANSITIONS,
    Session,
    SessionState,
    versions_said,
)

NOW = 1_000_000

PARTS: dict[SessionState, list[m.AnyMessage]] = {
    SessionState.IN_CHAINS: [],
    SessionState.IN_BATCHES: [m.Batch(1, 0, [VERSION])],
    SessionState.IN_KEYS: [m.Keys(1, 0, b"i" * 8)],
}
"""What of a round has come in each of its states."""


def road(state: SessionState, kind: type[m.Message]) -> list[m.AnyMessage]:
    """What a side says to come into a state. A round promises the versions that have come, and one more where a
    batch is to follow."""
    if state in PARTS:
        count = sum(isinstance(part, m.Batch) for part in PARTS[state]) + (
            kind is m.Batch and state is not SessionState.IN_KEYS
        )
        return [HELLO, m.Begin(1, "journal", {HOST: 1}, {}, behind=True, count=count), *PARTS[state]]
    said: dict[SessionState, list[m.AnyMessage]] = {
        SessionState.GREETING: [],
        SessionState.QUIET: [HELLO],
        SessionState.CLOSED: [HELLO, m.Close("goodbye", "bye")],
    }
    return said[state]


def word(state: SessionState, kind: type[m.Message]) -> m.AnyMessage:
    """A message of this kind, with the number that it has in this state."""
    said = EVERY[kind]
    if isinstance(said, m.Chain | m.Batch | m.Keys):
        return msgspec.structs.replace(said, number=len(PARTS.get(state, [])))
    return said


CONVERSATION: list[m.AnyMessage] = [
    HELLO,
    EVERY[m.Want],
    m.Begin(1, "journal", {HOST: 2}, {HOST: 1}, behind=True, count=3),
    m.Chain(1, 0, HOST, "", 1, VALUE, VALUE),
    m.Batch(1, 1, [VERSION, VERSION]),
    m.Ping(1),
    m.Batch(1, 2, [VERSION]),
    m.Keys(1, 3, b"i" * 8),
    m.End(1, SUMMARY),
    m.Begin(4, "agent", {}, {}, behind=False, count=0),
    m.Abort(4),
    m.Ack(1, "journal", {HOST: 1}, SUMMARY),
    m.Pong(3),
    m.Close("goodbye", "bye"),
]


def session() -> Session:
    return Session(expected=DEVICE, now=NOW)


def spoken(messages: Iterable[m.Message]) -> bytes:
    return b"".join(frame(m.encode(message)) for message in messages)


def in_one_breath(messages: Iterable[m.Message]) -> bytes:
    return frame(m.encode(*messages))


def heard(pieces: Iterable[bytes]) -> list[m.AnyMessage]:
    listening = session()
    return [message for piece in pieces for message in listening.receive(piece, NOW)]


def whole(data: bytes) -> Iterator[bytes]:
    yield data


def byte_by_byte(data: bytes) -> Iterator[bytes]:
    for at in range(len(data)):
        yield data[at : at + 1]


@pytest.mark.parametrize("feeding", [whole, byte_by_byte])
def test_sync_1_a_conversation_is_heard_however_it_is_fed(feeding: Callable[[bytes], Iterator[bytes]]) -> None:
    assert heard(feeding(spoken(CONVERSATION))) == CONVERSATION


def test_sync_1_a_conversation_is_heard_however_it_is_cut_in_two() -> None:
    data = spoken(CONVERSATION)
    for at in range(1, len(data)):
        assert heard([data[:at], data[at:]]) == CONVERSATION, at


def test_sync_1_a_conversation_is_heard_in_one_breath() -> None:
    assert heard([in_one_breath(CONVERSATION)]) == CONVERSATION
    talking = session()
    assert talking.send(*CONVERSATION[:4]) == in_one_breath(CONVERSATION[:4])


def test_sync_17_of_a_breath_what_comes_before_the_fault_is_heard() -> None:
    listening = session()
    received = listening.receive(in_one_breath([HELLO, m.Ping(1), m.End(1, SUMMARY), m.Ping(2)]), NOW)
    assert received == [HELLO, m.Ping(1), listening.closed]


def test_sync_1_what_comes_after_a_close_is_not_heard() -> None:
    listening = session()
    assert listening.receive(spoken([*CONVERSATION, m.Ping(9)]) + b"junk", NOW)[-1] == CONVERSATION[-1]
    assert listening.receive(spoken([HELLO]), NOW) == []
    assert listening.farewell == b""


@pytest.mark.parametrize(
    ("state", "kind"), list(product(SessionState, EVERY)), ids=lambda value: getattr(value, "__name__", value)
)
def test_sync_3_every_message_in_every_state_of_the_peer(state: SessionState, kind: type[m.Message]) -> None:
    listening = session()
    listening.receive(spoken(road(state, kind)), NOW)
    received = listening.receive(spoken([word(state, kind)]), NOW)
    if state is SessionState.CLOSED:
        assert received == []
    elif (state, kind) in TRANSITIONS:
        assert received == [word(state, kind)]
        assert (listening.closed is not None) is (TRANSITIONS[state, kind] is SessionState.CLOSED)
    else:
        assert [type(message) for message in received] == [m.Close]
        assert listening.closed == received[0]
        assert listening.closed.code == "illegal"
        assert heard([spoken([HELLO]), listening.farewell]) == [HELLO, listening.closed]


@pytest.mark.parametrize(
    ("state", "kind"), list(product(SessionState, EVERY)), ids=lambda value: getattr(value, "__name__", value)
)
def test_sync_3_every_message_in_every_state_of_ours(state: SessionState, kind: type[m.Message]) -> None:
    talking = session()
    for message in road(state, kind):
        talking.send(message)
    if (state, kind) in TRANSITIONS:
        assert talking.send(word(state, kind)) == spoken([word(state, kind)])
    else:
        with pytest.raises(LocalError):
            talking.send(word(state, kind))


def test_sync_3_nothing_leads_out_of_closed() -> None:
    assert all(state is not SessionState.CLOSED for state, _ in TRANSITIONS)


BEGUN = [HELLO, m.Begin(5, "journal", {HOST: 1}, {}, behind=False, count=3)]
BEHIND = [HELLO, m.Begin(5, "journal", {HOST: 1}, {}, behind=True, count=1)]


@pytest.mark.parametrize(
    ("before", "bad"),
    [
        ([*BEGUN, m.Abort(5)], m.Begin(5, "journal", {}, {}, behind=False, count=0)),
        ([*BEGUN, m.Abort(5)], m.Begin(4, "journal", {}, {}, behind=False, count=0)),
        ([HELLO], m.Begin(0, "journal", {}, {}, behind=False, count=0)),
        ([HELLO], m.Begin(-1, "journal", {}, {}, behind=False, count=0)),
        (BEGUN, m.Batch(4, 0, [VERSION])),
        (BEGUN, m.Batch(5, 1, [VERSION])),
        ([*BEGUN, m.Batch(5, 0, [VERSION])], m.Batch(5, 0, [VERSION])),
        ([*BEGUN, m.Batch(5, 0, [VERSION])], m.Batch(5, 2, [VERSION])),
        (BEGUN, m.Batch(5, 0, [])),
        (BEGUN, m.Batch(5, 0, [VERSION] * 4)),
        (
            [HELLO, m.Begin(5, "journal", {}, {}, behind=False, count=5000)],
            m.Batch(5, 0, [VERSION] * (m.MAX_BATCH + 1)),
        ),
        (BEGUN, m.Chain(5, 1, HOST, "", 1, VALUE, VALUE)),
        (BEGUN, m.Chain(5, 0, HOST, "", 1, VALUE, VALUE + b"x")),
        ([*BEGUN, m.Batch(5, 0, [VERSION])], m.Chain(5, 1, HOST, "", 1, VALUE, VALUE)),
        ([*BEGUN, m.Batch(5, 0, [VERSION] * 3)], m.Keys(5, 1, b"i" * 8)),
        (BEHIND, m.Keys(5, 0, b"i" * 8)),
        ([*BEHIND, m.Batch(5, 0, [VERSION])], m.Keys(5, 1, b"i" * 7)),
        ([*BEHIND, m.Batch(5, 0, [VERSION]), m.Keys(5, 1, b"i" * 8)], m.Batch(5, 2, [VERSION])),
        ([HELLO], m.Mend("journal", [VERSION] * (m.MAX_BATCH + 1), [])),
        (BEGUN, m.End(4, SUMMARY)),
        (BEGUN, m.Abort(6)),
        ([*BEGUN, m.Batch(5, 0, [VERSION])], m.End(5, SUMMARY)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, m.Message) else None,
)
def test_sync_16_the_numbers_within_a_round_are_held_to(before: list[m.AnyMessage], bad: m.AnyMessage) -> None:
    """SYNC-70, SYNC-71, SYNC-302, SYNC-303: so are their order and how many versions there are."""
    listening = session()
    assert listening.receive(spoken(before), NOW) == before
    received = listening.receive(spoken([bad, m.Ping(1)]), NOW)
    assert received == [listening.closed]
    assert listening.closed is not None
    assert listening.closed.code == "illegal"
    talking = session()
    for message in before:
        talking.send(message)
    with pytest.raises(LocalError):
        talking.send(bad)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ((MAX_FRAME_BEFORE_HELLO + 1).to_bytes(4, "big"), "bad-frame"),
        (b"\x00\x00\x00\x00", "bad-frame"),
        (b"\x00\x00\x00\x01\x07", "bad-frame"),
        (frame(b"\xc1"), "malformed"),
        (frame(b"\x91\x92\xa4ping" + b"\x91" * 60_000), "malformed"),
        (frame(b"\x91\x92\xa4ping\xdd\xff\xff\xff\xff"), "malformed"),
        (b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", "bad-frame"),
        (spoken([HELLO, HELLO]), "illegal"),
    ],
)
def test_sync_17_a_fault_closes_the_session_with_its_code_and_hands_nothing_on(data: bytes, code: str) -> None:
    listening = session()
    received = listening.receive(data, NOW)
    assert [message for message in received if message != HELLO] == [listening.closed]
    assert listening.closed is not None
    assert listening.closed.code == code
    assert heard([listening.farewell]) == [listening.closed]
    assert not listening.open


def test_cli_440_what_the_peer_did_wrong_is_said_in_the_readers_language_and_to_the_peer_in_english() -> None:
    """CLI-440: the reason keeps its words here; over the wire goes the text."""
    listening = session()
    listening.receive(spoken([HELLO, m.End(7, SUMMARY)]), NOW)
    assert listening.closed is not None
    english = "a End cannot come in state quiet"
    assert listening.closed.reason == english
    assert heard([listening.farewell]) == [m.Close("illegal", english)]
    assert isinstance(listening.closed.reason, Sentence)
    with speaking("de"):
        assert translated(listening.closed.reason) == "ein End kann im Zustand quiet nicht kommen"


def test_sync_17_a_long_reason_is_cut_so_that_it_can_be_said() -> None:
    listening = session()
    (close,) = listening.receive(frame(b"\x91\x91\xda\x03\xe8" + b"x" * 1000), NOW)
    assert isinstance(close, m.Close)
    assert len(close.reason) == m.MAX_TEXT
    assert heard([listening.farewell]) == [close]


def test_sync_11_large_frames_are_refused_before_the_greeting() -> None:
    greeted = session()
    greeted.receive(spoken([HELLO]), NOW)
    assert greeted.receive(MAX_FRAME.to_bytes(4, "big"), NOW) == []
    assert [type(message) for message in greeted.receive(bytes(MAX_FRAME), NOW)] == [m.Close]
    assert greeted.closed is not None
    assert greeted.closed.code == "malformed"
    over = session()
    over.receive(spoken([HELLO]), NOW)
    over.receive((MAX_FRAME + 1).to_bytes(4, "big"), NOW)
    assert over.closed is not None
    assert over.closed.code == "bad-frame"


@pytest.mark.parametrize(("theirs", "older_here", "older_there"), [(2, "this device", "it"), (0, "it", "this device")])
def test_sync_18_473_each_side_reads_which_of_the_two_to_update_first(
    theirs: int, older_here: str, older_there: str
) -> None:
    """SYNC-18, SYNC-473: the peer was sent our sentence, in which `this device` is the other one."""
    listening = session()
    (close,) = listening.receive(spoken([m.Hello(theirs, HELLO.device, HELLO.boot, HELLO.state, HELLO.gossip)]), NOW)
    here = f"it speaks version {theirs} of the sync protocol, this device version 1: update {older_here} first"
    there = f"it speaks version 1 of the sync protocol, this device version {theirs}: update {older_there} first"
    assert close == m.Close("version", here)
    assert heard([listening.farewell]) == [m.Close("version", there)]


def test_sync_19_where_the_transport_proves_nothing_any_device_is_heard() -> None:
    listening = Session(expected=None, now=NOW)
    assert listening.receive(spoken([HELLO]), NOW) == [HELLO]


def test_sync_19_a_greeting_for_another_device_than_the_certificate_is_refused() -> None:
    listening = session()
    (close,) = listening.receive(spoken([m.Hello(1, b"e" * 32, HELLO.boot, HELLO.state, HELLO.gossip)]), NOW)
    assert isinstance(close, m.Close)
    assert close.code == "wrong-device"
    assert not listening.greeted


def test_sync_20_nothing_is_said_after_our_own_close() -> None:
    talking = session()
    talking.send(HELLO)
    talking.receive(spoken([HELLO]), NOW)
    talking.send(m.Close("goodbye", "bye"))
    assert not talking.open
    with pytest.raises(LocalError):
        talking.send(m.Close("again", "bye"))
    assert talking.tick(NOW + PING_SECONDS * 1000) == b""
    talking.receive(b"\x00\x00\x00\x00", NOW)
    assert talking.farewell == b""


def test_sync_20_nothing_is_said_after_the_peers_close() -> None:
    talking = session()
    talking.send(HELLO)
    talking.receive(spoken([HELLO, m.Close("goodbye", "bye")]), NOW)
    with pytest.raises(LocalError, match="closed"):
        talking.send(m.Ping(1))


def test_sync_16_a_mend_of_the_most_versions_is_taken() -> None:
    """SYNC-16: so is one without any."""
    for count in (m.MAX_BATCH, 0):
        mend = m.Mend("journal", [VERSION] * count, [])
        assert session().receive(spoken([HELLO, mend]), NOW) == [HELLO, mend]


# -- encodings and credit

BOTH = m.Hello(m.PROTOCOL_VERSION, HELLO.device, HELLO.boot, HELLO.state, HELLO.gossip, (0, 1, 2, 77))
REPEATED = m.Want({"journal": m.Have(SUMMARY, {}, [(HOST, number, "t1") for number in range(1, 200)])})


@pytest.mark.parametrize(
    ("ours", "theirs", "compressed"), [(BOTH, BOTH, True), (BOTH, HELLO, False), (HELLO, BOTH, False)]
)
def test_sync_44_frames_are_compressed_only_where_both_can(ours: m.Hello, theirs: m.Hello, compressed: bool) -> None:
    talking = session()
    assert talking.send(ours)[4] == 0
    talking.receive(spoken([theirs]), NOW)
    said = talking.send(REPEATED)
    assert said[4] == (1 if compressed else 0)
    received = talking.receive(frame(m.encode(REPEATED), ENCODINGS), NOW)
    if compressed:
        assert received == [REPEATED]
    else:
        assert talking.closed is not None
        assert talking.closed.code == "bad-frame"


def test_sync_44_before_both_have_greeted_nothing_is_compressed() -> None:
    listening = session()
    listening.receive(frame(m.encode(BOTH), ENCODINGS) + frame(m.encode(REPEATED), ENCODINGS), NOW)
    assert listening.closed is not None
    assert listening.closed.code == "bad-frame"


def test_sync_45_a_batch_costs_a_credit_that_the_other_side_grants() -> None:
    listening, talking = greeted_session(), greeted_session()
    many = m.MAX_CREDIT
    for side in (lambda message: listening.receive(spoken([message]), NOW), talking.send):
        side(m.Begin(1, "journal", {}, {}, behind=False, count=many))
        for number in range(m.FIRST_CREDIT):
            side(m.Batch(1, number, [VERSION]))
    assert talking.credit == 0
    listening.send(m.Credit(2))
    talking.receive(spoken([m.Credit(2)]), NOW)
    for number in (m.FIRST_CREDIT, m.FIRST_CREDIT + 1):
        assert listening.receive(talking.send(m.Batch(1, number, [VERSION])), NOW) == [m.Batch(1, number, [VERSION])]
    over = m.Batch(1, m.FIRST_CREDIT + 2, [VERSION])
    with pytest.raises(LocalError, match="without credit"):
        talking.send(over)
    assert [type(message) for message in listening.receive(spoken([over]), NOW)] == [m.Close]
    assert listening.closed is not None
    assert listening.closed.code == "illegal"


def test_sync_79_credit_does_not_grow_without_end() -> None:
    listening = greeted_session()
    most = m.MAX_CREDIT - m.FIRST_CREDIT
    assert listening.receive(spoken([m.Credit(most)]), NOW) == [m.Credit(most)]
    listening.receive(spoken([m.Credit(1)]), NOW)
    assert listening.closed is not None
    assert listening.closed.code == "illegal"
    talking = greeted_session()
    talking.send(m.Credit(most))
    with pytest.raises(LocalError):
        talking.send(m.Credit(1))


# -- time


def test_sync_21_the_times_are_those_of_the_specification() -> None:
    """SYNC-21, SYNC-22, SYNC-23: in seconds; both sides go by them."""
    assert (GREETING_SECONDS, PING_SECONDS, DEAD_SECONDS) == (5, 5, 15)


def greeted_session() -> Session:
    both = session()
    both.send(HELLO)
    both.receive(spoken([HELLO]), NOW)
    return both


@pytest.mark.parametrize("ours", [True, False], ids=["we-have-greeted", "nobody-has"])
def test_sync_21_a_peer_that_does_not_greet_in_time_is_dropped(ours: bool) -> None:
    waiting = session()
    if ours:
        waiting.send(HELLO)
    assert waiting.tick(NOW + GREETING_SECONDS * 1000 - 1) == b""
    assert waiting.open
    waiting.tick(NOW + GREETING_SECONDS * 1000)
    assert waiting.closed is not None
    assert waiting.closed.code == "timeout"
    assert heard([waiting.farewell]) == [waiting.closed]


def test_sync_21_bytes_that_are_not_a_greeting_do_not_help() -> None:
    waiting = session()
    data = spoken([HELLO])
    for at in range(GREETING_SECONDS + 1):
        waiting.receive(data[at : at + 1], NOW + at * 1000)
    waiting.tick(NOW + GREETING_SECONDS * 1000)
    assert waiting.closed is not None


def test_sync_22_a_ping_is_said_every_five_seconds() -> None:
    beating = greeted_session()
    pings = []
    for second in range(21):
        beating.receive(spoken([m.Pong(second)]), NOW + second * 1000)
        pings += heard([spoken([HELLO]), beating.tick(NOW + second * 1000)])[1:]
    assert pings == [m.Ping(1), m.Ping(2), m.Ping(3), m.Ping(4)]


def test_caus_420_a_ping_says_what_the_wall_clock_says() -> None:
    """A clock that does not fit is said as the nearest that does."""
    said = []
    for clock in (1_772_316_000_000, -1, 2**48):
        beating = greeted_session()
        said.append(heard([spoken([HELLO]), beating.tick(NOW + PING_SECONDS * 1000, clock)])[-1])
    assert said == [m.Ping(1, 1_772_316_000_000), m.Ping(1, 0), m.Ping(1, 2**48 - 1)]


def test_sync_22_a_ping_out_of_turn_has_the_next_number_and_says_no_time() -> None:
    asking = greeted_session()
    said = [asking.ping(NOW), asking.ping(NOW, 7)]
    assert [number for number, _ in said] == [1, 2]
    assert heard([spoken([HELLO]), *(sent for _, sent in said)])[1:] == [m.Ping(1), m.Ping(2, 7)]


def test_sync_23_a_peer_that_is_silent_for_fifteen_seconds_is_dead() -> None:
    waiting = greeted_session()
    waiting.tick(NOW + DEAD_SECONDS * 1000 - 1)
    assert waiting.open
    waiting.tick(NOW + DEAD_SECONDS * 1000)
    assert waiting.closed is not None
    assert waiting.closed.code == "timeout"
    assert waiting.tick(NOW + 2 * DEAD_SECONDS * 1000) == b""


def test_sync_23_any_bytes_are_a_sign_of_life() -> None:
    waiting = greeted_session()
    waiting.receive(b"\x00", NOW + 14_000)
    waiting.tick(NOW + 28_000)
    assert waiting.closed is None


def test_sync_1000_the_reason_of_another_version_is_known_again_with_its_numbers() -> None:
    """SYNC-1000: so that the reader's language is used. Other words are left as they are."""
    older = "it speaks version 2 of the sync protocol, this device version 1: update this device first"
    newer = "it speaks version 1 of the sync protocol, this device version 2: update it first"
    assert [versions_said(reason) for reason in (newer, older)] == [newer, older]
    for reason in ("bye", older.replace("this device first", "it first"), older.replace("2", "3.2")):
        assert versions_said(reason) is None
