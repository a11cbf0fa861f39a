"""A snapshot that this device publishes (docs/specs/19-relay.md, section 7): first its frames, one message each, and
when all of them lie in the relay the manifest, which counts them."""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack

from lottisync.device.device import Device
from lottisync.relay import content, ledger
from lottisync.relay.board import Board, BoardEntry
from lottisync.relay.epoch import Epoch
from lottisync.relay.header import FIRST, Kind, Name, hash_of, parts_of
from lottisync.relay.lane import Lane, Publication
from lottisync.relay.recording import Recording, framed
from lottisync.store.snapshot import Snapshot

DAY, HOUR = 24 * 3_600_000, 3_600_000
MAX_SNAPSHOTS_PER_DAY = 32
"""A device says everything again because the relay has lost it, or because its log is long. The first doubles what lies
there each time, so it is seldom; the second is up to the relay, which may lose everything for ever."""
CACHE_KIB = 256
"""What SQLite keeps of a store that is recorded: all of it is read once, and what a process was given once it mostly
keeps (RELAY-901)."""


def moments(device: Device, held: ExitStack) -> dict[str, Snapshot]:
    """A snapshot of every store, in the order of delivery. They are opened in the opposite order, so that an earlier
    store shows at least what a later one was written with (RELAY-14). `held` closes them."""
    snapshots = {}
    for name in reversed([*device.stores]):
        snapshots[name] = device.stores[name].snapshot(cache_kib=CACHE_KIB)
        held.callback(snapshots[name].close)
    return {name: snapshots[name] for name in device.stores}


class _Frames:
    """The frames of one snapshot, in their order, and what the manifest says of them."""

    def __init__(self, number: int, epoch: Epoch, stores: dict[str, Recording], held: ExitStack) -> None:
        self.number, self.epoch, self._stores, self._held = number, epoch, stores, held
        self.hashes: dict[str, list[bytes]] = {name: [] for name in stores}
        self.size, self.count, self.before = 0, 0, FIRST
        self._bodies = self._all()

    def _all(self) -> Iterator[tuple[str, bytes]]:
        for name, recording in self._stores.items():
            for parts in framed(recording.parts()):
                yield name, content.encode(content.Frame(parts))

    def next(self) -> tuple[str, bytes] | None:
        """The store and the body of the next frame; None after the last."""
        return next(self._bodies, None)

    def published(self, store: str, data: bytes) -> None:
        parts = parts_of(data)
        self.before = hash_of(parts.header, parts.signature)
        self.hashes[store].append(hashlib.sha256(data).digest())
        self.size += len(data)

    def manifest(self, now: int) -> content.Manifest:
        stores = [content.Recorded(made.extent(), self.hashes[name]) for name, made in self._stores.items()]
        return content.Manifest(self.number, self.size, now, stores)

    def close(self) -> None:
        self._held.close()


class SnapshotOut:
    """At most one snapshot at a time."""

    def __init__(self, device: Device, lane: Lane, board: Board) -> None:
        self._device, self._lane, self._board = device, lane, board
        self._frames: _Frames | None = None

    @property
    def running(self) -> bool:
        return self._frames is not None

    def may_begin(self, now: int) -> bool:
        """Whether a snapshot may begin now: if a relay loses snapshots again and again, it gets one an hour
        (RELAY-892)."""
        with self._device.space.reading() as reader:
            begun = [at for at in ledger.snapshots_begun(reader) if now - DAY < at <= now]
        return len(begun) < MAX_SNAPSHOTS_PER_DAY or now - begun[-1] >= HOUR

    def begin(self, epoch: Epoch, now: int) -> None:
        """Begin a snapshot of what is here now."""
        self.close()
        number = self._lane.last("snap") + 1
        with self._device.space.transaction(now, None) as tx:
            ledger.advance(tx, self._lane.id, "snap", (number, FIRST))
            ledger.note_snapshot(tx, now, now - DAY)
        held = ExitStack()
        stores = {name: Recording(name, moment, {}) for name, moment in moments(self._device, held).items()}
        self._frames = _Frames(number, epoch, stores, held)

    def next(self, now: int) -> Publication | None:
        """The next frame, and the manifest after the last; None if no snapshot runs."""
        frames = self._frames
        if frames is None:
            return None
        if (frame := frames.next()) is None:
            return self._manifest(frames, now)
        store, body = frame
        frames.count += 1
        name = Name(self._lane.id, f"snap.{frames.number}", frames.count)
        made = self._lane.sealed_as(Kind.FRAME, name, frames.before, frames.epoch, body)
        frames.published(store, made.data)
        return made

    def _manifest(self, frames: _Frames, now: int) -> Publication | None:
        """The manifest; None if the relay has lost a frame: then the snapshot is begun again."""
        manifest = frames.manifest(now)
        self.close()
        names = [Name(self._lane.id, f"snap.{manifest.snapshot}", n) for n in range(1, frames.count + 1)]
        if not all(name in self._board.present for name in names):
            return None
        made = self._lane.sealed(Kind.MANIFEST, "log", frames.epoch, content.encode(manifest))
        entry = BoardEntry.of_manifest(made.name, parts_of(made.data), self._device.id, manifest, self._device.stores)
        entry.taken.update(entry.extents)
        self._board.parted.clear()
        return self._lane.logged(made, entry, now)

    def close(self) -> None:
        """Give up the snapshot that runs."""
        if self._frames is not None:
            self._frames.close()
            self._frames = None
