"""A round between two replicas of one process. The runner delivers its frames.

It is the round of docs/specs/07-sync.md without a connection: the two agree on what they have, the sender takes a
snapshot and cuts what the receiver lacks into frames, the frames pass through the codec of the protocol, and the
receiver takes each as if it came from a socket.

The frames of a round are numbered. Unlike TCP, a runner may deliver them twice or in any order. A frame that comes
early waits for those before it; one that comes again changes nothing."""

from lottisync.adapter.replica import Replica
from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.store import forgetting
from lottisync.sync.agreement import Agreement
from lottisync.sync.incoming import Incoming, Outdated
from lottisync.sync.local_state import LocalState
from lottisync.sync.outgoing import Outgoing

MAX_TALK = 1_000
"""Words until two replicas have agreed: a few for each fork between them."""


class Round:
    """One store's round. All frames are made at the beginning; the snapshot is closed then."""

    def __init__(self, number: int, source: Replica, target: Replica, store: str, now: int) -> None:
        self.source, self.target, self.store_name = source, target, store
        self.now = now
        self.complete = False
        self.diverged = False
        sender, self._receiver = agreed(source, target, store, now)
        assert sender.theirs is not None, "they have agreed"
        snapshot = source.store(store).snapshot()
        try:
            outgoing = Outgoing(number, store, snapshot, LocalState(snapshot), sender.theirs)
            messages = list(outgoing.messages(source.frame_entities))
        finally:
            snapshot.close()
        begin = messages[0]
        assert isinstance(begin, m.Begin), "a round begins"
        self._frames = [] if outgoing.blocked or not outgoing.news else _frames(messages[1:])
        self.complete = not outgoing.blocked and not outgoing.news
        self._incoming = Incoming(begin, self._receiver)
        self._early: set[int] = set()
        self._due = 0
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
        self._early.add(number)
        while self._due in self._early:
            for message in m.decode(self._frames[self._due]):
                self._take(message)
            self._due += 1

    def _take(self, message: m.AnyMessage) -> None:
        try:
            with self.target.store(self.store_name).transaction(self.now, None) as tx:
                self._incoming.refuse_outdated(tx)
                match message:
                    case m.Chain():
                        forked = self._incoming.chain(tx, message) is not None
                    case m.Batch():
                        self._incoming.batch(tx, message.versions, self.target.device.strangers())
                    case m.Keys():
                        self._incoming.ids(tx, message.keys)
                    case m.End():
                        own = self._incoming.end(tx).summary
        except Outdated as reason:
            raise Problem(
                "refused", "{name} cannot take the round: {reason}", name=self.target.name, reason=reason.sentence
            ) from None
        if isinstance(message, m.Chain) and forked:
            raise Problem(
                "refused", "{name} cannot take the round: it has met another copy meanwhile", name=self.target.name
            )
        if isinstance(message, m.End):
            self.complete = True
            _note(self.source, self.target, self.store_name, self.now)
            self.diverged = own.known == message.summary.known and own.digest != message.summary.digest


def agreed(source: Replica, target: Replica, store: str, now: int) -> tuple[Agreement, Agreement]:
    """Compare the knowledge of two replicas of a store, and let each note the other's."""
    sides = {name: Agreement(store, replica.store(store)) for name, replica in ((0, source), (1, target))}
    talk: list[tuple[int, m.Message]] = [(side, m.Want({store: own.want()})) for side, own in sides.items()]
    for said, (side, message) in enumerate(talk):
        if said > MAX_TALK:
            raise Problem(
                "no-agreement", "{name} and {name2} do not come to an end", name=source.name, name2=target.name
            )
        other = 1 - side
        match message:
            case m.Want():
                answer = sides[other].compare(message.stores[store], now)
            case m.Probe():
                answer = [sides[other].probe(message)]
            case m.Probed():
                answer = sides[other].probed(message, now)
        talk += [(other, each) for each in answer]
    _note(source, target, store, now)
    _note(target, source, store, now)
    return sides[0], sides[1]


def _note(listener: Replica, speaker: Replica, store: str, now: int) -> None:
    """What the speaker says of its own knowledge, and of others'."""
    with speaker.store(store).reading() as reader:
        knowledge, gossip = reader.knowledge(), forgetting.acknowledged(reader)
    with listener.store(store).transaction(now, None) as tx:
        forgetting.note(tx, speaker.device.id, knowledge, direct=True)
        for device, known in gossip.items():
            if device not in (listener.device.id, speaker.device.id):
                forgetting.note(tx, device, known, direct=False)


def _frames(messages: list[m.Message]) -> list[bytes]:
    """The chains go into one frame with what comes after them, so each frame brings an entity or an id."""
    frames: list[bytes] = []
    gathered: list[m.Message] = []
    for message in messages:
        gathered.append(message)
        if not isinstance(message, m.Chain):
            frames.append(m.encode(*gathered))
            gathered = []
    return frames
