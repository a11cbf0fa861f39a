"""The state of each of the person's devices, as the engine sees it.

What happens to connections is noted here. It is what `status` shows; and why devices are away and what their clocks say
is written down, for when no program runs here.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

import anyio

from lottisync.device.peers import ClockHeard
from lottisync.net.address import Address
from lottisync.problem import Sentence
from lottisync.protocol import message as m
from lottisync.protocol.session import versions_said
from lottisync.shown import quoted
from lottisync.store.instant import iso
from lottisync.store.store import Store
from lottisync.sync import duplicate_key
from lottisync.sync.dial_plan import Failure
from lottisync.sync.local_state import own_summary
from lottisync.sync.off_loop import Caller
from lottisync.sync.peer import AddressState, PeerState, Receiving, why_away
from lottisync.sync.peer_record import PeerRecord
from lottisync.sync.peer_status import PeerStatus
from lottisync.sync.refusal import Kind, with_one_more

ABSENCES_SECONDS = 10.0
"""How often it is looked whether it is to be written down why devices are away."""

ENDED = {
    "revoked": str(Sentence("this device was revoked there: it is no longer one of the person's devices")),
    "duplicate-connection": str(Sentence("there is a connection already")),
    "timeout": str(Sentence("nothing was heard in time")),
    "stores": str(Sentence("the stores of one of the two have changed; they connect again")),
}
"""What the last word of a connection means, by its code, where both sides mean the same by it."""
_NOT_UNDERSTOOD = str(Sentence("it could not use what this device said"))
REFUSED = {
    **dict.fromkeys(("bad-frame", "malformed", "illegal", "bad-entity"), _NOT_UNDERSTOOD),
    "unknown-store": str(Sentence("it does not have a store of which this device spoke")),
    "unknown-host": str(Sentence("this device sent changes of a device that it does not know")),
    "wrong-device": str(Sentence("this device greeted as another one than its certificate says")),
    "no-agreement": str(
        Sentence("the two could not agree on what was written; one may be a copy or a restored backup")
    ),
    "stuck": str(Sentence("nothing came from this device any more")),
    "failed": str(Sentence("it cannot use its store now; its disk may be full")),
}
"""What the other device means by these codes (SYNC-1000). It is shown with the peer's own words."""


def said_of_close(ended: m.Close) -> Sentence:
    """Why a connection ended, by the last word of either side: our words if the code is one that both sides use;
    otherwise what the code means, and what was said."""
    if isinstance(ended.reason, Sentence):
        return ended.reason
    if (versions := versions_said(ended.reason)) is not None:
        return versions
    if ended.code == "duplicate-key":
        return duplicate_key.warning(None)
    if ended.code in ENDED:
        return Sentence(ENDED[ended.code])
    said = quoted(ended.reason)
    if ended.code in REFUSED:
        why = Sentence(REFUSED[ended.code])
        return Sentence("the other device ended the connection: {why} ({said})", why=why, said=said)
    return Sentence("the other device ended the connection: {said}", said=said)


class PeerStates:
    """`record` is where it is written down. `where` says at which addresses a device is looked for; it is asked only of
    devices that were given to `know`."""

    def __init__(
        self,
        stores: Mapping[str, Store],
        record: PeerRecord,
        call: Caller,
        *,
        clock: Callable[[], int],
        where: Callable[[str], list[AddressState]],
    ) -> None:
        self.states: dict[str, PeerState] = {}
        """The person's other devices, by id."""
        self._stores, self._record, self._call = stores, record, call
        self._clock, self._where = clock, where
        self._statuses: dict[str, PeerStatus] = {}
        self._active: Collection[str] = ()

    def know(self, names: Mapping[str, str], active: Collection[str]) -> list[str]:
        """These are the person's devices now (id -> name); `active` are the ones to be connected with. Returns the
        devices that are not the person's any more."""
        self._active = active
        for device, name in names.items():
            self.states.setdefault(device, PeerState(device, name)).name = name
        gone = sorted(set(self.states) - set(names))
        for device in gone:
            del self.states[device]
            self._statuses.pop(device, None)
        return gone

    def name(self, device: str) -> str:
        """What to call a device in a sentence."""
        return self.states[device].name if device in self.states else f"device {device[:8]}"

    # -- what happens to connections

    def connected(self, device: str, status: PeerStatus, address: Address | None) -> None:
        """There is a connection now, whose `status` is shown from here on. `address` is where we have dialled."""
        before = self._statuses.get(device, PeerStatus())
        status.mended = dict(before.mended)
        self._statuses[device] = status
        state = self.states[device]
        state.connected, state.failure, state.left_at = True, None, None
        state.last_seen = iso(self._clock())
        state.address = str(address) if address is not None else None

    def disconnected(self, device: str, ended: m.Close | None, *, here: bool) -> None:
        """The connection has ended, with this word if anybody said one; `here` says that this side did."""
        state = self.states.get(device)
        if state is None:
            return
        stops = ended is not None and ended.code == "goodbye"
        # A goodbye of ours says that this program stops, and not that the other device is away (MEET-62).
        state.connected, state.address = stops and here, None
        state.last_seen = iso(self._clock())
        if stops and not here:
            state.left_at = state.last_seen
        elif ended is not None and ended.code not in ("goodbye", "duplicate-connection"):
            state.failure = said_of_close(ended)

    def unreachable(self, device: str, address: Address, failure: Failure) -> None:
        """An attempt to reach a device failed that is not connected. After its goodbye that is not an error."""
        state = self.states.get(device)
        if state is not None and state.left_at is None:
            state.failure = Sentence("{address}: {why}", address=address, why=failure.text)

    def hung_up(self, device: str, ended: m.Close | None) -> None:
        """A device closed a connection before it had greeted."""
        state = self.states[device]
        state.failure = (
            said_of_close(ended)
            if ended is not None
            else Sentence(
                "{name} hung up before it greeted: it does not know this device. Pair the two again", name=state.name
            )
        )

    def refused(self, device: str, kind: Kind, reason: Sentence) -> None:
        """Something was refused between this device and another, in this sentence."""
        state = self.states.get(device)
        if state is not None:
            state.refusals = with_one_more(state.refusals, kind, reason, self._clock())

    def duplicate_key(self, device: str) -> None:
        """Another program has greeted with the key of this device, while its connection lives."""
        self.states[device].duplicate_key_at = iso(self._clock())

    # -- what is shown

    async def snapshot(self, receiving: Iterable[Receiving | None]) -> list[PeerState]:
        """The devices as they are now, by name. `receiving` are the rounds that are coming in now."""
        # While a round comes in, its store is in step with nobody, and its summary would be of all that came so far.
        coming = {each.store for each in receiving if each is not None}
        own = await self._call(lambda: self._summaries(coming))
        for device, status in self._statuses.items():
            state = self.states[device]
            shared = self._stores.keys() - {*status.only_here, *status.failing_there}
            state.in_step = {name: name in own and status.summaries.get(name) == own[name] for name in shared}
            state.acknowledged = {name: dict(known) for name, known in status.acknowledged.items()}
            state.diverged = list(status.diverged)
            state.mended = dict(status.mended)
            state.comparing = status.comparing
            state.receiving = status.receiving if state.connected else None
            state.only_here, state.only_there = list(status.only_here), list(status.only_there)
            state.failing_there = list(status.failing_there)
        self._explain()
        return sorted(self.states.values(), key=lambda state: (state.name, state.device))

    def _explain(self) -> None:
        """Where the devices are looked for, and why those that are away are away."""
        now = iso(self._clock())
        for device, state in self.states.items():
            state.addresses = self._where(device)
            state.away = None if state.connected or device not in self._active else why_away(state, now)

    def _summaries(self, but: Collection[str]) -> dict[str, m.Summary]:
        found = {}
        for name, store in self._stores.items():
            if name not in but:
                with store.reading() as reader:
                    found[name] = own_summary(reader)
        return found

    # -- what is written down

    async def keep_absences(self) -> None:
        """Write down why devices are away and what their clocks say, every now and then, until cancelled."""
        while True:
            await anyio.sleep(ABSENCES_SECONDS)
            await self._remember_absences()

    async def remember_last_connections(self) -> None:
        """Write down at the end which devices were connected until now, and why the others are away."""
        await self._remember_absences(stopping=True)
        seen = {device: state.last_seen for device, state in self.states.items() if state.last_seen is not None}
        await self._record.stopping(seen)

    async def _remember_absences(self, *, stopping: bool = False) -> None:
        self._explain()
        absences = {
            device: state.away
            for device, state in self.states.items()
            if state.connected or (state.away is not None and state.away.reason != "looking")
        }
        await self._record.away(absences, stopping=stopping)
        heard = {
            device: ClockHeard(state.clock_off, state.clock_heard_at)
            for device, state in self.states.items()
            if state.clock_off is not None and state.clock_heard_at is not None
        }
        await self._record.clocks(heard, stopping=stopping)
