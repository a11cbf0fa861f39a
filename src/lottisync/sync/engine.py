"""The peer-sync engine: one connection per reachable device (docs/specs/07-sync.md, section 7).

It listens, it keeps one connection for each device of the roster, and it tells every connection when something was
committed here, by whichever process. Each part has a module:

- `meeting` and `dialling` find the devices and dial them; `reception` lets in who dials us;
- `connections` says which of several connections with a device is kept;
- `commits` notices what was committed here;
- `peer_states` has the state of each device, and `incidents` what went wrong with it;
- `usable` has the stores that can be used, and `outages` says when one comes or goes;
- `scrub` and `verification` look for differences and damage.

The engine starts them, and carries word from one to the other.
"""

import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from random import Random

import anyio
from anyio.abc import ByteStream, SocketStream, TaskStatus
from anyio.streams.tls import TLSStream

from lottisync.device.device import Device
from lottisync.device.peers import forget_handed_over, remember_listening
from lottisync.net.address import Address, may_be_lost
from lottisync.net.doorway import welcome
from lottisync.net.listener import Listen, local_host, open_listener, port_of
from lottisync.problem import Problem, Sentence
from lottisync.protocol import message as m
from lottisync.store.database import DAMAGED
from lottisync.store.doorbell import Bell
from lottisync.store.reader import ChangeToken
from lottisync.sync import duplicate_key
from lottisync.sync.allowance import Allowance
from lottisync.sync.commits import Commits
from lottisync.sync.connection import Connection, steady_now
from lottisync.sync.connections import SETTLED_SECONDS, Connections
from lottisync.sync.conversation import Conversation
from lottisync.sync.dial_plan import Failure
from lottisync.sync.dialling import Dialling, Met
from lottisync.sync.event import ClockAhead, ClockSaid, DuplicateKey, Event, Failed, Greeted, PeerChanged
from lottisync.sync.far_clocks import FarClocks
from lottisync.sync.handshake import dial
from lottisync.sync.incidents import Incidents
from lottisync.sync.meeting import Meeting
from lottisync.sync.off_loop import Caller, in_thread
from lottisync.sync.outages import AGAIN_SECONDS, Outages
from lottisync.sync.peer import PeerState
from lottisync.sync.peer_record import PeerRecord
from lottisync.sync.peer_states import PeerStates
from lottisync.sync.reception import Reception, turn_out
from lottisync.sync.scrub import Scrub
from lottisync.sync.trust import Trust
from lottisync.sync.usable import FAILED, UsableStores
from lottisync.sync.verification import Verification

PROBE_SECONDS = 1.5
"""Within which a connection gives a sign of life after the network has changed."""
HOPELESS_TRIES = 5
"""After so many an address that never worked is forgotten, once the device was met elsewhere."""


async def _close(listener: anyio.abc.Listener[SocketStream]) -> None:
    with anyio.CancelScope(shield=True):
        await listener.aclose()


class Engine:
    """See the module. It is one idea, what joins the parts: a method starts some of them, or passes on what one of them
    has found.

    `report` is called with (code, sentence) for what happens, `status` whenever `snapshot` may say something else.
    A device that is `leaving` stays retired. `patience` is how long (s) a connection may take to give a sign of life,
    when another program greets with the same key. `again` is how often (s) a disk that failed is tried.

    Two engines for one device turn each other away, as a copy would be."""

    dialling: Dialling
    meeting: Meeting
    """These two live as long as `run`: it makes them with its task group and the port that it listens on."""

    def __init__(
        self,
        device: Device,
        listen: Listen,
        *,
        discover: bool,
        chance: Random,
        call: Caller = in_thread,
        report: Callable[[str, str], None] = lambda code, text: None,
        status: Callable[[], None] = lambda: None,
        patience: float = duplicate_key.LIVING_SECONDS,
        leaving: bool = False,
        again: float = AGAIN_SECONDS,
    ) -> None:
        self.port = 0
        self._device, self._listen, self._discover = device, listen, discover
        self._clock = clock = device.environment.now
        self._chance, self._call, self._report, self._status = chance, call, report, status
        self._boot = chance.randbytes(16)
        self._allowances: dict[str, Allowance] = {}
        self._usable = UsableStores(device)
        self._trust = Trust(device, call, leaving=leaving)
        self._dialled: set[str] = set()
        self._unheard = False
        """Whether this machine lacks the address on which this device listens."""
        self._record = PeerRecord(device.space, call, clock=clock, report=report)
        self._peers = PeerStates(
            self._usable, self._record, call, clock=clock, where=lambda device: self.meeting.addresses(device)
        )
        self._incidents = Incidents(self._peers, report=report, changed=status)
        self.reception = Reception(report, self._incidents.too_many)
        self._connections = Connections(
            device.id,
            self.peers,
            patience=patience,
            opened=self._opened,
            closed=self._closed,
            duplicate=self._incidents.duplicate,
        )
        self._outages = Outages(self._usable, self.connections, call, report=report, changed=self._moved, again=again)
        self._far_clocks = FarClocks(self.peers, report)
        self.scrub = Scrub(self._usable, call, idle=self._idle, report=report, changed=self._moved)
        self._verification = Verification(
            device.stores,
            device.space,
            self.connections,
            self.scrub,
            call,
            clock=clock,
            report=report,
            failing=self._usable.why,
        )
        self._commits = Commits(
            device,
            self._usable,
            self.connections,
            self._verification,
            call,
            report=report,
            committed=self._committed,
            compared=self._compared,
            unusable=self._outages.leave_out,
            added=self._outages.added,
        )

    @property
    def device(self) -> str:
        """The id of the device that this engine keeps in sync."""
        return self._device.id

    @property
    def duplicate_key_at(self) -> str | None:
        """When a peer last said that this device's key runs twice."""
        return self._incidents.duplicate_key_at

    @property
    def peers(self) -> dict[str, PeerState]:
        """The states of the person's other devices, by id. `snapshot` brings it up to date."""
        return self._peers.states

    @property
    def connections(self) -> dict[str, Connection]:
        """The connections that have greeted, by device."""
        return self._connections.living

    async def snapshot(self) -> list[PeerState]:
        """The peers as they are now, by name."""
        return await self._peers.snapshot([connection.status.receiving for connection in self.connections.values()])

    def unusable(self) -> dict[str, Sentence]:
        """Why stores do not sync, by name."""
        return self._usable.why()

    def nearby(self) -> int:
        """How many programs announce themselves and are not this person's devices."""
        return self.meeting.nearby()

    def look_again(self) -> None:
        """Read again where the other devices are: a command may have entered an address."""
        self._tasks.start_soon(self._look_again)

    async def _look_again(self) -> None:
        try:
            await self.meeting.look_again()
        except Problem as problem:  # until it can be read, what was read before counts
            if not self._outages.leave_out(problem):
                self._report("failed", problem.message)

    # -- life

    async def run(self, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED) -> None:
        """Until cancelled. Reports the port once it listens. Raises `Problem` if it cannot listen."""
        await self._call(self._usable.look)
        await self._call(lambda: self._device.bind_hosts(self._clock()))
        await self._load_roster()
        listener = await open_listener(self._listen)
        self.port = port_of(listener)
        here = Address(self._listen.host, self.port)
        await self._record.write(lambda: remember_listening(self._device.space, here, self._clock()))
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(_close, listener)
            bell = Bell(self._device.bells, f"sync-{self._boot.hex()[:12]}")
            stack.callback(bell.close)
            stack.push_async_callback(self._peers.remember_last_connections)
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                self._begin_meeting()
                tasks.start_soon(welcome, listener, self._accept, self.reception.no_connection)
                tasks.start_soon(self._commits.watch, bell)
                tasks.start_soon(self.scrub.run)
                tasks.start_soon(self._verification.run)
                tasks.start_soon(self._peers.keep_absences)
                tasks.start_soon(self._outages.try_disks)
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
            is_polite=lambda device: device < self._device.id,
            chance=self._chance,
            failed=self._failed,
            name=self._peers.name,
        )
        self.meeting = Meeting(
            device=self._device,
            host=self._listen.host,
            port=self.port,
            chance=self._chance,
            call=self._call,
            dialling=self.dialling,
            report=self._report,
            changed=self._status,
            network_changed=self._network_changed,
        )

    # -- the roster, and what is committed here

    async def _load_roster(self) -> None:
        trusted, hosts = await self._trust.load()
        self.reception.know(hosts)
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
        space = self._device.space.schema.name
        if moments[space] != before.get(space):
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
        text = (state.failure if state is not None else None) or Sentence("the connection ended at once")
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
        await self.reception.receive(raw, self._trust.serve_context, self._serve)

    async def _serve(self, stream: TLSStream, device: str) -> None:
        if device not in self.peers:
            member = self._trust.roster.members.get(device)
            name = member.name if member else device[:8]
            self._report("refused", f"{name} was revoked; it connected, and was told so")
            await turn_out(stream)
            return
        await self._run_connection(stream, device, dialled=False, address=None)

    # -- connections

    async def _run_connection(
        self, stream: ByteStream, device: str, *, dialled: bool, address: Address | None
    ) -> m.Close | None:
        conversation = Conversation(
            self._device,
            boot=self._boot,
            dialled=dialled,
            now=self._clock(),
            steady=steady_now(),
            expected=device,
            stores=self._usable.shared(),
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
            self._incidents.fault(device, error)
        finally:
            self._connections.end(connection)
            if connection.ended is not None:
                self._incidents.ended(connection, connection.ended)
            answers = dialled or (connection.ended is not None and connection.ended.code == "version")
            if connection.peer_boot == b"" and answers and device in self.peers and device not in self.connections:
                self._peers.hung_up(device, connection.ended)
                self._status()
        return connection.ended

    async def _happened(self, connection: Connection, event: Event, address: Address | None) -> None:
        match event:
            case Greeted():
                objection = await self._connections.greet(connection, event.boot, address)
                if objection is not None:
                    connection.close(objection.code, objection.reason)
            case PeerChanged():
                self._moved()
            case DuplicateKey():
                self._incidents.runs_twice(self._clock())
            case Failed(problem) if problem.code in (DAMAGED, FAILED):
                if self._outages.leave_out(problem):
                    return
            case ClockAhead(host, millis):
                self._far_clocks.found(host, millis, self._trust.roster.host_owner)
            case ClockSaid(millis):
                if self._far_clocks.said(connection.device, millis, self._clock()):
                    self._status()
            case _:
                pass
        self._incidents.happened(connection, event)

    def _opened(self, connection: Connection, address: Address | None) -> None:
        device = connection.device
        self._forget_dead(device)
        self.dialling.connected(device)
        is_news = not self._peers.states[device].connected  # both may have dialled, and one connection takes over
        self._peers.connected(device, connection.status, address)
        if address is not None:
            self.reception.met(address.host)
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
            self._tasks.start_soon(
                self._record.write, lambda: forget_handed_over(self._device.space, device, dead, now)
            )

    def _closed(self, connection: Connection, lasted: bool) -> None:
        device = connection.device
        if device in self.peers:
            self._peers.disconnected(device, connection.ended, here=connection.ended_here)
            self._tasks.start_soon(self._record.connected, device)
            self._report("disconnected", f"connection to {self._peers.name(device)} ended")
        self.look_again()
        self.dialling.disconnected(device, lasted=lasted)
        self._moved()

    def _idle(self) -> bool:
        """Whether no round is coming in."""
        return all(connection.status.receiving is None for connection in self.connections.values())
