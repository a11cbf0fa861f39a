"""A round as it goes out: what S says to an R that it believes to have so much (docs/specs/07-sync.md, section 5).

Made from a snapshot, so that knowledge and versions belong to one moment; read piece by piece as it is sent, so
that a slow peer costs no memory. A version is handed on as the bytes that lie in its row.
"""

from collections.abc import Iterator, Sequence

from lottisync.causality import vector_clock
from lottisync.causality.chain import ChainPart
from lottisync.causality.vector_clock import Clock
from lottisync.entities.version import Version
from lottisync.protocol import message as m
from lottisync.store import chain, forgetting
from lottisync.store.snapshot import Snapshot
from lottisync.sync.agreement import RemoteState
from lottisync.sync.local_state import HeldDot, LocalState

BATCH_BYTES = 768 * 1024
"""A frame takes more; a commit of a thousand ordinary versions costs little more than one of four hundred."""


class DamagedOnTheWay(Exception):
    """A row that the round was to hold is damaged, and the round has begun with the number of its rows."""


class Outgoing:
    """`own` is what the store has in this snapshot. `news` unless R has all of it; `blocked` when R has forgotten what
    S has not seen: then S pulls first.

    A round begins with the number of its versions, and no damaged row is among them (MEND-26). So all rows would have
    to be looked at before it begins, and again when they are sent. In a large round that takes half as long as sending
    it, and R waits meanwhile. With `trusting`, a large round begins without that look. If a damaged row is met,
    `messages` raises `DamagedOnTheWay`. The versions of a small round are read once."""

    def __init__(
        self,
        number: int,
        store: str,
        snapshot: Snapshot,
        own: LocalState,
        remote: RemoteState,
        *,
        trusting: bool = False,
    ) -> None:
        self.number, self.store, self.own = number, store, own
        self.knowledge, self.forgotten = own.knowledge, own.forgotten
        self.held: list[HeldDot] = []
        ahead = remote.ahead(own)
        self.known: Clock = vector_clock.within(own.knowledge, ahead)
        """The knowledge of the hosts of which there may be news. R knows as much of all others."""
        self.ends: Clock = vector_clock.within(own.ends, ahead)
        self.behind = not vector_clock.covers(remote.knowledge, self.forgotten)
        self.blocked = not self.behind and not vector_clock.covers(self.knowledge, remote.forgotten)
        self._snapshot, self._remote = snapshot, remote
        self._rows: Sequence[int] = snapshot.lacking(remote.knowledge, remote.held, ahead)
        self._read: dict[int, Version] = {}
        if len(self._rows) <= m.MAX_BATCH:
            self._read_all()
        elif not trusting:
            self._rows = snapshot.without_damaged(self._rows)
        fresh = not vector_clock.covers(remote.knowledge, self.known)
        self.count = len(self._rows)
        self.news = bool(self._rows) or fresh or self.behind

    def _read_all(self) -> None:
        """Look at the rows of a small round. They are kept for when they are sent, if that takes little memory."""
        sound = self._snapshot.sound(self._rows)
        self._rows = [n for n in self._rows if n in sound]
        if sum(version.size() for version in sound.values()) <= BATCH_BYTES:
            self._read = sound

    def messages(self, limit: int = m.MAX_BATCH) -> Iterator[m.Message]:
        """The round, a message at a time; at most `limit` versions in each."""
        remote = self._remote  # one that is behind gets all, and has to judge by it what it may keep
        self.held = self.own.held  # not sooner: while a round comes in they are many, and no news
        yield m.Begin(
            self.number,
            self.store,
            dict(self.knowledge) if self.behind else vector_clock.news(self.known, remote.knowledge),
            dict(self.forgotten) if self.behind else vector_clock.news(self.forgotten, remote.forgotten),
            self.behind,
            self.count,
        )
        number = 0
        for part in self._chain_parts():
            yield m.Chain(self.number, number, *part)
            number += 1
        for versions in self._versions(limit):
            yield m.Batch(self.number, number, versions)
            number += 1
        if self.behind:
            keys = forgetting.keys(self._snapshot)
            for start in range(0, len(keys), m.MAX_KEYS * forgetting.KEY_BYTES):
                yield m.Keys(self.number, number, keys[start : start + m.MAX_KEYS * forgetting.KEY_BYTES])
                number += 1
        yield m.End(self.number, self.own.summary)

    def _chain_parts(self) -> Iterator[ChainPart]:
        """The chains as far as R does not have them: they come first, for R takes no version beyond them."""
        there = self._remote.ends
        for host, log in chain.logs(self._snapshot, vector_clock.news(self.ends, there)).items():
            after = there.get(host, 0)
            while (part := chain.part_of(self._snapshot, host, log, after, m.MAX_VALUES)) is not None:
                yield part
                after = part.end

    def _versions(self, limit: int) -> Iterator[list[Version]]:
        for start in range(0, len(self._rows), limit):
            wanted = self._rows[start : start + limit]
            versions = [self._read[n] for n in wanted] if self._read else self._snapshot.versions(wanted)
            if len(versions) < len(wanted):
                raise DamagedOnTheWay
            yield from bounded(versions)


def bounded(versions: list[Version], limit: int | None = None, beside: int = 0) -> Iterator[list[Version]]:
    """Cut a list into batches of at most `limit` bytes, else `BATCH_BYTES` (a larger version goes alone). Each version
    counts as `beside` bytes more than it has."""
    limit = BATCH_BYTES if limit is None else limit
    batch: list[Version] = []
    size = 0
    for item in versions:
        more = item.size() + beside
        if batch and size + more > limit:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += more
    if batch:
        yield batch
