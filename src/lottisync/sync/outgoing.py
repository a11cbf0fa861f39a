"""A round as it goes out: what S says to an R that it believes to have so much (docs/specs/07-sync.md, section 5).

Made from a snapshot, so that knowledge and versions belong to one moment; read piece by piece as it is sent, so
that a slow peer costs no memory. A version is handed on as the bytes that lie in its row.
"""

from collections.abc import Iterator

from lottisync.causality import vector_clock
from lottisync.causality.chain import ChainPart
from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Clock
from lottisync.entities.version import Version
from lottisync.protocol import message as m
from lottisync.store import chain, forgetting
from lottisync.store.snapshot import Snapshot
from lottisync.sync.agreement import RemoteState
from lottisync.sync.local_state import HeldDot, LocalState

BATCH_BYTES = 768 * 1024
"""A frame takes more; a commit of a thousand ordinary versions costs little more than one of four hundred."""


class Outgoing:
    """`own` is what the store has in this snapshot. `news` unless R has all of it; `blocked` when R has forgotten what
    S has not seen: then S pulls first."""

    def __init__(self, number: int, store: str, snapshot: Snapshot, own: LocalState, remote: RemoteState) -> None:
        self.number, self.store, self.own = number, store, own
        self.knowledge, self.forgotten = own.knowledge, own.forgotten
        self.held: list[HeldDot] = []
        self.ends = {host: log.end.end for host, log in own.logs.items()}
        self.behind = not vector_clock.covers(remote.knowledge, self.forgotten)
        self.blocked = not self.behind and not vector_clock.covers(self.knowledge, remote.forgotten)
        self._snapshot, self._remote = snapshot, remote
        self._rows = snapshot.lacking(remote.knowledge, remote.held)
        fresh = not vector_clock.covers(remote.knowledge, self.knowledge)
        self.news = bool(self._rows) or fresh or self.behind

    def messages(self, most: int = m.MAX_BATCH) -> Iterator[m.Message]:
        """The round, a message at a time; at most `most` versions in each."""
        remote = self._remote
        self.held = self.own.held  # not sooner: while a round comes in they are many, and no news
        yield m.Begin(
            self.number,
            self.store,
            self._news(self.knowledge, remote.knowledge),
            self._news(self.forgotten, remote.forgotten),
            self.behind,
            len(self._rows),
        )
        number = 0
        for part in self._chain_parts():
            yield m.Chain(self.number, number, *part)
            number += 1
        for versions in self._versions(most):
            yield m.Batch(self.number, number, versions)
            number += 1
        if self.behind:
            keys = forgetting.keys(self._snapshot)
            for start in range(0, len(keys), m.MAX_KEYS * forgetting.KEY_BYTES):
                yield m.Keys(self.number, number, keys[start : start + m.MAX_KEYS * forgetting.KEY_BYTES])
                number += 1
        yield m.End(self.number, self.own.summary)

    def _news(self, own: Clock, theirs: Clock) -> Knowledge:
        """What R lacks of a clock; all of it for one who is behind, who has to judge by it what it may keep."""
        return {host: counter for host, counter in own.items() if self.behind or counter > theirs.get(host, 0)}

    def _chain_parts(self) -> Iterator[ChainPart]:
        """The chains as far as R does not have them: they come first, for R takes no version beyond them."""
        for host, log in self.own.logs.items():
            after = self._remote.ends.get(host, 0)
            while (part := chain.part_of(self._snapshot, host, log, after, m.MAX_VALUES)) is not None:
                yield part
                after = part.end

    def _versions(self, most: int) -> Iterator[list[Version]]:
        for start in range(0, len(self._rows), most):
            yield from bounded(self._snapshot.versions(self._rows[start : start + most]))


def bounded(versions: list[Version]) -> Iterator[list[Version]]:
    """Cut a list into batches of at most `BATCH_BYTES` (a larger version goes alone)."""
    batch: list[Version] = []
    size = 0
    for item in versions:
        if batch and size + item.size() > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += item.size()
    if batch:
        yield batch
