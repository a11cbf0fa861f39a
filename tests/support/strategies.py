"""Entities that can really arise: the states of a few replicas of one entity after they wrote, deleted, undeleted
and joined each other's states in some order. Beside each stands the reference."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hypothesis import strategies as st
from tests.support.reference import Reference

from lottisync.causality import hlc
from lottisync.causality.hlc import Hlc
from lottisync.causality.vector_clock import Clock, Host
from lottisync.entities import canonical
from lottisync.entities.entity import DELETED_AT, HIGH, LOW, Entity, deletion, join, write
from lottisync.entities.registers import Registers, Stamp, Write

HOSTS = tuple(Host(f"{number:016x}") for number in (1, 2, 3))
PATHS = ("title", "due", "labels/bug")
ENTITY = "t1"


class Step(NamedTuple):
    """`does`: write, stale (a write by somebody who had read an earlier state), delete, undelete, join."""

    does: str
    replica: int
    other: int
    paths: frozenset[str]
    value: Any
    precedence: int
    wall: int


@dataclass(frozen=True)
class State:
    """A replica as it was at some moment, and what the reference says that it holds."""

    replica: int
    entity: Entity
    records: frozenset[int]


@dataclass
class History:
    """`states` are all states so far, `now` is the last state of each replica."""

    reference: Reference = field(default_factory=Reference)
    states: list[State] = field(default_factory=list)
    now: dict[int, State] = field(default_factory=dict)
    _clocks: dict[int, Hlc] = field(default_factory=dict)
    _counters: dict[int, int] = field(default_factory=dict)

    def take(self, step: Step) -> None:
        state = self.now.get(step.replica)
        if step.does == "join":
            other = self.now.get(step.other)
            if other is None:
                return
            joined = other.entity if state is None else join(state.entity, other.entity)
            self._became(step.replica, joined, other.records | (state.records if state else frozenset()))
        elif step.does in ("delete", "undelete"):
            if state is not None:
                self._write(step, state, self._lifecycle(step, state), deletes=step.does == "delete")
        else:
            self._write(step, state, {path: canonical.encode(step.value) for path in step.paths}, deletes=False)

    def _lifecycle(self, step: Step, state: State) -> dict[str, bytes]:
        if step.does == "delete":
            return {DELETED_AT: deletion("2026-01-01T00:00:00.000Z", state.entity.clock)}
        held = self.reference.held((state.replica, ENTITY))
        values = {path: self.reference.records[numbers[0]].write.value for path, numbers in held.items()}
        return values | {DELETED_AT: b"null"}

    def _write(self, step: Step, state: State | None, values: dict[str, bytes], *, deletes: bool) -> None:
        r = step.replica
        counter = self._counters[r] = self._counters.get(r, 0) + 1
        clock = self._clocks[r] = hlc.tick(self._clocks.get(r, hlc.Hlc(0, 0)), step.wall)
        stamp = Stamp(step.precedence, *clock, HOSTS[r], counter)
        earlier = [s for s in self.states if s.replica == r]
        read = earlier[step.other % len(earlier)] if step.does == "stale" and earlier else None
        seen: Clock | None = read.entity.clock if read else None
        before = state.entity if state else Entity(ENTITY, "task", {}, Registers.of({}))
        place = (r, ENTITY)
        self.reference.wrote(place, values, stamp, saw=read.records if read else None, deletes=deletes)
        self._became(r, write(before, values, stamp, seen), self.reference.at(place))

    def _became(self, replica: int, entity: Entity, records: frozenset[int]) -> None:
        self.reference.took((replica, ENTITY), records)
        state = State(replica, entity, records)
        self.now[replica] = state
        self.states.append(state)


values: st.SearchStrategy[Any] = st.sampled_from(["", "a", "b", 0, 1, None, True, [1], {"k": "v"}])

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-canonical.MAX_EXACT, canonical.MAX_EXACT)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)

clocks: st.SearchStrategy[dict[Host, int]] = st.dictionaries(st.sampled_from(HOSTS), st.integers(0, 4))

steps: st.SearchStrategy[Step] = st.builds(
    Step,
    does=st.sampled_from(["write", "write", "write", "stale", "delete", "undelete", "join", "join", "join"]),
    replica=st.integers(0, 2),
    other=st.integers(0, 2),
    paths=st.frozensets(st.sampled_from(PATHS), min_size=1),
    value=values,
    precedence=st.sampled_from([LOW, HIGH]),
    wall=st.integers(0, 6),
)


@st.composite
def histories(draw: st.DrawFn, min_states: int = 1) -> History:
    """At least one replica has written at the end."""
    history = History()
    history.take(draw(steps)._replace(does="write"))
    for step in draw(st.lists(steps, max_size=14)):
        history.take(step)
    while len(history.states) < min_states:
        history.take(draw(steps)._replace(does="write"))
    return history


@st.composite
def entities(draw: st.DrawFn) -> Entity:
    """One reachable entity."""
    return draw(st.sampled_from(draw(histories()).states)).entity


@st.composite
def related(draw: st.DrawFn, count: int) -> tuple[Entity, ...]:
    """Several reachable states of one entity, at any moments."""
    states = draw(histories(min_states=2)).states
    return tuple(draw(st.sampled_from(states)).entity for _ in range(count))


def one_write(value: Any, *, precedence: int = HIGH, millis: int = 1, host: Host = HOSTS[0], counter: int = 1) -> Write:
    return Write(Stamp(precedence, millis, 0, host, counter), canonical.encode(value))
