"""The space: what leads every round."""

from lottisync.device.space import HOST_BINDING, MEMBERSHIP, SPACE


def test_who_wrote_something_is_sent_before_what_was_written() -> None:
    """STORE-7: settings come after the records that say whose hosts there are."""
    assert SPACE.leading == {MEMBERSHIP, HOST_BINDING}
    assert set(SPACE.types) - SPACE.leading == {"setting", "addresses", "box"}
