"""What other devices could not use, and this one counts on (docs/specs/19-relay.md, section 5).

A device reads a message once. If another message has its place since then, a device that has read the first one does
not see that. A new device does, and says so in its state. Nobody is believed: each device looks for itself, and not
often, for a member may lie.
"""

import hashlib
from collections.abc import Set

from lottisync.relay.board import Board
from lottisync.relay.header import Name

LOOK_AGAIN_MS = 3_600_000
"""Between two looks at one message because somebody could not use it."""


class Doubts:
    def __init__(self, board: Board) -> None:
        self._board = board
        self._looked: dict[Name, int] = {}
        self._frames: set[Name] = set()

    def show(self) -> None:
        """Forget what is not in the relay any more."""
        self._frames &= self._board.present
        self._looked = {name: at for name, at in self._looked.items() if name in self._board.present}

    def hear(self, refused: Set[Name], now: int) -> set[Name]:
        """Take the messages that some device could not use; gives those that are to be read again. Frames are compared
        with what their manifest says of them, as soon as the manifest was read."""
        due = {
            name for name in refused & self._board.present
            if not 0 <= now - self._looked.get(name, -LOOK_AGAIN_MS) < LOOK_AGAIN_MS
        }  # fmt: skip
        self._looked |= dict.fromkeys(due, now)
        frames = {name for name in due if name.channel.startswith("snap.")}
        self._frames |= frames
        return due - frames

    def wanted(self) -> Name | None:
        """The next frame to compare."""
        return next((name for name in sorted(self._frames) if self._board.frame_hash(name) is not None), None)

    def settles(self, name: Name, data: bytes | None) -> bool | None:
        """Whether a frame that was wanted is the one that its manifest names; None if no frame was wanted here."""
        if name not in self._frames or (digest := self._board.frame_hash(name)) is None:
            return None
        self._frames.discard(name)
        return data is not None and hashlib.sha256(data).digest() == digest
