"""The state of a peer, as its connection knows it."""

import msgspec

from lottisync.causality.knowledge import Knowledge
from lottisync.protocol import message as m
from lottisync.sync.peer import Receiving


class PeerStatus(msgspec.Struct):
    """For people and for `status`: by store, the knowledge and the summary that the peer named last, where equal
    knowledge did not mean an equal digest, how many entities were mended, and how far the reading for a comparison
    has come: (done, of). `receiving` is the round that comes in now. `only_here` and `only_there` name the stores
    that one of the two does not have, `failing_there` those that the peer has and leaves out."""

    acknowledged: dict[str, Knowledge] = {}
    summaries: dict[str, m.Summary] = {}
    receiving: Receiving | None = None
    diverged: list[str] = []
    mended: dict[str, int] = {}
    comparing: dict[str, tuple[int, int]] = {}
    only_here: list[str] = []
    only_there: list[str] = []
    failing_there: list[str] = []
