"""Comparing stores on request, or because a damaged row was found (docs/specs/15-mending.md, section 4).

The engine of the one program that runs for this home compares. It is woken by the commit of a request
(`lottisync.sync.verification_request`), lets its connections compare, and writes progress and outcome beside the
request. It removes a request whose bell has no listener any more. If an engine does not finish a request, the next
engine takes it up.
"""

from collections.abc import Callable, Container, Mapping

import anyio

from lottisync.problem import Problem
from lottisync.store import doorbell
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.sync.comparisons import Verified
from lottisync.sync.connection import Connection
from lottisync.sync.local_state import own_summary
from lottisync.sync.off_loop import Caller
from lottisync.sync.scrub import Scrub
from lottisync.sync.verification_request import (
    OPEN,
    VerificationRequest,
    VerificationState,
    is_kept,
    requests,
    withdraw,
)

TRIES = 5
"""How often two stores are compared that go on being written to, before it is said that they could not be."""


class Verification:
    """`space` is the store whose local table holds the requests, `connections` are those of the engine, by device;
    `report` is called with (code, sentence), and `failing` says which stores are left out here."""

    def __init__(
        self,
        stores: Mapping[str, Store],
        space: Store,
        connections: Mapping[str, Connection],
        scrub: Scrub,
        call: Caller,
        *,
        clock: Callable[[], int],
        report: Callable[[str, str], None],
        failing: Callable[[], Container[str]],
    ) -> None:
        self._failing = failing
        self._stores, self._connections, self._scrub, self._call = stores, connections, scrub, call
        self._space = space
        self._bells = self._space.file.parent / "bells"
        self._clock, self._report = clock, report
        self._news = anyio.Event()
        self._kept = self._requested = False
        """Whether there is a table of requests, and any in it."""
        self._running: dict[tuple[str, str], Connection] = {}
        self._tries: dict[tuple[str, str], int] = {}
        self._suspected: dict[str, frozenset[str]] = {}

    def look(self) -> None:
        """Something may have moved: a request, a connection, a comparison. Mostly there is nothing to compare."""
        if self._requested or self._running or self._scrub.damaged():
            self._news.set()

    def look_for_requests(self, space: Reader) -> None:
        """Look whether there are requests. Called by each reader of `space` after a commit."""
        self._kept = self._kept or is_kept(space)
        self._requested = self._kept and bool(space.local("select exists (select 1 from verifications)")[0][0])

    async def run(self) -> None:
        failing = False
        while True:
            try:
                await self._step()
                failing = False
            except Problem as problem:  # a full disk, a store that another program holds: with the next news again
                if not failing:
                    self._report("failed", f"comparing: {problem.message}")
                failing = True
            await self._news.wait()
            self._news = anyio.Event()

    async def _step(self) -> None:
        for pair, connection in list(self._running.items()):
            if self._connections.get(pair[0]) is not connection:
                del self._running[pair]  # to begin again on the next connection
        await self._ended()
        asked = [request for request in await self._call(self._living_requests) if request.open]
        for device, store in sorted({(request.device, request.store) for request in asked} | self._suspects()):
            if (device, store) in self._running:
                continue
            state = VerificationState.ASKED
            connected = self._connections.get(device)
            if connected is not None:
                state = await self._call(lambda connection=connected, store=store: self._ready(connection, store))  # type: ignore[misc]
            if any((r.device, r.store) == (device, store) and r.state is not state for r in asked):
                await self._note(device, store, state)
            if connected is not None and state is VerificationState.COMPARING:
                self._running[device, store] = connected
                await connected.verify(store)

    async def _ended(self) -> None:
        """The comparisons that have come to an end."""
        for (device, store), running in list(self._running.items()):
            outcome = running.conversation.verified.get(store)
            if outcome is None:
                continue
            del self._running[device, store]
            tries = self._tries[device, store] = self._tries.get((device, store), 0) + 1
            if not (outcome.comparable or outcome.refused) and tries < TRIES:
                self.look()  # at once again, if they know the same now
                continue
            del self._tries[device, store]
            # What was asked for meanwhile waits for a comparison of its own: this one has not seen what came since.
            begun = (VerificationState.COMPARING,)
            await self._note(device, store, _state(outcome), outcome.mended, outcome.read, of=begun)
            self._suspected[store] = self._scrub.found().get(store, frozenset())
            await self._scrub.look_again(store)

    def _suspects(self) -> set[tuple[str, str]]:
        """A store in which damage was found is compared with one device, once for all that was found so far."""
        found = set()
        for store, damaged in self._scrub.found().items():
            if damaged and self._suspected.get(store) != damaged:
                device = min(self._connections, default=None)
                if device is not None:
                    found.add((device, store))
        return found

    def _ready(self, connection: Connection, store: str) -> VerificationState:
        """Whether the store can be compared on this connection now."""
        if store in connection.status.only_here:
            return VerificationState.NOT_SHARED
        if store in connection.status.failing_there or store in self._failing():
            return VerificationState.LEFT_OUT
        theirs = connection.status.summaries.get(store)
        with self._stores[store].reading() as reader:
            same = theirs is not None and theirs.known == own_summary(reader).known
        return VerificationState.COMPARING if same else VerificationState.WAITING

    def _living_requests(self) -> list[VerificationRequest]:
        with self._space.reading() as reader:
            self.look_for_requests(reader)
        found = requests(self._space) if self._requested else []
        dead = {request.bell for request in found if not doorbell.listening(self._bells, request.bell)}
        if dead:
            withdraw(self._space, dead, self._clock())
        return [request for request in found if request.bell not in dead]

    async def _note(
        self,
        device: str,
        store: str,
        state: VerificationState,
        mended: int = 0,
        read: int | None = None,
        of: tuple[VerificationState, ...] = OPEN,
    ) -> None:
        """Note the state of the requests whose state was one `of` these; `read` is how many entities were read in the
        end."""
        what = "state = ?3, mended = mended + ?4, done = coalesce(?5, done), total = coalesce(?5, total)"
        await self._call(lambda: self._write(device, store, what, state, mended, read, of=of))

    def note_progress(self) -> None:
        """Write down how far the stores are read that are being compared; off the event loop."""
        comparing = {
            (device, store): far
            for device, connection in list(self._connections.items())
            for store, far in connection.status.comparing.items()
        }
        if not comparing:
            return
        asked = {(request.device, request.store) for request in requests(self._space)} if self._kept else set()
        for (device, store), (done, total) in comparing.items():
            if (device, store) in asked:
                self._write(device, store, "done = ?3, total = ?4", done, total)
        doorbell.ring(self._bells)  # for those who watch the status, too

    def _write(
        self, device: str, store: str, what: str, *values: object, of: tuple[VerificationState, ...] = OPEN
    ) -> None:
        states = ", ".join(f"'{state}'" for state in of)
        with self._space.transaction(self._clock(), None) as tx:
            tx.execute(
                f"update verifications set {what} where device = ?1 and store = ?2 and state in ({states})",
                (device, store, *values),
            )
            tx.changed = True


def _state(outcome: Verified) -> VerificationState:
    """How a request has ended."""
    if outcome.refused:
        return VerificationState.REFUSED
    if not outcome.comparable:
        return VerificationState.UNSETTLED
    return VerificationState.EQUAL if outcome.equal else VerificationState.DIFFERS
