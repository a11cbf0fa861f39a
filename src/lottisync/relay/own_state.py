"""What a device says of itself at the relay (docs/specs/19-relay.md, section 8): what it knows of each store, which
epochs it holds, and how far it has seen the logs of others."""

from lottisync.device.device import Device
from lottisync.relay import content, ledger
from lottisync.relay.board import Board
from lottisync.relay.circle import Circle
from lottisync.relay.content import MAX_LANES
from lottisync.relay.header import Kind, Name
from lottisync.relay.keyring import EpochKeyring
from lottisync.relay.lane import Lane, Publication
from lottisync.relay.receiving import RelayReader
from lottisync.sync.local_state import LocalState

STATE_SECONDS = 60
"""Between two states of a device, for every ten devices."""


class OwnState:
    """The state is said again when it has changed, or when the relay has lost it, with a pause between two states
    unless the device leaves."""

    def __init__(
        self, device: Device, lane: Lane, circle: Circle, keyring: EpochKeyring, board: Board, receiving: RelayReader
    ) -> None:
        self._device, self._lane, self._circle, self._keyring = device, lane, circle, keyring
        self._board, self._receiving = board, receiving
        self._said: content.State | None = None
        self._held_when_said: list[bytes] = []
        self._said_at = 0
        self._name: Name | None = None

    def begin_again(self) -> None:
        """Count as if nothing was said yet."""
        self._said = None

    def next(self, now: int, *, leaving: bool) -> Publication | None:
        """The message that says it; None if there is nothing new to say, or if it was said a short time ago."""
        pause = 1_000 * STATE_SECONDS * max(1, len(self._circle.active) // 10)
        if self._said is not None and not leaving and now - self._said_at < pause:
            return None
        state = self._state(now)
        epochs = sorted(self._keyring.epochs)
        same = self._said is not None and (self._said.stores, self._said.refused) == (state.stores, state.refused)
        if same and epochs == self._held_when_said and self._is_there():
            return None
        self._said, self._held_when_said, self._said_at = state, epochs, now
        open_part = content.encode(content.OpenState(epochs))
        framed_part = len(open_part).to_bytes(4, "big") + open_part
        made = self._lane.sealed(Kind.STATE, "state", self._keyring.sealing(now), content.encode(state), framed_part)
        self._name = made.name
        return self._lane.written_down(made, now)

    def _is_there(self) -> bool:
        """Whether the last state is in the relay. An older one does not count: the relay may have gone back
        (RELAY-833)."""
        return self._name is not None and self._receiving.lies_there(self._name)

    def _state(self, now: int) -> content.State:
        stores = {}
        for name, store in self._device.stores.items():
            with store.reading() as reader:
                own = LocalState(reader)
                stores[name] = content.StoreState(own.knowledge, own.forgotten, sorted(own.nodes), own.summary)
        with self._device.space.reading() as reader:
            heads = [(lane, *head) for lane, head in sorted(ledger.heads(reader).items())][-MAX_LANES:]
        return content.State(now, stores, heads, self._receiving.refused())
