"""The rounds that go out: what an exchange sends when a store here has what the peer lacks (docs/specs/07-sync.md,
section 5).

Snapshots are taken in one pass, and the rounds made from them are delivered in the order of the stores: each store's
round begins only after the peer has durably taken the one before. Snapshots are taken in the reverse order. So what is
written in a later store is never delivered before what it rests on in an earlier one. A change made anywhere is one
small round; there is no second mechanism for live updates. A store that has not moved since the peer was seen to lack
nothing of it is not read.

What the peer has is remembered as knowledge *and* as the dots beyond it, for a device may itself hold and pass on
what came in a round that was cut off. With the knowledge alone, two devices that hold such a dot would
offer it to each other for ever.
"""

from collections.abc import Generator, Mapping

from lottisync.causality import vector_clock
from lottisync.protocol import message as m
from lottisync.store.reader import ChangeToken
from lottisync.store.snapshot import Snapshot
from lottisync.sync.local_state import LocalState
from lottisync.sync.outgoing import DamagedOnTheWay, Outgoing
from lottisync.sync.parties import Parties
from lottisync.sync.want import fitting

SMALL_BYTES = 64 * 1024
"""Up to so much of a round goes into one frame: a change made while connected is one, and compresses as one."""


class RoundsOut:
    """One round at a time, made piece by piece as there is credit for it (`more`)."""

    def __init__(self, parties: Parties) -> None:
        self._parties = parties
        self._credit = 0
        self._outgoing: Outgoing | None = None
        self._sent: Outgoing | None = None
        self._rounds = 0
        self._stopped = False
        self._speaking: Generator[list[m.Message], None, None] | None = None
        self.work = False
        self._moments: Mapping[str, ChangeToken] | None = None
        self._include_held = True
        self._with_damage: set[str] = set()
        """Stores in which a damaged row was met: their rows are looked at before a round begins."""

    # -- reasons to look, and to stop

    def look(self, *, include_held: bool = False) -> None:
        """Look at the stores again when there is time. With `include_held`, at the dots beyond their knowledge, too."""
        self.work, self._moments = True, None
        self._include_held = self._include_held or include_held

    def local_change(self, moments: Mapping[str, ChangeToken] | None = None) -> None:
        """Something was committed here: look whether the peer lacks it. With the stores' `moments` as they are now,
        only if they differ from those of the last look: if they do not, the peer lacks nothing, or is being sent it."""
        agreements = self._parties.agreements
        if moments is None or any(moments.get(name) != agreement.looked for name, agreement in agreements.items()):
            self.work, self._moments = True, moments

    def stop(self) -> None:
        """The peer asks again for what it lacks, or has refused a round: what is under way begins again."""
        self._stopped = True

    def unsettled(self) -> bool:
        """Whether there is a store of which the peer may lack something."""
        return any(self._parties.agreements[name].settled is None for name in self._parties.shared_in_order())

    @property
    def running(self) -> bool:
        """Whether a round is under way: it waits for credit, or for the word that it was taken."""
        return self._speaking is not None

    @property
    def silent(self) -> bool:
        """Whether `more` has nothing to say, as far as that shows without reading the stores."""
        if self._speaking is None:
            return not self.work
        return self._outgoing is not None and self._outgoing is self._sent and not self._must_stop()

    # -- saying it

    def more(self, credit: int) -> list[m.Message]:
        """What to say next, for one frame, with at most `credit` large messages; nothing if there is nothing, or if
        it has to wait."""
        self._credit = credit
        while True:
            if self._speaking is None:
                if not self.work:
                    return []
                self.work = False
                self._speaking = self._speak()
            for burst in self._speaking:
                return burst
            self._speaking = None

    def acknowledged(self, ack: m.Ack) -> bool:
        """The peer has durably taken a round; whether it is the one that runs."""
        outgoing, agreement = self._outgoing, self._parties.agreement(ack.store)
        if outgoing is None or ack.round != outgoing.number or agreement.theirs is None:
            return False
        self._outgoing = None
        theirs = agreement.theirs
        theirs.learns(vector_clock.merge(outgoing.known, ack.knowledge), outgoing.held)
        theirs.grows(outgoing.ends, outgoing.forgotten)
        agreement.settled = outgoing.own.change_token
        return True

    def close(self) -> None:
        """Let go of the snapshots of a running round."""
        if self._speaking is not None:
            self._speaking.close()
            self._speaking = None

    def _speak(self) -> Generator[list[m.Message], None, None]:
        snapshots: dict[str, tuple[Snapshot, LocalState]] = {}
        self._stopped = False
        try:
            renewed = self._look(snapshots)
            if renewed:
                yield [m.Want(fitting(renewed))]
            for name in self._parties.shared_in_order():
                if not (yield from self._round(name, snapshots.get(name))):
                    break
        finally:
            for snapshot, _ in snapshots.values():
                snapshot.close()
            self._outgoing = None
        self._include_held = False
        if self._stopped:
            self.work = self._include_held = True

    def _must_stop(self) -> bool:
        """Whether the peer has asked again, or has refused. Either can happen while a round waits for the peer."""
        return self._stopped

    def _look(self, snapshots: dict[str, tuple[Snapshot, LocalState]]) -> dict[str, m.Have]:
        """Take a snapshot of each store that the peer lacks something of, the last to be delivered first; gives what
        is to be said of those that were split.

        As long as none was taken, the moments that came with the change say which have moved. Behind a snapshot they
        would be too old: what it holds may rest on something that was written in an earlier store since."""
        renewed: dict[str, m.Have] = {}
        moments, self._moments = self._moments or {}, None
        for name in reversed(self._parties.shared_in_order()):
            agreement = self._parties.agreements[name]
            if not (self._include_held or agreement.moved(None if snapshots else moments.get(name))):
                continue
            snapshot = self._parties.stores[name].snapshot()
            own = LocalState(snapshot)
            snapshots[name] = snapshot, own
            if agreement.renewed(own):
                renewed[name] = agreement.say(own.have)
            if not agreement.has_news(own, include_held=self._include_held):
                del snapshots[name]
                snapshot.close()
        return renewed

    def _round(self, name: str, taken: tuple[Snapshot, LocalState] | None) -> Generator[list[m.Message], None, bool]:
        """Send a store's round; whether the next store's may follow."""
        agreement = self._parties.agreements[name]
        if self._must_stop() or agreement.theirs is None:
            return False
        if taken is None:
            return True
        trusting = name not in self._with_damage
        outgoing = Outgoing(self._rounds + 1, name, *taken, agreement.theirs, trusting=trusting)
        if outgoing.blocked or not outgoing.news:
            return not outgoing.blocked
        self._rounds += 1
        self._outgoing = outgoing
        if not (yield from self._send(outgoing)):
            yield [m.Abort(outgoing.number)]
            return False
        while self._outgoing is outgoing and not self._must_stop():
            yield []
        return not self._must_stop()

    def _send(self, outgoing: Outgoing) -> Generator[list[m.Message], None, bool]:
        """All of a round; whether it came to its end."""
        burst: list[m.Message] = []
        size = large = 0
        try:
            for message in outgoing.messages():
                if isinstance(message, m.Large):
                    while self._credit <= large and not self._must_stop():
                        yield burst
                        burst, size, large = [], 0, 0
                    if self._must_stop():
                        return False
                    size += _size(message)
                    large += 1
                burst.append(message)
                if size >= SMALL_BYTES:
                    yield burst
                    burst, size, large = [], 0, 0
                    if self._must_stop():
                        return False
        except DamagedOnTheWay:  # what was begun is cut off, and begun again
            if burst:
                yield burst
            self._with_damage.add(outgoing.store)
            self._stopped = True
            return False
        self._parties.agreements[outgoing.store].cache_summary(outgoing.own)
        self._sent = outgoing
        yield burst
        return True


def _size(message: m.Message) -> int:
    match message:
        case m.Batch():
            return sum(version.size() for version in message.versions)
        case m.Chain():
            return len(message.values)
        case m.Keys():
            return len(message.keys)
    return 0
