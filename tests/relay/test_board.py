"""What lies at a relay, and what of it may be relied on: each condition alone."""

import msgspec
import pytest

from lottisync.causality.vector_clock import Host
from lottisync.relay.board import SNAPSHOT_LIFE, Board, BoardEntry
from lottisync.relay.content import Extent
from lottisync.relay.header import Kind, Name

A, B = Host("a" * 16), Host("b" * 16)
LANE, OTHER = bytes([1]) * 8, bytes([2]) * 8
MEMBERS = {"ada"}
NODES: dict[str, set[bytes]] = {"journal": set()}


def extent(
    known: dict[Host, int], base: dict[Host, int] | None = None, held: list[tuple[Host, int, str]] | None = None
) -> Extent:
    return Extent("journal", base or {}, known, {}, {}, held or [], {}, [], not base, 1)


def entry(number: int, of: Extent, kind: Kind = Kind.ENVELOPE, lane: bytes = LANE) -> BoardEntry:
    hashes = {"journal": [bytes(32)]} if kind is Kind.MANIFEST else {}
    name, extents = Name(lane, "log", number), {"journal": of}
    return BoardEntry(name, kind, "ada", bytes(32), 100, extents, [], hashes, number, 0, bytes(16), {"journal"})


def board(*entries: BoardEntry) -> Board:
    found = Board()
    found.entries = {one.name: one for one in entries}
    found.present = {name for one in entries for name in (one.name, *one.frames())}
    return found


def base(of: Board, now: int = 0) -> dict[Host, int]:
    return of.base("journal", NODES, {}, MEMBERS, now)


def test_relay_18_a_segment_counts_behind_what_it_stands_on() -> None:
    """RELAY-18, RELAY-15"""
    first, second = entry(1, extent({A: 1})), entry(2, extent({A: 2}, base={A: 1}))
    assert base(board(first, second)) == {A: 2}
    assert base(board(second)) == {}


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"taken": set()}, "was not taken here"),
        ({"device": "stranger"}, "no member has said it"),
        (
            {"extents": {"journal": msgspec.structs.replace(extent({A: 1}), nodes=[bytes(16)])}},
            "under other fork nodes",
        ),
    ],
)
def test_relay_18_an_unreliable_message_is_not_a_base(changed: dict[str, object], why: str) -> None:
    """RELAY-18, RELAY-25, RELAY-37"""
    assert base(board(entry(1, extent({A: 1})))) == {A: 1}
    assert base(board(msgspec.structs.replace(entry(1, extent({A: 1})), **changed))) == {}, why


def test_relay_20_a_snapshot_is_relied_on_for_half_of_its_life_and_while_all_its_frames_are_there() -> None:
    """RELAY-20, RELAY-22"""
    there = board(entry(1, extent({A: 1}), Kind.MANIFEST))
    assert base(there, SNAPSHOT_LIFE) == {A: 1}
    assert base(there, SNAPSHOT_LIFE + 1) == {}
    there.present.discard(Name(LANE, "snap.1", 1))
    assert base(there) == {}


def test_relay_22_a_snapshot_covers_only_the_dots_that_it_holds() -> None:
    """RELAY-22, RELAY-29"""
    beyond = [(B, 7, "e1")]
    log = entry(1, extent({A: 1}, held=beyond))
    last = entry(3, extent({A: 2}, base={A: 1}))
    without = entry(2, extent({A: 1}), Kind.MANIFEST, OTHER)
    holding = entry(2, extent({A: 1}, held=beyond), Kind.MANIFEST, OTHER)
    assert board(log, last, without).superseded(LANE, MEMBERS, 0) == 1
    assert board(log, last, holding).superseded(LANE, MEMBERS, 0) == 3
