"""A scripted peer that breaks the rules: each time the session ends with the right word, and nothing is harmed.

The tables go by what was sent. Every line gets a session of its own with one and the same replica, which must
hold afterwards what it held before, have no broken invariant, and in the end still serve a peer that behaves.
"""

import struct
from collections.abc import Iterable
from typing import Any

from conformance import wire
from conformance.generate import reference
from conformance.peer import SOMEBODY, STORES, G, H, Past, Peer, begin, branch, empty, end, key, whole
from conformance.testee import Failure
from conformance.wire import AFTER_GREETING, BEFORE_GREETING, Message
from conformance.world import JOURNAL, Replica, World

LEVEL = 2
EXACT = 2**53 - 1
VALUE = b"v" * 16
HASH = b"h" * 32
Row = tuple[str, str | list[str], Any]
"""What is sent, in words; the code that it ends with, or some that are right; the messages, or bytes, of a frame."""


def _settled(world: World) -> tuple[Replica, Past]:
    """A replica with writes of its own and of a peer, and what that peer has written."""
    a = world.device("a")
    a.write("own", {"title": "mine"})
    past = Past()
    past.write("t1", {"title": "one"})
    past.write("t2", {"title": "two"})
    peer = Peer(world, a)
    peer.greet(journal=past.have())
    peer.say(*whole(past))
    world.expect("the peer's writes are here", a.knowledge().get(H), 2)
    peer.hang_up()
    return a, past


def _holds(replica: Replica) -> Any:
    return [[replica.knowledge(store), replica.digest(store), replica.dump(store)] for store in STORES]


def _each_ends(world: World, rows: Iterable[Row], *, greeted: bool = True, encodings: tuple[int, ...] = (0,)) -> None:
    a, past = _settled(world)
    before = _holds(a)
    for what, codes, sent in rows:
        peer = Peer(world, a)
        if encodings != (0,):  # what is packed can't be read here: equal stores, to which nothing long is said
            theirs = peer.last("hello")
            if not set(encodings) <= set(theirs[6]):
                return  # what it does not offer it need not read
            peer.say(peer.hello(state=theirs[4], gossip=theirs[5], encodings=list(encodings)))
        elif greeted:
            peer.greet(journal=past.have())
        try:
            peer.bytes(sent) if isinstance(sent, bytes) else peer.say(*sent)
        except Failure as failure:
            raise Failure(f"{what}: {failure.what}", failure.expected, failure.got) from None
        expected = codes if isinstance(codes, list) else [codes]
        got = peer.closed and peer.closed["code"]
        peer.expect_closed(what, got if got in expected else expected[0])
        world.expect(f"{what}: said afterwards", peer.say(["ping", 1]) + peer.wait(6), [])
        world.expect(f"{what}: what is held", _holds(a), before)
        world.expect(f"{what}: check", a.check(), [])
        peer.hang_up()
    _serves(world, a)


def _serves(world: World, replica: Replica) -> None:
    """A peer that behaves is served as if nothing had been."""
    past = Past(G)
    past.write("good", {"title": "good"})
    peer = Peer(world, replica, device=SOMEBODY)
    peer.greet(journal=past.have())
    peer.say(*whole(past))
    world.expect("a good peer is served", replica.knowledge().get(G), 1)


# -- frames


def frames_before_the_greeting(world: World) -> None:
    """The length is judged when its four bytes are there: 64 KiB until the peer has greeted (SYNC-11)."""
    hello = Peer(world, world.device("other")).hello()
    body = wire.pack([hello])
    rows: list[Row] = [
        ("a frame of no bytes", "bad-frame", b"\0\0\0\0"),
        ("a frame of 64 KiB and one", "bad-frame", struct.pack(">I", BEFORE_GREETING + 1)),
        ("a frame of 1 MiB", "bad-frame", struct.pack(">I", AFTER_GREETING)),
        ("a frame of 4 GB", "bad-frame", b"\xff\xff\xff\xff"),
        ("HTTP", "bad-frame", b"GET / HTTP/1.1\r\n"),
        ("another encoding", "bad-frame", wire.framed(body, 2)),
        ("a packed greeting", "bad-frame", wire.framed(wire.zstd_frame([(body, 1)], len(body)), wire.ZSTD)),
    ]
    _each_ends(world, rows, greeted=False)


def frames_after_the_greeting(world: World) -> None:
    """1 MiB, and an encoding that both have listed (SYNC-10, SYNC-11)."""
    body = wire.pack([["ping", 1]])
    rows: list[Row] = [
        ("a frame of no bytes", "bad-frame", b"\0\0\0\0"),
        ("a frame of 1 MiB and one", "bad-frame", struct.pack(">I", AFTER_GREETING + 1)),
        ("a frame of 4 GB", "bad-frame", b"\xff\xff\xff\xff"),
        ("encoding 2 without having listed it", "bad-frame", wire.framed(body, 2)),
        ("encoding 3", "bad-frame", wire.framed(body, 3)),
        ("encoding 255", "bad-frame", wire.framed(body, 255)),
        ("zstd without having listed it", "bad-frame", wire.framed(wire.zstd_frame([(body, 1)], len(body)), wire.ZSTD)),
    ]
    _each_ends(world, rows)


def the_largest_frames_are_taken(world: World) -> None:
    """The limit itself is not a fault, before and after the greeting (SYNC-11, SYNC-14)."""
    a = world.device("a")
    peer = Peer(world, a)
    peer.bytes(_padded(peer.hello(), BEFORE_GREETING))
    world.expect("after a greeting of 64 KiB", peer.closed, None)
    world.expect("a ping of 1 MiB", peer.bytes(_padded(["ping", 4, 0], AFTER_GREETING)), [["pong", 4]])


def _padded(message: Message, length: int) -> bytes:
    """A frame of exactly this length: a message with a field behind those that are known."""
    for overhead in (2, 3, 5):
        padded = [*message, b"\0" * (length - 1 - len(wire.pack([message])) - overhead)]
        if len(wire.pack([padded])) + 1 == length:
            return wire.frame(padded)
    raise AssertionError("no such padding")


def bombs(world: World) -> None:
    """What a compressed frame becomes is bound like any frame, and said in its header (SYNC-73, SYNC-74)."""
    body = wire.pack([["ping", 1]])
    packed = wire.zstd_frame([(body, 1)], len(body))
    full = [(b"\0", wire.BLOCK)]
    rows: list[Row] = [
        (what, "bad-frame", wire.framed(content, wire.ZSTD))
        for what, content in (
            ("364 MB in eleven kilobytes", wire.zstd_frame(full * 2777, 2777 * wire.BLOCK)),
            ("a frame that becomes 1 MiB", wire.zstd_frame(full * 8, 8 * wire.BLOCK)),
            ("a claim of 2^64-1 bytes", wire.zstd_frame([(body, 1)], 2**64 - 1)),
            ("a bomb that claims ten bytes", wire.zstd_frame(full * 2777, 10)),
            ("a frame that claims nothing", wire.zstd_frame([(body, 1)], None)),
            ("less than it claims", wire.zstd_frame([(body, 1)], len(body) + 1)),
            ("a second frame behind", packed + packed),
            ("bytes behind", packed + b"\0"),
            ("a skippable frame", b"\x50\x2a\x4d\x18\x04\0\0\0abcd"),
            ("a skippable frame in front", b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + packed),
            ("half a frame", packed[:-3]),
            ("no zstd at all", body),
            ("nothing", b""),
        )
    ]
    _each_ends(world, rows, encodings=(wire.PLAIN, wire.ZSTD))


# -- bytes that are not a message


def bytes_that_are_no_message(world: World) -> None:
    """One fault for all of them, whatever a decoder makes of them (SYNC-2)."""
    rows: list[Row] = [
        (what, "malformed", wire.framed(body))
        for what, body in (
            ("no byte", b""),
            ("an array that claims 4 GB", b"\xdd\xff\xff\xff\xff"),
            ("a map that claims 4 GB", b"\x91\xdf\xff\xff\xff\xff"),
            ("bytes that claim 4 GB", b"\x91\x92\xa4ping\xc6\xff\xff\xff\xff"),
            ("text that claims 4 GB", b"\x91\x92\xdb\xff\xff\xff\xff"),
            ("versions that claim 4 GB", b"\x91\x94\xa5batch\x01\x00\xdd\xff\xff\xff\xff"),
            ("arrays nested 100,000 deep", b"\x91" * 100_000 + b"\xc0"),
            ("the same behind what is known", b"\x91\x93\xa4ping\x01" + b"\x91" * 100_000 + b"\xc0"),
            ("maps nested 100,000 deep", b"\x91\x93\xa4ping\x01" + b"\x81\x01" * 100_000 + b"\xc0"),
            ("invalid UTF-8 in a tag", b"\x91\x92\xa4p\xffng\x01"),
            ("invalid UTF-8 in a text", b"\x91\x93\xa5close\xa2\xc3\x28\xa0"),
            ("half a surrogate pair", b"\x91\x93\xa5close\xa3\xed\xa0\x80\xa0"),
            ("bytes behind the message", wire.pack([["ping", 1]]) + b"\0"),
            ("half a message", wire.pack([["ping", 70_000]])[:-1]),
            ("no message", wire.pack([])),
            ("a map", wire.pack({"ping": 1})),
            ("null", b"\xc0"),
            ("a byte that msgpack does not have", b"\xc1"),
            ("an extension", b"\x91\xd4\x05\x00"),
            ("a message that is a text", wire.pack(["ping"])),
            ("a message without a tag", wire.pack([[]])),
            ("a tag that is a number", wire.pack([[1, 1]])),
            ("an unknown tag", wire.pack([["gossip", 1]])),
            ("a tag with a capital", wire.pack([["Ping", 1]])),
            ("a message that stops short", wire.pack([["close", "goodbye"]])),
        )
    ]
    _each_ends(world, rows)


def bytes_that_are_no_greeting(world: World) -> None:
    """From somebody who has said nothing yet (SYNC-2, SYNC-3)."""
    hello = Peer(world, world.device("other")).hello()
    rows: list[Row] = [
        ("an array that claims 4 GB", "malformed", wire.framed(b"\xdd\xff\xff\xff\xff")),
        ("arrays nested 60,000 deep", "malformed", wire.framed(b"\x91" * 60_000)),
        ("an unknown tag", "malformed", [["gossip"]]),
        ("a version that is a text", "malformed", [["hello", "1", *hello[2:]]]),
        ("a device id of 31 bytes", "malformed", [["hello", 1, b"e" * 31, *hello[3:]]]),
        ("a boot of 15 bytes", "malformed", [[*hello[:3], b"b" * 15, *hello[4:]]]),
        ("a state of 17 bytes", "malformed", [[*hello[:4], b"s" * 17, *hello[5:]]]),
        ("no state", "malformed", [hello[:4]]),
        ("17 encodings", "malformed", [[*hello[:6], list(range(17))]]),
        ("a ping", "illegal", [["ping", 1]]),
        ("a Want", "illegal", [["want", {}]]),
        ("a round", "illegal", [["begin", 1, JOURNAL, {}, {}, False, 0]]),
        ("two greetings", "illegal", [hello, hello]),
    ]
    _each_ends(world, rows, greeted=False)


def _with(message: Message, at: int, value: Any) -> list[Message]:
    return [[*message[:at], value, *message[at + 1 :]]]


def fields_out_of_bounds(world: World) -> None:
    """Counters, hosts and lengths: the table of messages, to the byte (SYNC-12, SYNC-13, SYNC-14)."""
    beginning: Message = ["begin", 1, JOURNAL, {}, {}, False, 0]
    chain: Message = ["chain", 1, 0, H, "", 1, VALUE, VALUE]
    probe: Message = ["probe", JOURNAL, H, [1]]
    summary = [VALUE, HASH]
    counters = (
        ("0", 0), ("2^53", 2**53), ("2^63-1", 2**63 - 1), ("2^63", 2**63), ("2^64-1", 2**64 - 1), ("-1", -1),
        ("1.5", 1.5), ("1.0", 1.0), ("a text", "1"), ("null", None),
    )  # fmt: skip
    hosts = (
        ("a newline at its end", H + "\n"), ("a newline in it", H[:15] + "\n"), ("15 digits", H[:15]),
        ("17 digits", H + "c"), ("capitals", H.upper()), ("a g", H[:15] + "g"), ("nothing", ""),
        ("a null byte", H + "\0"),
    )  # fmt: skip
    rows: list[Row] = []
    for what, counter in counters:
        rows += [
            (f"knowledge of {what}", "malformed", _with(beginning, 3, {H: counter})),
            (f"forgotten up to {what}", "malformed", _with(beginning, 4, {H: counter})),
            (f"a question for write {what}", "malformed", _with(probe, 3, [counter])),
            (f"a held dot {what}", "malformed", [["want", {JOURNAL: [summary, {}, [[H, counter, "t1"]], [], {}]}]]),
        ]
    for what, host in hosts:
        rows += [
            (f"knowledge of a host with {what}", "malformed", _with(beginning, 3, {host: 1})),
            (f"a question for a host with {what}", "malformed", _with(probe, 2, host)),
            (f"a log of a host with {what}", "malformed", [["want", {JOURNAL: [summary, {host: [0, 0, VALUE]}]}]]),
            (f"a chain of a host with {what}", "malformed", [beginning, *_with(chain, 3, host)]),
        ]
    ident = "i" * 129
    rows += [
        (what, "malformed", sent)
        for what, sent in (
            ("a chain from 0", [beginning, *_with(chain, 5, 0)]),
            ("a chain from 2^53", [beginning, *_with(chain, 5, 2**53)]),
            ("a chain behind a host of 3 digits", [beginning, *_with(chain, 4, "abc")]),
            ("a chain behind 15 bytes", [beginning, *_with(chain, 6, VALUE[1:])]),
            ("a chain of nothing", [beginning, *_with(chain, 7, b"")]),
            ("a chain of 16,385 links", [beginning, *_with(chain, 7, VALUE * 16_385)]),
            ("a knowledge that is a list", _with(beginning, 3, [[H, 1]])),
            ("a flag that is a number", _with(beginning, 5, 0)),
            ("a count of -1", _with(beginning, 6, -1)),
            ("a store's name of 33 letters", _with(beginning, 2, "s" * 33)),
            ("a question for nothing", _with(probe, 3, [])),
            ("a question for 65 writes", _with(probe, 3, list(range(1, 66)))),
            ("a summary of one hash", [["mended", JOURNAL, 0, [VALUE], ""]]),
            ("a digest of 31 bytes", [["mended", JOURNAL, 0, [VALUE, HASH[1:]], ""]]),
            ("a held id of 129 letters", [["want", {JOURNAL: [summary, {}, [[H, 1, ident]], [], {}]}]]),
            ("8,001 held dots", [["want", {JOURNAL: [summary, {}, [[H, 1, "t"]] * 8_001, [], {}]}]]),
            ("a node of 17 bytes", [["want", {JOURNAL: [summary, {}, [], [VALUE + b"x"], {}]}]]),
            ("credit for nothing", [["credit", 0]]),
            ("credit for 1,025 batches", [["credit", 1025]]),
            ("a ping without a number", [["ping", None]]),
            ("a ping whose clock has 49 bits", [["ping", 1, 2**48]]),
            ("a ping whose clock is a text", [["ping", 1, "noon"]]),
            ("a ping whose clock is before 1970", [["ping", 1, -1]]),
            ("a reason of 501 letters", [["close", "goodbye", "x" * 501]]),
            ("a code of 65 letters", [["close", "x" * 65, ""]]),
            ("a version of four parts", [_begun(1), ["batch", 1, 0, [["t9", "task", b"{}", b"[]"]]]]),
            ("a version whose clock is a map", [_begun(1), ["batch", 1, 0, [["t9", "task", {H: 1}, b"[]", b"{}"]]]]),
            ("129 nodes", [["compare", JOURNAL, VALUE, [[b"", None, None]] * 129]]),
            ("a node with 33 children", [["compare", JOURNAL, VALUE, [[b"", [VALUE] * 33, None]]]]),
            ("a device that is a word", [["gossip", {JOURNAL: {"phone": {H: 1}}}]]),
        )
    ]
    _each_ends(world, rows)


def limits_are_taken(world: World) -> None:
    """What is exactly as large as it may be is not a fault (SYNC-14)."""
    a = world.device("a")
    peer = Peer(world, a)
    peer.say(peer.hello(encodings=list(range(16))[::-1]) if peer.last("hello")[6] == [0] else peer.hello())
    peer.say(["want", {JOURNAL: empty()}])
    peer.grant(1024 - 8)
    peer.say(["probe", JOURNAL, H, [EXACT, *range(1, 64)]])
    world.expect("values of a host that is not here", peer.last("probed"), ["probed", JOURNAL, H, {}])
    peer.say(["begin", 1, JOURNAL, {}, {}, False, EXACT], ["abort", 1])
    world.expect("a ping", peer.say(["ping", 2**53]), [["pong", 2**53]])
    peer.say(["close", "c" * 64, "r" * 500])
    world.expect("the last word", peer.closed, {"code": "c" * 64, "message": "r" * 500})


# -- messages out of turn


def _begun(count: int = 2, round: int = 1, behind: bool = False) -> Message:
    return ["begin", round, JOURNAL, {H: 4}, {}, behind, count]


def _news(count: int = 2) -> Past:
    """What `_settled` has of a host, and so much more."""
    past = Past()
    past.write("t1", {"title": "one"})
    past.write("t2", {"title": "two"})
    for number in range(count):
        past.write(f"n{number}", {"title": "new"})
    return past


def messages_out_of_turn(world: World) -> None:
    """The table of what may come when; numbers go up, and counts are kept (SYNC-3, SYNC-16, SYNC-17, SYNC-70,
    SYNC-71)."""
    past = _news()
    links = past.chain(1, 0, 3)
    one, two = past.versions()[2:]
    many = [one] * 1001
    rows: list[Row] = [
        ("a second greeting", "illegal", [["hello", 1, HASH, b"b" * 16, VALUE, b"h" * 8, [0]]]),
        ("a batch without a round", "illegal", [["batch", 1, 0, [one]]]),
        ("a chain without a round", "illegal", [links]),
        ("keys without a round", "illegal", [["keys", 1, 0, b""]]),
        ("the end of no round", "illegal", [["end", 1, [VALUE, HASH]]]),
        ("the cut of no round", "illegal", [["abort", 1]]),
        ("round 0", "illegal", [_begun(0, 0)]),
        ("a round within a round", "illegal", [_begun(), _begun(2, 2)]),
        ("a round with the number of the last", "illegal", [_begun(0), ["abort", 1], _begun(0, 1)]),
        ("a round with a lower number", "illegal", [_begun(0, 7), ["abort", 7], _begun(0, 6)]),
        ("frame 1 at first", "illegal", [_begun(), [*links[:2], 1, *links[3:]]]),
        ("a frame twice", "illegal", [_begun(), links, links]),
        ("a frame left out", "illegal", [_begun(), links, ["batch", 1, 2, [one]]]),
        ("a frame of another round", "illegal", [_begun(), ["batch", 2, 0, [one]]]),
        ("a batch of nothing", "illegal", [_begun(), links, ["batch", 1, 1, []]]),
        ("more versions than were announced", "illegal", [_begun(1), links, ["batch", 1, 1, [one, two]]]),
        ("1,001 versions in a batch", "illegal", [_begun(2000), links, ["batch", 1, 1, many]]),
        ("half a link", ["malformed", "illegal"], [_begun(), [*links[:7], VALUE + VALUE[:8]]]),
        ("keys for one who is not behind", "illegal", [_begun(0), ["keys", 1, 0, b""]]),
        ("keys before the versions", "illegal", [_begun(1, 1, True), ["keys", 1, 0, b""]]),
        ("half a key", ["malformed", "illegal"], [_begun(0, 1, True), ["keys", 1, 0, b"12345"]]),
        ("an end that comes early", "illegal", [_begun(), links, ["end", 1, [VALUE, HASH]]]),
        ("the end of another round", "illegal", [_begun(0), ["end", 2, [VALUE, HASH]]]),
        ("the cut of another round", "illegal", [_begun(0), ["abort", 2]]),
        ("credit for more than 1,024 in all", "illegal", [["credit", 1000], ["credit", 1024]]),
        ("nine mends in one breath", "illegal", [["mend", JOURNAL, [], []]] * 9),
        ("a mend of 1,001 versions", "illegal", [["mend", JOURNAL, many, []]]),
    ]
    _each_ends(world, rows)


def batches_without_credit(world: World) -> None:
    """Eight are open at first. The ninth in one breath ends the session; it is not stored, and no knowledge comes
    (SYNC-45, SYNC-17)."""
    a = world.device("a")
    past = Past()
    for number in range(9):
        past.write(f"t{number}", {"title": "x"})
    peer = Peer(world, a)
    peer.greet(journal=past.have())
    batches = [["batch", 1, number + 1, [each]] for number, each in enumerate(past.versions())]
    peer.say(begin(past), past.chain(), *batches, end(past))
    peer.expect_closed("a ninth without credit", "illegal")
    world.expect("knowledge", a.knowledge(), {})
    world.expect("the ones without credit", [a.read("t7"), a.read("t8")], [None, None])
    world.expect_sound(a)
    _serves(world, a)


def batches_behind_a_mistake(world: World) -> None:
    """Nothing is taken of a frame with what is not a message, nor behind a message out of turn (SYNC-17)."""
    past = _news()
    versions = past.versions()[2:]
    good = [_begun(), past.chain(1, 0, 3), ["batch", 1, 1, versions], end(past)]
    rows: list[Row] = [
        ("a round with an unknown message behind it", "malformed", [*good, ["gossip"]]),
        ("a round behind a message out of turn", "illegal", [["abort", 1], *good]),
    ]
    _each_ends(world, rows)


# -- what only a store can judge


def stores_that_are_not_here(world: World) -> None:
    """Are a fault in a round, a question and a comparison (SYNC-31), but not in a Want (SYNC-283)."""
    rows: list[Row] = [
        ("a round", "unknown-store", [["begin", 1, "diary", {}, {}, False, 0]]),
        ("a question", "unknown-store", [["probe", "diary", H, [1]]]),
        ("a comparison", "unknown-store", [["compare", "diary", VALUE, []]]),
    ]
    _each_ends(world, rows)


def versions_that_cannot_be_kept(world: World) -> None:
    """Without a readable id or clock, too large, or beyond the chains: the end, and of their frame nothing is stored
    (SYNC-30, SYNC-307, SYNC-65)."""
    past = _news(2)
    good, other = past.versions()[2:]
    links = past.chain(1, 0, 3)

    def row(what: str, at: int, value: Any) -> Row:
        bad = [*other[:at], value, *other[at + 1 :]]
        return (what, "bad-entity", [_begun(2), links, ["batch", 1, 1, [good, bad]], end(past)])

    def clock(**counters: Any) -> bytes:
        return reference.canonical({H if host == "h" else host: n for host, n in counters.items()})

    rows: list[Row] = [
        row("an id with a newline", 0, "n1\n"),
        row("an id with a slash", 0, "../n1"),
        row("an empty id", 0, ""),
        row("a clock that is not JSON", 2, b"\xff\xfe"),
        row("a clock that is a list", 2, b"[1]"),
        row("an empty clock", 2, b"{}"),
        row("a clock with counter 0", 2, clock(h=0)),
        row("a clock with counter -1", 2, clock(h=-1)),
        row("a clock with counter 2^53", 2, b'{"%s":9007199254740992}' % H.encode()),
        row("a clock with counter 2^63-1", 2, b'{"%s":9223372036854775807}' % H.encode()),
        row("a clock with counter 2^64-1", 2, b'{"%s":18446744073709551615}' % H.encode()),
        row("a clock with a counter that is a float", 2, b'{"%s":4.0}' % H.encode()),
        row("a clock with a host that has a newline", 2, b'{"%s\\n":4}' % H.encode()),
        row("a clock with a short host", 2, b'{"abc":4}'),
        row("a clock beyond the chain that came", 2, clock(h=5)),
        row("a clock far beyond the chain", 2, clock(h=EXACT)),
        row("a clock with a host without a chain", 2, clock(h=4, **{G: 1})),
        row("a version of more than 960 KiB", 4, reference.canonical({"title": "x" * (961 * 1024)})),
    ]
    # The chain in front of them is sound and may stay; nothing else may.
    _each_ends(world, rows)


def what_comes_behind_a_refusal(world: World) -> None:
    """Is not taken, however good it is and although it came in the same bytes (SYNC-308)."""
    past = _news(2)
    good, other = past.versions()[2:]
    bad = ["n1\n", *other[1:]]
    sound = [begin(past, 2, count=2), past.chain(2, 0, 3), ["batch", 2, 1, [good, other]], end(past, 2)]
    bytes_of_it = wire.frame(_begun(2), past.chain(1, 0, 3), ["batch", 1, 1, [good, bad]], end(past))
    rows: list[Row] = [
        ("a round behind a bad one", "bad-entity", bytes_of_it + wire.frame(["ping", 1]) + wire.frame(*sound)),
    ]
    _each_ends(world, rows)


def chains_that_are_none(world: World) -> None:
    """Links that do not reach to what is here, or do not begin where they say: the round is refused, nothing is stored,
    and the session goes on (COPY-4)."""
    a, past = _settled(world)
    before = _holds(a)
    new = Past(G)
    new.write("t9", {"title": "nine"})
    value = new.values[1]
    for what, links in (
        ("a hole", ["chain", 1, 0, H, "", 5, VALUE, VALUE]),
        ("a host that begins at 2", ["chain", 1, 0, G, "", 2, VALUE, value]),
        ("a host without its genesis", ["chain", 1, 0, G, "", 1, VALUE, value]),
        ("another past right before", ["chain", 1, 0, H, "", 3, VALUE, VALUE]),
        ("a branch of nobody", ["chain", 1, 0, G, "ab" * 8, 3, VALUE, value]),
        ("a branch of nobody, under its name", ["chain", 1, 0, branch(value), "ab" * 8, 3, VALUE, value]),
        ("a branch under a name that does not fit", ["chain", 1, 0, G, H, 3, past.values[2], value]),
        ("links up to beyond 2^53-1", ["chain", 1, 0, G, "", EXACT, VALUE, value * 2]),
        ("a host that is its own branch", ["chain", 1, 0, H, H, 3, past.values[2], value]),
    ):
        peer = Peer(world, a)
        peer.greet(journal=past.have())
        peer.say(["begin", 1, JOURNAL, {G: 1}, {}, False, 1], links, ["batch", 1, 1, new.versions()], end(new))
        world.expect(f"{what}: refused", [m[1:3] for m in peer.said("reject")], [[1, JOURNAL]])
        world.expect(f"{what}: the session goes on", [peer.closed, peer.say(["ping", 8])], [None, [["pong", 8]]])
        world.expect(f"{what}: what is held", _holds(a), before)
        world.expect(f"{what}: check", a.check(), [])
        peer.hang_up()
    _serves(world, a)


def knowledge_beyond_the_chains(world: World) -> None:
    """Nobody knows writes whose chain is nowhere, or has forgotten what it does not know: such a claim would leave the
    store broken, and withhold from it what others have (SYNC-66, COPY-2)."""
    a, past = _settled(world)
    before = _holds(a)
    own = a.hosts[JOURNAL]
    for what, knowledge, forgotten in (
        ("writes of a host without a chain", {G: 5}, {}),
        ("writes beyond the chain", {H: 1000}, {}),
        ("every write that there can be", {H: EXACT, G: EXACT}, {}),
        ("writes of the receiver that it never made", {own: EXACT}, {}),
        ("what nobody has written is forgotten", {}, {G: EXACT}),
        ("what the receiver never wrote is forgotten", {}, {own: 2}),
    ):
        for behind in (False, True):
            peer = Peer(world, a)
            peer.greet(journal=past.have())
            peer.say(["begin", 1, JOURNAL, knowledge, forgotten, behind, 0], ["end", 1, [VALUE, HASH]])
            peer.expect_closed(what, "bad-entity")
            world.expect(f"{what}: nothing is acknowledged", peer.said("ack"), [])
            world.expect(f"{what}: what is held", _holds(a), before)
            world.expect(f"{what}: check", a.check(), [])
            peer.hang_up()
    world.expect("the next write", a.write("own", {"title": "again"})["counter"], 2)
    _serves(world, a)


def invented_hosts(world: World) -> None:
    """A peer that says of itself and of others that they know hosts which nobody has does not make what is said to the
    next peer too long for a frame (SYNC-34, SYNC-77)."""
    a, past = _settled(world)
    before = _holds(a)
    for start in range(0, 60_000, 15_000):
        hosts = [f"{number:016x}" for number in range(start, start + 15_000)]
        peer = Peer(world, a)
        peer.greet(journal=past.have())
        peer.say(["gossip", {JOURNAL: {"e" * 64: dict.fromkeys(hosts, 1)}}])
        have = past.have()
        peer.say(["want", {JOURNAL: [have[0], have[1] | {host: [1, 1, VALUE] for host in hosts[:10_000]}, *have[2:]]}])
        peer.hang_up()
    world.expect("what is held", _holds(a), before)
    world.expect("check", a.check(), [])
    _serves(world, a)


def keys_without_end(world: World) -> None:
    """They are kept until the round ends, so there are no more of them than the sender can hold (SYNC-77)."""
    many = [b"".join(struct.pack(">Q", 32_768 * part + n + 1) for n in range(32_768)) for part in range(2)]
    rows: list[Row] = [
        (
            "65,536 keys",
            "bad-entity",
            [["begin", 1, JOURNAL, {}, {}, True, 0], *(["keys", 1, n, k] for n, k in enumerate(many))],
        )
    ]
    _each_ends(world, rows)


def keys_that_are_none(world: World) -> None:
    """Not ascending, or one twice: a peer that lies about what it holds must not make anything go (FORGET-8)."""
    keys = sorted(key(ident) for ident in ("own", "t1", "t2"))
    beginning = ["begin", 1, JOURNAL, {H: 2}, {}, True, 0]
    rows: list[Row] = [
        (what, "bad-entity", [beginning, ["keys", 1, 0, b"".join(sent)], ["end", 1, [VALUE, HASH]]])
        for what, sent in (("keys that go down", keys[::-1]), ("a key twice", [keys[0], *keys]))
    ]
    _each_ends(world, rows)


def rounds_that_cannot_be_taken_without_end(world: World) -> None:
    """A hundred in a row are refused one by one; the next one ends the session, for the two will not agree. A round
    that is taken begins the count again (SYNC-5)."""
    a, past = _settled(world)
    before = _holds(a)
    hole = ["chain", 0, 0, H, "", 9, VALUE, VALUE]
    peer = Peer(world, a)
    peer.greet(journal=past.have())

    def refuse(first: int, count: int) -> None:
        for number in range(first, first + count):
            peer.say(["begin", number, JOURNAL, {}, {}, False, 0], ["chain", number, *hole[2:]], end(past, number))

    refuse(1, 100)
    world.expect("refused", [len(peer.said("reject")), peer.closed], [100, None])
    peer.say(["want", {JOURNAL: past.have()}], ["begin", 101, JOURNAL, past.knowledge, {}, False, 0], end(past, 101))
    world.expect("taken", [ack[1] for ack in peer.said("ack")], [101])
    refuse(102, 100)
    world.expect("refused again", [len(peer.said("reject")), peer.closed], [200, None])
    refuse(202, 1)
    peer.expect_closed("one more than a hundred in a row", "no-agreement")
    world.expect("what is held", _holds(a), before)
    world.expect("check", a.check(), [])
    peer.hang_up()
    _serves(world, a)


def forks_without_end(world: World) -> None:
    """Nodes are never forgotten: of those that lie on no log here only so many are taken on trust, and then the session
    ends. What is said to the next peer fits a frame (SYNC-77)."""
    a, past = _settled(world)
    closed = []
    for start in range(0, 3000, 100):
        peer = Peer(world, a)
        peer.greet()
        nodes = [number.to_bytes(16, "big") for number in range(start + 1, start + 101)]
        have = past.have()
        peer.say(["want", {JOURNAL: [have[0], have[1], [], nodes, {}]}])
        closed.append(peer.closed and peer.closed["code"])
        peer.hang_up()
    world.expect("the first are taken on trust, and the last are not", [closed[0], closed[-1]], [None, "no-agreement"])
    world.expect("no other word", [code for code in closed if code not in (None, "no-agreement")], [])
    last = Peer(world, a)
    last.greet()
    world.expect("nodes that are said", len(last.last("want")[1][JOURNAL][3]) <= 1000, True)
    world.expect("what is here", a.fields("t1"), {"title": "one"})
    world.expect("check", a.check(), [])


def comparisons_that_are_none(world: World) -> None:
    """A node that cannot be (MEND-3)."""
    a = world.device("a")
    for what, node in (
        ("a digit of 32", [b"\x20", [VALUE] * 32, None]),
        ("31 children", [b"", [VALUE] * 31, None]),
        ("both children and entities", [b"", [VALUE] * 32, []]),
        ("neither", [b"", None, None]),
        ("no children, and entities", [b"", [], [["t1", b"12345678"]]]),
        ("a hash of seven bytes", [b"", None, [["t1", b"1234567"]]]),
    ):
        peer = Peer(world, a)
        peer.greet()
        root = [b"", [VALUE] * 32, None]
        peer.say(["compare", JOURNAL, peer.last("want")[1][JOURNAL][0][0], [root]])
        peer.say(["compare", JOURNAL, peer.last("want")[1][JOURNAL][0][0], [node]])
        codes = peer.closed and peer.closed["code"]
        world.expect(f"{what}: the end, or nothing", codes in ("bad-entity", "malformed", None), True)
        world.expect(f"{what}: check", a.check(), [])
        peer.hang_up()
    _serves(world, a)


def comparisons_without_end(world: World) -> None:
    """A device that begins one comparison after the other is refused with a reason; the session goes on (MEND-27)."""
    a, _ = _settled(world)
    peer = Peer(world, a, device=bytes(32))  # the one with the smaller id: its comparison is the one that goes on
    peer.greet()
    known = peer.last("want")[1][JOURNAL][0][0]
    for number in range(31):
        root = [b"", [number.to_bytes(16, "big")] * 32, None]
        peer.say(["compare", JOURNAL, known, [root]])
    reasons = [said[4] for said in peer.said("mended")]
    world.expect("what is refused", [bool(reason) for reason in reasons], [True])
    peer.say(["ping", 7])
    world.expect("the session goes on", [peer.closed, peer.last("pong")[1]], [None, 7])
    _serves(world, a)


def what_nobody_asked_for(world: World) -> None:
    """Answers to questions that were never put change nothing, and end nothing (SYNC-3)."""
    a, past = _settled(world)
    before = _holds(a)
    for message in (
        ["probed", JOURNAL, H, {1: VALUE}],
        ["ack", 5, JOURNAL, {H: EXACT}, [VALUE, HASH]],
        ["reject", 5, JOURNAL, "no"],
        ["mended", JOURNAL, 3, [VALUE, HASH], ""],
        ["mend", JOURNAL, [past.versions()[0]], ["t1"]],
        ["pong", 99],
        ["gossip", {JOURNAL: {"e" * 64: {H: EXACT}}}],
        ["compare", JOURNAL, VALUE, []],
    ):
        peer = Peer(world, a)
        peer.greet(journal=past.have())
        peer.say(message)
        world.expect(f"{message[0]}: the session goes on", peer.closed, None)
        world.expect(f"{message[0]}: what is held", _holds(a), before)
        world.expect(f"{message[0]}: check", a.check(), [])
        peer.hang_up()
    _serves(world, a)


def random_bytes(world: World) -> None:
    """Rounds with damaged bytes: whatever comes of them is answered, and nothing is broken (SYNC-2, SYNC-76)."""
    a, past = _settled(world)
    good = wire.frame(*whole(_news()))
    for _ in range(60):
        peer = Peer(world, a)
        peer.greet(journal=past.have())
        damaged = bytearray(good)
        for _ in range(world.chance.randint(1, 4)):
            damaged[world.chance.randrange(3 if world.chance.random() < 0.1 else 10, len(good))] = (
                world.chance.randrange(256)
            )
        peer.say(["ping", 1])
        peer.bytes(bytes(damaged))
        peer.hang_up()
        world.expect("check", [each for each in a.check() if "quarantine" not in each], [])
    world.expect("the own write is there", a.fields("own"), {"title": "mine"})
    b = world.device("b")
    world.sync(a, b, store=None)
    world.expect("another device gets all of it", [b.dump(), b.digest()], [a.dump(), a.digest()])
