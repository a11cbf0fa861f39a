"""The heads of the lanes: how far the log of every lane was seen to go, by this device or by one that has said so
(docs/specs/19-relay.md, section 7). The head of a lane is the last message of its log that was seen. A relay
that shows less later has lost something, or hides it (RELAY-17)."""

from collections.abc import Mapping

from lottisync.device.device import Device
from lottisync.relay import ledger
from lottisync.relay.board import Board
from lottisync.relay.circle import Circle
from lottisync.relay.event import Event, WentBack


class LaneHeads:
    """The last message of each log that was seen. `events` takes what is noticed."""

    def __init__(self, device: Device, circle: Circle, board: Board, events: list[Event]) -> None:
        self._device, self._circle, self._board, self._events = device, circle, board, events
        self._seen: dict[bytes, ledger.Head] = {}
        with device.space.reading() as reader:
            self._reported = ledger.losses(reader)
        self._written = dict(self._reported)

    def note(self, heads: Mapping[bytes, ledger.Head]) -> None:
        """Note messages that this device, or another one, has seen."""
        for lane, head in heads.items():
            if head[0] > self._seen.get(lane, (0, b""))[0]:
                self._seen[lane] = head

    def write_down(self, now: int) -> None:
        """Keep what was seen for the next start of the program."""
        known = self._known()
        news = {lane: head for lane, head in self._seen.items() if head[0] > known.get(lane, (0, b""))[0]}
        if news:
            with self._device.space.transaction(now, None) as tx:
                ledger.note_heads(tx, news)
        self.notice_loss()
        if self._reported != self._written:
            with self._device.space.transaction(now, None) as tx:
                ledger.keep_losses(tx, self._reported)
            self._written = dict(self._reported)

    def notice_loss(self) -> None:
        """Say once where a log ends sooner than it did (RELAY-17), whatever is started again (RELAY-897)."""
        for lane, (number, _) in (self._known() | self._seen | self._own()).items():
            shown = max((n.number for n in self._board.present if n.lane == lane and n.channel == "log"), default=0)
            if shown < number and self._is_news(lane, shown, number):
                self._reported[lane] = shown, number
                self._events.append(WentBack(self._circle.device_of(lane), shown, number))
            elif shown >= number:
                self._reported.pop(lane, None)

    def _is_news(self, lane: bytes, shown: int, number: int) -> bool:
        """Whether the loss is greater than the one that was reported: the relay shows fewer messages, or lacks more."""
        said = self._reported.get(lane)
        return said is None or shown < said[0] or number > said[1]

    def _known(self) -> dict[bytes, ledger.Head]:
        with self._device.space.reading() as reader:
            return ledger.heads(reader)

    def _own(self) -> dict[bytes, ledger.Head]:
        """The last message of this device's lane that the relay has acknowledged: it may be the only one that was
        lost."""
        with self._device.space.reading() as reader:
            lane, (number, message_hash) = ledger.lane(reader), ledger.end_of(reader, "log")
            waiting = ledger.unacknowledged(reader)
        return {lane: (waiting[0] - 1 if waiting is not None else number, message_hash)} if lane is not None else {}
