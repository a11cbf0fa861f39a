"""How a segment is recorded from a store: what a round would say to a reader that knows the base
(docs/specs/19-relay.md, section 2).

It is made by the code that makes a round for a connection. What lies in the relay is the peer.
"""

from collections.abc import Iterable, Iterator

from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities import version
from lottisync.protocol import message as m
from lottisync.relay.content import Extent, Part
from lottisync.store import chain
from lottisync.store.snapshot import Snapshot
from lottisync.sync.agreement import RemoteState
from lottisync.sync.local_state import LocalState
from lottisync.sync.outgoing import Outgoing, bounded

PART_BYTES = 320 * 1024
"""What is sealed together, before it is compressed; a larger version goes alone. A slow phone gets one in a second."""
MAX_HELD = 1_000
"""Dots beyond the knowledge that a segment names. While a round comes in there may be more; then they are not
published yet."""
_PER_VERSION = 32
"""Bytes that msgpack may put around a version, or a message."""


class Recording:
    """A segment of one store, from a base to what is in the snapshot. `parts` can be read once."""

    def __init__(self, name: str, snapshot: Snapshot, base: Clock) -> None:
        own = LocalState(snapshot)
        self.whole = not base
        self._snapshot, self._own, self._base = snapshot, own, dict(base)
        reader = RemoteState(dict(base), set(), dict(base), {})
        self._outgoing = Outgoing(1, name, snapshot, own, reader)
        self.count = self._outgoing.count

    def parts(self) -> Iterator[Part]:
        """Chains, versions and keys, each at most `PART_BYTES` large (one version may be larger)."""
        for message in self._outgoing.messages():
            match message:
                case m.Batch():
                    yield from (
                        m.Batch(1, message.number, some) for some in bounded(message.versions, PART_BYTES, _PER_VERSION)
                    )
                case m.Chain() | m.Keys():
                    yield message
                case _:
                    pass

    def extent(self, parts: Iterable[Part] = ()) -> Extent:
        """What the segment says of its store. `parts` are those of a segment that is not whole: what they name has to
        be there before."""
        own, base = self._own, self._base
        news = {host: counter for host, counter in own.knowledge.items() if counter > base.get(host, 0)}
        rest = {host: counter for host, counter in own.knowledge.items() if host not in news}
        named = {host for part in parts for host in _named(part)} | news.keys()
        return Extent(
            self._outgoing.store,
            {host: base[host] for host in sorted(named) if base.get(host)},
            news,
            rest,
            own.forgotten,
            sorted(own.held)[:MAX_HELD],
            {host: chain.value_at(self._snapshot, host, counter) or b"" for host, counter in news.items()},
            sorted(own.nodes),
            self.whole,
            self.count,
        )


def _named(part: Part) -> set[Host]:
    match part:
        case m.Chain():
            return {part.host}
        case m.Batch():
            return {host for made in part.versions for host in version.clock_of(made)}
    return set()


def size_of(part: Part) -> int:
    """About how many bytes a part has, before it is compressed."""
    match part:
        case m.Batch():
            return sum(made.size() + _PER_VERSION for made in part.versions)
        case m.Chain():
            return len(part.values) + 2 * _PER_VERSION
    return len(part.keys) + _PER_VERSION


def framed(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Parts, put together into frames of about `PART_BYTES`."""
    frame: list[Part] = []
    size = 0
    for part in parts:
        if frame and size + size_of(part) > PART_BYTES:
            yield frame
            frame, size = [], 0
        frame.append(part)
        size += size_of(part)
    if frame:
        yield frame
