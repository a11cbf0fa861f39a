"""One side of a conversation about stores, without the connection (docs/specs/07-sync.md).

Theory of operation. Messages go in, answers come out, and the stores are changed in between; all of it is
synchronous and waits for nobody. Whoever drives it (a link on a socket, a simulation, the conformance adapter)
carries the messages and calls

    hello()           the greeting, once
    hear(messages)    for what the peer says: what it asks for has been done, and is durable, when this returns
    more()            for what this side has to say of itself: again and again, until it has nothing

It obeys one order above all: *durable before visible*. A batch is committed before it is granted again,
knowledge is adopted in the transaction that has checked that it may be, and `Told` is said after that commit.

First the two agree, store by store, on what they have (`lottisync.sync.agreement`). From then on whenever a store
knows something that the peer was not told, a round goes out: snapshots are taken in the order agent, journal,
space, and delivered the other way round (space, journal, agent), each store's round only after the peer has durably
taken the one before; so a decision never arrives before its effect. A change made anywhere is one small
round; there is no second mechanism for live updates. So that a small round is cheap, what came in one breath is one
transaction, a store is read once for each, and one that has not moved since the peer was seen to lack nothing of it is
not looked into.

What the peer has is remembered as knowledge *and* as the dots beyond it, for a device may itself hold and pass on
what came in a round that was cut off. With the knowledge alone, two devices that hold such a dot would
offer it to each other for ever.
"""

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

import msgspec

from lottisync.causality import vector_clock
from lottisync.causality.knowledge import Knowledge
from lottisync.causality.vector_clock import Host
from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.protocol import summary
from lottisync.protocol.framing import ENCODINGS
from lottisync.store import forgetting, fork
from lottisync.store.merge import Merge
from lottisync.store.reader import Moment
from lottisync.store.snapshot import Snapshot
from lottisync.store.store import Store
from lottisync.sync.agreement import Agreement
from lottisync.sync.comparing import Comparisons
from lottisync.sync.incoming import Incoming, Outdated, Strangers, Unacceptable
from lottisync.sync.inventory import Inventory
from lottisync.sync.outgoing import Outgoing
from lottisync.sync.standing import Standing

SNAPSHOT_ORDER = ("agent", "journal", "space")
DELIVERY_ORDER = ("space", "journal", "agent")
SMALL_BYTES = 64 * 1024
"""Up to so much of a round goes into one frame: a change made while linked is one, and compresses as one."""
DOT_OVERHEAD = 32
"""Bytes of a held dot in msgpack beside the entity's id: an array of three, 16 digits, a counter, two lengths."""
MAX_FORKS_ON_TRUST = m.MAX_FORKS * 9 // 10
"""Fork nodes of a store beyond which only such are taken over as lie on a log that is here."""
MAX_REFUSALS = 100
"""Rounds of a store that are refused one after the other before the session ends: between correct peers it is a
handful, whatever splits meanwhile."""
GRANTED_TOGETHER = m.FIRST_CREDIT // 2
"""Frames taken before their credit is given back, in one word."""


class Refused(Exception):
    """What the peer sent breaks a rule that only a store can check; ends the session."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


_InRound = m.Begin | m.Chain | m.Batch | m.Ids | m.End
"""What is carried out in a transaction of the round's store."""


class _Ending(msgspec.Struct):
    """How the parts of a round that came in one breath ended: with more to come, with all of it, or refused."""

    reports: list[tuple[str, str]] = []
    ahead: dict[Host, int] = {}
    refused: str | None = None
    end: m.End | None = None
    own: Inventory | None = None


class Exchange:
    """See the module. `credit` says how many large messages may be said now; `report` is told (code, sentence),
    `progress` (store, done, of), on whatever thread reads a store for a comparison; `called` is what people call
    the peer; `member` says whether a device is, or was, one of this person's: of others nothing is heard.
    `ahead` is told of hosts whose clocks are far ahead, and what they said (ms)."""

    def __init__(
        self,
        *,
        device: str,
        boot: bytes,
        stores: Mapping[str, Store],
        strangers: Strangers,
        clock: Callable[[], int],
        credit: Callable[[], int],
        report: Callable[[str, str], None],
        progress: Callable[[str, int, int], None] = lambda store, done, of: None,
        called: Callable[[], str | None] = lambda: None,
        member: Callable[[str], bool] = lambda device: True,
        ahead: Callable[[Host, int], None] = lambda host, millis: None,
    ) -> None:
        self.standing = Standing()
        self.comparisons = Comparisons(
            stores, self.standing, clock=clock, report=report, progress=progress, called=lambda: self._short
        )
        self._called, self._member, self._ahead = called, member, ahead
        self._peer, self._device, self._boot = "", device, boot
        self._stores, self._strangers, self._clock, self._credit = stores, strangers, clock, credit
        self._report = report
        self._agreements = {name: Agreement(name, store) for name, store in stores.items()}
        self._shared = b""
        self._heard = m.Heard({})
        self._incoming: Incoming | None = None
        self._outgoing: Outgoing | None = None
        self._sent: Outgoing | None = None
        self._taken = 0
        self._rounds = 0
        self._stopped = False
        self._speaking: Generator[list[m.Message], None, None] | None = None
        self._work = False
        self._closely = True

    # -- the greeting

    def hello(self) -> m.Hello:
        stores = {name: agreement.want().summary for name, agreement in self._agreements.items()}
        return m.Hello(
            m.PROTOCOL_VERSION,
            bytes.fromhex(self._device),
            self._boot,
            summary.state(stores),
            self._hearsay()[1],
            ENCODINGS,
        )

    def _on_hello(self, hello: m.Hello) -> list[m.Message]:
        self._peer = hello.device.hex()
        self.comparisons.leads = self._device < self._peer
        said = {name: a.said.summary for name, a in self._agreements.items() if a.said is not None}
        answer: list[m.Message] = []
        if hello.state == summary.state(said):
            for name, agreement in self._agreements.items():
                agreement.equal()
                self._heard_from(name, agreement.claimed, said[name], agreement.summary())
            self._work = True
        else:
            answer.append(m.Want(_fitting({name: a.want() for name, a in self._agreements.items()})))
        told, short = self._hearsay()
        if hello.heard != short:
            answer.append(m.Heard(told))
        self._shared = short
        return answer

    # -- what the peer says

    def hear(self, messages: Iterable[m.AnyMessage]) -> list[m.Message]:
        """Do what messages ask for that came in one breath; gives what is to be answered. Raises `Refused`, or
        `Problem` for a store that cannot go on."""
        answer: list[m.Message] = []
        together: list[_InRound] = []
        try:
            for message in messages:
                if together and not isinstance(message, m.Chain | m.Batch | m.Ids | m.End):
                    answer += self._in_round(together)
                    together = []
                if isinstance(message, _InRound):
                    together.append(message)
                else:
                    answer += self._take(message)
            return [*answer, *self._in_round(together)] if together else answer
        except Unacceptable as fault:
            self._end_incoming()  # over with the session: what comes behind this finds nothing to go on with
            raise Refused(fault.code, str(fault)) from None

    def _take(self, message: m.AnyMessage) -> list[m.Message]:
        match message:
            case m.Hello():
                return self._on_hello(message)
            case m.Want():
                return self._on_want(message)
            case m.Probe():
                return [self._agreement(message.store).probe(message)]
            case m.Probed():
                return self._agreement(message.store).probed(message, self._clock())
            case m.Cut():
                self._end_incoming()
            case m.Told():
                self._on_told(message)
            case m.Refuse():
                self._agreement(message.store).theirs = None
                self._stopped = True
            case m.Heard():
                self._on_heard(message)
            case m.Compare():
                self._agreement(message.store)
                self.comparisons.compare(message)
            case m.Mend():
                self.comparisons.mend(message)
                return self._grant([message])
            case m.Mended():
                self._on_mended(message)
            case _:
                pass
        return []

    def _agreement(self, name: str) -> Agreement:
        if name not in self._agreements:
            raise Refused("unknown-store", f"there is no store {name[:40]!r} here")
        return self._agreements[name]

    def _on_want(self, want: m.Want) -> list[m.Message]:
        answer: list[m.Message] = []
        for name, theirs in want.stores.items():
            agreement = self._agreement(name)
            self._refuse_invented_forks(name, theirs.nodes)
            answer += agreement.hear(theirs, self._clock())
            known = {host: log.known for host, log in theirs.hosts.items() if log.known}
            self._heard_from(name, known, theirs.summary, self._agreements[name].summary())
        self._stopped = self._work = self._closely = True
        return answer

    def _refuse_invented_forks(self, name: str, nodes: Iterable[bytes]) -> None:
        """Fork nodes are united, and never forgotten: whoever invents them must not fill up what all devices have to
        say to each other. One that lies on no log here is taken on trust, and of those there is an end."""
        with self._stores[name].reading() as reader:
            known = fork.nodes(reader)
            strange = frozenset(nodes) - known
            if len(known) + len(strange) <= MAX_FORKS_ON_TRUST:
                return
            too_many = len(known) + len(strange) > m.MAX_FORKS
            if too_many or not all(fork.places(reader, [node]) for node in strange):
                raise Refused("no-agreement", f"{len(strange)} forks of {name} of which nothing is here are too many")

    def _heard_from(self, name: str, knowledge: Knowledge, there: m.Summary, own: m.Summary) -> None:
        """The peer says how it stands. Equal knowledge must mean an equal digest; a mismatch is never ignored
        (SYNC-7)."""
        self.standing.told[name] = dict(knowledge)
        self.standing.summaries[name] = there
        same = own.known == there.known
        if same and own.digest != there.digest:
            if name not in self.standing.diverged:
                self.standing.diverged.append(name)
                self._report("diverged", f"{name} differs from {self._short} although both know the same")
            self.comparisons.suspect(name)
        elif same:
            self.comparisons.trust(name)
            if name in self.standing.diverged:
                self.standing.diverged.remove(name)

    @property
    def _short(self) -> str:
        return self._called() or f"device {self._peer[:8]}"

    # -- a round that comes in

    def _refuse(self, begin: m.Begin, reason: str) -> list[m.Message]:
        """What is still to come of the round is passed over. If the two have yet to agree, that will say so; else the
        peer is told at once what is here now."""
        self._end_incoming()
        agreement = self._agreements[begin.store]
        agreement.refusals += 1
        if agreement.refusals > MAX_REFUSALS:
            raise Refused("no-agreement", f"{MAX_REFUSALS} rounds of {begin.store} could not be taken: {reason}")
        answer: list[m.Message] = [m.Refuse(begin.round, begin.store, reason[: m.MAX_TEXT])]
        if agreement.theirs is None:
            agreement.refused = True
        else:
            answer.append(m.Want(_fitting({begin.store: agreement.want()})))
        return answer

    def _end_incoming(self) -> None:
        self._incoming = None
        self.standing.receiving = None

    def _in_round(self, messages: Sequence[_InRound]) -> list[m.Message]:
        """Parts of one round that came in one breath: one transaction, so that a small round costs one commit."""
        granted = self._grant(messages)
        if isinstance(messages[0], m.Begin):
            self._incoming = Incoming(messages[0], self._agreement(messages[0].store))
        incoming = self._incoming
        if incoming is None:
            return granted
        begin = incoming.begin
        with self._stores[begin.store].transaction(self._clock(), None) as tx:
            ending = self._carry_out(incoming, messages, tx)
        for code, text in ending.reports:
            self._report(code, text)
        for host, millis in ending.ahead.items():
            self._ahead(host, millis)
        if ending.refused is not None:
            return [*self._refuse(begin, ending.refused), *granted]
        self.standing.receiving = (begin.store, incoming.arrived, begin.count)
        theirs = self._agreements[begin.store].theirs
        assert theirs is not None, "the round stood until now"
        # What the peer is about to send, it has: a change made here meanwhile must not take it back.
        theirs.learns(begin.knowledge)
        if ending.end is not None and ending.own is not None:
            return [self._ended(incoming, ending.end, ending.own), *granted]
        return granted

    def _carry_out(self, incoming: Incoming, messages: Sequence[_InRound], tx: Merge) -> _Ending:
        """What came before a reason to refuse stays; it was good."""
        ending = _Ending()
        store = incoming.begin.store
        try:
            incoming.stands(tx)
            for message in messages:
                match message:
                    case m.Chain():
                        if incoming.chain(tx, message) is not None:
                            raise Outdated("the chains of two copies of a store came together")
                    case m.Batch():
                        taken = incoming.batch(tx, message.versions, self._strangers)
                        ending.reports += [
                            ("quarantined", f"{self._short} sent what cannot be taken, kept as it came: {one.reason}")
                            for one in taken.kept
                        ]
                        ending.ahead |= taken.ahead
                        ending.reports += [
                            ("mended", f"{store}: {entity} had been changed behind its store's back, and was mended")
                            for entity in taken.mended
                        ]
                    case m.Ids():
                        incoming.ids(tx, message.keys)
                    case m.End():
                        ending.end, ending.own = message, incoming.end(tx)
                        self._agreements[store].sum_up(ending.own)
                    case m.Begin():
                        pass
        except Outdated as reason:
            ending.refused = str(reason)
        incoming.refuse_strangers(tx, self._strangers)
        return ending

    def _ended(self, incoming: Incoming, end: m.End, own: Inventory) -> m.Told:
        """A round is whole, and durable; `own` is what the store has since then."""
        self._end_incoming()
        begin = incoming.begin
        agreement = self._agreements[begin.store]
        agreement.claims(begin.knowledge)
        agreement.refusals = 0
        assert agreement.theirs is not None, "the round stood until now"
        agreement.theirs.learns({}, incoming.held)
        agreement.theirs.grows(incoming.ends, begin.forgotten)
        self._heard_from(begin.store, agreement.theirs.knowledge, end.summary, own.summary)
        if agreement.has_news(own, closely=False) or any(each.settled is None for each in self._agreements.values()):
            self._work = True
        known = incoming.knowledge
        beyond = {host: counter for host, counter in own.knowledge.items() if counter > known.get(host, 0)}
        return m.Told(end.round, begin.store, beyond, own.summary)

    def _grant(self, messages: Sequence[m.Message]) -> list[m.Message]:
        self._taken += sum(isinstance(message, m.Large) for message in messages)
        if self._taken < GRANTED_TOGETHER:
            return []
        granted, self._taken = self._taken, 0
        return [m.Credit(granted)]

    # -- a round that goes out

    def local_change(self, moments: Mapping[str, Moment] | None = None) -> None:
        """Something was committed here: look whether the peer lacks it. With the stores' `moments` as they are now,
        only if it is not they that were looked into last: then the peer lacks nothing of them, or is being sent it."""
        if moments is None or any(moment != self._agreements[name].looked for name, moment in moments.items()):
            self._work = True

    @property
    def owed(self) -> bool:
        """Whether something waits for what the peer owes: credit, or the word that it has taken a round."""
        return self._speaking is not None or bool(self.comparisons.due)

    @property
    def silent(self) -> bool:
        """Whether `more` has nothing to say, as far as that shows without a look into the stores."""
        if self.comparisons.due or self.comparisons.wanted:
            return False
        if self._speaking is None:
            return not self._work
        return self._outgoing is not None and self._outgoing is self._sent and not self._must_stop()

    def more(self) -> list[m.Message]:
        """What this side has to say next, for one frame; nothing if it has nothing to say, or has to wait."""
        self.comparisons.begin(lambda name: self._agreements[name].theirs is not None)
        if self.comparisons.due:
            return self._next_due()
        while True:
            if self._speaking is None:
                if not self._work:
                    return []
                self._work = False
                self._speaking = self._speak()
            for burst in self._speaking:
                return burst
            self._speaking = None

    def _next_due(self) -> list[m.Message]:
        """Of what is to be said in a comparison, as much as there is credit for."""
        due = self.comparisons.due
        if isinstance(due[0], m.Large) and not self._credit():
            return []
        return [due.popleft()]

    def close(self) -> None:
        """Let go of what a running round holds, and keep what the peer has told."""
        self.comparisons.close()
        if self._speaking is not None:
            self._speaking.close()
            self._speaking = None
        with contextlib.suppress(Problem):  # it only decides what may be forgotten, and will be told again
            self._remember()

    def _speak(self) -> Generator[list[m.Message], None, None]:
        snapshots: dict[str, tuple[Snapshot, Inventory]] = {}
        self._stopped = False
        try:
            renewed = self._look(snapshots)
            if renewed:
                yield [m.Want(_fitting(renewed))]
            for name in DELIVERY_ORDER:
                if name in self._agreements and not (yield from self._round(name, snapshots.get(name))):
                    break
        finally:
            for snapshot, _ in snapshots.values():
                snapshot.close()
            self._outgoing = None
        self._closely = False
        if self._stopped:
            self._work = self._closely = True

    def _must_stop(self) -> bool:
        """Whether the peer has asked anew, or refused; things that happen while we wait."""
        return self._stopped

    def _look(self, snapshots: dict[str, tuple[Snapshot, Inventory]]) -> dict[str, m.Have]:
        """Take a moment of each store that the peer lacks something of; gives what is to be said of those that were
        split."""
        renewed: dict[str, m.Have] = {}
        for name in SNAPSHOT_ORDER:
            agreement = self._agreements.get(name)
            if agreement is None or not (self._closely or agreement.moved()):
                continue
            snapshot = self._stores[name].snapshot()
            own = Inventory(snapshot)
            snapshots[name] = snapshot, own
            if agreement.renewed(own):
                renewed[name] = agreement.say(own.have)
            if not agreement.has_news(own, closely=self._closely):
                del snapshots[name]
                snapshot.close()
        return renewed

    def _round(self, name: str, taken: tuple[Snapshot, Inventory] | None) -> Generator[list[m.Message], None, bool]:
        """Send a store's round; whether the next store's may follow."""
        agreement = self._agreements[name]
        if self._must_stop() or agreement.theirs is None:
            return False
        if taken is None:
            return True
        outgoing = Outgoing(self._rounds + 1, name, *taken, agreement.theirs)
        if outgoing.blocked or not outgoing.news:
            return not outgoing.blocked
        self._rounds += 1
        self._outgoing = outgoing
        burst: list[m.Message] = []
        size = large = 0
        for message in outgoing.messages():
            if isinstance(message, m.Large):
                while self._credit() <= large and not self._must_stop():
                    yield burst
                    burst, size, large = [], 0, 0
                if self._must_stop():
                    yield [m.Cut(outgoing.number)]
                    return False
                size += _size(message)
                large += 1
            burst.append(message)
            if size >= SMALL_BYTES:
                yield burst
                burst, size, large = [], 0, 0
                if self._must_stop():
                    yield [m.Cut(outgoing.number)]
                    return False
        agreement.sum_up(outgoing.own)
        self._sent = outgoing
        yield burst
        while self._outgoing is outgoing and not self._must_stop():
            yield []
        return not self._must_stop()

    def _on_told(self, told: m.Told) -> None:
        outgoing, agreement = self._outgoing, self._agreement(told.store)
        if outgoing is None or told.round != outgoing.number or agreement.theirs is None:
            return
        self._outgoing = None
        theirs = agreement.theirs
        theirs.learns(vector_clock.merge(outgoing.knowledge, told.knowledge), outgoing.held)
        theirs.grows(outgoing.ends, outgoing.forgotten)
        agreement.settled = outgoing.own.moment
        self._heard_from(told.store, theirs.knowledge, told.summary, agreement.summary())

    # -- comparing, and mending what differs

    def verify(self, name: str) -> None:
        """Compare a store with the peer, row by row; `comparisons.verified` has the outcome some time later."""
        self._agreement(name)
        self.comparisons.verify(name)
        self._work = True

    def _on_mended(self, mended: m.Mended) -> None:
        agreement = self._agreement(mended.store)
        self.comparisons.mended(mended)
        if agreement.theirs is not None:
            self._heard_from(mended.store, agreement.theirs.knowledge, mended.summary, agreement.summary())
        self._work = True

    # -- what is heard of others

    def _hearsay(self) -> tuple[dict[str, dict[str, Knowledge]], bytes]:
        """What this device has heard that devices know, itself included; and that in eight bytes."""
        told = {}
        for name, store in self._stores.items():
            with store.reading() as reader:
                told[name] = {**forgetting.told(reader), self._device: reader.knowledge()}
        return told, summary.heard(told)

    def hearsay(self) -> list[m.Message]:
        """Write down what the peer has told, and pass on what is heard of others; for once in a while."""
        self._remember()
        self._work = self._closely = True
        told, short = self._hearsay()
        if short == self._shared:
            return []
        self._shared = short
        return [m.Heard(told)]

    def _remember(self) -> None:
        """Write down what the peer has told (docs/specs/14-forgetting.md, section 2)."""
        for name, knowledge in self.standing.told.items():
            with self._stores[name].reading() as reader:
                known = forgetting.told(reader).get(self._peer) == knowledge
            if not known:
                with self._stores[name].transaction(self._clock(), None) as tx:
                    forgetting.hear(tx, self._peer, knowledge, direct=True)
        self._note(self._heard)

    def _on_heard(self, heard: m.Heard) -> None:
        """Noted now, and once more at the end: of hosts of which nothing is here yet it says nothing, and the rounds
        that bring something of them come behind it."""
        self._note(heard)
        self._heard = heard

    def _note(self, heard: m.Heard) -> None:
        for name, devices in heard.stores.items():
            self._agreement(name)
            with self._stores[name].reading() as reader:
                told = forgetting.told(reader)
            news = {
                device: knowledge
                for device, knowledge in devices.items()
                if device not in (self._device, self._peer)
                and self._member(device)
                and not vector_clock.covers(told.get(device, {}), knowledge)
            }
            if news:
                with self._stores[name].transaction(self._clock(), None) as tx:
                    for device, knowledge in news.items():
                        forgetting.hear(tx, device, knowledge, direct=False)


def breaths(messages: Iterable[m.AnyMessage]) -> Iterator[list[m.AnyMessage]]:
    """What came together, for `hear`, cut where something is for whoever drives the exchange: that stands alone."""
    breath: list[m.AnyMessage] = []
    for message in messages:
        if isinstance(message, m.Hello | m.Twin | m.Ping | m.Pong | m.Credit | m.Close):
            if breath:
                yield breath
            breath = []
            yield [message]
        else:
            breath.append(message)
    if breath:
        yield breath


def _size(message: m.Message) -> int:
    match message:
        case m.Batch():
            return sum(version.size() for version in message.versions)
        case m.Chain():
            return len(message.values)
        case m.Ids():
            return len(message.keys)
    return 0


def _fitting(haves: dict[str, m.Have]) -> dict[str, m.Have]:
    """The same with as many held dots as one frame takes."""
    room = m.HELD_BYTES
    fitting = {}
    for name, have in haves.items():
        held = []
        for dot in have.held[: m.MAX_HELD]:
            room -= DOT_OVERHEAD + len(dot[2])
            if room < 0:
                break
            held.append(dot)
        fitting[name] = msgspec.structs.replace(have, held=held)
    return fitting
