"""The last state that each device has said at the relay (docs/specs/19-relay.md, section 8)."""

from lottisync.device.device import Device
from lottisync.relay import content
from lottisync.relay.event import Differs, Event, Split
from lottisync.relay.header import Name, Parts
from lottisync.relay.heads import LaneHeads
from lottisync.relay.keyring import EpochKeyring
from lottisync.relay.locked import Locked
from lottisync.store import forgetting, fork
from lottisync.store.store import Store
from lottisync.sync.local_state import LocalState


class States:
    """`last` holds the state of each device that has said one, this one included."""

    def __init__(
        self, device: Device, keyring: EpochKeyring, locked: Locked, heads: LaneHeads, events: list[Event]
    ) -> None:
        self._device, self._keyring, self._locked, self._heads, self._events = device, keyring, locked, heads, events
        self.last: dict[str, content.State] = {}
        self.refused: set[Name] = set()
        """What others have said that they could not use, until somebody looks at it."""
        self._numbers: dict[bytes, int] = {}

    def read(self, name: Name, parts: Parts, signer: str, now: int) -> None:
        """Read a message of the state channel that `signer` has signed. Raises `BadMessage`."""
        header = parts.header
        if self._numbers.get(header.lane, 0) > header.number:
            return
        open_part = content.open_part_of(parts.rest)
        held = frozenset(content.decode(open_part[4:], content.OpenState).epochs)
        self._keyring.held_by[header.lane] = signer, held
        body = self._locked.body(name, parts, parts.rest[len(open_part) :], open_part)
        if body is not None:
            state = content.decode(body, content.State)
            self._numbers[header.lane] = header.number
            self._heed(signer, state, now)
            if signer != self._device.id:
                self.refused.update(Name(*each) for each in state.refused)

    def _heed(self, device: str, state: content.State, now: int) -> None:
        self._heads.note({lane: (number, message_hash) for lane, number, message_hash in state.heads})
        before = self.last.get(device)
        if before is not None and before.at > state.at:
            return
        self.last[device] = state
        if device != self._device.id:
            for name, said in state.stores.items():
                if (store := self._device.stores.get(name)) is not None:
                    self._heed_store(device, name, store, said, now)

    def _heed_store(self, device: str, name: str, store: Store, said: content.StoreState, now: int) -> None:
        with store.transaction(now, None) as tx:
            if fork.split(tx, said.nodes):
                self._events.append(Split(name))
            forgetting.note(tx, device, said.knowledge, direct=True)
            tx.finish()
            own = LocalState(tx).summary
            if own.known == said.summary.known and own.digest != said.summary.digest:
                self._events.append(Differs(device, name))

    def lacks(self, device: str) -> int:
        """How many changes a device has said that it has, and that are not here."""
        state = self.last.get(device)
        count = 0
        for name, said in (state.stores if state is not None else {}).items():
            if (store := self._device.stores.get(name)) is not None:
                with store.reading() as reader:
                    known = reader.knowledge()
                    if fork.nodes(reader) == set(said.nodes):
                        count += sum(max(0, c - known.get(host, 0)) for host, c in said.knowledge.items())
        return count
