"""The comparisons of one conversation: which stores are compared with the peer, and how that came out
(docs/specs/15-mending.md, sections 2 and 4).

A store is compared because a command asked, or because two stores have equal knowledge and different digests. One
comparison of a store runs at a time. Its messages wait in `due` until there is credit for them.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from lottisync.causality.knowledge import Knowledge
from lottisync.entities.version import BadVersion
from lottisync.protocol import message as m
from lottisync.store.store import Store
from lottisync.sync.allowance import Allowance
from lottisync.sync.event import ComparisonRefused, Diverged, Event, Mended, OverAllowance
from lottisync.sync.incoming import Unacceptable
from lottisync.sync.local_state import own_summary
from lottisync.sync.peer_status import PeerStatus
from lottisync.sync.range_comparison import RangeComparison

UNASKED_COMPARISONS = 3
"""How often a store is compared unasked on one connection until it is given up: what cannot be mended,
or what a peer says that lies, must not be read over and over."""
TOO_OFTEN = "this device has compared {store} too often with yours within an hour; ask again later"


class Verified(NamedTuple):
    """The outcome of a comparison: whether both hold the same, whether it came to its end while both knew the same
    (else it says nothing), how many entities were mended, here and there, how many were read here, and why the peer
    refused it, if it did."""

    equal: bool
    comparable: bool
    mended: int
    read: int
    refused: str = ""


class Comparisons:
    """`leads`: if both sides have begun a comparison, ours goes on; and this side begins the automatic ones.
    `allowance` limits what the peer may cost. While a store is read, `status.comparing` has the progress, for any
    thread."""

    def __init__(
        self, stores: Mapping[str, Store], status: PeerStatus, events: list[Event], allowance: Allowance
    ) -> None:
        self.leads = False
        self.wanted: set[str] = set()
        self.due: deque[m.Message] = deque()
        self.verified: dict[str, Verified] = {}
        self._stores, self._status, self._events, self._allowance = stores, status, events, allowance
        self._asked: set[str] = set()
        self._tries: dict[str, int] = {}
        self._running: dict[str, RangeComparison] = {}
        self._ended: dict[str, RangeComparison] = {}

    def verify(self, name: str) -> None:
        """Compare a store on request; `verified` has the outcome some time later."""
        self.verified.pop(name, None)
        self.wanted.add(name)
        self._asked.add(name)

    def heard_from(self, name: str, knowledge: Knowledge, there: m.Summary, own: m.Summary, now: int) -> None:
        """The peer says its summary. Equal knowledge must mean an equal digest; a mismatch is never ignored
        (SYNC-7)."""
        status = self._status
        status.acknowledged[name] = dict(knowledge)
        status.summaries[name] = there
        same = own.known == there.known
        if same and own.digest != there.digest:
            if name not in status.diverged:
                status.diverged.append(name)
                self._events.append(Diverged(name))
            self._suspect(name, now)
        elif same:
            self._tries.pop(name, None)
            if name in status.diverged:
                status.diverged.remove(name)

    def _suspect(self, name: str, now: int) -> None:
        """The two differ although both know the same: one of them, which leads, compares unasked. It is the peer that
        says so, and so it counts as what the peer costs."""
        tries = self._tries.get(name, 0)
        if not self.leads or name in self.wanted or name in self._running or tries >= UNASKED_COMPARISONS:
            return
        if self._allowance.comparison(name, now):
            self._tries[name] = tries + 1
            self.wanted.add(name)

    def begin(self, agreed: Callable[[str], bool]) -> None:
        """Begin what is wanted, as soon as the two have agreed on it."""
        for name in sorted(self.wanted):
            if name not in self._running and agreed(name):
                self.due.append(self._begun(name).opening())

    def _begun(self, name: str) -> RangeComparison:
        """A comparison that begins now. It is the wanted one, no matter which side began it."""
        self.wanted.discard(name)

        def progress(done: int, of: int) -> None:
            self._status.comparing = {**self._status.comparing, name: (done, of)}

        thorough = name in self._asked
        self._running[name] = comparison = RangeComparison(name, self._stores[name], progress, thorough=thorough)
        return comparison

    def compare(self, turn: m.Compare, now: int) -> None:
        """Take the peer's turn. Raises `Unacceptable` for nodes that do not fit a tree."""
        opening = any(node.prefix == b"" for node in turn.tree_nodes)
        comparison = self._running.get(turn.store)
        if comparison is not None and opening:
            if self.leads:
                return  # both have begun: ours goes on
            self._drop(turn.store)
            comparison = None
        if comparison is None:
            if not opening:
                return
            with self._stores[turn.store].reading() as reader:
                own = own_summary(reader)
            if turn.known != own.known:  # given up before the store is read
                self.due.append(m.Mended(turn.store, 0, own, ""))
                return
            if not self._allowance.comparison(turn.store, now):
                self._refuse(turn.store)
                return
            comparison = self._begun(turn.store)
        if turn.known != comparison.known:
            self._end(turn.store, comparison, now)
            return
        try:
            said = comparison.take(turn)
        except ValueError as error:
            raise Unacceptable("bad-entity", "a range comparison that cannot be read: {error}", error=error) from None
        if said:
            self.due += said
        else:
            self._end(turn.store, comparison, now)

    def mend(self, mend: m.Mend, now: int) -> None:
        """Take what the peer holds of the entities that differ. Raises `Unacceptable` for what cannot even be kept."""
        comparison = self._running.get(mend.store)
        if comparison is not None and not self._allowance.mend(mend.store, now):
            self._drop(mend.store)
            self._refuse(mend.store)
        elif comparison is not None:
            try:
                self.due += comparison.mend(mend, now)
            except BadVersion as error:
                raise Unacceptable.of(error) from None

    def _refuse(self, name: str) -> None:
        """The peer has cost enough for this hour. It gets an answer that says so, and the session goes on (MEND-27,
        MEND-233)."""
        with self._stores[name].reading() as reader:
            own = own_summary(reader)
        self.due.append(m.Mended(name, 0, own, TOO_OFTEN.format(store=name)))
        self._events.append(OverAllowance(name))

    def _drop(self, name: str) -> None:
        """Give up our comparison; what it has mended stays."""
        self._running.pop(name).close()
        self._status.comparing = {store: far for store, far in self._status.comparing.items() if store != name}

    def _end(self, name: str, comparison: RangeComparison, now: int) -> None:
        """End our comparison, and say the summary of this store."""
        own = comparison.end(now)
        self._drop(name)
        if comparison.whole:
            self._asked.discard(name)
        self.due.append(m.Mended(name, comparison.changed, own, ""))
        self._ended[name] = comparison
        if comparison.changed:
            self._events.append(Mended(name, comparison.changed))

    def mended(self, mended: m.Mended, now: int) -> None:
        """The peer's comparison has ended: end ours, too."""
        name, status = mended.store, self._status
        comparison = self._running.get(name)
        if comparison is not None:
            self._end(name, comparison, now)
        ended = self._ended.pop(name, None)
        changed = mended.changed + (ended.changed if ended is not None else 0)
        with self._stores[name].reading() as reader:
            own = own_summary(reader)
        self.verified[name] = Verified(
            own == mended.summary and not (ended is not None and ended.unmended),
            ended is not None and ended.whole and own.known == mended.summary.known,
            changed,
            ended.read if ended is not None else 0,
            mended.refused,
        )
        if mended.refused:
            self._events.append(ComparisonRefused(name, mended.refused))
        if own.known != mended.summary.known and name in status.diverged:
            status.diverged.remove(name)  # to be found again when both know the same
        if changed:
            status.mended[name] = status.mended.get(name, 0) + changed

    def close(self) -> None:
        """Let go of what running comparisons hold."""
        for comparison in self._running.values():
            comparison.close()
        self._running.clear()
        self._status.comparing = {}
