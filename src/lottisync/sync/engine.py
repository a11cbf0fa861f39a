"""The peer-sync engine: one connection per reachable device (docs/specs/07-sync.md, section 7).

It listens, it keeps one connection for each device of the roster, and it tells every connection when something was
committed here, by whichever process. How devices are found and dialled is `lottisync.sync.meeting`'s business.

Both ends may dial at once. Of two connections between the same two running programs the one that the
device with the smaller id dialled is kept, by both, so they never close each other's. Of two that the
same end dialled the newer is kept: a device does not dial while it has a living connection.
"""

import contextlib
import traceback
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import PurePath
from random import Random
from typing import NamedTuple

import anyio
from anyio.abc import ByteStream, SocketStream, TaskStatus
from anyio.streams.tls import TLSStream

from lottisync.device.membership import Strangers, bind_hosts
from lottisync.identity.device_key import DeviceKey
from lottisync.net.address import Address
from lottisync.net.doorway import welcome
from lottisync.net.listener import listen, local_host, port_of
from lottisync.problem import Problem
from lottisync.protocol import message as m
from lottisync.store.doorbell import Bell
from lottisync.store.instant import iso
from lottisync.store.reader import ChangeToken
from lottisync.store.store import Store
from lottisync.sync import duplicate_key
from lottisync.sync.allowance import Allowance
from lottisync.sync.commits import Commits
from lottisync.sync.connection import Connection, steady_now
from lottisync.sync.conversation import Conversation
from lottisync.sync.dial_plan import Failure
from lottisync.sync.dialling import Dialling, Met
from lottisync.sync.event import ClockAhead, DuplicateKey, Event, Greeted, PeerChanged, words
from lottisync.sync.far_clocks import FarClocks
from lottisync.sync.handshake import dial, why
from lottisync.sync.local_state import own_summary
from lottisync.sync.meeting import Meeting
from lottisync.sync.off_loop import Caller, in_thread
from lottisync.sync.peer import PeerState, last_failure, why_away
from lottisync.sync.peer_record import PeerRecord
from lottisync.sync.peer_status import PeerStatus
from lottisync.sync.reception import Reception
from lottisync.sync.scrub import Scrub
from lottisync.sync.trust import Trust
from lottisync.sync.verification import Verification

REVOKED = m.Close("revoked", "this device is no longer one of the person's devices")
SETTLED_SECONDS = 10.0
"""A connection that lasted so long was no mistake: after it, the first pause is the short one again."""
PROBE_SECONDS = 1.5
"""Within which a connection gives a sign of life after the network has changed."""
FAILURES_SECONDS = 10.0
"""How often it is written down why devices are away."""
TAKEN_OVER_SECONDS = 1.0
"""Within which it does when the other side dials although there is a connection."""


class Listen(NamedTuple):
    """Where to listen. `firm` is false if any other port will do when this one is taken."""

    host: str
    port: int
    firm: bool = True


async def _closed(listener: anyio.abc.Listener[SocketStream]) -> None:
    with anyio.CancelScope(shield=True):
        await listener.aclose()


class Engine:
    def __init__(
        self,
        *,
        key: DeviceKey,
        stores: Mapping[str, Store],
        roster: Store,
        listen: Listen,
        discover: bool,
        clock: Callable[[], int],
        chance: Random,
        call: Caller = in_thread,
        report: Callable[[str, str], None] = lambda code, text: None,
        status: Callable[[], None] = lambda: None,
        patience: float = duplicate_key.LIVING_SECONDS,
    ) -> None:
        self.peers: dict[str, PeerState] = {}
        self.twice: str | None = None
        """When a peer last said that this device's key runs twice."""
        self.port = 0
        self.connections: dict[str, Connection] = {}
        self._key, self._stores, self._listen, self._discover = key, stores, listen, discover
        self._space, self._space_name = roster, roster.schema.name
        self._clock, self._chance, self._call = clock, chance, call
        self._report, self._status = report, status
        self._boot = chance.randbytes(16)
        self._statuses: dict[str, PeerStatus] = {}
        self._allowances: dict[str, Allowance] = {}
        self._locals: dict[Connection, str] = {}
        self._connected_at: dict[str, float] = {}
        self._trust = Trust(key, roster, call, clock=clock)
        self._dialled: set[str] = set()
        self._reception = Reception(self._refused)
        self._cannot_accept = ""
        self._patience = patience
        self._turned_away: set[tuple[str, bytes]] = set()
        self._far_clocks = FarClocks(self.peers, report)
        self._record = PeerRecord(roster, call, clock=clock, report=report)
        self.scrub = Scrub(stores, call, idle=self._idle, report=report, changed=self._moved)
        self._verification = Verification(
            stores, roster, self.connections, self.scrub, call, clock=clock, report=report
        )
        self._commits = Commits(
            stores,
            roster,
            key,
            self.connections,
            self._verification,
            call,
            clock=clock,
            report=report,
            committed=self._committed,
            compared=self._compared,
        )

    @property
    def device(self) -> str:
        return self._key.device_id

    def look_again(self) -> None:
        """Somebody has written down where another device is."""
        self._tasks.start_soon(self.meeting.look_again)

    # -- life

    async def run(self, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED) -> None:
        """Until cancelled. Reports the port once it listens. Raises `Problem` if it cannot listen."""
        await self._call(lambda: bind_hosts(self._stores, self._key, self._clock()))
        await self._load_roster()
        listener = await self._open_listener()
        self.port = port_of(listener)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(_closed, listener)
            bell = Bell(self._space.file.parent / "bells", f"sync-{self._boot.hex()[:12]}")
            stack.callback(bell.close)
            stack.push_async_callback(self._remember_last_connections)
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                self._begin_meeting()
                tasks.start_soon(welcome, listener, self._accept, self._no_connection)
                tasks.start_soon(self._commits.watch, bell)
                tasks.start_soon(self.scrub.run)
                tasks.start_soon(self._verification.run)
                tasks.start_soon(self._keep_failures)
                await self._look_for_members()
                self._status()
                async with self.meeting.running(tasks, discover=self._discover):
                    task_status.started(self.port)
                    await anyio.sleep_forever()

    def _begin_meeting(self) -> None:
        self.dialling = Dialling(
            self._tasks,
            connect=lambda address: dial(address, self._trust.dial_context),
            meet=self._meet,
            is_connected=lambda device: device in self.connections,
            is_polite=lambda device: device < self._key.device_id,
            chance=self._chance,
            failed=self._failed,
        )
        self.meeting = Meeting(
            key=self._key,
            space=self._space,
            host=self._listen.host,
            port=self.port,
            clock=self._clock,
            chance=self._chance,
            call=self._call,
            dialling=self.dialling,
            report=self._report,
            changed=self._status,
            network_changed=self._network_changed,
        )

    async def _open_listener(self) -> anyio.abc.Listener[SocketStream]:
        host, port, firm = self._listen
        for candidate in (port,) if firm or port == 0 else (port, 0):
            try:
                return await listen(Address(host, candidate))
            except OSError as error:
                reason = error.strerror or str(error)
        raise Problem(
            "cannot-listen",
            "cannot listen on {where} ({reason}). Choose another with --listen HOST:PORT",
            where=Address(host, port),
            reason=reason,
        )

    # -- the roster, and what is committed here

    async def _load_roster(self) -> None:
        trusted, hosts = await self._trust.load()
        self._reception.know(hosts)
        if self._trust.renamed is not None:
            name = self._trust.renamed
            self._report("renamed", f"another device has this one's name: this one is called {name} now")
        for device, member in trusted.items():
            state = self.peers.setdefault(device, PeerState(device, member.name))
            state.name = member.name
        for device in set(self.peers) - set(trusted):
            del self.peers[device]
            self._statuses.pop(device, None)
            connection = self.connections.pop(device, None)
            if connection is not None:
                connection.close(REVOKED.code, REVOKED.reason)
        self._far_clocks.attribute(self._trust.roster.host_owner)

    async def _look_for_members(self) -> None:
        await self.meeting.look(self._trust.active, self._trust.roster.revoked())

    def _moved(self) -> None:
        """A connection or the scrub has come further: for `status`, and for what is to be compared."""
        self._verification.look()
        self._status()

    async def _compared(self) -> None:
        await self._record.write(self._verification.note_progress)
        self._status()

    async def _committed(self, moments: dict[str, ChangeToken], before: Mapping[str, ChangeToken]) -> None:
        if moments[self._space_name] != before.get(self._space_name):
            await self._load_roster()
            await self._look_for_members()
        for connection in list(self.connections.values()):
            connection.local_change(moments)
        self._status()

    # -- dialling

    async def _meet(self, stream: TLSStream, device: str, address: Address) -> Met:
        """Run a connection that was dialled. Only one at a time is dialled for each device."""
        if device in self.connections or device in self._dialled or device not in self.peers:
            await anyio.aclose_forcefully(stream)
            return Met(Failure("refused", "there is a connection already"))
        self._dialled.add(device)
        began = anyio.current_time()
        try:
            ended = await self._run_connection(stream, device, dialled=True, address=address)
        finally:
            self._dialled.discard(device)
        if anyio.current_time() - began >= SETTLED_SECONDS:
            return Met()
        code = "version" if ended is not None and ended.code == "version" else "refused"
        state = self.peers.get(device)
        return Met(Failure(code, (state.error if state is not None else None) or "the connection ended at once"))

    def _failed(self, device: str, address: Address, failure: Failure) -> None:
        state = self.peers.get(device)
        if state is not None and device not in self.connections and not (state.left_at and failure.silent):
            state.error = f"{address}: {failure.text}"
        self._status()

    def _network_changed(self, hosts: set[str]) -> None:
        """This machine has these addresses now: a connection from one that is gone is over, any other is asked for a
        sign of life (MEET-16)."""
        for connection in list(self.connections.values()):
            if self._locals.get(connection) in hosts:
                self._tasks.start_soon(self._unless_it_lives, connection, PROBE_SECONDS)
            else:
                self._drop(connection)

    async def _unless_it_lives(self, connection: Connection, seconds: float) -> None:
        if not await connection.lives(seconds):
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        """End a connection over which nothing comes any more; others may take its place at once."""
        connection.close("timeout", "the network has changed, and nothing comes over this connection any more")
        if self.connections.get(connection.device) is connection:
            del self.connections[connection.device]
            self._disconnected(connection.device, connection)

    # -- accepting

    async def _accept(self, raw: SocketStream) -> None:
        await self._reception.receive(raw, self._trust.serve_context, self._serve)

    async def _serve(self, stream: TLSStream, device: str) -> None:
        if device not in self.peers:  # revoked since the context was made
            await anyio.aclose_forcefully(stream)
            return
        await self._run_connection(stream, device, dialled=False, address=None)

    def _refused(self, host: str, error: Exception | None) -> None:
        reason = why(error).text if error is not None else "there are too many connections from there, or in all"
        self._report("refused", f"a connection from {host or 'an unknown address'} was refused: {reason}")

    def _no_connection(self, error: OSError) -> None:
        """The system has none for us now; the listener tries again."""
        reason = error.strerror or str(error)
        if reason != self._cannot_accept:
            self._report("failed", f"no connection can be taken, and it is tried again: {reason}")
        self._cannot_accept = reason

    # -- connections

    async def _run_connection(
        self, stream: ByteStream, device: str, *, dialled: bool, address: Address | None
    ) -> m.Close | None:
        now, steady = self._clock(), steady_now()
        conversation = Conversation(
            device=self._key.device_id,
            boot=self._boot,
            stores=self._stores,
            strangers=Strangers(self._space, self._key.certificate),
            dialled=dialled,
            now=now,
            steady=steady,
            expected=device,
            members=self._trust.members,
            allowance=self._allowances.setdefault(device, Allowance()),
        )
        connection = Connection(
            stream,
            conversation,
            device=device,
            dialled=dialled,
            call=self._call,
            clock=self._clock,
            happened=partial(self._happened, address=address),
        )
        self._locals[connection] = local_host(stream)
        try:
            await connection.run()
        except Exception as error:  # noqa: BLE001
            # A fault in this program. It costs this connection, and no other.
            self._report("fault", f"the connection to {self._name(device)} broke off: {_fault(error)}")
        finally:
            del self._locals[connection]
            if self.connections.get(device) is connection:
                del self.connections[device]
                self._disconnected(device, connection)
            elif connection.peer_boot == b"" and device in self.peers and device not in self.connections:
                state = self.peers[device]
                state.error = (
                    connection.ended.reason
                    if connection.ended is not None
                    else f"{state.name} hung up before it greeted: it does not know this device. Pair the two again"
                )
                self._status()
        return connection.ended

    async def _happened(self, connection: Connection, event: Event, address: Address | None) -> None:
        match event:
            case Greeted():
                objection = await self._greet(connection, event.boot, address)
                if objection is not None:
                    connection.close(objection.code, objection.reason)
            case PeerChanged():
                self._moved()
            case DuplicateKey():
                self._runs_twice()
            case ClockAhead(host, millis):
                self._far_clocks.found(host, millis, self._trust.roster.host_owner)
            case _:
                pass
        said = words(event, self._name(connection.device))
        if said is not None:
            self._report(*said)

    async def _greet(self, connection: Connection, boot: bytes, address: Address | None) -> m.Close | None:
        """As `_admit`; but while the old connection lives, another program with the same key is turned away."""
        while (old := self.connections.get(connection.device)) is not None and old.peer_boot != boot:
            lives = await old.lives(self._patience)
            if self.connections.get(connection.device) is old:
                if lives:
                    return self._turn_away(old, boot)
                break
        old = self.connections.get(connection.device)
        if old is not None and self._favoured(old) and not self._favoured(connection):
            # It would be kept; but the other side may have moved, and the old connection lead nowhere (MEET-17).
            await self._unless_it_lives(old, TAKEN_OVER_SECONDS)
        return self._admit(connection, boot, address)

    def _turn_away(self, old: Connection, boot: bytes) -> m.Close:
        state = self.peers[old.device]
        state.twice = iso(self._clock())
        if (old.device, boot) not in self._turned_away:
            self._turned_away.add((old.device, boot))
            self._report("duplicate-key", duplicate_key.warning(state.name))
        old.say_duplicate_key(boot)
        self._status()
        return m.Close("duplicate-key", duplicate_key.warning(None))

    def _runs_twice(self) -> None:
        """A peer says that another program has our key."""
        if self.twice is None:
            self._report("duplicate-key", duplicate_key.warning(None))
        self.twice = iso(self._clock())
        self._status()

    def _admit(self, connection: Connection, boot: bytes, address: Address | None) -> m.Close | None:
        """Whether a connection that has greeted may go on; the last word for the peer if not."""
        if connection.device not in self.peers:  # revoked since the handshake
            return REVOKED
        other = self.connections.get(connection.device)
        if other is not None:
            if other.peer_boot == boot and self._favoured(other) and not self._favoured(connection):
                return m.Close("duplicate-connection", "there is a connection already")
            other.close("duplicate-connection", "a newer connection takes over")
        self.connections[connection.device] = connection
        before = self._statuses.get(connection.device, PeerStatus())
        self._statuses[connection.device] = connection.status
        connection.status.mended = dict(before.mended)
        self._connected_at[connection.device] = anyio.current_time()
        self.dialling.connected(connection.device)
        state = self.peers[connection.device]
        state.connected, state.error, state.left_at = True, None, None
        state.last_seen = iso(self._clock())
        if address is not None:
            state.address = str(address)
            self._reception.met(address.host)
            self._tasks.start_soon(self._record.reached, connection.device, address)
        else:
            self._tasks.start_soon(self._record.connected, connection.device)
        self._report("connected", f"connected to {state.name}")
        self._moved()
        return None

    def _favoured(self, connection: Connection) -> bool:
        """Whether the device with the smaller id dialled it."""
        return (self._key.device_id < connection.device) is connection.dialled

    async def _remember_failures(self) -> None:
        """Why devices are away, for when no program runs here."""
        now = iso(self._clock())
        self._explain()
        await self._record.away(
            {
                device: last_failure(state, now)
                for device, state in self.peers.items()
                if state.connected or state.away != "looking"
            }
        )

    async def _keep_failures(self) -> None:
        while True:
            await anyio.sleep(FAILURES_SECONDS)
            await self._remember_failures()

    async def _remember_last_connections(self) -> None:
        """At the end, of the devices that were connected until now; and why the others are away."""
        await self._remember_failures()
        seen = {device: state.last_seen for device, state in self.peers.items() if state.last_seen is not None}
        await self._record.stopping(seen)

    def _disconnected(self, device: str, connection: Connection) -> None:
        state = self.peers.get(device)
        if state is not None:
            state.connected = False
            state.last_seen = iso(self._clock())
            self._tasks.start_soon(self._record.connected, device)
            if connection.ended is not None and connection.ended.code == "goodbye":
                state.left_at = state.last_seen
            if connection.ended is not None and connection.ended.code not in ("duplicate-connection", "goodbye"):
                state.error = connection.ended.reason
            self._report("disconnected", f"connection to {state.name} ended")
        lasted = anyio.current_time() - self._connected_at.pop(device, 0.0) >= SETTLED_SECONDS
        self._tasks.start_soon(self.meeting.look_again)
        self.dialling.disconnected(device, lasted=lasted)
        self._moved()

    async def snapshot(self) -> list[PeerState]:
        """The peers as they stand now, by name."""
        # While a round comes in, its store is in step with nobody, and its summary would be of all that came so far.
        receiving = [connection.status.receiving for connection in self.connections.values()]
        coming = {each[0] for each in receiving if each is not None}
        own = await self._call(lambda: self._summaries(coming))
        for device, status in self._statuses.items():
            state = self.peers[device]
            state.in_step = {name: name in own and status.summaries.get(name) == own[name] for name in self._stores}
            state.acknowledged = {name: dict(known) for name, known in status.acknowledged.items()}
            state.diverged = list(status.diverged)
            state.mended = dict(status.mended)
            state.comparing = status.comparing
            state.only_here, state.only_there = list(status.only_here), list(status.only_there)
        self._explain()
        return sorted(self.peers.values(), key=lambda state: (state.name, state.device))

    def _explain(self) -> None:
        """Where the devices are looked for, and why those that are away are away."""
        for device, state in self.peers.items():
            state.addresses = self.meeting.addresses(device)
            state.away = None if state.connected or device not in self._trust.active else why_away(state)

    def _summaries(self, but: Collection[str]) -> dict[str, m.Summary]:
        found = {}
        for name, store in self._stores.items():
            if name not in but:
                with store.reading() as reader:
                    found[name] = own_summary(reader)
        return found

    def _name(self, device: str) -> str:
        return self.peers[device].name if device in self.peers else f"device {device[:8]}"

    def _idle(self) -> bool:
        """Whether no round is coming in."""
        return all(connection.status.receiving is None for connection in self.connections.values())

    def nearby(self) -> int:
        """How many programs announce themselves that are none of this person's devices."""
        return self.meeting.nearby()


def _fault(error: BaseException) -> str:
    """What went wrong, and in which line: for the one who looks for the cause."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].name}, {PurePath(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
