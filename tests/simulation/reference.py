"""The oracle: what was really written, what each writer had seen, and what must therefore be there in the end.

It shares no code with the merge. A write is a number here; it is recognised in a store by what it says (path,
precedence, time and value: all of that stays through copies, splits and revivals, which change only its name),
and never by a dot or a clock. What a store has *seen* follows from what it has ever shown: a write, and all that
its author had seen.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

DELETED_AT = "deletedAt"


class Broken(Exception):
    """A law does not hold: `law` is its name."""

    def __init__(self, law: str, text: str) -> None:
        super().__init__(f"{law}: {text}")
        self.law = law


class Shown(NamedTuple):
    """One write as a store shows it. The `value` of a deletion is its time, without what it had seen."""

    precedence: int
    millis: int
    ticks: int
    value: str
    deletion: bool = False

    @property
    def order(self) -> tuple[int, int, int]:
        """What decides between concurrent writes. Between equal ones the host's name decides, which the oracle does
        not know."""
        return self[:3]


Registers = Mapping[str, tuple[Shown, ...]]
"""path -> the writes that are held, the winner first."""
Entity = tuple[str, str]
"""Store and id."""


class Written(NamedTuple):
    entity: Entity
    path: str
    shown: Shown
    saw: frozenset[int]


class Found(NamedTuple):
    """What a device shows of an entity."""

    registers: Registers
    deleted: bool
    unseen_edit: bool


class Reference:
    def __init__(self) -> None:
        self.writes: list[Written] = []
        self.effects: dict[int, frozenset[int]] = {}
        """For each decision, the writes that it has to come after."""
        self.mislaid: set[int] = set()
        """Effects that a journal had, and has lost without its device's other stores."""
        self.gone: set[int] = set()
        """Those of them that nobody had any more when some device had gone back."""
        self.purged: set[int] = set()
        self.revived: set[int] = set()
        self._recognised: dict[tuple[Entity, str, Shown], list[int]] = defaultdict(list)

    def write(self, entity: Entity, path: str, shown: Shown, saw: frozenset[int]) -> int:
        self.writes.append(Written(entity, path, shown, saw))
        number = len(self.writes) - 1
        self._recognised[entity, path, shown].append(number)
        return number

    def seen(self, entity: Entity, registers: Registers) -> frozenset[int]:
        """All writes that a device has seen if it shows this."""
        found: set[int] = set()
        for path, held in registers.items():
            for shown in held:
                numbers = self._recognised.get((entity, path, shown))
                if numbers is None:
                    raise Broken("invented", f"nobody wrote {shown} to {path!r} of {entity}")
                for number in numbers:
                    found |= self.writes[number].saw
                    found.add(number)
        return frozenset(found)

    # -- in the end

    def judge(self, entity: Entity, everything: Iterable[int], found: Mapping[str, Found | None]) -> None:
        """Compare `everything` that any device has ever seen of an entity with what each device shows of it now."""
        writes = {number: self.writes[number] for number in everything}
        alive = self._alive(writes)
        deletions = [number for number in alive if writes[number].shown.deletion]
        seen_by_deletions = frozenset().union(*(writes[number].saw for number in deletions))
        gone = bool(deletions) and all(n in seen_by_deletions or n in deletions for n in alive)
        for device, shown in found.items():
            if gone:
                if shown is not None and not shown.deleted:
                    raise Broken("resurrected", f"{entity} was deleted and lives on {device}")
                continue
            self._judge_registers(entity, writes, alive, device, shown)
            if shown is not None:
                self._judge_deletion(entity, writes, alive, device, shown)

    def _alive(self, writes: Mapping[int, Written]) -> set[int]:
        """The writes that no later write has seen and overwritten."""
        overwritten = {
            past
            for write in writes.values()
            for past in write.saw
            if past in writes and writes[past].path == write.path
        }
        return writes.keys() - overwritten

    def _judge_registers(
        self, entity: Entity, writes: Mapping[int, Written], alive: set[int], device: str, shown: Found | None
    ) -> None:
        have = {(path, one) for path, held in shown.registers.items() for one in held} if shown else set()
        need = {(writes[n].path, writes[n].shown) for n in alive - self.purged}
        if need - have:
            raise Broken("lost", f"{sorted(need - have)} of {entity} on {device}")
        may = {(writes[n].path, writes[n].shown) for n in writes if n in alive or n in self.purged | self.revived}
        if have - may:
            raise Broken("overwritten", f"{sorted(have - may)} of {entity} is still there on {device}")
        for path, held in shown.registers.items() if shown else ():
            if held[0].order != max(one.order for one in held):
                raise Broken("precedence", f"{path!r} of {entity} on {device} shows {held[0]} of {held}")

    def _judge_deletion(
        self, entity: Entity, writes: Mapping[int, Written], alive: set[int], device: str, shown: Found
    ) -> None:
        """Check whether it counts as deleted, and whether an edit that no deletion had seen is shown as a conflict."""
        if alive & (self.purged | self.revived):
            return
        edits = {n for n in alive if writes[n].path != DELETED_AT}
        if self._holds(writes, alive) not in (shown.deleted, None):
            raise Broken("deletion", f"{entity} is {'' if shown.deleted else 'not '}deleted on {device}")
        deletions = [n for n in alive if writes[n].shown.deletion]
        unseen = bool(deletions) and bool(edits - frozenset().union(*(writes[n].saw for n in deletions)))
        if unseen and not shown.unseen_edit:
            raise Broken("swallowed", f"an edit of {entity} that no deletion had seen is not shown on {device}")

    def _holds(self, writes: Mapping[int, Written], alive: set[int]) -> bool | None:
        """Whether a deletion wins that is not below any edit that no deletion had seen (MERGE-7); None if a deletion
        and another value stand at the top as equals."""
        marks = [writes[n] for n in alive if writes[n].path == DELETED_AT]
        if not marks:
            return False
        best = max(mark.shown.order for mark in marks)
        winners = {mark.shown.deletion for mark in marks if mark.shown.order == best}
        if len(winners) > 1:
            return None
        seen: frozenset[int] = frozenset().union(*(mark.saw for mark in marks if mark.shown.deletion))
        edits = {n for n in alive if writes[n].path != DELETED_AT}
        stronger = {n for n in edits - seen if writes[n].shown.precedence > best[0]}
        return winners == {True} and not stronger
