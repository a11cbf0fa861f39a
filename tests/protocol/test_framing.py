"""Frames: SYNC-10, SYNC-11."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.protocol.framing import MAX_FRAME, MAX_FRAME_BEFORE_HELLO, BadFrame, FrameBuffer, frame


def test_sync_10_a_frame_is_length_encoding_body() -> None:
    assert frame(b"abc") == b"\x00\x00\x00\x04\x00abc"


@given(st.lists(st.binary(max_size=40)), st.data())
def test_sync_10_bodies_come_out_however_the_bytes_are_cut(bodies: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(frame(body) for body in bodies)
    buffer, found = FrameBuffer(), []
    while whole:
        piece = data.draw(st.integers(1, len(whole)))
        buffer.feed(whole[:piece])
        whole = whole[piece:]
        while (body := buffer.next_body()) is not None:
            found.append(body)
    assert found == bodies
    assert buffer.waiting == 0


@pytest.mark.parametrize("length", [0, MAX_FRAME_BEFORE_HELLO + 1, 2**32 - 1])
def test_sync_11_a_length_is_judged_before_any_of_the_body_is_there(length: int) -> None:
    buffer = FrameBuffer()
    buffer.feed(length.to_bytes(4, "big"))
    with pytest.raises(BadFrame, match=f"announced {length}"):
        buffer.next_body()


@pytest.mark.parametrize("limit", [MAX_FRAME_BEFORE_HELLO, MAX_FRAME])
def test_sync_11_the_limit_itself_is_allowed(limit: int) -> None:
    buffer = FrameBuffer(limit)
    buffer.feed(frame(bytes(limit - 1)))
    assert buffer.next_body() == bytes(limit - 1)


def test_sync_10_an_unknown_encoding_is_refused() -> None:
    buffer = FrameBuffer()
    buffer.feed(b"\x00\x00\x00\x02\x01a")
    with pytest.raises(BadFrame, match="encoding 1"):
        buffer.next_body()


def test_sync_11_we_send_no_frame_that_we_would_not_take() -> None:
    with pytest.raises(ValueError, match="at most"):
        frame(bytes(MAX_FRAME))
