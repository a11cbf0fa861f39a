"""The peer-sync engine: one connection per reachable device (docs/specs/07-sync.md, section 7).

It listens, it keeps one connection for each device of the roster, and it tells every connection when something was
committed here, by whichever process. Each part has a module:

- `meeting` and `dialling` find the devices and dial them; `reception` lets in who dials us;
- `connections` says which of several connections with a device is kept;
- `commits` notices what was committed here;
- `peer_states` says how each device stands;
- `scrub` and `verification` look for differences and damage.

The engine starts them, and carries word from one to the other.
"""

import contextlib
import errno
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from random import Random
from typing import NamedTuple

import anyio
from anyio.abc import ByteStream, SocketStream, TaskStatus
from anyio.streams.tls import TLSStream

from lottisync.device.membership import Strangers, bind_hosts
from lottisync.device.peers import forget_handed_over, remember_listening
from lottisync.identity.device_key import DeviceKey
from lottisync.net.address import Address, may_be_lost
from lottisync.net.doorway import welcome
from lottisync.net.listener import listen, local_host, port_of
from lottisync.problem import Problem, Sentence
from lottisync.protocol import message as m
from lottisync.protocol.framing import frame
from lottisync.store.database import DAMAGED
from lottisync.store.doorbell import Bell
from lottisync.store.instant import iso
from lottisync.store.reader import ChangeToken
from lottisync.store.store import Store
from lottisync.sync import duplicate_key
from lottisync.sync.allowance import Allowance
from lottisync.sync.commits import Commits
from lottisync.sync.connection import Connection, steady_now
from lottisync.sync.connections import REVOKED, SETTLED_SECONDS, Connections
from lottisync.sync.conversation import Conversation
from lottisync.sync.dial_plan import Failure
from lottisync.sync.dialling import Dialling, Met
from lottisync.sync.event import (
    ClockAhead,
    ClockSaid,
    DuplicateKey,
    Event,
    Failed,
    Greeted,
    PeerChanged,
    kind_of_refusal,
    words,
)
from lottisync.sync.far_clocks import FarClocks
from lottisync.sync.handshake import HANGS_UP, dial
from lottisync.sync.meeting import Meeting
from lottisync.sync.off_loop import Caller, in_thread
from lottisync.sync.peer import PeerState
from lottisync.sync.peer_record import PeerRecord
from lottisync.sync.peer_states import PeerStates
from lottisync.sync.reception import EACH_DEVICE, Reception
from lottisync.sync.refusal import Kind, kind_of
from lottisync.sync.scrub import Scrub
from lottisync.sync.trust import Trust
from lottisync.sync.usable import FAILED, UsableStores
from lottisync.sync.verification import Verification

PROBE_SECONDS = 1.5
"""Within which a connection gives a sign of life after the network has changed."""
FAREWELL_SECONDS = 1.0
"""How long a device that was revoked may take to read that."""
AGAIN_SECONDS = 10.0
"""How often a disk that failed is tried: one write."""
HOPELESS_TRIES = 5
"""After so many an address that never worked is forgotten, once the device was met elsewhere."""


class Listen(NamedTuple):
    """Where to listen. `firm` is false if any other port will do when this one is taken."""

    host: str
    port: int
    firm: bool = True


async def _close(listener: anyio.abc.Listener[SocketStream]) -> None:
    with anyio.CancelScope(shield=True):
        await listener.aclose()


class Engine:
    """See the module. It is one idea, what joins the parts: a method starts some of them, or passes on what one of them
    has found.

    `roster` is the store among `stores` that holds the devices of the person. `look_for_stores` adds to `stores` those
    that were made since, and says why others are left out (`Device.look_for_stores`). `report` is called with (code,
    sentence) for what happens, `status` whenever `snapshot` may say something else. `patience` is how long (s) a
    connection may take to give a sign of life, when another program greets with the same key. `again` is how often (s)
    a disk that failed is tried."""

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
        leaving: bool = False,
        again: float = AGAIN_SECONDS,
        look_for_stores: Callable[[], Mapping[str, Problem]] = dict,
    ) -> None:
        self.duplicate_key_at: str | None = None
        """When a peer last said that this device's key runs twice."""
        self.port = 0
        self._key, self._stores, self._listen, self._discover = key, stores, listen, discover
        self._space, self._space_name = roster, roster.schema.name
        self._clock, self._chance, self._call = clock, chance, call
        self._report, self._status = report, status
        self._boot = chance.randbytes(16)
        self._allowances: dict[str, Allowance] = {}
        self._usable = UsableStores(stores, roster.schema.name, look_for_stores)
        self._again = again
        self._trust = Trust(key, roster, call, clock=clock, leaving=leaving)
        self._dialled: set[str] = set()
        self._unheard = False
        """Whether this machine lacks the address on which this device listens."""
        self._reception = Reception(report, self._too_many)
        self._record = PeerRecord(roster, call, clock=clock, report=report)
        self._peers = PeerStates(
            self._usable, self._record, call, clock=clock, where=lambda device: self.meeting.addresses(device)
        )
        self._connections = Connections(
            key.device_id,
            self.peers,
            patience=patience,
            opened=self._opened,
            closed=self._closed,
            duplicate=self._duplicate,
        )
        self._far_clocks = FarClocks(self.peers, report)
        self.scrub = Scrub(self._usable, call, idle=self._idle, report=report, changed=self._moved)
        self._verification = Verification(
            stores,
            roster,
            self.connections,
            self.scrub,
            call,
            clock=clock,
            report=report,
            failing=self._usable.why,
        )
        self._commits = Commits(
            self._usable,
            roster,
            key,
            self.connections,
            self._verification,
            call,
            clock=clock,
            report=report,
            committed=self._committed,
            compared=self._compared,
            unusable=self._cannot_use,
            added=self._added,
        )

    @property
    def device(self) -> str:
        return self._key.device_id

    @property
    def peers(self) -> dict[str, PeerState]:
        """How the person's other devices stand, by id. `snapshot` brings it up to date."""
        return self._peers.states

    @property
    def connections(self) -> dict[str, Connection]:
        """The connections that have greeted, by device."""
        return self._connections.living

    async def snapshot(self) -> list[PeerState]:
        """The peers as they stand now, by name."""
        return await self._peers.snapshot([connection.status.receiving for connection in self.connections.values()])

    def unusable(self) -> dict[str, Sentence]:
        """Why stores do not sync, by name."""
        return self._usable.why()

    def nearby(self) -> int:
        """How many programs announce themselves that are none of this person's devices."""
        return self.meeting.nearby()

    def look_again(self) -> None:
        """Read again where the other devices are: a command may have entered an address."""
        self._tasks.start_soon(self._look_again)

    async def _look_again(self) -> None:
        try:
            await self.meeting.look_again()
        except Problem as problem:  # until it can be read, what was read before counts
            if not self._cannot_use(problem):
                self._report("failed", problem.message)

    # -- life

    async def run(self, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED) -> None:
        """Until cancelled. Reports the port once it listens. Raises `Problem` if it cannot listen."""
        await self._call(self._usable.look)
        await self._call(lambda: bind_hosts(self._stores, self._key, self._clock()))
        await self._load_roster()
        listener = await self._open_listener()
        self.port = port_of(listener)
        here = Address(self._listen.host, self.port)
        await self._record.write(lambda: remember_listening(self._space, here, self._clock()))
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(_close, listener)
            bell = Bell(self._space.file.parent / "bells", f"sync-{self._boot.hex()[:12]}")
            stack.callback(bell.close)
            stack.push_async_callback(self._peers.remember_last_connections)
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                self._begin_meeting()
                tasks.start_soon(welcome, listener, self._accept, self._reception.no_connection)
                tasks.start_soon(self._commits.watch, bell)
                tasks.start_soon(self.scrub.run)
                tasks.start_soon(self._verification.run)
                tasks.start_soon(self._peers.keep_absences)
                tasks.start_soon(self._try_disks)
                await self._look_for_members()
                self._status()
                async with self.meeting.running(tasks, discover=self._discover):
                    task_status.started(self.port)
                    await anyio.sleep_forever()

    def _begin_meeting(self) -> None:
        self.dialling = Dialling(
            self._tasks,
            connect=lambda device, address: dial(address, self._trust.dial_context, self._peers.name(device)),
            meet=self._meet,
            is_connected=lambda device: device in self.connections,
            is_polite=lambda device: device < self._key.device_id,
            chance=self._chance,
            failed=self._failed,
            name=self._peers.name,
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
                if error.errno in (errno.EMFILE, errno.ENFILE):
                    raise  # another port is no help
                reason = error.strerror or str(error)
        raise Problem(
            "cannot-listen",
            "cannot listen on {where} ({reason})",
            hint="other-port",
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
        names = {device: member.name for device, member in trusted.items()}
        for device in self._peers.know(names, self._trust.active):
            self._connections.revoke(device)
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
            return Met(Failure("refused", Sentence("there is a connection already")))
        self._dialled.add(device)
        began = anyio.current_time()
        try:
            ended = await self._run_connection(stream, device, dialled=True, address=address)
        finally:
            self._dialled.discard(device)
        if anyio.current_time() - began >= SETTLED_SECONDS:
            return Met()
        if ended is not None and ended.code == "goodbye":
            return Met(Failure("unreachable", Sentence("its program has stopped")))
        state = self.peers.get(device)
        text = (state.error if state is not None else None) or Sentence("the connection ended at once")
        return Met(Failure("version" if ended is not None and ended.code == "version" else "refused", text))

    def _failed(self, device: str, address: Address, failure: Failure) -> None:
        if device not in self.connections:
            self._peers.unreachable(device, address, failure)
        self._status()

    def _network_changed(self, hosts: set[str]) -> None:
        gone = may_be_lost(self._listen.host) and self._listen.host.partition("%")[0] not in hosts
        if gone and not self._unheard:
            self._report(
                "no-listen-address",
                f"this machine no longer has the address {self._listen.host}, on which this device listens: no device"
                " can connect to it there until the address is back. It goes on dialling the others itself",
            )
        self._unheard = gone
        for connection in self._connections.moved(hosts):
            self._tasks.start_soon(self._connections.unless_it_lives, connection, PROBE_SECONDS)

    # -- accepting

    async def _accept(self, raw: SocketStream) -> None:
        await self._reception.receive(raw, self._trust.serve_context, self._serve)

    async def _serve(self, stream: TLSStream, device: str) -> None:
        if device not in self.peers:
            await self._turn_out(stream, device)
            return
        await self._run_connection(stream, device, dialled=False, address=None)

    async def _turn_out(self, stream: TLSStream, device: str) -> None:
        """Tell a device that it was revoked, and no more (NET-50): its person need not pair it again for nothing."""
        member = self._trust.roster.members.get(device)
        self._report("refused", f"{member.name if member else device[:8]} was revoked; it connected, and was told so")
        try:
            with anyio.move_on_after(FAREWELL_SECONDS), contextlib.suppress(OSError, *HANGS_UP):
                await stream.send(frame(m.encode(REVOKED)))
                await stream.receive()  # until it has hung up: a reset would overtake the word
        finally:
            await anyio.aclose_forcefully(stream)

    # -- connections

    async def _run_connection(
        self, stream: ByteStream, device: str, *, dialled: bool, address: Address | None
    ) -> m.Close | None:
        now, steady = self._clock(), steady_now()
        conversation = Conversation(
            device=self._key.device_id,
            boot=self._boot,
            stores=self._usable.shared(),
            strangers=Strangers(self._space, self._key.certificate),
            dialled=dialled,
            now=now,
            steady=steady,
            expected=device,
            members=self._trust.members,
            allowance=self._allowances.setdefault(device, Allowance()),
            failing=list(self._usable.why()),
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
        self._connections.begin(connection, local_host(stream))
        try:
            await connection.run()
        except Exception as error:  # noqa: BLE001 - a fault in this program costs this connection, and no other
            self._report("fault", f"the connection to {self._peers.name(device)} broke off: {_fault(error)}")
        finally:
            self._connections.end(connection)
            if connection.ended is not None:
                self._ended(connection, connection.ended)
            answers = dialled or (connection.ended is not None and connection.ended.code == "version")
            if connection.peer_boot == b"" and answers and device in self.peers and device not in self.connections:
                self._peers.hung_up(device, connection.ended)
                self._status()
        return connection.ended

    def _ended(self, connection: Connection, last: m.Close) -> None:
        device, name = connection.device, self._peers.name(connection.device)
        ours = isinstance(last.reason, Sentence)  # what the other side says is plain text
        if last.code == "timeout" and ours and connection.peer_boot == b"" and not connection.dialled:
            self._turned_away(device, Sentence("{name} opened a connection and said nothing: it was closed", name=name))
        else:
            self._refused(device, kind_of(last.code), Sentence("{name}: {why}", name=name, why=last.reason))

    def _too_many(self, device: str) -> None:
        name = self._peers.name(device)
        self._turned_away(
            device,
            Sentence(
                "{name} opened more than {count} connections at one time: it gets no more of them",
                name=name,
                count=EACH_DEVICE,
            ),
        )

    def _turned_away(self, device: str, reason: Sentence) -> None:
        """A connection that a device of the person has opened was closed before anything was said (NET-52, NET-53)."""
        self._report("refused", reason)
        self._refused(device, "connection", reason)

    async def _happened(self, connection: Connection, event: Event, address: Address | None) -> None:
        match event:
            case Greeted():
                objection = await self._connections.greet(connection, event.boot, address)
                if objection is not None:
                    connection.close(objection.code, objection.reason)
            case PeerChanged():
                self._moved()
            case DuplicateKey():
                self._runs_twice()
            case Failed(problem) if problem.code in (DAMAGED, FAILED):
                if self._cannot_use(problem):
                    return
            case ClockAhead(host, millis):
                self._far_clocks.found(host, millis, self._trust.roster.host_owner)
            case ClockSaid(millis):
                if self._far_clocks.said(connection.device, millis, self._clock()):
                    self._status()
            case _:
                pass
        said = words(event, self._peers.name(connection.device))
        if said is not None:
            self._report(*said)
            self._refused(connection.device, kind_of_refusal(event), said[1])

    def _refused(self, device: str, kind: Kind | None, reason: str) -> None:
        """Something was refused between this device and another, if it has a kind: `status` has it at once."""
        if kind is not None:
            self._peers.refused(device, kind, reason if isinstance(reason, Sentence) else Sentence(reason))
            self._status()

    def _added(self, names: Sequence[str]) -> None:
        """Stores that programs have made since this one started take part from the next connections on (STORE-955)."""
        for name in names:
            self._report("store-added", f"the store {name} is new here: it syncs")
        self._connect_again(f"{names[0]} is new here")

    def _connect_again(self, why: str) -> None:
        """A connection goes on with the stores that it began with."""
        for connection in list(self.connections.values()):
            connection.close("stores", f"{why}; the two connect again")
        self._status()

    def _cannot_use(self, problem: Problem) -> bool:
        """Whether a problem is that of a store whose file cannot be used: that is said once, and the other stores sync
        without it (STORE-81, STORE-750)."""
        name = self._usable.leave_out(problem)
        if name is not None:
            self._report("failed", f"{name} does not sync: {problem.message}")
            self._moved()
        return name is not None or self._usable.is_out(problem)

    async def _try_disks(self) -> None:
        """A store whose disk answers again takes part again, on new connections (STORE-752)."""
        while True:
            await anyio.sleep(self._again)
            for name in self._usable.failing():
                if await self._call(partial(self._usable.answers, name)):
                    self._report("works-again", f"the disk of {name} answers again: it syncs")
                    self._connect_again(f"{name} can be used again")

    def _opened(self, connection: Connection, address: Address | None) -> None:
        device = connection.device
        self._forget_dead(device)
        self.dialling.connected(device)
        is_news = not self._peers.states[device].connected  # both may have dialled, and one connection takes over
        self._peers.connected(device, connection.status, address)
        if address is not None:
            self._reception.met(address.host)
            self._tasks.start_soon(self._record.reached, device, address)
        else:
            self._tasks.start_soon(self._record.connected, device)
        if is_news:
            self._report("connected", f"connected to {self._peers.name(device)}")
        self._moved()

    def _forget_dead(self, device: str) -> None:
        """The device is connected: addresses that it named at pairing and that always failed are forgotten (MEET-41).
        Where it is now, its record says."""
        dead = [each.address for each in self.dialling.known(device) if each.failures >= HOPELESS_TRIES]
        if dead:
            now = self._clock()
            self._tasks.start_soon(self._record.write, lambda: forget_handed_over(self._space, device, dead, now))

    def _closed(self, connection: Connection, lasted: bool) -> None:
        device = connection.device
        if device in self.peers:
            self._peers.disconnected(device, connection.ended, here=connection.ended_here)
            self._tasks.start_soon(self._record.connected, device)
            self._report("disconnected", f"connection to {self._peers.name(device)} ended")
        self.look_again()
        self.dialling.disconnected(device, lasted=lasted)
        self._moved()

    def _duplicate(self, connection: Connection, news: bool) -> None:
        """Another program greets with the key of a device that is connected."""
        self._peers.duplicate_key(connection.device)
        if news:
            self._report("duplicate-key", str(duplicate_key.warning(self._peers.name(connection.device))))
        self._status()

    def _runs_twice(self) -> None:
        """A peer says that another program has our key."""
        if self.duplicate_key_at is None:
            self._report("duplicate-key", str(duplicate_key.warning(None)))
        self.duplicate_key_at = iso(self._clock())
        self._status()

    def _idle(self) -> bool:
        """Whether no round is coming in."""
        return all(connection.status.receiving is None for connection in self.connections.values())


def _fault(error: BaseException) -> str:
    """What went wrong, and in which line: for the one who looks for the cause."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].name}, {PurePath(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"
