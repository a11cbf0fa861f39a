"""What a store has, at one moment (docs/specs/07-sync.md, section 6): what it says of itself, and what it goes by when
it looks what a peer lacks."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from lottisync.causality import vector_clock
from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Host
from lottisync.protocol import message as m
from lottisync.protocol import summary
from lottisync.store import chain, fork, lookups
from lottisync.store.chain import HostLog
from lottisync.store.known_hosts import KnownHosts, OwnHost, host_hash
from lottisync.store.reader import ChangeToken, Reader

HeldDot = tuple[Host, int, str]
T = TypeVar("T")


class _ReadOnce(Generic[T]):
    """A `functools.cached_property` without its lock, which costs more than most of what is read (Python 3.11): each
    state is read by one thread."""

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read, self._name = read, read.__name__

    def __get__(self, state: object, kind: type | None = None) -> T:
        found = state.__dict__[self._name] = self._read(state)
        return found


class LocalState:
    """Each part is read when it is asked for, and once: give it a reader in which nothing is written any more."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def read_by(self, reader: Reader) -> "LocalState":
        """This state, where this reader reads what was not asked for yet: nothing was written in between."""
        self._reader = reader
        return self

    @_ReadOnce
    def change_token(self) -> ChangeToken:
        own = self.own
        return ChangeToken(own.host, own.counter, own.digest, own.marks, own.forks)

    @_ReadOnce
    def _hosts(self) -> tuple[OwnHost, KnownHosts]:
        return self._reader.hosts()

    @property
    def own(self) -> OwnHost:
        return self._hosts[0]

    @property
    def others(self) -> KnownHosts:
        return self._hosts[1]

    @_ReadOnce
    def knowledge(self) -> Knowledge:
        return self.others.knowledge(self.own.counter)

    @_ReadOnce
    def ends(self) -> dict[Host, int]:
        """How far the chains go."""
        return self.others.ends | {self.own.host: self.own.counter}

    @_ReadOnce
    def forgotten(self) -> Knowledge:
        return lookups.forgotten(self._reader) if self.own.forgets else {}

    @_ReadOnce
    def held(self) -> list[HeldDot]:
        """The dots beyond the knowledge: while a round comes in they are many."""
        known = {host: self.others.known.get(host, 0) for host in self.others.beyond}
        return lookups.held_of(self._reader, known)

    @_ReadOnce
    def logs(self) -> dict[Host, HostLog]:
        return chain.logs(self._reader)

    @_ReadOnce
    def nodes(self) -> frozenset[bytes]:
        return fork.nodes(self._reader) if self.own.forks else frozenset()

    @_ReadOnce
    def summary(self) -> m.Summary:
        return m.Summary(summary.known(self._host_hashes(), self.held, self.nodes), self.own.digest)

    @_ReadOnce
    def have(self) -> m.Have:
        """What the store says of itself: of the hosts of which anything is here."""
        hosts = {
            host: m.Log(self.knowledge.get(host, 0), log.end.end, log.end.value)
            for host, log in sorted(self.logs.items())
            if log.end.end >= log.end.first or self.knowledge.get(host)
        }
        return m.Have(self.summary, hosts, self.held, sorted(self.nodes), self.forgotten)

    def _host_hashes(self) -> int:
        """The sum over each host of which anything is here. A chain may go further than what is here, from a round
        whose versions never came; that makes no difference."""
        own, others = self._hosts
        total = others.host_hashes
        if own.counter:
            total += host_hash(own.host, own.counter, own.counter, own.value)
        for host, last in vector_clock.reach({host: counter} for host, counter, _ in self.held).items():
            total += host_hash(host, others.known.get(host, 0), last, chain.value_at(self._reader, host, last) or b"")
            total -= others.host_hash(host)
        return total


def own_summary(reader: Reader) -> m.Summary:
    return LocalState(reader).summary
