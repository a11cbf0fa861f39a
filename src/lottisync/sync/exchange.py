"""One side of an exchange: what messages ask for is done on the stores (docs/specs/07-sync.md).

Messages go in, messages come out, and the stores are changed in between; all of it is synchronous and does not
wait. Bytes, grammar and time belong to `Conversation`, which calls

    hello()              the greeting, once
    carry_out(messages)  for what the peer says: what it asks for has been done, and is durable, when this returns
    more()               for what this side has to say of itself: again and again, until it has nothing

First the two agree, store by store, on what they have (`lottisync.sync.agreement`). From then on a round goes out
whenever a store knows something that the peer does not know (`rounds_out`), and is taken when one comes in
(`rounds_in`). Beside the rounds there are comparisons of whole stores (`comparisons`) and what is heard of other
devices (`gossip`).
"""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence

from lottisync.device.device import Device
from lottisync.protocol import message as m
from lottisync.protocol import summary
from lottisync.protocol.framing import ENCODINGS
from lottisync.store import fork
from lottisync.store.reader import ChangeToken
from lottisync.store.store import Store
from lottisync.sync.allowance import Allowance
from lottisync.sync.comparisons import Comparisons
from lottisync.sync.event import AskedTooOften, Event
from lottisync.sync.gossip import GossipExchange
from lottisync.sync.incoming import Unacceptable
from lottisync.sync.parties import Parties
from lottisync.sync.peer_status import PeerStatus
from lottisync.sync.rounds_in import InRound, RoundsIn
from lottisync.sync.rounds_out import RoundsOut
from lottisync.sync.want import fitting

MAX_FORKS_ON_TRUST = m.MAX_FORKS * 9 // 10
"""Fork nodes of a store beyond which only such are taken over as lie on a log that is here."""


class Exchange:
    """`stores` are those of the device that take part, in the order in which rounds deliver them (None: all), `failing`
    the names of those that are left out, because their files cannot be used. `members` are the devices that are, or
    were, this person's (None: all that are named). `allowance` is what the peer may still cost (None: nothing was
    counted yet)."""

    def __init__(
        self,
        device: Device,
        *,
        boot: bytes,
        stores: Mapping[str, Store] | None = None,
        members: Container[str] | None = None,
        allowance: Allowance | None = None,
        failing: Sequence[str] = (),
    ) -> None:
        self._boot = boot
        self._allowance = allowance or Allowance()
        self._heard_too_often = False
        stores = dict(device.stores if stores is None else stores)
        self._parties = Parties(device.id, stores, failing)
        self.comparisons = Comparisons(stores, self.status, self.events, self._allowance)
        self.rounds_out = RoundsOut(self._parties)
        self.rounds_in = RoundsIn(self._parties, self.comparisons, self.rounds_out, device.strangers())
        self._gossip = GossipExchange(self._parties, members)

    @property
    def status(self) -> PeerStatus:
        return self._parties.status

    @property
    def events(self) -> list[Event]:
        """What has happened. The reader empties the list."""
        return self._parties.events

    @property
    def peer(self) -> str:
        """The peer's device id; "" until it has greeted."""
        return self._parties.peer

    # -- the greeting

    def hello(self) -> m.Hello:
        """Each store is read once for all that the greeting says of it."""
        summaries, known = {}, {}
        for name, agreement in self._parties.agreements.items():
            with self._parties.stores[name].reading() as reader:
                own = agreement.here(reader)
                summaries[name] = agreement.say(own.have).summary
                known[name] = self._gossip.known(reader, own.knowledge)
        return m.Hello(
            m.PROTOCOL_VERSION,
            bytes.fromhex(self._parties.device),
            self._boot,
            summary.state(summaries),
            self._gossip.greeting(known),
            ENCODINGS,
        )

    def _on_hello(self, hello: m.Hello) -> list[m.Message]:
        parties = self._parties
        parties.peer = hello.device.hex()
        self.comparisons.leads = parties.device < parties.peer
        said = {name: a.said.summary for name, a in parties.agreements.items() if a.said is not None}
        answer: list[m.Message] = []
        if hello.state == summary.state(said):
            parties.shares(parties.stores)
            for name, agreement in parties.agreements.items():
                agreement.equal()
                self.comparisons.heard_from(name, agreement.claimed, said[name], agreement.summary(), parties.now)
            self.rounds_out.look()
        else:
            haves = fitting({name: agreement.want() for name, agreement in parties.agreements.items()})
            answer.append(m.Want(haves, list(parties.failing[: m.MAX_FAILING])))
        return [*answer, *self._gossip.greeted(hello.gossip)]

    # -- what the peer says

    def carry_out(self, messages: Iterable[m.AnyMessage], now: int) -> list[m.Message]:
        """Do what these messages ask for. They came together. Returns the answer. `now` is the wall clock (ms).
        Raises `Unacceptable`, or `Problem` for a store that cannot go on."""
        self._parties.now = now
        answer: list[m.Message] = []
        together: list[InRound] = []
        try:
            for message in messages:
                if together and not isinstance(message, m.Chain | m.Batch | m.Keys | m.End):
                    answer += self.rounds_in.take(together)
                    together = []
                if isinstance(message, InRound):
                    together.append(message)
                else:
                    answer += self._take(message)
            return [*answer, *self.rounds_in.take(together)] if together else answer
        except Unacceptable:
            self.rounds_in.cut()  # over with the session: what comes behind this finds nothing to go on with
            raise

    def _take(self, message: m.AnyMessage) -> list[m.Message]:
        parties = self._parties
        match message:
            case m.Hello():
                return self._on_hello(message)
            case m.Want():
                return self._on_want(message)
            case m.Probe():
                return [parties.agreement(message.store).probe(message)]
            case m.Probed():
                return parties.agreement(message.store).probed(message, parties.now)
            case m.Abort():
                self.rounds_in.cut()
            case m.Ack():
                if self.rounds_out.acknowledged(message):
                    self._heard_summary(message.store, message.summary)
            case m.Reject():
                parties.agreement(message.store).theirs = None
                self.rounds_out.stop()
            case m.Gossip():
                self._gossip.receive(message)
            case m.Compare() | m.Mend() | m.Mended():
                return self._compared(message)
            case _:
                pass
        return []

    def _on_want(self, want: m.Want) -> list[m.Message]:
        """Wants of stores that are not here are passed over (SYNC-283), and what is beyond the allowance (SYNC-100)."""
        if not self._allowance.want(self._parties.now):
            if not self._heard_too_often:
                self._heard_too_often = True
                self.events.append(AskedTooOften())
            return []
        self._parties.shares(want.stores, want.failing)
        answer: list[m.Message] = []
        for name, theirs in want.stores.items():
            agreement = self._parties.agreements.get(name)
            if agreement is None:
                continue
            self._refuse_invented_forks(name, theirs.nodes)
            answer += agreement.compare(theirs, self._parties.now)
            known = {host: log.counter for host, log in theirs.hosts.items() if log.counter}
            self.comparisons.heard_from(name, known, theirs.summary, agreement.summary(), self._parties.now)
        self.rounds_out.stop()
        self.rounds_out.look(include_held=True)
        return answer

    def _refuse_invented_forks(self, name: str, nodes: Collection[bytes]) -> None:
        """Fork nodes are united, and never forgotten: a peer that invents them must not fill up what all devices have
        to say to each other. One that lies on no log here is taken on trust, and only so many of them are."""
        if not nodes:
            return
        with self._parties.stores[name].reading() as reader:
            known = fork.nodes(reader)
            strange = frozenset(nodes) - known
            if len(known) + len(strange) <= MAX_FORKS_ON_TRUST:
                return
            too_many = len(known) + len(strange) > m.MAX_FORKS
            if too_many or not all(fork.positions(reader, [node]) for node in strange):
                raise Unacceptable(
                    "no-agreement",
                    "{count} forks of {store} of which nothing is here are too many",
                    count=len(strange),
                    store=name,
                )

    def _compared(self, message: m.Compare | m.Mend | m.Mended) -> list[m.Message]:
        self._parties.agreement(message.store)
        now = self._parties.now
        match message:
            case m.Compare():
                self.comparisons.compare(message, now)
            case m.Mend():
                self.comparisons.mend(message, now)
                return self.rounds_in.grant([message])
            case m.Mended():
                self.comparisons.mended(message, now)
                self._heard_summary(message.store, message.summary)
                self.rounds_out.look()
        return []

    def _heard_summary(self, name: str, there: m.Summary) -> None:
        """Take the summary of the peer's store after a round or a comparison."""
        agreement = self._parties.agreements[name]
        if agreement.theirs is not None:
            self.comparisons.heard_from(name, agreement.theirs.knowledge, there, agreement.summary(), self._parties.now)

    # -- what this side has to say

    def local_change(self, moments: Mapping[str, ChangeToken] | None = None) -> None:
        """Something was committed here: look whether the peer lacks it (`RoundsOut.local_change`)."""
        self.rounds_out.local_change(moments)

    def verify(self, name: str) -> None:
        """Compare a store with the peer, row by row; `comparisons.verified` has the outcome some time later."""
        self._parties.agreement(name)
        self.comparisons.verify(name)
        self.rounds_out.look()

    def pass_on(self, now: int) -> list[m.Message]:
        """Write down what the peer has acknowledged, and pass on what is heard of others; to be called once in a
        while."""
        self._parties.now = now
        self.rounds_out.look(include_held=True)
        return self._gossip.pass_on()

    @property
    def owed(self) -> bool:
        """Whether something waits for what the peer owes: credit, or the word that it has taken a round."""
        return self.rounds_out.running or bool(self.comparisons.due)

    @property
    def silent(self) -> bool:
        """Whether `more` has nothing to say, as far as that shows without reading the stores."""
        return not (self.comparisons.due or self.comparisons.wanted) and self.rounds_out.silent

    def more(self, credit: int) -> list[m.Message]:
        """What this side has to say next, for one frame, with at most `credit` large messages; nothing if it has
        nothing to say, or has to wait."""
        self.comparisons.begin(lambda name: self._parties.agreements[name].theirs is not None)
        due = self.comparisons.due
        if due:
            return [] if isinstance(due[0], m.Large) and not credit else [due.popleft()]
        return self.rounds_out.more(credit)

    def close(self) -> None:
        """Let go of what a running round holds, and write down what the peer has acknowledged."""
        self.comparisons.close()
        self.rounds_out.close()
        self._gossip.close()
