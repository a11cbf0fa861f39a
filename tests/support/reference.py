"""What merging must give, computed without clocks: the oracle of the merge laws.

A write is a numbered record that names the records its writer had seen. A replica is the set of
records that have reached it. A record is overwritten where a later record of the same register, also
there, had seen it. Nothing here compares clocks or joins anything, so it cannot share a mistake with
the code that does.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lottisync.entities.entity import DELETED_AT, Entity
from lottisync.entities.registers import Stamp, Write

Place = tuple[int, str]
"""A replica and an entity."""


@dataclass(frozen=True)
class Record:
    path: str
    write: Write
    saw: frozenset[int]
    deletes: bool


@dataclass
class Reference:
    records: dict[int, Record] = field(default_factory=dict)
    here: dict[Place, frozenset[int]] = field(default_factory=dict)

    def at(self, place: Place) -> frozenset[int]:
        return self.here.get(place, frozenset())

    def wrote(
        self,
        place: Place,
        values: Mapping[str, bytes],
        stamp: Stamp,
        *,
        saw: frozenset[int] | None = None,
        deletes: bool = False,
    ) -> None:
        before = self.at(place)
        for path, value in values.items():
            number = len(self.records)
            self.records[number] = Record(path, Write(stamp, value), before if saw is None else saw, deletes)
            self.here[place] = self.at(place) | {number}

    def took(self, place: Place, records: Iterable[int]) -> None:
        self.here[place] = self.at(place) | frozenset(records)

    def held(self, place: Place) -> dict[str, list[int]]:
        """For each register, the records that no other one here overwrote, the greatest stamp first."""
        here = self.at(place)
        registers: dict[str, list[int]] = {}
        for number in here:
            path = self.records[number].path
            if not any(number in self.records[other].saw and self.records[other].path == path for other in here):
                registers.setdefault(path, []).append(number)
        return {
            path: sorted(numbers, key=lambda n: self.records[n].write, reverse=True)
            for path, numbers in registers.items()
        }

    def registers(self, place: Place) -> dict[str, tuple[Write, ...]]:
        return {path: tuple(self.records[n].write for n in numbers) for path, numbers in self.held(place).items()}

    def _edits(self, place: Place) -> list[int]:
        return [n for path, numbers in self.held(place).items() if path != DELETED_AT for n in numbers]

    def deleted(self, place: Place) -> bool:
        held = self.held(place).get(DELETED_AT)
        if not held or not self.records[held[0]].deletes:
            return False
        winner = self.records[held[0]]
        seen = frozenset().union(*(self.records[n].saw for n in held if self.records[n].deletes))
        return not any(
            self.records[edit].write.stamp.precedence > winner.write.stamp.precedence
            for edit in self._edits(place)
            if edit not in seen
        )

    def unseen_edit(self, place: Place) -> bool:
        """Whether something contradicts the deletions that are held: an edit that none of them had seen, or an
        undeletion."""
        held = [self.records[n] for n in self.held(place).get(DELETED_AT, [])]
        deletions = [record for record in held if record.deletes]
        if not deletions:
            return False
        saw: frozenset[int] = frozenset().union(*(record.saw for record in deletions))
        return len(deletions) < len(held) or any(edit not in saw for edit in self._edits(place))

    def agrees(self, place: Place, entity: Entity) -> bool:
        return self.registers(place) == dict(entity.registers)
