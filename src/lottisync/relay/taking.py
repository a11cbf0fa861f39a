"""A segment is taken by a store (docs/specs/19-relay.md, section 5).

Joining versions, chains and keys is done by the code that takes a round from a connection (`lottisync.sync.incoming`).
What is different is what a round is based on. Two devices on a connection have agreed on what the receiver has. Here
the segment says what its reader must have, and `_RecordedGrounds` looks whether that is so, in every transaction.
"""

from collections.abc import Iterable, Sequence

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Clock
from lottisync.device.membership import Strangers
from lottisync.problem import Sentence
from lottisync.protocol import message as m
from lottisync.relay.content import Extent, Part
from lottisync.store import chain, fork
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader
from lottisync.sync.agreement import RemoteState
from lottisync.sync.incoming import Incoming, Outdated
from lottisync.sync.local_state import HeldDot, LocalState


def knowledge_of(extent: Extent) -> Clock:
    """All that the sender knew."""
    return vector_clock.merge(extent.rest, extent.knowledge)


def obstacle(extent: Extent, own: LocalState) -> Sentence | None:
    """Why a store cannot take a segment now; None if it can. More fork nodes than are known here are no obstacle: the
    store splits first."""
    if own.nodes - set(extent.nodes):
        return Sentence("it was recorded before a copy was found; its device will say it again")
    for host in extent.knowledge:
        if own.knowledge.get(host, 0) < extent.base.get(host, 0):
            return Sentence("what host {host} wrote before it is missing", host=host)
    for host, counter in extent.base.items():
        log = own.logs.get(host)
        if log is None or log.end.end < counter:
            return Sentence("the chain of host {host} before it is missing", host=host)
    if not (extent.whole or vector_clock.covers(own.knowledge, extent.forgotten)):
        return Sentence("its sender has forgotten what this device has not seen")
    return None


def is_here(extent: Extent, reader: Reader) -> bool:
    """Whether a segment says nothing that is new here."""
    own = LocalState(reader)
    return (
        own.nodes == set(extent.nodes)
        and vector_clock.covers(own.knowledge, extent.knowledge)
        and all(chain.value_at(reader, host, n) == extent.values.get(host) for host, n in extent.knowledge.items())
        and vector_clock.covers(own.forgotten, extent.forgotten)
        and not unheld(extent, own)
    )


def unheld(extent: Extent, own: LocalState) -> set[HeldDot]:
    """The dots beyond its sender's knowledge that are not here."""
    beyond = {dot for dot in extent.held if dot[1] > own.knowledge.get(dot[0], 0)}
    return beyond - set(own.held) if beyond else set()


class _RecordedGrounds:
    """What a recorded round is based on: what its reader must have, and not what two devices have agreed on. Its sender
    is not there and cannot send it again, so it is taken also from a sender that has not seen what was forgotten here
    (RELAY-830)."""

    repeatable = False

    def __init__(self, extent: Extent) -> None:
        self.theirs: RemoteState | None = RemoteState(dict(extent.rest), set(), {}, {})
        self._extent = extent

    def outdated(self, own: LocalState) -> Sentence | None:
        return obstacle(self._extent, own)


class Taking:
    """One segment of one store, part by part. What was joined stays if the rest does not come; knowledge comes with
    `end`. Each call is within a transaction of the store; all raise `Outdated`, and `Unacceptable`."""

    def __init__(self, extent: Extent, tx: Merge, strangers: Strangers) -> None:
        if strange := set(extent.nodes) - fork.nodes(tx):
            fork.split(tx, strange)
        self.extent = extent
        self._strangers = strangers
        self._behind = not vector_clock.covers(tx.knowledge(), extent.forgotten)
        begin = m.Begin(
            1, extent.store, dict(extent.knowledge), dict(extent.forgotten), self._behind and extent.whole, extent.count
        )
        self._incoming = Incoming(begin, _RecordedGrounds(extent))

    def take(self, tx: Merge, parts: Sequence[Part]) -> bytes | None:
        """Join these parts; the fork node if a chain is another copy's."""
        self._incoming.refuse_outdated(tx)
        for part in parts:
            match part:
                case m.Chain():
                    if (node := self._incoming.chain(tx, part)) is not None:
                        return node
                case m.Batch():
                    self._incoming.batch(tx, part.versions, self._strangers)
                case m.Keys():
                    if self._incoming.begin.behind:
                        self._incoming.ids(tx, part.keys)
        self._incoming.refuse_strangers(tx, self._strangers)
        return None

    def end(self, tx: Merge) -> None:
        """Adopt the knowledge of the segment, because all of it is here."""
        self._incoming.refuse_outdated(tx)
        if self._incoming.arrived != self.extent.count:
            raise Outdated(
                Sentence(
                    "{arrived} versions came, and {announced} were announced",
                    arrived=self._incoming.arrived,
                    announced=self.extent.count,
                )
            )
        self._incoming.end(tx)


def take_whole(extent: Extent, parts: Iterable[Part], tx: Merge, strangers: Strangers) -> bytes | None:
    """Take a segment that is at hand, in one transaction; the fork node if it could not be."""
    taking = Taking(extent, tx, strangers)
    node = taking.take(tx, list(parts))
    if node is None:
        taking.end(tx)
    return node
