"""A conversation without a connection: what happens between two messages."""

from collections import deque
from collections.abc import Container, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.support import sqlite
from tests.support.household import Member, household
from tests.support.messages import EVERY, hello

from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH
from lottisync.entities.version import BadVersion, Version
from lottisync.protocol import message as m
from lottisync.protocol.framing import frame as framed
from lottisync.store import chain, forgetting, fork
from lottisync.store.check import broken_invariants
from lottisync.store.reader import ChangeToken
from lottisync.store.store import Store
from lottisync.sync.agreement import Agreement
from lottisync.sync.conversation import Conversation, next_group
from lottisync.sync.event import PeerChanged, words
from lottisync.sync.peer import Receiving, per_second
from lottisync.sync.range_comparison import RangeComparison


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[Member]]:
    members = household(tmp_path)
    yield members
    for member in members:
        member.close()


class Talk:
    """Two conversations; what they say goes from one to the other, frame by frame, or is kept back for a while. The
    first one has dialled."""

    def __init__(self, *members: Member) -> None:
        self.members = members
        self.sides = [
            member.conversation(other, dialled=number == 0)
            for number, (member, other) in enumerate(zip(members, reversed(members), strict=True))
        ]
        self.waiting: list[tuple[int, list[m.Message], bytes]] = []
        for side in self.sides:
            side.greet()
        self._pass(1)

    def _pass(self, side: int) -> list[m.Message]:
        """What a side has queued stands in line; gives it."""
        said: list[m.Message] = []
        while self.sides[side].queued:
            messages = self.sides[side].queued[0]
            self.waiting.append((1 - side, messages, self.sides[side].frame()))
            said += messages
        return said

    def deliver(self) -> list[m.Message]:
        """The next frame arrives; what is answered stands in line. Gives the answer."""
        listener, _, frame = self.waiting.pop(0)
        member, side = self.members[listener], self.sides[listener]
        for event in side.receive(frame, member.now):
            said = words(event, f"device {side.peer[:8]}")
            if said is not None:
                member.reports.append(said)
        return self._pass(listener)

    def ask(self, side: int) -> list[m.Message]:
        """Let a side say what it has to say of itself, once."""
        self.sides[side].speak()
        return self._pass(side)

    def end(self) -> None:
        while self.waiting or self.ask(0) or self.ask(1):
            while self.waiting:
                self.deliver()

    def close(self) -> None:
        for side in self.sides:
            side.release()


def claims_what_it_lacks(holder: Member, writer: Member) -> list[str]:
    """The entities of which the holder claims a write that it does not have."""
    known, lacking = holder.knowledge(), []
    with writer.stores["journal"].reading() as ours, holder.stores["journal"].reading() as theirs:
        for (ident,) in ours.local("select id from rows"):
            mine, there = ours.entity(ident), theirs.entity(ident)
            assert mine is not None
            for host, counter in mine.clock.items():
                if counter <= known.get(host, 0) and (there is None or there.clock.get(host, 0) < counter):
                    lacking.append(ident)
    return lacking


def test_sync_6_what_is_written_while_a_round_goes_out_is_all_of_the_next_one(pair: list[Member]) -> None:
    """A round is of one moment: an entity that is changed while it goes out is in it as it was, and again in the
    next one as it is. SYNC-6, SYNC-4."""
    a, b = pair
    with a.stores["journal"].transaction(a.now, HIGH) as tx:
        for number in range(1_500):
            tx.put(f"t{number:04}", "task", {"title": "x" * 800})
    talk = Talk(a, b)
    while talk.waiting:
        talk.deliver()
    while not any(isinstance(each, m.Batch) and each.versions[0].type == "task" for each in talk.ask(0)):
        while talk.waiting:
            talk.deliver()
    a.put("t1499", "changed")
    a.put("t0000", "changed")
    a.put("new", "written meanwhile")
    while not any(
        isinstance(message, m.Ack) and message.store == "journal"
        for _, messages, _ in talk.waiting
        for message in messages
    ):
        if talk.waiting:
            talk.deliver()
        else:
            assert talk.ask(0), "the round goes on"
    assert claims_what_it_lacks(b, a) == []
    assert b.title("t1499") == "x" * 800
    talk.sides[0].local_change()
    talk.end()
    talk.close()
    assert (b.title("t1499"), b.title("t0000"), b.title("new")) == ("changed", "changed", "written meanwhile")
    assert a.state()["journal"] == b.state()["journal"]


def test_sync_26_a_change_is_one_frame_one_transaction_and_one_word_back(pair: list[Member]) -> None:
    """SYNC-26: and then both know that nothing is left to look for, without having looked."""
    a, b = pair
    talk = Talk(a, b)
    talk.end()
    first, second = talk.sides
    a.put("t", "Milk")
    first.local_change()
    commits: list[str] = []
    stores = {name: sqlite.connection(store) for name, store in b.stores.items()}

    def committed(name: str) -> bool:
        commits.append(name)
        return False

    for name, connection in stores.items():
        connection.set_commit_hook(partial(committed, name))
    assert [type(message).__name__ for message in talk.ask(0)] == ["Begin", "Chain", "Batch", "End"]
    answer = [said for said in talk.deliver() if not isinstance(said, m.Credit)]
    assert [type(message).__name__ for message in answer] == ["Ack"]
    assert commits == ["journal"]
    assert second.silent
    assert talk.deliver() == []
    assert talk.ask(0) == []
    for member, side in ((a, first), (b, second)):
        side.local_change(moments(member))  # as when the bell rings for what was just taken, or acknowledged
        assert side.silent
    a.put("t", "Oat milk")
    first.local_change(moments(a))
    assert not first.silent
    for connection in stores.values():
        connection.set_commit_hook(None)
    talk.close()
    assert b.title("t") == "Milk"


def test_sync_64_what_a_change_rests_on_goes_first_also_if_it_was_written_after_the_look(pair: list[Member]) -> None:
    """SYNC-64: the snapshot of the later store may hold what rests on a write that the moments do not know yet."""
    a, b = pair
    talk = Talk(a, b)
    talk.end()
    for side, member in zip(talk.sides, pair, strict=True):
        side.local_change(moments(member))
    talk.end()
    a.put("later", "Milk", store="agent", kind="agent")
    before = moments(a)
    a.put("earlier", "Milk")
    talk.sides[0].local_change(before)
    begun = [each.store for each in talk.ask(0) if isinstance(each, m.Begin)]
    assert begun == ["journal"], "that of the other store waits until this one is taken"
    talk.end()
    talk.close()
    assert b.title("earlier") == b.title("later", store="agent") == "Milk"


def moments(member: Member) -> dict[str, ChangeToken]:
    """How far the stores are now."""
    found = {}
    for name, store in member.stores.items():
        with store.reading() as reader:
            found[name] = reader.change_token()
    return found


def test_sync_7_stores_that_do_not_know_the_same_are_not_said_to_differ(pair: list[Member]) -> None:
    """SYNC-7: only equal knowledge has to mean an equal digest."""
    a, b = pair
    a.put("t", "Milk")
    b.put("u", "Bread")
    talk = Talk(a, b)
    talk.end()
    talk.close()
    assert a.state() == b.state()
    assert [a.reports, b.reports] == [[], []]


def test_sync_1100_what_was_written_since_the_last_look_is_said(pair: list[Member]) -> None:
    """By this connection, by another one, and what changes neither the knowledge nor the content."""
    a, _ = pair
    store = a.stores["journal"]
    a.put("t1", "by this one")
    agreement = Agreement("journal", store)
    first = agreement.want()
    assert agreement.want() == first
    a.put("t2", "by this one")
    second = agreement.want()
    assert second.hosts != first.hosts
    other = Store.open(store.file, store.schema, lambda: Host("f" * 16), detect="late")
    with other.transaction(a.now, HIGH) as tx:
        tx.put("t3", "task", {"title": "by another one"})
    third = agreement.want()
    assert third.hosts != second.hosts
    with other.transaction(a.now, None) as tx:
        forgetting.forget(tx, {tx.host: 1})
    other.close()
    fourth = agreement.want()
    assert fourth.forgotten != third.forgotten
    with store.transaction(a.now, None) as tx:
        forgetting.forget(tx, {tx.host: 2})
    assert agreement.want().forgotten != fourth.forgotten


def test_sync_1100_what_was_read_is_not_read_again_while_nothing_is_written(pair: list[Member]) -> None:
    """A meeting asks several times in a row what a store has."""
    agreement = Agreement("journal", pair[0].stores["journal"])
    with pair[0].stores["journal"].reading() as reader:
        found = agreement.here(reader)
    with pair[0].stores["journal"].reading() as reader:
        assert agreement.here(reader) is found


def test_sync_65_a_comparison_takes_no_version_beyond_the_chains(pair: list[Member]) -> None:
    """SYNC-65, MEND-3."""
    a, b = pair
    a.put("t", "Milk")
    talk = Talk(a, b)
    talk.end()
    talk.close()
    with a.stores["journal"].reading() as reader:
        good = reader.version("t")
    assert good is not None
    (host,) = good.read_clock()
    beyond = Version(
        good.id, good.type, f'{{"{host}":9}}'.encode(), good.stamps.replace(b",1],{}", b",9],{}"), good.document
    )
    before = b.state()
    comparison = RangeComparison("journal", b.stores["journal"])
    with pytest.raises(BadVersion, match="whose chain did not come"):
        comparison.mend(m.Mend("journal", [good, beyond], []), b.now)
    comparison.close()
    assert b.state() == before
    with b.stores["journal"].reading() as reader:
        assert broken_invariants(reader) == []


def heard_by(
    listener: Member, speaker: Member, *said: m.AnyMessage, members: Container[str] | None = None
) -> Conversation:
    """What a paired device says that is not what it seems, from its greeting on; gives the listener's side."""
    conversation = listener.conversation(speaker, dialled=False, members=members)
    conversation.greet()
    for word in (hello(speaker.device, speaker.boot), *said):
        conversation.receive(framed(m.encode(word)), listener.now)
    conversation.release()
    return conversation


def answer_to(listener: Member, greeting: Member) -> list[m.Message]:
    """All that is said to a device that has greeted, the hello aside."""
    queued = heard_by(listener, greeting).queued
    return [message for messages in queued for message in messages if not isinstance(message, m.Hello)]


def invented(count: int) -> dict[Host, int]:
    return {Host(f"{number:016x}"): 1 for number in range(count)}


@pytest.mark.parametrize("said", ["of others", "of itself"])
def test_sync_77_invented_hosts_do_not_stand_between_others(pair: list[Member], said: str) -> None:
    """SYNC-34: what a device has to say to all others still fits a frame, whatever one of them says that it or a third
    knows; and nothing of it is stored."""
    a, b = pair
    third, summary = "d" * 64, m.Summary(bytes(16), bytes(32))
    for start in range(0, 60_000, 15_000):
        hosts = dict(list(invented(60_000).items())[start : start + 15_000])
        logs = {host: m.Log(1, 1, bytes(16)) for host in hosts}
        heard_by(
            a,
            b,
            m.Gossip({"journal": {third: hosts}})
            if said == "of others"
            else m.Want({"journal": m.Have(summary, logs)}),
        )
    answer = answer_to(a, b)
    assert [type(word) for word in answer[:1]] == [m.Want]
    assert all(len(m.encode(word)) < 10_000 for word in answer)
    with a.stores["journal"].reading() as reader:
        assert reader.local("select count(*) from hosts") == [(1,)]


def test_forget_110_a_device_that_knows_nothing_of_a_store_is_heard_of_there(pair: list[Member]) -> None:
    a, b = pair
    third = "e" * 64
    heard_by(a, b, m.Gossip({"journal": {third: {}}}), members={third})
    with a.stores["journal"].reading() as reader:
        assert forgetting.acknowledged(reader)[third] == {}


def test_sync_82_gossip_about_unknown_devices_is_not_stored(pair: list[Member]) -> None:
    """SYNC-77: each would be stored for ever, and sent on."""
    a, b = pair
    a.put("t", "Milk")
    clock = a.knowledge()
    heard_by(a, b, m.Gossip({"journal": {"d" * 64: clock, "e" * 64: clock}}), members={"e" * 64})
    with a.stores["journal"].reading() as reader:
        assert forgetting.acknowledged(reader) == {"e" * 64: clock}


def test_sync_77_invented_forks_do_not_stand_between_others(pair: list[Member]) -> None:
    """Fork nodes are united and never forgotten: of those that lie on no log here only so many are taken on trust. A
    fork that is found here still is."""
    a, b = pair
    a.put("t", "Milk")
    for start in range(0, 4_000, 500):
        nodes = [number.to_bytes(16, "big") for number in range(start, start + 500)]
        heard_by(a, b, m.Want({"journal": m.Have(m.Summary(bytes(16), bytes(32)), {}, [], nodes)}))
    with a.stores["journal"].reading() as reader:
        assert len(fork.nodes(reader)) == 500
        own = chain.value_at(reader, reader.host, 1)
        known = sorted(fork.nodes(reader))
    assert own is not None
    more = [number.to_bytes(16, "big") for number in range(10_000, 10_400)]
    heard_by(a, b, m.Want({"journal": m.Have(m.Summary(bytes(16), bytes(32)), {}, [], [*known, *more])}))
    heard_by(a, b, m.Want({"journal": m.Have(m.Summary(bytes(16), bytes(32)), {}, [], [*known, *more, own])}))
    for word in answer_to(a, b):
        assert m.decode(m.encode(word)) == [word]
    with a.stores["journal"].reading() as reader:
        assert len(fork.nodes(reader)) == 901


def groups(messages: list[m.AnyMessage]) -> list[list[m.AnyMessage]]:
    pending, found = deque(messages), []
    while pending:
        found.append(next_group(pending))
    return found


def test_what_is_not_for_the_stores_never_takes_anything_along() -> None:
    """Whatever arrives in one read: what the conversation answers by itself stands alone, in its order."""
    duplicate, want, ack = EVERY[m.DuplicateKey], EVERY[m.Want], EVERY[m.Ack]
    assert groups([duplicate, want, ack]) == [[duplicate], [want, ack]]
    assert groups([want, duplicate, ack]) == [[want], [duplicate], [ack]]
    for kind in (m.Hello, m.Ping, m.Pong, m.Credit, m.Close):
        assert groups([want, EVERY[kind], ack]) == [[want], [EVERY[kind]], [ack]]


def receive_slowly(talk: Talk, seconds: int) -> list[Receiving]:
    """Have it all delivered; each frame takes the second one `seconds`. Returns how far the rounds of its journal were,
    each time that it says that something is new."""
    found = []
    while talk.waiting or talk.ask(0) or talk.ask(1):
        while talk.waiting:
            listener, _, frame = talk.waiting.pop(0)
            member, side = talk.members[listener], talk.sides[listener]
            member.now += seconds * 1000 * listener
            events = side.receive(frame, member.now)
            far = side.status.receiving
            if listener == 1 and far is not None and far.store == "journal" and PeerChanged() in events:
                found.append(far)
            talk._pass(listener)
    return found


def test_cli_472_a_device_knows_how_far_a_first_sync_is_and_how_fast(pair: list[Member]) -> None:
    """CLI-472: each batch is news, and what is counted as done was done in the time that passed."""
    a, b = pair
    with a.stores["journal"].transaction(a.now, HIGH) as tx:
        for number in range(3_000):
            tx.put(f"t{number:04}", "task", {"title": "x" * 800})
    talk = Talk(a, b)
    found = receive_slowly(talk, seconds=2)
    talk.close()
    arrived = [far.entities for far in found]
    assert len(arrived) >= 2
    assert arrived == sorted(set(arrived))
    assert {far.of for far in found} == {3_000}
    assert found[-1].per_second == arrived[-2] // (2 * (len(found) - 1))
    assert talk.sides[1].status.receiving is None


@pytest.mark.parametrize("millis", [0, -5_000])
def test_cli_472_without_time_that_passed_there_is_no_rate(millis: int) -> None:
    """CLI-472: a clock may be set back while a round comes in."""
    assert per_second(500, millis) is None
