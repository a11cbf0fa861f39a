"""The registers of one entity: which writes each path of its document holds (docs/specs/03-entities.md).

A register holds usually one write, and several where devices wrote without knowing of each other. Registers are kept
in the form in which an entity is stored and sent, because most of them are only compared and passed on:

    stored      the document of the winning values, canonical JSON
    base        the stamp that most paths have
    stamps      the stamps of the paths where it is another one
    siblings    the writes that did not win, of the few paths that have any

A `Write` is made when somebody asks for it. It reads as a mapping from path to writes, the winner first.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from lottisync.causality.hlc import Hlc
from lottisync.causality.vector_clock import Dot, Host
from lottisync.entities import canonical


class Stamp(NamedTuple):
    """What orders concurrent writes. Compared left to right."""

    precedence: int
    millis: int
    ticks: int
    host: Host
    counter: int

    @property
    def dot(self) -> Dot:
        return Dot(self.host, self.counter)

    @property
    def hlc(self) -> Hlc:
        return Hlc(self.millis, self.ticks)


class Write(NamedTuple):
    """One value with its stamp; `value` is canonical JSON."""

    stamp: Stamp
    value: bytes


def ordered(writes: Iterable[Write]) -> tuple[Write, ...]:
    """The writes of one register, each once, the winner first."""
    return tuple(sorted(dict.fromkeys(writes), reverse=True))  # most come in their order


def lookup(writes: tuple[Write, ...]) -> Collection[Write]:
    """The writes of one register, to find out of many whether they are among them: nearly always it holds one."""
    return frozenset(writes) if len(writes) > 1 else writes


def earliest(base: Stamp, stamps: Mapping[str, Stamp]) -> int:
    """`Registers.earliest`, of their parts."""
    return min([base.millis, *(stamp.millis for stamp in stamps.values())]) if stamps else base.millis


read_raw = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_encode = msgspec.json.Encoder(order="deterministic").encode
_NO_STAMP = Stamp(0, 0, 0, Host(""), 0)
"""The base where there is no register."""


class Registers(Mapping[str, tuple[Write, ...]]):
    """See the module. Immutable; `raw` and `decoded` are made from `stored` when they are first needed, and may be
    given by a caller who has them."""

    __slots__ = ("_decoded", "_raw", "base", "siblings", "stamps", "stored")

    def __init__(
        self,
        base: Stamp,
        stamps: dict[str, Stamp],
        siblings: dict[str, tuple[Write, ...]],
        stored: bytes,
        *,
        raw: dict[str, msgspec.Raw] | None = None,
        decoded: dict[str, Any] | None = None,
    ) -> None:
        self.base, self.stamps, self.siblings, self.stored = base, stamps, siblings, stored
        self._raw, self._decoded = raw, decoded

    @staticmethod
    def of(writes: Mapping[str, tuple[Write, ...]]) -> "Registers":
        """Of a mapping from path to writes, the winner first and none empty (see `ordered`). The base is the stamp
        that most winners have, the greatest of several equally frequent ones (ENT-8)."""
        winners = {path: held[0] for path, held in writes.items()}
        counts = Counter(write.stamp for write in winners.values())
        base = max(counts, key=lambda stamp: (counts[stamp], stamp), default=_NO_STAMP)
        stamps = {path: write.stamp for path, write in winners.items() if write.stamp != base}
        siblings = {path: held[1:] for path, held in writes.items() if len(held) > 1}
        return Registers(base, stamps, siblings, _encode({p: msgspec.Raw(w.value) for p, w in winners.items()}))

    # -- reading

    @property
    def raw(self) -> dict[str, msgspec.Raw]:
        """The winning values, as they are encoded."""
        if self._raw is None:
            self._raw = read_raw(self.stored)
        return self._raw

    @property
    def decoded(self) -> dict[str, Any]:
        """The winning values; to be read, not to be changed."""
        if self._decoded is None:
            self._decoded = dict(canonical.decode(self.stored))
        return self._decoded

    def stamp(self, path: str) -> Stamp:
        """The stamp of the winning write."""
        return self.stamps.get(path, self.base)

    def winning_stamps(self) -> set[Stamp]:
        return {self.base, *self.stamps.values()} - {_NO_STAMP}

    def earliest(self) -> int:
        """When the first of the winning writes was made (ms)."""
        return earliest(self.base, self.stamps)

    def all_stamps(self) -> set[Stamp]:
        """The stamps of all writes that are held."""
        stamps = self.winning_stamps()
        if self.siblings:
            stamps.update(write.stamp for held in self.siblings.values() for write in held)
        return stamps

    def stamps_without(self, path: str) -> set[Stamp]:
        """The stamps of all writes that are held, except those of one register. Few registers have one of their own, so
        this looks at a few stamps and not at every register."""
        stamps = {stamp for each, stamp in self.stamps.items() if each != path}
        of_base = len(self.raw) - len(self.stamps) - (path in self.raw and path not in self.stamps)
        if of_base:
            stamps.add(self.base)
        for each, held in self.siblings.items():
            if each != path:
                stamps.update(write.stamp for write in held)
        return stamps

    def differing(self, other: "Registers") -> set[str]:
        """The paths that do not hold the same writes in both. No `Write` is made to find out."""
        ours, theirs = self.raw, other.raw
        both = ours.keys() & theirs.keys()
        paths = (ours.keys() ^ theirs.keys()) | {path for path in both if ours[path] != theirs[path]}
        if self.base != other.base:
            paths.update(path for path in both if self.stamp(path) != other.stamp(path))
        elif self.stamps != other.stamps:
            stamped = self.stamps.keys() | other.stamps.keys()
            paths.update(path for path in stamped if self.stamp(path) != other.stamp(path))
        if self.siblings or other.siblings:
            contested = self.siblings.keys() | other.siblings.keys()
            paths.update(path for path in contested if self.siblings.get(path) != other.siblings.get(path))
        return paths

    # -- writing

    def written(self, values: Mapping[str, bytes], stamp: Stamp) -> "Registers":
        """With these values in the place of all that their registers held."""
        raw = self.raw | {path: msgspec.Raw(value) for path, value in values.items()}
        siblings = {path: writes for path, writes in self.siblings.items() if path not in values}
        stamps = self.stamps | dict.fromkeys(values, stamp)
        return Registers(self.base, stamps, siblings, _encode(raw), raw=raw).with_base()

    def with_base(self) -> "Registers":
        """The same under the base that ENT-8 asks for; itself if it has that."""
        if len(self.stamps) * 2 < len(self.raw) and self.base not in self.stamps.values():
            return self
        counts = {self.base: len(self.raw) - len(self.stamps)}
        for stamp in self.stamps.values():
            counts[stamp] = counts.get(stamp, 0) + 1
        base = max(counts, key=lambda stamp: (counts[stamp], stamp))
        if base == self.base and counts[base] == len(self.raw) - len(self.stamps):
            return self
        stamps = {path: stamp for path in self.raw if (stamp := self.stamp(path)) != base}
        return Registers(base, stamps, self.siblings, self.stored, raw=self._raw)

    # -- as a mapping

    def __getitem__(self, path: str) -> tuple[Write, ...]:
        won = Write(self.stamps.get(path, self.base), bytes(self.raw[path]))
        return ordered([won, *self.siblings[path]]) if path in self.siblings else (won,)

    def get(self, path: str, default: Any = None) -> Any:
        return self[path] if path in self.raw else default

    def __contains__(self, path: object) -> bool:
        return path in self.raw

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)
