"""A snapshot of another device that is read, one frame at a time (docs/specs/19-relay.md, section 5)."""

import hashlib
from collections.abc import Collection, Set

from lottisync.problem import Sentence
from lottisync.relay import content
from lottisync.relay.board import Board, BoardEntry
from lottisync.relay.header import BadMessage, Kind, Name, Parts
from lottisync.relay.intake import Intake
from lottisync.relay.locked import Locked
from lottisync.relay.taking import Taking

NOT_THE_FRAME = Sentence("a frame is not the one that its snapshot names")


class _Frames:
    """`rest` are the frames to come: (store, name, hash). `taking` is the store that has some of its frames."""

    def __init__(self, entry: BoardEntry, stores: Collection[str]) -> None:
        self.entry = entry
        self.taking: Taking | None = None
        names = iter(entry.frames())
        frames = [(store, next(names), digest) for store, hashes in entry.hashes.items() for digest in hashes]
        self.rest = [frame for frame in frames if frame[0] in stores]


class SnapshotIn:
    """At most one snapshot at a time."""

    def __init__(self, board: Board, intake: Intake, locked: Locked) -> None:
        self._board, self._intake, self._locked = board, intake, locked
        self._frames: _Frames | None = None

    def wanted(self, refused: Set[Name]) -> Name | None:
        """The next frame to fetch; None if there is no snapshot to read now."""
        if self._frames is None:
            self._begin(refused)
        return self._frames.rest[0][1] if self._frames is not None else None

    def _begin(self, refused: Set[Name]) -> None:
        for entry in self._intake.untaken(Kind.MANIFEST):
            self._intake.note_what_is_here(entry)
            if entry.name not in refused and entry.whole(self._board.present) and self._intake.could_take(entry):
                frames = _Frames(entry, entry.extents.keys() - entry.taken)
                if frames.rest:
                    self._frames = frames
                    return

    def read(self, name: Name, parts: Parts, data: bytes, now: int) -> bool:
        """Read the frame that was wanted. False if its store cannot take it. Raises `BadMessage`."""
        frames = self._frames
        if frames is None or frames.rest[0][1] != name:
            return True
        store, _, digest = frames.rest.pop(0)
        body = self._locked.body(name, parts, parts.rest) if hashlib.sha256(data).digest() == digest else None
        if body is None:
            raise BadMessage(NOT_THE_FRAME)
        last = not any(one[0] == store for one in frames.rest)
        frame = content.decode(body, content.Frame)
        part = self._intake.take_frame(frames.entry, store, frames.taking, frame, now, last=last)
        if part is None:
            return False
        frames.taking = None if last else part
        if not frames.rest:
            self._frames = None
        return True

    def stop(self) -> Name | None:
        """Read no further frame of it. The name of its manifest; None if no snapshot is read."""
        frames, self._frames = self._frames, None
        return frames.entry.name if frames is not None else None
