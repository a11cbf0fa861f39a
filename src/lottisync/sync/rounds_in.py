"""The rounds that come in: what an exchange does when the peer sends (docs/specs/07-sync.md, section 5).

One order comes before all others: *durable before visible*. What came together is one transaction. A batch is committed
before its credit is given back; knowledge is adopted in the transaction that has checked that it may be; and `Ack` is
sent after that commit.
"""

from collections.abc import Sequence

import msgspec

from lottisync.causality import vector_clock
from lottisync.device.membership import Strangers
from lottisync.problem import Sentence
from lottisync.protocol import message as m
from lottisync.store import fork
from lottisync.store.merge import Merge
from lottisync.sync.comparisons import Comparisons
from lottisync.sync.event import ClockAhead, Event, Quarantined, Repaired
from lottisync.sync.incoming import Incoming, Outdated, Unacceptable
from lottisync.sync.local_state import LocalState
from lottisync.sync.parties import Parties
from lottisync.sync.peer import Receiving, per_second
from lottisync.sync.rounds_out import RoundsOut
from lottisync.sync.want import fitting

MAX_REFUSALS = 100
"""Rounds of a store that are refused one after the other before the session ends: between correct peers there are
only a few, also if a host splits meanwhile."""
GRANTED_TOGETHER = m.FIRST_CREDIT // 2
"""Frames taken before their credit is given back, in one message."""
InRound = m.Begin | m.Chain | m.Batch | m.Keys | m.End
"""What is carried out in a transaction of the round's store."""


class _Ending(msgspec.Struct):
    """How the parts of a round that came together ended: with more to come, with all of it, or refused."""

    events: list[Event] = []
    refused: Sentence | None = None
    end: m.End | None = None
    own: LocalState | None = None


class RoundsIn:
    """One round at a time. `strangers` finds hosts that belong to no device of this person."""

    def __init__(self, parties: Parties, comparisons: Comparisons, rounds_out: RoundsOut, strangers: Strangers) -> None:
        self._parties, self._comparisons, self._out, self._strangers = parties, comparisons, rounds_out, strangers
        self.incoming: Incoming | None = None
        self._taken = 0
        self._began = 0

    def take(self, messages: Sequence[InRound]) -> list[m.Message]:
        """Parts of one round that came together: one transaction, so that a small round costs one commit. Gives the
        answer. Raises `Unacceptable`."""
        granted = self.grant(messages)
        if isinstance(messages[0], m.Begin):
            self.incoming = Incoming(messages[0], self._parties.agreement(messages[0].store))
            self._began = self._parties.now
        incoming = self.incoming
        if incoming is None:
            return granted
        begin, before = incoming.begin, incoming.arrived
        with self._parties.stores[begin.store].transaction(self._parties.now, None) as tx:
            ending = self._carry_out(incoming, messages, tx)
        self._parties.events += ending.events
        if ending.refused is not None:
            return [*self._refuse(begin, ending.refused), *granted]
        # What came now is not done at `now` yet: the time until then was for what had come before.
        rate = per_second(before, self._parties.now - self._began)
        self._parties.status.receiving = Receiving(begin.store, incoming.arrived, begin.count, rate)
        theirs = self._parties.agreements[begin.store].theirs
        assert theirs is not None, "the round was not outdated until now"
        # What the peer is about to send, it has: a change made here meanwhile must not take it back.
        theirs.learns(begin.knowledge)
        if ending.end is not None and ending.own is not None:
            return [self._ended(incoming, ending.end, ending.own), *granted]
        return granted

    def cut(self) -> None:
        """End the running round; what is still to come of it is passed over."""
        self.incoming = None
        self._parties.status.receiving = None

    def grant(self, messages: Sequence[m.Message]) -> list[m.Message]:
        """Credit for the large messages that were taken, some at a time."""
        self._taken += sum(isinstance(message, m.Large) for message in messages)
        if self._taken < GRANTED_TOGETHER:
            return []
        granted, self._taken = self._taken, 0
        return [m.Credit(granted)]

    def _carry_out(self, incoming: Incoming, messages: Sequence[InRound], tx: Merge) -> _Ending:
        """Carry out the parts of a round. What came before a reason to refuse stays, because it was good."""
        ending = _Ending()
        store = incoming.begin.store
        try:
            incoming.refuse_outdated(tx)
            self._refuse_before_earlier(store)
            for message in messages:
                match message:
                    case m.Chain():
                        if incoming.chain(tx, message) is not None:
                            raise Outdated(Sentence("the chains of two copies of a store came together"))
                    case m.Batch():
                        taken = incoming.batch(tx, message.versions, self._strangers)
                        ending.events += [Quarantined(store, one.reason) for one in taken.kept]
                        ending.events += [ClockAhead(host, millis) for host, millis in taken.ahead.items()]
                        ending.events += [Repaired(store, entity) for entity in taken.mended]
                    case m.Keys():
                        incoming.ids(tx, message.keys)
                    case m.End():
                        ending.end, ending.own = message, incoming.end(tx)
                        self._parties.agreements[store].cache_summary(ending.own)
                    case m.Begin():
                        pass
        except Outdated as reason:
            ending.refused = reason.sentence
        incoming.refuse_strangers(tx, self._strangers)
        return ending

    def _refuse_before_earlier(self, store: str) -> None:
        """The peer has begun because we have all that it knows of the earlier stores. If one of those stores was
        copied, the peer may be wrong: the counters are equal, and the writes are not (RELAY-981)."""
        for name in self._parties.shared_in_order():
            if name == store:
                return
            with self._parties.stores[name].reading() as reader:
                nodes = fork.nodes(reader)
            if self._parties.agreements[name].disagreement(nodes) is not None:
                raise Outdated(Sentence("the two have not agreed on what they have of {store}", store=name))

    def _ended(self, incoming: Incoming, end: m.End, own: LocalState) -> m.Ack:
        """End a round that is whole, and durable; `own` is what the store has since then."""
        self.cut()
        begin = incoming.begin
        agreement = self._parties.agreements[begin.store]
        agreement.claims(begin.knowledge)
        agreement.refusals = 0
        assert agreement.theirs is not None, "the round was not outdated until now"
        agreement.theirs.learns({}, incoming.held)
        agreement.theirs.grows(incoming.ends, begin.forgotten)
        self._comparisons.heard_from(
            begin.store, agreement.theirs.knowledge, end.summary, own.summary, self._parties.now
        )
        if agreement.has_news(own, include_held=False) or self._out.unsettled():
            self._out.look()
        # What it has of other hosts, S has too, and has said so.
        known = vector_clock.within(own.knowledge, agreement.theirs.ahead(own))
        return m.Ack(end.round, begin.store, vector_clock.news(known, incoming.knowledge), own.summary)

    def _refuse(self, begin: m.Begin, reason: Sentence) -> list[m.Message]:
        """Refuse the round. If the two have yet to agree, the agreement says what is here; otherwise the peer hears it
        at once."""
        self.cut()
        agreement = self._parties.agreements[begin.store]
        agreement.refusals += 1
        if agreement.refusals > MAX_REFUSALS:
            raise Unacceptable(
                "no-agreement",
                "{count} rounds of {store} could not be taken: {reason}",
                count=MAX_REFUSALS,
                store=begin.store,
                reason=reason,
            )
        answer: list[m.Message] = [m.Reject(begin.round, begin.store, reason[: m.MAX_TEXT])]
        if agreement.theirs is None:
            agreement.refused = True
        else:
            answer.append(m.Want(fitting({begin.store: agreement.want()})))
        return answer
