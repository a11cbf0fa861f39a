"""The comparisons of one conversation: which stores are compared with the peer, and how that came out
(docs/specs/15-mending.md, sections 2 and 4).

A store is compared because somebody asked, or because equal knowledge did not mean an equal digest. One comparison of
a store runs at a time; what it has to say stands in `due`, to be said as far as there is credit for it.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from lottisync.entities.version import BadVersion
from lottisync.protocol import message as m
from lottisync.store.store import Store
from lottisync.sync.comparison import Comparison
from lottisync.sync.incoming import Unacceptable
from lottisync.sync.inventory import own_summary
from lottisync.sync.standing import Standing

UNASKED_COMPARISONS = 3
"""How often a store is compared by itself on one link without coming out equal: what cannot be mended, or what a peer
says that lies, must not be read over and over."""


class Verified(NamedTuple):
    """The outcome of a comparison: whether both hold the same, whether it came to its end while both knew the same
    (else it says nothing), and how many entities were mended, here and there."""

    equal: bool
    comparable: bool
    mended: int


class Comparisons:
    """`leads` is whether ours goes on where both sides have begun one, and whether it is we who begin one unasked.
    `report` is told (code, sentence), `progress` (store, done, of), on whatever thread reads a store; `called` is what
    people call the peer."""

    def __init__(
        self,
        stores: Mapping[str, Store],
        standing: Standing,
        *,
        clock: Callable[[], int],
        report: Callable[[str, str], None],
        progress: Callable[[str, int, int], None],
        called: Callable[[], str],
    ) -> None:
        self.leads = False
        self.wanted: set[str] = set()
        self.due: deque[m.Message] = deque()
        self.verified: dict[str, Verified] = {}
        self._stores, self._standing, self._clock = stores, standing, clock
        self._report, self._progress, self._called = report, progress, called
        self._asked: set[str] = set()
        self._tries: dict[str, int] = {}
        self._running: dict[str, Comparison] = {}
        self._ended: dict[str, Comparison] = {}

    def verify(self, name: str) -> None:
        """Compare a store because somebody asked; `verified` has the outcome some time later."""
        self.verified.pop(name, None)
        self.wanted.add(name)
        self._asked.add(name)

    def suspect(self, name: str) -> None:
        """The two differ although both know the same: one of them, which leads, compares unasked."""
        tries = self._tries.get(name, 0)
        if self.leads and name not in self.wanted and name not in self._running and tries < UNASKED_COMPARISONS:
            self._tries[name] = tries + 1
            self.wanted.add(name)

    def trust(self, name: str) -> None:
        """The two know the same and have the same digest."""
        self._tries.pop(name, None)

    def begin(self, agreed: Callable[[str], bool]) -> None:
        """Begin what is wanted, as soon as the two have agreed on it."""
        for name in sorted(self.wanted):
            if name not in self._running and agreed(name):
                self.wanted.discard(name)
                self.due.append(self._begun(name).opening())

    def _begun(self, name: str) -> Comparison:
        def progress(done: int, of: int) -> None:
            self._standing.comparing = {**self._standing.comparing, name: (done, of)}
            self._progress(name, done, of)

        thorough = name in self._asked
        self._running[name] = comparison = Comparison(name, self._stores[name], progress, thorough=thorough)
        return comparison

    def compare(self, turn: m.Compare) -> None:
        """The peer's turn. Raises `Unacceptable` for one that is none."""
        opening = any(node.prefix == b"" for node in turn.nodes)
        comparison = self._running.get(turn.store)
        if comparison is not None and opening:
            if self.leads:
                return  # both have begun: ours goes on
            comparison.close()
            comparison = None
        if comparison is None:
            if not opening:
                return
            comparison = self._begun(turn.store)
        if turn.known != comparison.known:
            self._end(turn.store, comparison)
            return
        try:
            said = comparison.take(turn)
        except ValueError as error:
            raise Unacceptable("bad-entity", f"a range comparison that is none: {error}") from None
        if said:
            self.due += said
        else:
            self._end(turn.store, comparison)

    def mend(self, mend: m.Mend) -> None:
        """What the peer holds of what differs. Raises `Unacceptable` for what cannot even be kept."""
        comparison = self._running.get(mend.store)
        if comparison is not None:
            try:
                self.due += comparison.mend(mend, self._clock())
            except BadVersion as error:
                raise Unacceptable("bad-entity", str(error)) from None

    def _end(self, name: str, comparison: Comparison) -> None:
        """Ours has come to an end: say so, and what this store is now."""
        del self._running[name]
        self._standing.comparing = {store: far for store, far in self._standing.comparing.items() if store != name}
        own = comparison.end(self._clock())
        if comparison.whole:
            self._asked.discard(name)
        comparison.close()
        self.due.append(m.Mended(name, comparison.changed, own))
        self._ended[name] = comparison
        if comparison.changed:
            entities = "1 entity" if comparison.changed == 1 else f"{comparison.changed:,} entities"
            self._report("mended", f"mended {entities} of {name}: damaged here, or not as on {self._called()}")

    def mended(self, mended: m.Mended) -> None:
        """The peer's has come to an end, and so does ours."""
        name, standing = mended.store, self._standing
        comparison = self._running.get(name)
        if comparison is not None:
            self._end(name, comparison)
        ended = self._ended.pop(name, None)
        changed = mended.changed + (ended.changed if ended is not None else 0)
        with self._stores[name].reading() as reader:
            own = own_summary(reader)
        self.verified[name] = Verified(
            own == mended.summary,
            ended is not None and ended.whole and own.known == mended.summary.known,
            changed,
        )
        if own.known != mended.summary.known and name in standing.diverged:
            standing.diverged.remove(name)  # to be found again when both know the same
        if changed:
            standing.mended[name] = standing.mended.get(name, 0) + changed

    def close(self) -> None:
        """Let go of what running comparisons hold."""
        for comparison in self._running.values():
            comparison.close()
        self._running.clear()
        self._standing.comparing = {}
