"""What a receiver does not believe of a round, however well it was framed: SYNC-308, SYNC-65, SYNC-66, FORGET-8."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.holder import Holder
from tests.support.household import Member, in_step, meet
from tests.support.messages import SUMMARY
from tests.support.rounds import pull
from tests.support.stores import NOON, new_store

from lottisync.causality.chain import genesis
from lottisync.causality.vector_clock import Host
from lottisync.entities.entity import HIGH
from lottisync.entities.version import Version
from lottisync.protocol import message as m
from lottisync.store.check import broken_invariants
from lottisync.store.forgetting import entity_key
from lottisync.store.lookups import forgotten
from lottisync.store.store import Store
from lottisync.sync import outgoing
from lottisync.sync.exchange import Exchange
from lottisync.sync.incoming import Unacceptable

STRANGE = Host("5" * 16)
PEER = "e" * 64
pytestmark = pytest.mark.anyio


class Receiver:
    """A store of one entity, and its side of a conversation with a peer that has said that it has nothing."""

    def __init__(self, store: Store) -> None:
        self.store = store
        with store.transaction(NOON, HIGH) as tx:
            tx.put("t1", "task", {"title": "mine"}, precedence=HIGH)
        with store.reading() as reader:
            self.host = reader.host
        self.exchange = Exchange(Holder("d" * 64, {"journal": store}), boot=bytes(16))
        self.exchange.hello()
        self.hear(m.Hello(m.PROTOCOL_VERSION, bytes.fromhex(PEER), bytes(16), bytes(16), bytes(8)))
        self.hear(m.Want({"journal": m.Have(SUMMARY, {})}))

    def hear(self, message: m.AnyMessage) -> list[m.Message]:
        return self.exchange.carry_out([message], NOON)

    def state(self) -> tuple[object, ...]:
        with self.store.reading() as reader:
            return reader.knowledge(), reader.digest(), dict(forgotten(reader)), broken_invariants(reader)


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    store = new_store(tmp_path)
    yield Receiver(store)
    store.close()


@pytest.mark.parametrize("behind", [False, True])
@pytest.mark.parametrize("claim", ["a host without a chain", "beyond our own writes", "forgotten, and not known"])
def test_sync_66_knowledge_without_a_chain_is_not_adopted(receiver: Receiver, claim: str, behind: bool) -> None:
    """SYNC-66, COPY-2: a store would claim what cannot be checked, and other devices would not send it that."""
    knows = {"a host without a chain": {STRANGE: 5}, "beyond our own writes": {receiver.host: 1_000}}.get(claim, {})
    gone = {} if knows else {STRANGE: 5}
    before = receiver.state()
    receiver.hear(m.Begin(1, "journal", knows, gone, behind=behind, count=0))
    with pytest.raises(Unacceptable) as refused:
        receiver.hear(m.End(1, SUMMARY))
    assert refused.value.code == "bad-entity"
    assert receiver.state() == before
    assert before[-1] == []


@pytest.mark.parametrize("names", [["t1", "t2"], ["t1", "t1"]])
def test_forget_22_keys_in_no_order_end_the_session_and_nothing_goes(receiver: Receiver, names: list[str]) -> None:
    """FORGET-22: by such a list what is here might be taken for forgotten."""
    keys = sorted(map(entity_key, names), reverse=True)
    before = receiver.state()
    receiver.hear(m.Begin(1, "journal", {}, {}, behind=True, count=0))
    receiver.hear(m.Keys(1, 0, b"".join(keys)))
    with pytest.raises(Unacceptable) as refused:
        receiver.hear(m.End(1, SUMMARY))
    assert refused.value.code == "bad-entity"
    assert receiver.state() == before


def test_sync_77_keys_without_end_end_the_session(receiver: Receiver) -> None:
    """FORGET-8: they are kept until the round ends, so there are no more of them than there can be entities."""
    before = receiver.state()
    receiver.hear(m.Begin(1, "journal", {}, {}, behind=True, count=0))
    receiver.hear(m.Keys(1, 0, entity_key("t1") + entity_key("t2")))
    with pytest.raises(Unacceptable) as refused:
        receiver.hear(m.Keys(1, 1, entity_key("t3")))
    assert refused.value.code == "bad-entity"
    assert receiver.state() == before


def test_sync_77_a_version_without_end_costs_no_memory(receiver: Receiver) -> None:
    """What a round has brought is remembered once, however often it brings it."""
    host = STRANGE
    receiver.hear(m.Begin(1, "journal", {}, {}, behind=False, count=2**50))
    receiver.hear(m.Chain(1, 0, host, "", 1, genesis(host), b"v" * 16))
    stamps = f'[[1,1,0,"{host}",1],{{}},{{}}]'.encode()
    made = Version("t9", "task", f'{{"{host}":1}}'.encode(), stamps, b'{"title":"x"}')
    for number in range(20):
        receiver.hear(m.Batch(1, number + 1, [made] * 50))
    incoming = receiver.exchange.rounds_in.incoming
    assert incoming is not None
    assert len(incoming.held) == 1


def test_sync_308_what_comes_behind_a_refusal_finds_no_round(receiver: Receiver) -> None:
    """SYNC-308: the end of a round whose batch was refused adopts nothing."""
    before = receiver.state()
    bad = Version("no id\n", "task", b'{"%s":1}' % STRANGE.encode(), b"[]", b"{}")
    receiver.hear(m.Begin(1, "journal", {receiver.host: 1}, {}, behind=False, count=1))
    with pytest.raises(Unacceptable):
        receiver.hear(m.Batch(1, 0, [bad]))
    assert receiver.hear(m.End(1, SUMMARY)) == []
    assert receiver.state() == before


@pytest.mark.parametrize("claimed", [3, 2**53 - 1])
@pytest.mark.parametrize("own", [False, True])
def test_sync_65_a_version_that_knows_more_than_the_chains_that_came_is_refused(
    receiver: Receiver, claimed: int, own: bool
) -> None:
    """Two chain values came, and a version that has seen the third write; of its frame nothing is stored, not even the
    good one in front of it. A counter that is merely high costs the sender sixteen bytes for every write below it."""
    host = receiver.host if own else STRANGE
    reach = 1 if own else 2
    receiver.hear(m.Begin(1, "journal", {STRANGE: 2}, {}, behind=False, count=2))
    receiver.hear(m.Chain(1, 0, STRANGE, "", 1, genesis(STRANGE), b"v" * 16 + b"w" * 16))

    def version(name: str, counter: int) -> Version:
        clock = f'{{"{host}":{counter}}}'.encode()
        return Version(name, "task", clock, f'[[1,7,0,"{host}",{counter}],{{}},{{}}]'.encode(), b'{"title":"x"}')

    before = receiver.state()
    with pytest.raises(
        Unacceptable, match=f"t3 knows write {claimed} of host {host}, whose chain did not come"
    ) as refused:
        receiver.hear(m.Batch(1, 1, [version("t2", reach), version("t3", claimed)]))
    assert refused.value.code == "bad-entity"
    assert receiver.state() == before
    assert receiver.store.read("t2") is None


async def test_relay_577_signed_records_of_several_batches_are_judged_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-577: which device wrote the records of the first batch is said in a later one."""
    laptop, phone, tablet = (Member(tmp_path / name, n) for n, name in enumerate(("laptop", "phone", "tablet"), 1))
    for one, other in ((laptop, phone), (phone, laptop), (laptop, tablet), (tablet, laptop)):
        one.admit(other)
    await meet(laptop, phone)
    monkeypatch.setattr(outgoing, "BATCH_BYTES", 600)
    cable = await meet(tablet, laptop)
    batches = [said for said in cable.said(1) if isinstance(said, m.Batch)]
    assert len(batches) > 2
    assert in_step(laptop, tablet)
    assert {phone.id, laptop.id} <= {each.device for each in tablet.roster().trusted_peers()}
    for member in (laptop, phone, tablet):
        member.close()


async def test_relay_577_a_stranger_in_the_first_batch_is_refused_at_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RELAY-577, SYNC-9: nothing of what waited is stored."""
    laptop, tablet, stranger = (Member(tmp_path / name, n) for n, name in enumerate(("laptop", "tablet", "x"), 1))
    for one, other in ((laptop, tablet), (tablet, laptop)):
        one.admit(other)
    stranger.members.rename(stranger.id, "nobody", stranger.now)
    pull(laptop, stranger, laptop.now, ["space"])
    monkeypatch.setattr(outgoing, "BATCH_BYTES", 600)
    with tablet.stores["space"].reading() as reader:
        before = reader.count()
    await meet(tablet, laptop, done=lambda: False)
    with tablet.stores["space"].reading() as reader:
        assert reader.count() == before
    for member in (laptop, tablet, stranger):
        member.close()
