"""Whole devices under seeded schedules, the schedules that once broke a law, and faults that each law has to catch."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from tests.simulation import pool
from tests.simulation import schedule as s
from tests.simulation.pool import SCHEMAS
from tests.simulation.power import Survives
from tests.simulation.reference import Broken, Found, Reference, Shown
from tests.simulation.schedule import KINDS, Schedule, generate
from tests.simulation.shrink import shrink, verdict
from tests.simulation.world import World, run, small

from lottisync.causality import hlc
from lottisync.causality.vector_clock import Clock
from lottisync.device.membership import NoStrangers
from lottisync.entities import entity
from lottisync.entities.registers import Registers, ordered
from lottisync.store import database, forgetting, mending, merge, peer_chain, rows
from lottisync.store.merge import Merge
from lottisync.store.rows import Rows
from lottisync.sync import incoming, outgoing
from lottisync.sync.agreement import Agreement, RemoteState
from lottisync.sync.parties import Parties
from lottisync.sync.rounds_in import RoundsIn

JOURNAL = ("journal",)
ALL = tuple(SCHEMAS)
A, B, C = 0, 1, 2
E = ("journal", "e")
SEEDS = 12


@pytest.fixture(scope="module", autouse=True)
def _pool() -> Iterator[None]:
    yield
    pool.forget()


def scenario(*steps: s.AnyStep, stores: tuple[str, ...] = JOURNAL, devices: int = 3) -> Schedule:
    return Schedule(devices, stores, steps)


@pytest.mark.parametrize("kind", KINDS)
def test_every_law_holds(kind: str) -> None:
    """In every order of steps: SYNC-4, SYNC-5, SYNC-24, SYNC-25, SYNC-27, SYNC-28, COPY-5, COPY-12, COPY-16, COPY-17,
    COPY-23, COPY-24, FORGET-8, FORGET-300, MEND-7, MEND-17, MEND-18."""
    for seed in range(SEEDS):
        try:
            run(generate(seed, kind))
        except Exception as error:
            raise AssertionError(f"python -m tests.simulation --kind {kind} --first {seed} --seeds 1") from error


def test_the_same_seed_gives_the_same_run() -> None:
    for kind in ("fork", "three"):
        assert run(generate(1, kind)).trace == run(generate(1, kind)).trace


def test_a_schedule_is_data() -> None:
    made = generate(3, "all")
    assert Schedule.parsed(made.printed()) == made


# -- what once broke a law


def test_a_third_device_brings_a_copys_writes_after_two_have_agreed() -> None:
    """COPY-4: C is restored and writes another first write. A has agreed with B, which has the old one, and then
    hears of the new one from C: to B it must not pass it on as if B had it."""
    run(RESTORED_BEHIND_AN_AGREEMENT)


RESTORED_BEHIND_AN_AGREEMENT = scenario(
    s.Backup(C),
    s.Write(C, 0, ("x",)),
    s.Meet(B, C),
    s.Restore(0, 0),
    s.Connect(A, B),
    s.Connect(C, A),
    s.Deliver(0, 0),
    s.Deliver(0, 1),
    s.Write(C, 0, ("z",)),
    s.Deliver(0, 0),
    s.Flow(1),
    s.Write(A, 0, ("x",), 0),
    s.Flow(0),
)


def test_chains_came_whose_versions_did_not_before_two_greet_as_equals() -> None:
    """SYNC-15, COPY-4: a round from A to B is cut between its chain and its batch. B and C greet as equals, for such
    chains make no difference; but C does not have them, and needs them when B has the versions at last."""
    world = run(CUT_BEHIND_THE_CHAIN)
    assert world.count["Reject"] == 0


CUT_BEHIND_THE_CHAIN = scenario(
    s.Write(A, 0),
    s.Connect(A, B),
    s.Deliver(0, 0),
    *[s.Deliver(0, 1)] * 2,
    *[s.Deliver(0, 0)] * 2,
    s.Speak(0, 0),
    *[s.Deliver(0, 1)] * 3,
    s.Cut(0),
    s.Connect(B, C),
    s.Flow(0),
    s.Connect(A, B),
    s.Flow(1),
    s.Flow(0),
)


def test_what_cannot_be_mended_is_not_compared_for_ever() -> None:
    """MEND-13: a row loses its only field. No device can read it or has another copy: the two say so, and go on."""
    steps: tuple[s.AnyStep, ...] = (
        s.Write(A, 0),
        s.Tamper(A, 0, drop=True),
        s.Connect(A, B),
        s.Flow(0),
        s.Write(B, 1),
        s.Flow(0),
    )
    with small():
        world = World(scenario(*steps))
        for number, step in enumerate(steps):
            world.step(number, step)
        assert world.count["diverged"] >= 1
        assert world.count["Compare"] <= 6
        assert world.devices[A].kept["journal"].found("e1") is not None
        world.close()


def test_equal_clocks_with_two_types_are_settled_alike() -> None:
    """MEND-5, MEND-16: C names a wrong type for an entity. Neither version has seen more than the other, so neither can
    go to quarantine, and the honest devices would differ for ever."""
    world = run(TWO_TYPES)
    assert world.count["lie: type"] == 1
    assert world.count["diverged"] >= 1


TWO_TYPES = scenario(s.Write(A, 0), s.Lie("type", 479), s.Meet(A, C), s.Meet(C, B))


# -- one store that goes back, and disks that lie


@pytest.mark.parametrize("store", ALL)
@pytest.mark.parametrize("again", range(5), ids=["nothing", "less", "less by one", "exactly to it", "past it"])
def test_one_store_alone_goes_back(store: str, again: int) -> None:
    """COPY-12, COPY-23, COPY-24: and it writes so much before it meets two devices. One knows three writes of it, the
    other none."""
    world = run(scenario(*gone_back(store, again), stores=ALL))
    assert world.count["of one"] == 1
    if again:
        assert world.count["forks"] == 1


def gone_back(store: str, again: int) -> list[s.AnyStep]:
    return [
        s.Write(A, 0, store=store),
        s.Meet(A, B),
        s.Backup(A),
        *(s.Write(A, entity, store=store) for entity in (0, 1, 2)),
        s.Meet(A, B),
        s.RestoreOne(0, A, store),
        *(s.Write(A, 1, ("y",), store=store) for _ in range(again)),
        s.Meet(A, C),
        s.Meet(B, C),
    ]


def test_a_purge_that_survives_the_power_counts() -> None:
    """The power goes at each operation of a purge. What its commit took away had to go: nobody may miss it."""
    survived = 0
    for operations in range(1, 60):
        steps: list[s.AnyStep] = [
            s.Write(A, 0),
            s.Delete(A, 0),
            s.Gather(),
            s.Gather(),
            s.Write(A, 1),
            s.PowerCut(A, operations, "prefix", operations),
            s.Purge(A),
            s.Write(A, 0, ("y",)),
        ]
        survived += run(Schedule(2, JOURNAL, tuple(steps), disks=True)).count["survived"]
    assert survived


@pytest.mark.parametrize("survives", ["back", "apart"])
def test_a_disk_takes_back_what_everybody_has_seen(survives: Survives) -> None:
    """COPY-12, COPY-23, COPY-24: the disk may lose all commits that it reported as synced, in all or some stores."""
    lost = 0
    for chance in range(12):
        steps: list[s.AnyStep] = [
            s.Meet(A, B),
            *(s.Decide(A) for _ in range(3)),
            s.Meet(A, B),
            s.Decide(A),
            s.PowerCut(A, 0, survives, chance),
            s.Write(A, 0),
            s.Write(A, 0),
            s.Meet(A, C),
            s.Meet(A, B),
        ]
        lost += run(Schedule(3, ("journal", "agent"), tuple(steps), disks=True)).count["went back"]
    assert lost > 6


DECIDED_AND_LOST = scenario(
    s.Backup(A), s.Decide(A), s.RestoreOne(0, A, "journal"), s.Meet(A, B), stores=("journal", "agent")
)


def test_a_missing_effect_is_excused_only_where_no_device_can_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """SYNC-27: the oracle excuses a decision without its effect where the journal was put back, and nowhere else."""
    world = run(DECIDED_AND_LOST)
    assert (world.count["mislaid"], world.count["gone"]) == (1, 1)
    monkeypatch.setattr(World, "_look_what_is_gone", lambda _: None)
    with pytest.raises(Broken, match="effect: device 0"):
        run(DECIDED_AND_LOST)
    monkeypatch.setattr(World, "_mislay", lambda *_: None)
    with pytest.raises(Broken, match="order"):
        run(DECIDED_AND_LOST)


A_COPY_OF_A_JOURNAL_MEETS_ONE_THAT_DIES = scenario(
    s.Backup(B), s.Decide(B), s.Gather(), s.Restore(0, B, noticed=False), s.Write(B, 1), s.Write(B, 2), s.Crash(C, 1),
    s.Meet(B, C), stores=("journal", "agent"),
)  # fmt: skip


def test_relay_981_a_decision_does_not_come_ahead_of_an_effect_that_another_write_stands_for() -> None:
    """RELAY-981: by the counters the journal of the copy has all that the other one knows. That one has the shorter
    chain, and cannot see that they differ. It begins with the agents' store, and dies before it hears of it."""
    run(A_COPY_OF_A_JOURNAL_MEETS_ONE_THAT_DIES)


def test_relay_981_the_scenario_breaks_without_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    """RELAY-981"""
    monkeypatch.setattr(RoundsIn, "_refuse_before_earlier", lambda *_: None)
    with pytest.raises(Broken, match="order: a decision is on device 1"):
        run(A_COPY_OF_A_JOURNAL_MEETS_ONE_THAT_DIES)


# -- faults that the laws catch


def _adopt_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Knowledge is taken over before the round is whole."""
    batch = incoming.Incoming.batch

    def hasty(self: incoming.Incoming, tx: Merge, *rest: Any) -> Any:
        tx.adopt(self.begin.knowledge)
        return batch(self, tx, *rest)

    monkeypatch.setattr(incoming.Incoming, "batch", hasty)


def _agent_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Parties, "shared_in_order", lambda self: list(self.stores)[::-1])


def _believe_whole_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains count as compared as far as the other has them."""
    monkeypatch.setattr(RemoteState, "agreed", lambda self, ends: self)


def _chains_go_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Agreement, "_difference", lambda self, reader, logs, theirs: None)
    monkeypatch.setattr(peer_chain, "_parts_from", lambda tx, log, part: None)


def _nothing_was_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was purged is not sent any more."""
    made = outgoing.Outgoing.__init__

    def silent(self: outgoing.Outgoing, *rest: Any, trusting: bool = False) -> None:
        made(self, *rest, trusting=trusting)
        self.forgotten, self.behind, self.blocked = {}, False, False
        self.news = bool(self._rows) or self.knowledge != self._remote.knowledge

    monkeypatch.setattr(outgoing.Outgoing, "__init__", silent)
    monkeypatch.setattr(incoming.Incoming, "_has_seen_what_is_forgotten", lambda self, forgotten: True)


def _old_hashes_stay_in_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rows, "_weight", lambda self, row: 0)


def _no_chains_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outgoing.Outgoing, "_chain_parts", lambda self: iter(()))
    monkeypatch.setattr(incoming, "refuse_unchained", lambda ends, clocks: None)
    monkeypatch.setattr(incoming.Incoming, "_refuse_unfounded", lambda self, tx: None)


def _rounds_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that hears what another one lacks sends nothing."""
    monkeypatch.setattr(Agreement, "has_news", lambda self, own, *, include_held: False)


def _purged_without_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tombstone goes before all have seen it, and is not even remembered."""
    monkeypatch.setattr(forgetting, "acknowledged", lambda reader, device=None: _Everything())
    monkeypatch.setattr(forgetting, "forget", lambda tx, clock: None)


class _Everything(dict[str, Clock]):
    def get(self, device: str, default: Any = None) -> Clock:
        return _All()


class _All(dict[Any, int]):
    def get(self, host: Any, default: Any = None) -> int:
        return 2**53


def _siblings_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entity, "ordered", lambda writes: tuple(sorted(set(writes), reverse=True))[:1])


def _the_past_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A join takes nothing for overwritten."""

    def hoard(a: entity.Entity, b: entity.Entity) -> entity.Entity:
        joined = entity.join(a, b)
        registers = {p: ordered((*a.registers.get(p, ()), *b.registers.get(p, ()))) for p in joined.registers}
        return entity.Entity(a.id, a.type, joined.clock, Registers.of(registers))

    monkeypatch.setattr(merge, "join", hoard)


def _a_tombstone_hides_every_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entity, "_unseen", lambda held, deletions: [])


def _every_deletion_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's deletion takes away what a person wrote meanwhile."""

    def holds(held: entity.Entity) -> bool:
        winner = held.winner(entity.DELETED_AT)
        return winner is not None and entity.as_deletion(winner) is not None

    monkeypatch.setattr(entity, "is_deleted", holds)


def _no_index_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "DELETE_COMPONENT", rows.DELETE_COMPONENT + " and 0")


def _acknowledgements_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteState, "learns", lambda self, knowledge, held=(): None)


def _claims_are_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of writes that no chain leads to, and of what was forgotten unknown."""
    monkeypatch.setattr(incoming.Incoming, "_refuse_unfounded", lambda self, tx: None)


def _false_clocks_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "refuse_unchained", lambda ends, clocks: None)


def _strangers_are_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = incoming.Incoming.batch
    monkeypatch.setattr(
        incoming.Incoming, "batch", lambda self, tx, versions, strangers: batch(self, tx, versions, NoStrangers())
    )
    monkeypatch.setattr(incoming.Incoming, "refuse_strangers", lambda self, tx, strangers: None)


def _clocks_follow_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hlc, "observe", lambda last, remote, now: max(last, remote))


def _nothing_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mending, "mend", lambda tx, versions: 0)


def _commits_are_not_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    """What SQLite does by itself in WAL mode."""

    def careless(connection: apsw.Connection, path: Path) -> None:
        connection.execute("pragma journal_mode=wal").fetchall()
        connection.execute("pragma synchronous=normal").fetchall()

    monkeypatch.setattr(database, "_make_durable", careless)


def _nobody_takes_a_new_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that has gone back writes on under the name that it had, though it is shown its own later writes."""
    monkeypatch.setattr(Merge, "rolled_back", lambda self: self.host)


FAULTS: list[tuple[Callable[[pytest.MonkeyPatch], None], str, str]] = [
    (_adopt_at_once, "basic", "knowledge"),
    (_no_chains_are_sent, "basic", "chain"),
    (_old_hashes_stay_in_the_digest, "basic", "diverged"),
    (_agent_first, "two", "order"),
    (_no_index_is_cleared, "basic", "check"),
    (_rounds_are_not_made, "basic", "quiet"),
    (_acknowledgements_are_not_believed, "basic", "endless"),
    (_chains_go_unchecked, "fork", "knowledge"),
    (_nothing_was_forgotten, "retire", "diverged"),
    (_purged_without_asking, "purge", "diverged"),
    (_siblings_are_dropped, "basic", "lost"),
    (_the_past_is_kept, "basic", "overwritten"),
    (_a_tombstone_hides_every_edit, "basic", "swallowed"),
    (_every_deletion_holds, "basic", "deletion"),
    (_claims_are_believed, "liar", "chain"),
    (_false_clocks_are_taken, "liar", "check"),
    (_strangers_are_let_in, "liar", "stranger"),
    (_clocks_follow_anybody, "liar", "clock"),
    (_nothing_is_mended, "liar", "quiet"),
    (_commits_are_not_synced, "power", "durable"),
    (_chains_go_unchecked, "part", "diverged"),
    (_chains_go_unchecked, "unsync", "diverged"),
    (_nobody_takes_a_new_host, "part", "digest"),
    (_nobody_takes_a_new_host, "unsync", "quiet"),
]


@pytest.mark.deep
@pytest.mark.parametrize(("fault", "kind", "law"), FAULTS, ids=[f"{f.__name__[1:]}-{kind}" for f, kind, _ in FAULTS])
def test_a_planted_fault_breaks_its_law(
    fault: Callable[[pytest.MonkeyPatch], None], kind: str, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    said = []
    for seed in range(80):
        said.append(verdict(generate(seed, kind), run))
        if said[-1] == f"Broken {law}":
            return
    raise AssertionError(f"{law} is not broken, but {Counter(said)}")


def test_what_a_liar_says_behind_a_lie_is_packed_by_the_lie() -> None:
    """Its next frame was packed by what it had not said, so the others unpacked a second lie, of which the laws did not
    know (liar 300353)."""
    run(
        Schedule(
            4,
            JOURNAL,
            (
                s.Write(1, 0, ("x",)),
                s.Write(2, 1000, ("z",), precedence=0),
                s.Write(2, 1000, ("x",), precedence=0),
                s.Write(0, 0, ("z",), precedence=0),
                s.Write(2, 0, ("z",)),
                s.Write(0, 0, ("y",)),
                s.Write(2, 0, ("y", "x"), precedence=0),
                s.Meet(1, 0),
                s.Delete(1, 0),
                s.Meet(2, 1),
                s.Lie("stamp", 944),
                s.Meet(2, 3),
            ),
        )
    )


def test_the_scenario_of_a_third_device_breaks_without_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    _believe_whole_chains(monkeypatch)
    with pytest.raises(Broken, match="knowledge"):
        run(RESTORED_BEHIND_AN_AGREEMENT)


def test_the_scenario_of_equals_breaks_without_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def equal(self: Agreement) -> None:
        assert self.said is not None
        self.theirs = RemoteState.of(self.said)

    monkeypatch.setattr(Agreement, "equal", equal)
    with pytest.raises(Broken, match="whose chain did not come"):
        run(CUT_BEHIND_THE_CHAIN)


def test_the_scenario_of_two_types_breaks_without_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    united = mending._united
    monkeypatch.setattr(mending, "_united", lambda a, b: msgspec.structs.replace(united(a, b), type=a.type))
    with pytest.raises(Broken, match="quiet"):
        run(TWO_TYPES)


def test_a_schedule_that_breaks_a_law_is_made_short(monkeypatch: pytest.MonkeyPatch) -> None:
    _agent_first(monkeypatch)
    seed = next(seed for seed in count() if "order" in verdict(generate(seed, "two"), run))
    made = generate(seed, "two")
    short = shrink(made, run)
    assert len(short.steps) < min(20, len(made.steps))
    assert any(isinstance(step, s.Decide) for step in short.steps)
    assert verdict(short, run) == "Broken order"


def test_an_invented_write_is_noticed() -> None:
    with pytest.raises(Broken, match="invented"):
        Reference().seen(E, {"x": (Shown(1, 0, 0, '"w"'),)})


def test_that_an_agent_is_shown_before_a_person_is_noticed() -> None:
    """ENT-8 and MERGE-4 for all that is concurrent."""
    agents, users = Shown(0, 9, 0, '"agent"'), Shown(1, 1, 0, '"user"')
    reference = Reference()
    both = {reference.write(E, "x", shown, frozenset()) for shown in (agents, users)}
    reference.judge(E, both, {"a": Found({"x": (users, agents)}, deleted=False, unseen_edit=False)})
    with pytest.raises(Broken, match="precedence"):
        reference.judge(E, both, {"a": Found({"x": (agents, users)}, deleted=False, unseen_edit=False)})
