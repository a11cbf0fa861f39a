"""A round between two replicas of one process, frame by frame, in the runner's hands.

It is the round of docs/specs/07-sync.md without a connection: the receiver says what it has, the
sender takes a snapshot and cuts what the receiver lacks into frames, the frames pass through the
codec of the protocol, and the receiver joins each in a transaction of its own. Only when *every*
frame is in does it take over the sender's knowledge.

The frames of a round are numbered. The last one holds no entity: it says how many there are, which is
what makes a round whole. So they may arrive twice or in any order, which TCP would not do to them but
a runner does.
"""

from lottisync.adapter.replica import Replica
from lottisync.causality import vector_clock
from lottisync.entities import version
from lottisync.entities.version import BadVersion
from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.protocol.summary import summary
from lottisync.store.reader import Reader
from lottisync.store.snapshot import Snapshot


class Round:
    """One store's round. The snapshot lasts for the beginning only: from then on the frames are the round."""

    def __init__(self, number: int, source: Replica, target: Replica, store: str, now: int) -> None:
        self.source, self.target, self.store_name = source, target, store
        self.now = now
        self.complete = False
        self.diverged = False
        with target.store(store).reading() as reader:
            have = m.Have(reader.knowledge(), reader.held_beyond())
        snapshot = source.store(store).snapshot()
        try:
            versions = snapshot.versions(snapshot.lacking(have.knowledge, have.held))
            self._begin = m.Begin(number, store, have.knowledge, snapshot.knowledge(), len(versions))
            self._frames = _frames(number, versions, source.frame_entities, snapshot)
        finally:
            snapshot.close()
        if not versions and vector_clock.covers(have.knowledge, self._begin.knowledge):
            self._frames = []
            self.complete = True
        self._arrived: set[int] = set()
        self._count: int | None = None
        self._next = 0

    @property
    def frames(self) -> int:
        return len(self._frames)

    def size(self, number: int) -> int:
        """Bytes of a frame."""
        return len(self._frames[number])

    def step(self) -> bool:
        """Deliver the next frame in order; whether the round is over."""
        if self._next < self.frames:
            self.deliver(self._next)
            self._next += 1
        return self._next == self.frames

    def deliver(self, number: int) -> None:
        """Frame `number` arrives. A frame that was here before changes nothing."""
        match m.decode(self._frames[number]):
            case m.Batch(number=arrived, versions=versions):
                self._join(versions)
                self._arrived.add(arrived)
            case m.End(summary=theirs):
                self._count = self.frames - 1
                self._summary = theirs
        if self._count is not None and len(self._arrived) == self._count and not self.complete:
            self._adopt()

    def _join(self, versions: list[version.Version]) -> None:
        try:
            opened = [(v, version.open_foreign(v)) for v in versions]
            with self.target.store(self.store_name).transaction(self.now) as tx:
                tx.apply(opened)
        except BadVersion as error:
            raise Problem("bad-entity", str(error)) from None

    def _adopt(self) -> None:
        with self.target.store(self.store_name).transaction(self.now) as tx:
            if not vector_clock.covers(tx.knowledge(), self._begin.base):
                raise Problem("refused", f"{self.target.name} was restored while a round to it was running")
            tx.adopt(self._begin.knowledge)
        with self.target.store(self.store_name).reading() as reader:
            own = _summary(reader)
        self.complete = True
        self.diverged = own.known == self._summary.known and own.digest != self._summary.digest


def _frames(number: int, versions: list[version.Version], most: int, snapshot: Snapshot) -> list[bytes]:
    batches = [versions[start : start + most] for start in range(0, len(versions), most)]
    frames = [m.encode(m.Batch(number, i, batch)) for i, batch in enumerate(batches)]
    return [*frames, m.encode(m.End(number, _summary(snapshot)))]


def _summary(reader: Reader) -> m.Summary:
    return summary(reader.knowledge(), reader.held_beyond(), reader.digest())
