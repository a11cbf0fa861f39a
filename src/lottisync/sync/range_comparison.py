"""A range comparison of one store with a peer, and the mending that follows from it (docs/specs/15-mending.md).

The two take turns. Each says fingerprints, the other answers with those of one level lower wherever they differ,
until so few entities are left that they are named. The side that finds a name that differs sends what it holds of it
and
asks for what the other holds; each mends by the same rules, so both come to the same. Who has nothing left to
answer says so with an empty turn; when both have, each says what it has become.

A comparison is of two moments with equal knowledge. If that is not so any more, it is given up: what differs may
be nothing but a change that is under way.
"""

from collections.abc import Callable, Collection, Iterator

from lottisync.entities import version
from lottisync.entities.version import BadVersion, Version
from lottisync.protocol import message as m
from lottisync.store import chain, mending
from lottisync.store.fingerprint import Fingerprints, Subtree, checked, differing
from lottisync.store.snapshot import Snapshot
from lottisync.store.store import Store
from lottisync.sync.incoming import refuse_unchained
from lottisync.sync.local_state import own_summary
from lottisync.sync.outgoing import bounded


class RangeComparison:
    """One side's part; `changed` counts the entities that were mended here, `read` those that were read. `known` is
    what both know. `whole` is whether all that the peer has said so far has been answered: if it ends before that, it
    was given up.

    Making one reads and hashes the whole store; `progress(done, of)` counts its entities. A `thorough` one also looks
    whether all that is kept beside the content still follows from it, which no peer can tell."""

    def __init__(
        self,
        name: str,
        store: Store,
        progress: Callable[[int, int], None] = lambda done, of: None,
        *,
        thorough: bool = False,
    ) -> None:
        self.changed = self.read = 0
        self._name, self._store = name, store

        def reading(done: int, of: int) -> None:
            self.read = of
            progress(done, of)

        self._snapshot: Snapshot = store.snapshot()
        try:
            self.known = own_summary(self._snapshot).known
            self._own = Fingerprints(self._snapshot, reading)
            self._in_step = not thorough or mending.in_step(self._snapshot)
        except BaseException:
            self.close()
            raise
        self._due: list[Subtree] = []
        self._divided: set[bytes] = set()
        """The nodes whose fingerprints this side has said."""
        self._heard: set[bytes] = set()
        """The nodes that the other side has said."""
        self._differing: set[str] = set()
        """The ids of the entities that turned out to differ."""
        self.whole = False
        self.unmended = 0
        """How many damaged entities are left here, when it has ended."""

    def close(self) -> None:
        self._snapshot.close()

    def opening(self) -> m.Compare:
        self._heard.add(b"")
        return self._turn([self._own.root()])

    def _turn(self, nodes: Collection[Subtree]) -> m.Compare:
        self._divided.update(node.prefix for node in nodes if node.children is not None)
        return m.Compare(self._name, self.known, [m.TreeNode(*node) for node in nodes])

    def take(self, turn: m.Compare) -> list[m.Message]:
        """Take the other's turn; gives what to send before our own turn, and our turn. Gives nothing when both have
        come to an end. Raises `ValueError` for bad nodes."""
        nodes = [checked(Subtree(node.prefix, node.children, node.items)) for node in turn.tree_nodes]
        answers, ids = differing(self._own, filter(self._is_news, nodes))
        self._differing.update(ids)
        self._due += answers
        said: list[m.Message] = list(self._mends(ids, wanted=True))
        self.whole = not self._due
        if not turn.tree_nodes and self.whole:
            return []
        now_due, self._due = self._due[: m.MAX_NODES], self._due[m.MAX_NODES :]
        return [*said, self._turn(now_due)]

    def _is_news(self, node: Subtree) -> bool:
        """Whether the peer may send this node now: the root first, then nodes below one of ours; each once. So every
        comparison ends, and reads a store at most as often as its tree is deep, no matter what comes (MEND-14)."""
        prefix = node.prefix
        if prefix in self._heard or (prefix and prefix[:-1] not in self._divided):
            return False
        self._heard.add(prefix)
        return True

    def mend(self, theirs: m.Mend, now: int) -> list[m.Message]:
        """Take what the other holds, and give what it asks for as it was before this: otherwise both would take back
        what they have mended. Raises `BadVersion` for what cannot even be kept."""
        answer: list[m.Message] = list(self._mends(theirs.wanted, wanted=False))
        self._differing.update(theirs.wanted, (incoming.id for incoming in theirs.versions))
        good, bad = [], []
        for incoming in theirs.versions:
            try:
                good.append((incoming, version.open_foreign(incoming)))
            except BadVersion as error:
                bad.append((incoming, error.sentence))
        with self._store.transaction(now, None) as tx:
            ends = {host: end.end for host, end in chain.log_ends(tx).items()}
            refuse_unchained(ends, [(made.id, version.clock_of(made)) for made in theirs.versions])
            self.changed += mending.mend(tx, good)
            for incoming, reason in bad:
                tx.quarantine(incoming, reason)
        return answer

    def _mends(self, ids: list[str], *, wanted: bool) -> Iterator[m.Mend]:
        for start in range(0, len(ids), m.MAX_BATCH):
            some = ids[start : start + m.MAX_BATCH]
            with self._store.reading() as reader:
                batches: list[list[Version]] = list(bounded(mending.sound(reader, some))) or [[]]
            for number, versions in enumerate(batches):
                yield m.Mend(self._name, versions, some if wanted and number == 0 else [])

    def end(self, now: int) -> m.Summary:
        """Put right what no peer could, and say what this store is then. What a comparison that was given up has not
        looked at stays as it is: a damaged row that is taken for good looks like any other row."""
        with self._store.transaction(now, None) as tx:
            if self.whole and (self._own.damaged or not self._follows()):
                ids = self._own.damaged if self._follows() else None
                self.changed += len(mending.name_again(tx, self._own.damaged_rows, self._differing))
                self.changed += mending.repair(tx, frozenset(self._own.damaged) - self._differing, ids=ids)
                self.unmended = len(mending.still_damaged(tx, self._own.damaged_rows))
            tx.finish()
            return own_summary(tx)

    def _follows(self) -> bool:
        """Whether what is kept beside the content was right before anything was mended, in all rows but those that are
        known to be damaged."""
        return self._in_step and self._own.stored_total == self._snapshot.digest()
