"""What two devices must agree on before a version of a store may cross (docs/specs/13-copies.md, section 4).

Each side says where its chains end, and which fork nodes it knows. Both sides take the union of the nodes. For each
host that both have, the side with the longer chain checks that the other chain is the beginning of its own. If it is
not, this side asks for values until it has found the last equal one. That is a new node: both split there, and begin
again. When nothing differs, the two have agreed. They stay agreed until one of them splits.

Only the length of the shorter chain was compared. A third device may lengthen that chain later, by the writes of
another copy. So the values behind the compared part are sent along, also where the other side has values there
already. Then the other side finds the difference.

An `Agreement` is one side's view of one store: what it has *said* of itself, and what it *believes* the other has. It
gets what the other side says, and answers with what this side says next.
"""

from collections.abc import Collection, Iterable, Mapping

import msgspec

from lottisync.causality import vector_clock
from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Clock, Host
from lottisync.problem import Sentence
from lottisync.protocol import message as m
from lottisync.store import chain, fork
from lottisync.store.known_hosts import KnownHosts, ReadPoint
from lottisync.store.reader import ChangeToken, FileMoment, Reader
from lottisync.store.store import Store
from lottisync.sync.local_state import HeldDot, LocalState


class RemoteState(msgspec.Struct):
    """What one side believes the other to have. `held` are dots beyond its knowledge that it holds, or holds
    something that has overwritten them. `ends` is how far each chain is known to be the same on both sides.

    What is believed only grows. So `ahead` compares all hosts once, and later those only of which something here has
    changed, and those that were ahead."""

    knowledge: Knowledge
    held: set[HeldDot]
    ends: dict[Host, int]
    forgotten: Knowledge
    compared: ReadPoint | None = None
    was_ahead: set[Host] = set()

    @staticmethod
    def of(have: m.Have) -> "RemoteState":
        return RemoteState(
            {host: log.counter for host, log in have.hosts.items() if log.counter},
            set(have.held),
            {host: log.end for host, log in have.hosts.items()},
            dict(have.forgotten),
        )

    def ahead(self, own: LocalState) -> list[Host]:
        """The hosts of which more may be here than the other has, writes or values of their chains; in order."""
        others = own.others
        changed = others.changed_since(self.compared)
        if changed is None:
            clocks = ((others.known, self.knowledge), (others.beyond, self.knowledge), (others.ends, self.ends))
            self.was_ahead = {host for ours, theirs in clocks for host in vector_clock.news(ours, theirs)}
        else:
            self.was_ahead = {host for host in self.was_ahead | changed if self._is_behind(host, others)}
        self.compared = others.read_at
        return sorted(self.was_ahead | {own.own.host})

    def _is_behind(self, host: Host, others: KnownHosts) -> bool:
        known = self.knowledge.get(host, 0)
        return (
            others.known.get(host, 0) > known
            or others.beyond.get(host, 0) > known
            or others.ends.get(host, 0) > self.ends.get(host, 0)
        )

    def learns(self, knowledge: Clock, held: Iterable[HeldDot] = ()) -> None:
        self.knowledge = vector_clock.grown(self.knowledge, knowledge)
        self.held = {dot for dot in self.held.union(held) if dot[1] > self.knowledge.get(dot[0], 0)}

    def agreed(self, ends: Mapping[Host, int]) -> "RemoteState":
        """This state, in which chains are known to be equal only up to `ends`."""
        self.ends = {host: min(end, ends.get(host, 0)) for host, end in self.ends.items()}
        return self

    def grows(self, ends: Clock, forgotten: Clock) -> None:
        self.ends = vector_clock.grown(self.ends, ends)
        self.forgotten = vector_clock.grown(self.forgotten, forgotten)


class _Search(msgspec.Struct):
    """For the last value that two chains of a host share: equal at `low`, different at `high`."""

    host: Host
    low: int
    high: int

    def positions(self) -> list[int]:
        """Where to ask: at most `MAX_ASKED` counters between the two."""
        between = self.high - self.low - 1
        if between <= m.MAX_ASKED:
            return list(range(self.low + 1, self.high))
        return sorted({self.low + 1 + between * i // m.MAX_ASKED for i in range(m.MAX_ASKED)})


class Agreement:
    """See the module. `theirs` is None until the two have agreed, and when they have to agree again. `looked` is the
    change token of the store when it was last searched for what the peer lacks. `settled` is the one at which the peer
    lacked nothing; None while it lacks something."""

    repeatable = True

    def __init__(self, name: str, store: Store) -> None:
        self.said: m.Have | None = None
        self.theirs: RemoteState | None = None
        self.looked: ChangeToken | None = None
        self.settled: ChangeToken | None = None
        self.claimed: Knowledge = {}
        self.refused = False
        self.refusals = 0
        self._name, self._store = name, store
        self._search: _Search | None = None
        self._cached: tuple[ChangeToken, m.Summary] | None = None
        self._upheld: ReadPoint | None = None
        self._here: tuple[FileMoment, LocalState] | None = None

    def here(self, reader: Reader) -> LocalState:
        """What the store has. What was read before is read again only if anything was written to the file since: two
        that meet ask for it several times in a row."""
        moment = reader.file_moment()
        if self._here is None or self._here[0] != moment:
            self._here = moment, LocalState(reader)
        return self._here[1].read_by(reader)

    def want(self) -> m.Have:
        """What to say of this store now. From here on the other may count on it."""
        with self._store.reading() as reader:
            return self.say(self.here(reader).have)

    def say(self, have: m.Have) -> m.Have:
        self.said, self._upheld = have, None
        self.claimed = {host: log.counter for host, log in have.hosts.items() if log.counter}
        return have

    def equal(self) -> None:
        """Note that the other has exactly what we have said of ourselves. A chain counts only as far as anything of its
        host is here: chain values may be here without the versions."""
        assert self.said is not None, "the greeting says what this store has"
        ends = {host: log.counter for host, log in self.said.hosts.items()}
        for host, counter, _ in self.said.held:
            ends[host] = max(counter, ends.get(host, 0))
        self.theirs = RemoteState.of(self.said).agreed(ends)

    def claims(self, knowledge: Clock) -> None:
        """Note that the other may now count on this, too, and not only on what we said."""
        self.claimed = vector_clock.grown(self.claimed, knowledge)

    def disagreement(self, nodes: Collection[bytes]) -> Sentence | None:
        """Why the two have not agreed on what they have of the store, whose fork nodes are these; None if they have."""
        if self.said is None or self.theirs is None:
            return Sentence("the two have not agreed on what they have")
        if set(self.said.nodes) != nodes:
            return Sentence("this device has heard of another copy meanwhile")
        return None

    def outdated(self, own: LocalState) -> Sentence | None:
        """Why the other may not count any more on what was said; None if it may."""
        if (why := self.disagreement(own.nodes)) is not None:
            return why
        if not self._upholds(own):
            return Sentence("this device was restored meanwhile: its knowledge has gone back")
        return None

    def _upholds(self, own: LocalState) -> bool:
        """Whether all that the other counts on is known here. What is claimed later was known when it was claimed. So
        later only hosts of which something has changed since can have gone back."""
        changed = own.others.changed_since(self._upheld)
        asked = None if changed is None else sorted(changed | {own.own.host})
        self._upheld = None
        if not vector_clock.covers(own.knowledge, vector_clock.within(self.claimed, asked)):
            return False
        self._upheld = own.others.read_at
        return True

    def renewed(self, own: LocalState) -> bool:
        """True if this store was split since it last said what it has. The two then have to agree again."""
        split = self.said is not None and set(self.said.nodes) != own.nodes
        if split:
            self.theirs = self.settled = None
        return split

    def has_news(self, own: LocalState, *, include_held: bool) -> bool:
        """True if the peer, as far as we know, lacks anything that is here now. With `include_held` this counts the
        dots beyond our knowledge, too. While a round comes in there are many of them, and most arrive by the round."""
        self.looked = own.change_token
        if self.theirs is None:
            self.settled = None
            return False
        known = vector_clock.within(own.knowledge, self.theirs.ahead(own))
        news = not (
            vector_clock.covers(self.theirs.knowledge, known)
            and vector_clock.covers(self.theirs.knowledge, own.forgotten)
            and not (include_held and any(dot not in self.theirs.held for dot in own.held))
        )
        self.settled = None if news else own.change_token
        return news

    def moved(self, now: ChangeToken | None) -> bool:
        """Whether the store has moved since the other was last seen to lack nothing, or was not seen so. `now` is its
        change token; None: it is read."""
        if self.settled is None:
            return True
        if now is not None:
            return now != self.settled
        with self._store.reading() as reader:
            return reader.change_token() != self.settled

    def summary(self) -> m.Summary:
        """The summary of the store as it is now. Computed again only if the store has changed since the last call."""
        with self._store.reading() as reader:
            if self._cached is None or self._cached[0] != reader.change_token():
                self.cache_summary(LocalState(reader))
            assert self._cached is not None, "it was cached just now"
            return self._cached[1]

    def cache_summary(self, own: LocalState) -> None:
        """Read the lazy fields while the transaction is open, and keep the summary."""
        self._cached = own.change_token, own.summary
        _ = own.knowledge, own.forgotten

    # -- what the other says

    def compare(self, theirs: m.Have, now: int) -> list[m.Message]:
        """Compare what the peer says it has with this store. Returns what to ask or answer."""
        self.theirs = self.settled = self._search = None
        with self._store.reading() as reader:
            here = self.here(reader)
            strange = set(theirs.nodes) - here.nodes
            own = theirs.hosts.get(here.own.host)
            rolled_back = own is not None and own.end > here.own.counter
        if strange or rolled_back:
            with self._store.transaction(now, None) as tx:
                if strange:
                    fork.split(tx, strange)
                own = theirs.hosts.get(tx.host)
                if own is not None:
                    fork.mint_if_behind(tx, own.end)
        with self._store.reading() as reader:
            here = self.here(reader)
            nodes, logs = here.nodes, here.logs
            if set(theirs.nodes) != nodes:
                return self._again(reader) if self.said is None or set(self.said.nodes) != nodes else []
            self._search = self._difference(reader, logs, theirs)
            if self._search is None:
                unsaid = self.said is None or set(self.said.nodes) != nodes
                answer = self._again(reader) if self.refused or unsaid else []
                self.theirs = RemoteState.of(theirs).agreed(self._compared(logs, theirs))
                return answer
        return self._ask(now)

    def _again(self, reader: Reader) -> list[m.Message]:
        self.refused = False
        return [m.Want({self._name: self.say(self.here(reader).have)})]

    def _difference(self, reader: Reader, logs: Mapping[Host, chain.HostLog], theirs: m.Have) -> _Search | None:
        """A host whose chain here has the length of the other's, but another value at its end."""
        for host, ours in logs.items():
            log, first = theirs.hosts.get(host), ours.end.first
            if (
                log is not None
                and first <= log.end <= ours.end.end
                and chain.value_in(reader, host, ours, log.end) != log.value
            ):
                return _Search(host, first - 1, log.end)
        return None

    def _compared(self, logs: Mapping[Host, chain.HostLog], theirs: m.Have) -> dict[Host, int]:
        """How far each chain was compared: here, where ours is the longer one, else over there with what we said."""
        assert self.said is not None, "this side says what it has before it compares"
        ends = {host: log.end for host, log in self.said.hosts.items()}
        for host, log in logs.items():
            if host in theirs.hosts and log.end.end >= theirs.hosts[host].end:
                ends[host] = theirs.hosts[host].end
        return ends

    def _ask(self, now: int) -> list[m.Message]:
        search = self._search
        assert search is not None, "somebody is looking for something"
        positions = search.positions()
        if positions:
            return [m.Probe(self._name, search.host, positions)]
        self._search = None
        with self._store.transaction(now, None) as tx:
            node = chain.value_at(tx, search.host, search.low)
            if node is not None:
                fork.split(tx, [node])
        with self._store.reading() as reader:
            return self._again(reader)

    def probe(self, asked: m.Probe) -> m.Probed:
        """Answer the other, which asks for values of a chain."""
        with self._store.reading() as reader:
            found = {counter: chain.value_at(reader, asked.host, counter) for counter in asked.counters}
        return m.Probed(self._name, asked.host, {counter: value for counter, value in found.items() if value})

    def probed(self, answer: m.Probed, now: int) -> list[m.Message]:
        """Take the other's answer to a probe."""
        search = self._search
        if search is None or answer.host != search.host:
            return []
        with self._store.reading() as reader:
            for counter in search.positions():
                value = answer.values.get(counter)
                if value is None:
                    self._search = None  # its chain is not what it was: it will say so itself
                    return []
                if value != chain.value_at(reader, search.host, counter):
                    search.high = counter
                    break
                search.low = counter
        return self._ask(now)
