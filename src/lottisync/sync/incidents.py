"""What goes wrong between this device and another: it is reported, and the other's state has it, for `status`."""

import traceback
from collections.abc import Callable
from pathlib import PurePath

from lottisync.problem import Sentence
from lottisync.protocol import message as m
from lottisync.store.instant import iso
from lottisync.sync import duplicate_key
from lottisync.sync.connection import Connection
from lottisync.sync.event import Event, kind_of_refusal, words
from lottisync.sync.peer_states import PeerStates
from lottisync.sync.reception import EACH_DEVICE
from lottisync.sync.refusal import Kind, kind_of


class Incidents:
    """`report` is called with (code, sentence), `changed` whenever the state of a peer has."""

    def __init__(
        self,
        peers: PeerStates,
        *,
        report: Callable[[str, str], None],
        changed: Callable[[], None],
    ) -> None:
        self.duplicate_key_at: str | None = None
        """When a peer last said that this device's key runs twice."""
        self._peers, self._report, self._changed = peers, report, changed

    def happened(self, connection: Connection, event: Event) -> None:
        """What a conversation has said of itself, if it is something for people."""
        said = words(event, self._peers.name(connection.device))
        if said is not None:
            self._report(*said)
            self._refused(connection.device, kind_of_refusal(event), said[1])

    def ended(self, connection: Connection, last: m.Close) -> None:
        """A connection has ended with a Close of either side."""
        device, name = connection.device, self._peers.name(connection.device)
        ours = isinstance(last.reason, Sentence)  # what the other side says is plain text
        if last.code == "timeout" and ours and connection.peer_boot == b"" and not connection.dialled:
            self._turned_away(device, Sentence("{name} opened a connection and said nothing: it was closed", name=name))
        else:
            self._refused(device, kind_of(last.code), Sentence("{name}: {why}", name=name, why=last.reason))

    def too_many(self, device: str) -> None:
        """A connection was closed because its device has enough of them."""
        name = self._peers.name(device)
        self._turned_away(
            device,
            Sentence(
                "{name} opened more than {count} connections at one time: it gets no more of them",
                name=name,
                count=EACH_DEVICE,
            ),
        )

    def fault(self, device: str, error: BaseException) -> None:
        """This program failed in the middle of a connection."""
        self._report("fault", f"the connection to {self._peers.name(device)} broke off: {_fault(error)}")

    def duplicate(self, connection: Connection, news: bool) -> None:
        """Another program greets with the key of a device that is connected."""
        self._peers.duplicate_key(connection.device)
        if news:
            self._report("duplicate-key", str(duplicate_key.warning(self._peers.name(connection.device))))
        self._changed()

    def runs_twice(self, now: int) -> None:
        """A peer says at `now` (ms) that another program has our key."""
        if self.duplicate_key_at is None:
            self._report("duplicate-key", str(duplicate_key.warning(None)))
        self.duplicate_key_at = iso(now)
        self._changed()

    def _turned_away(self, device: str, reason: Sentence) -> None:
        """A connection that a device of the person has opened was closed before anything was said (NET-52, NET-53)."""
        self._report("refused", reason)
        self._refused(device, "connection", reason)

    def _refused(self, device: str, kind: Kind | None, reason: str) -> None:
        """Something was refused between this device and another, if it has a kind."""
        if kind is not None:
            self._peers.refused(device, kind, reason if isinstance(reason, Sentence) else Sentence(reason))
            self._changed()


def _fault(error: BaseException) -> str:
    """What went wrong, and in which line: for the one who looks for the cause."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].name}, {PurePath(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
