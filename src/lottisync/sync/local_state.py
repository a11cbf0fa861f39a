"""What a store has, at one moment (docs/specs/07-sync.md, section 6): what it says of itself, and what it goes by when
it looks what a peer lacks."""

from functools import cached_property
from itertools import compress, repeat
from operator import ne

from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Host
from lottisync.protocol import message as m
from lottisync.protocol import summary
from lottisync.store import chain, fork
from lottisync.store.chain import Log, Tips
from lottisync.store.forgetting import forgotten
from lottisync.store.reader import ChangeToken, Reader

HeldDot = tuple[Host, int, str]


class LocalState:
    """Each part is read when it is asked for, and once: give it a reader in which nothing is written any more."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    @cached_property
    def change_token(self) -> ChangeToken:
        return self._reader.change_token()

    @cached_property
    def knowledge(self) -> Knowledge:
        return self._reader.knowledge()

    @cached_property
    def forgotten(self) -> Knowledge:
        return dict(forgotten(self._reader))

    @cached_property
    def held(self) -> list[HeldDot]:
        """The dots beyond the knowledge: while a round comes in they are many."""
        return self._reader.held_beyond()

    @cached_property
    def logs(self) -> dict[Host, Log]:
        return chain.logs(self._reader)

    @cached_property
    def tips(self) -> Tips:
        return chain.tips(self._reader)

    @cached_property
    def nodes(self) -> frozenset[bytes]:
        return fork.nodes(self._reader)

    @cached_property
    def summary(self) -> m.Summary:
        return m.Summary(summary.known(self._heads(), self.held, self.nodes), self._reader.digest())

    @cached_property
    def have(self) -> m.Have:
        """What the store says of itself: of the hosts of which anything is here."""
        hosts = {
            host: m.Log(self.knowledge.get(host, 0), log.end.end, log.end.value)
            for host, log in sorted(self.logs.items())
            if log.end.end >= log.end.first or self.knowledge.get(host)
        }
        return m.Have(self.summary, hosts, self.held, sorted(self.nodes), self.forgotten)

    def _heads(self) -> dict[Host, tuple[int, int, str]]:
        """Of each host of which anything is here: the knowledge, the last counter, and the chain's value there. A chain
        may go further, from a round whose versions never came; that makes no difference."""
        last = dict(self.knowledge)
        for host, counter, _ in self.held:
            last[host] = max(counter, last.get(host, 0))
        ends, values = self.tips
        inside = compress(last, map(ne, map(ends.get, last), last.values()))
        values = values | {host: self._value(host, last[host]) for host in inside}
        known = map(self.knowledge.get, last, repeat(0))
        heads = zip(known, last.values(), map(values.__getitem__, last), strict=False)
        return dict(zip(last, heads, strict=True))

    def _value(self, host: Host, counter: int) -> str:
        return (chain.value_at(self._reader, host, counter) or b"").hex()


def own_summary(reader: Reader) -> m.Summary:
    return LocalState(reader).summary
