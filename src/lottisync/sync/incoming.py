"""A round as it comes in: what R does with each of its frames (docs/specs/07-sync.md, section 5).

What came together is one transaction, and every transaction looks first whether what the round was computed from is
still so. Chains come before versions, and no version is taken whose clock goes beyond them. The frames are numbered and
counted, so that a round is whole or it is not: only then is S's knowledge adopted, together with what S has forgotten.

An R that is *behind*, which has not seen all that S has forgotten, also gets the keys of all that S holds. What R
holds and S does not, S has either forgotten or never seen. If S's knowledge covers it, S has forgotten it, and R drops
it. Otherwise only R has it, and R writes it again, over what was forgotten (docs/specs/14-forgetting.md).
"""

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import NamedTuple, Protocol, Self

from lottisync.causality import vector_clock
from lottisync.causality.chain import ChainPart
from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Clock, Host
from lottisync.device.membership import Strangers
from lottisync.entities import batch, version
from lottisync.entities.batch import Plain
from lottisync.entities.entity import Entity
from lottisync.entities.version import BadVersion, Version
from lottisync.problem import Invalid, Problem, Sentence
from lottisync.protocol import message as m
from lottisync.store import chain, forgetting, fork, lookups, mending
from lottisync.store.merge import Merge
from lottisync.store.peer_chain import BadChain, extend
from lottisync.store.quarantine import QuarantinedVersion
from lottisync.sync.agreement import RemoteState
from lottisync.sync.local_state import HeldDot, LocalState

LEADING_BYTES = 16 * 1024 * 1024
"""Bytes of leading versions that are kept in memory until all of them are here: some ten thousand records. What is more
is judged by what is here then."""


class Grounds(Protocol):
    """What a round is based on: an agreement of two devices, or what is in a relay. `theirs` is what S had said ahead
    of the round; `outdated` gives the reason why the round cannot be taken by this store as it is now. `repeatable`
    says whether S hears of a refusal, and can say it again after it has heard what was forgotten here."""

    repeatable: bool

    @property
    def theirs(self) -> RemoteState | None: ...

    def outdated(self, own: LocalState) -> Sentence | None: ...


class Outdated(Exception):
    """The round cannot be taken: it was computed from a state that this store does not have any more, or not
    yet. `sentence` says what has changed."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class Unacceptable(Problem):
    """The peer sent what it may not. It ends the session."""

    @classmethod
    def of(cls, error: ValueError) -> Self:
        """What came is not an entity, or not what is said of one; `error` says why."""
        return cls("bad-entity", "{error}", error=error.sentence if isinstance(error, Invalid) else error)


class Anomalies(NamedTuple):
    """What was unusual in a batch: what had to be kept as it came; the ids of the entities that a join could
    not settle, because a row was changed without its store, by a person or the disk (they were mended); and the
    hosts whose clocks are far ahead (of a branch, the one that its device has signed for), with what they said (ms)."""

    kept: list[QuarantinedVersion]
    mended: list[str]
    ahead: dict[Host, int]


class Incoming:
    """One round of one store. All methods work within a transaction of that store, in which `refuse_outdated` comes
    first."""

    def __init__(self, begin: m.Begin, grounds: Grounds) -> None:
        self.begin = begin
        self.held: set[HeldDot] = set()
        self.arrived = 0
        self._grounds = grounds
        theirs = grounds.theirs.knowledge if grounds.theirs is not None else {}
        self.knowledge: Knowledge = vector_clock.grown({} if begin.behind else theirs, begin.knowledge)
        """What S knows: all that it says to one who is behind, else at least this."""
        self.ends: dict[Host, int] = {}
        """How far the chains that came reach: S has at least these."""
        self._over: Clock | None = None
        """What was forgotten here and S has not seen: what is absent is revived over it."""
        self._chained: dict[Host, int] = {}
        """How far the chains go that were looked at."""
        self._keys = bytearray()
        self._leading: list[Version] = []
        """Leading versions that are not joined yet, because more of them may come."""

    def refuse_outdated(self, tx: Merge) -> None:
        """Raise `Outdated` unless what the round was computed from is still so (SYNC-5)."""
        own = LocalState(tx)
        reason = self._grounds.outdated(own)
        seen = self._has_seen_what_is_forgotten(own.forgotten)
        if reason is None and not seen and not self.begin.behind and self._grounds.repeatable:
            reason = Sentence("this device has forgotten what the sender has not seen")
        if reason is not None:
            raise Outdated(reason)
        self._over = None if seen else own.forgotten

    def _has_seen_what_is_forgotten(self, forgotten: Clock) -> bool:
        return vector_clock.covers(self.knowledge, forgotten)

    def chain(self, tx: Merge, message: m.Chain) -> bytes | None:
        """Take a part of a chain; the fork node if it is another copy's."""
        part = ChainPart(message.host, message.parent, message.first, message.before, message.values)
        try:
            node = extend(tx, part)
        except BadChain as error:
            raise Outdated(error.sentence) from None
        if node is not None:
            fork.split(tx, [node])
            return node
        if part.host == tx.host:
            fork.mint_if_behind(tx, part.end)
        self.ends[part.host] = part.end
        if part.host in self._chained:
            self._chained[part.host] = max(part.end, self._chained[part.host])
        return None

    def batch(self, tx: Merge, versions: Iterable[Version], strangers: Strangers) -> Anomalies:
        """Join what came. Raises `Unacceptable` for what cannot be kept at all.

        Which device a host belongs to is said by leading versions, and by several of them together: so those are
        joined and judged at once, when the last of them is here (RELAY-577)."""
        self._leading += versions
        if self._more_are_leading(tx):
            return Anomalies([], [], {})
        versions, self._leading = self._leading, []
        try:
            good, bad, clocks = opened(versions)
            reach = vector_clock.reach(clock for _, clock in clocks)
            ends = self._chain_ends(tx, reach)
            if not vector_clock.covers(ends, reach):
                refuse_unchained(ends, clocks)
            clashes: list[tuple[Version, Entity]] = []
            for some in good:
                tx.apply(some, revive_absent=self._over, clashes=clashes)
            mending.mend(tx, clashes)
            for incoming, reason in bad:
                tx.quarantine(incoming, reason)
        except (BadVersion, ValueError) as error:
            raise Unacceptable.of(error) from None
        stranger = strangers.among(tx, reach)
        if stranger is not None:
            entity = next(entity for entity, clock in clocks if stranger in clock)
            raise Unacceptable(
                "unknown-host",
                "{entity} was written by host {host}, of no known device",
                entity=entity,
                host=stranger,
            )
        self.arrived += len(clocks)
        if not vector_clock.covers(self.knowledge, reach):
            self.held.update(
                (host, counter, entity)
                for entity, clock in clocks
                for host, counter in clock.items()
                if counter > self.knowledge.get(host, 0)
            )
        ahead = {chain.root(tx, host): millis for host, millis in tx.ahead.items()}
        return Anomalies(tx.kept_now(), [entity.id for _, entity in clashes], ahead)

    def _more_are_leading(self, tx: Merge) -> bool:
        """Whether all that came since the last join is leading, and is not the last of the round."""
        return (
            self.arrived + len(self._leading) < self.begin.count
            and all(each.type in tx.schema.leading for each in self._leading)
            and sum(map(Version.size, self._leading)) <= LEADING_BYTES
        )

    def _chain_ends(self, tx: Merge, hosts: Iterable[Host]) -> dict[Host, int]:
        """How far the chains go, at least of these hosts. A chain grows only by what comes in this round."""
        new = [host for host in hosts if host not in self._chained]
        if new:
            self._chained |= chain.ends_of(tx, new)
        return self._chained

    def _refuse_unfounded(self, tx: Merge) -> None:
        """Refuse a sender that knows a write without its chain, or has forgotten a write that it does not know."""
        ends = self._chain_ends(tx, self.begin.knowledge)
        for host, counter in self.begin.knowledge.items():
            if counter > ends.get(host, 0):
                raise Unacceptable(
                    "bad-entity",
                    "the sender knows write {counter} of host {host}, without its chain",
                    counter=counter,
                    host=host,
                )
        if not self.begin.forgotten:
            return
        if not vector_clock.covers(vector_clock.merge(tx.knowledge(), self.begin.knowledge), self.begin.forgotten):
            raise Unacceptable("bad-entity", "the sender has forgotten writes that it does not know")

    def refuse_strangers(self, tx: Merge, strangers: Strangers) -> None:
        """Raise `Unacceptable` if a chain came of a host that belongs to no device: every device would
        pass it on, for ever. Called last in a transaction: in `space` the host's binding comes after its chain and
        before all other versions."""
        if tx.schema.leading and self.begin.count and not self.arrived:
            return
        stranger = strangers.among(tx, self.ends)
        if stranger is not None:
            raise Unacceptable("unknown-host", "chain values came of host {host}, of no known device", host=stranger)

    def ids(self, tx: Merge, keys: bytes) -> None:
        """Some of the keys of what S holds: no more than there can be, for they are kept until the end. Each entity
        that S holds was made by a write whose chain is here, or is here itself."""
        self._keys += keys
        most = sum(LocalState(tx).ends.values()) + tx.count() + tx.count_quarantined()
        if len(self._keys) > most * forgetting.KEY_BYTES:
            raise Unacceptable(
                "bad-entity", "more than {most} keys came, and the sender cannot hold so many entities", most=most
            )

    def end(self, tx: Merge) -> LocalState:
        """Adopt what S knows and has forgotten, because all of the round is here. Gives what this store has then. A
        caller that needs it reads it before the transaction ends."""
        self._refuse_unfounded(tx)
        try:
            keys = forgetting.KeySet(bytes(self._keys))
        except ValueError as error:
            raise Unacceptable.of(error) from None
        forgetting.complete(tx, self.begin.knowledge, self.begin.forgotten)
        if self.begin.behind:
            forgetting.reconcile(tx, keys, self.knowledge, lookups.forgotten(tx))
        tx.finish()
        return LocalState(tx)


def refuse_unchained(ends: Clock, clocks: Iterable[tuple[str, Clock]]) -> None:
    """Raise `BadVersion` for an entity whose clock goes beyond the chains that are here (SYNC-65)."""
    for entity, clock in clocks:
        for host, counter in clock.items():
            if counter > ends.get(host, 0):
                raise BadVersion(
                    "{entity} knows write {counter} of host {host}, whose chain did not come",
                    entity=entity,
                    counter=counter,
                    host=host,
                )


class OpenedVersions(NamedTuple):
    """What came in one message: what is good, in its order; what is bad, with what is wrong with it; and the clock of
    each entity."""

    good: list[Plain | list[tuple[Version, Entity]]]
    bad: list[tuple[Version, Sentence]]
    clocks: list[tuple[str, Clock]]


def opened(versions: Iterable[Version]) -> OpenedVersions:
    """Open what came: what is plain together, the rest one by one. Raises `BadVersion` for one that cannot be kept."""
    found = OpenedVersions([], [], [])
    for some, usual in _pieces(versions):
        plain = batch.plain(some) if usual and len(some) > batch.FEW else None
        if plain is not None:
            found.good.append(plain)
            found.clocks.extend(zip(plain.columns.ids, plain.clocks, strict=True))
        else:
            found.good.append(_opened_singly(some, found))
    return found


def _pieces(versions: Iterable[Version]) -> Iterator[tuple[list[Version], bool]]:
    """What came in pieces, in its order, and whether each looks plain."""
    for usual, run in groupby(versions, batch.looks_plain):
        while some := list(islice(run, batch.TOGETHER)):
            yield some, usual


def _opened_singly(versions: Iterable[Version], found: OpenedVersions) -> list[tuple[Version, Entity]]:
    """The good ones. Raises `BadVersion` for one that cannot even be kept: without an id and a clock it has no place
    anywhere, and beyond the largest size it cannot be passed on."""
    good = []
    for incoming in versions:
        try:
            entity = version.open_foreign(incoming)
        except BadVersion as error:
            found.clocks.append((incoming.id, version.clock_of(incoming)))
            if incoming.size() > version.MAX_VERSION:
                raise
            found.bad.append((incoming, error.sentence))
        else:
            found.clocks.append((entity.id, entity.clock))
            good.append((incoming, entity))
    return good
