"""Edits of entities that are here, many at once (docs/specs/05-store.md, section 6).

Nearly every edit is a *usual* one: its writer had seen all of what is here, and what is here has neither siblings nor a
deletion. Then nothing has to be joined. What comes out is what was written, and what was replaced is the past. Edits
that come from a peer are found to be usual by a look at their parts. Those that this device makes are so if what is
here is plain. Whatever is not usual goes the way of a single version.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from lottisync.causality import vector_clock
from lottisync.causality.vector_clock import Host
from lottisync.entities import canonical, version
from lottisync.entities.batch import Plain, looks_plain
from lottisync.entities.canonical import UNREADABLE
from lottisync.entities.entity import write
from lottisync.entities.registers import Stamp, earliest, read_raw
from lottisync.entities.version import Damaged, Version

_encode = msgspec.json.Encoder(order="deterministic").encode


class Edit(NamedTuple):
    """A usual edit. `before` is the clock of what is here, `held` are its values, and `begun` is when the first of its
    winning writes was made (ms). `after` is the version that comes out, and has this `clock`, and these `values` and
    stamps."""

    before: Mapping[Host, int]
    held: Mapping[str, msgspec.Raw]
    begun: int
    after: Version
    clock: Mapping[Host, int]
    values: Mapping[str, msgspec.Raw]
    base: Stamp
    stamps: Mapping[str, Stamp]
    gone: list[tuple[str, Stamp, bytes]]
    """What was replaced: path, stamp and value, in the order of the paths."""

    def begins_alike(self) -> bool:
        """Whether the first of the winning writes was made at the same time before and after it."""
        return self.begun == earliest(self.base, self.stamps)

    def latest(self) -> int:
        """When the last of the winning writes was made (ms)."""
        if not self.stamps:
            return self.base.millis
        return max(self.base.millis, *(stamp.millis for stamp in self.stamps.values()))


def received(incoming: Plain, present: Mapping[str, Version]) -> dict[int, Edit]:
    """By index, those of the versions that came which are usual edits of what is here: where `entity.succeeds` says so,
    and what is here is plain, too. What is here has the hash that was stored with it. None of a batch that names an
    entity twice."""
    ids, types = incoming.columns[:2]
    if len(set(ids)) < len(ids):
        return {}
    pairs = [
        (at, stored)
        for at, ident in enumerate(ids)
        if (stored := present.get(ident)) is not None and stored.type == types[at] and looks_plain(stored)
    ]
    found = {}
    for at, stored in pairs:
        try:
            edit = _received(incoming, at, stored)
        except UNREADABLE:
            continue
        if edit is not None:
            found[at] = edit
    return found


def _received(incoming: Plain, at: int, stored: Version) -> Edit | None:
    """Raises where what is here cannot be read, as `version.open_stored` does."""
    for part in (stored.document, stored.stamps):
        str(part, "utf-8")
    before, clock = version.decode_clock(stored.clock), incoming.clocks[at]
    if not vector_clock.covers(clock, before):
        return None
    base, stamps, values = incoming.bases[at], incoming.stamps[at], incoming.values[at]
    old_base, old_stamps, _ = version.decode_stamps(stored.stamps)
    if base == old_base:
        changes = {each for each, _ in stamps.items() ^ old_stamps.items()}
    else:
        changes = {each for each in values if stamps.get(each, base) != old_stamps.get(each, old_base)}
    held = read_raw(stored.document)
    if not changes <= values.keys():
        return None
    if not all(before.get(by.host, 0) < by.counter for by in {stamps.get(each, base) for each in changes}):
        return None
    written = held | {each: msgspec.Raw(canonical.encode_normal(values[each])) for each in changes}
    after = incoming.columns.version(at)
    if _encode(written) != after.document:
        return None
    gone = [(each, old_stamps.get(each, old_base), bytes(held[each])) for each in sorted(changes) if each in held]
    return Edit(before, held, earliest(old_base, old_stamps), after, clock, written, base, stamps, gone)


def made(present: Iterable[Version], documents: Iterable[bytes], stamps: Sequence[Stamp]) -> list[Edit] | None:
    """What one write each makes of these entities: it has this stamp, and writes the values of this document. None
    unless all of the entities are plain and can be read."""
    found = []
    for stored, document, stamp in zip(present, documents, stamps, strict=True):
        if not looks_plain(stored):
            return None
        try:
            found.append(_made(stored, read_raw(document), stamp))
        except Damaged:
            return None
    return found


def _made(stored: Version, values: Mapping[str, msgspec.Raw], stamp: Stamp) -> Edit:
    entity = version.open_stored(stored)
    after = write(entity, values, stamp)
    old, new = entity.registers, after.registers
    gone = [(each, old.stamp(each), bytes(old.raw[each])) for each in sorted(values) if each in old.raw]
    closed = version.close(after)
    return Edit(entity.clock, old.raw, old.earliest(), closed, after.clock, new.raw, new.base, new.stamps, gone)
