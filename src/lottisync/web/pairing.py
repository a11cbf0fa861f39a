"""Pairing from a page: a code that is shown, a code that is typed, an invitation (docs/specs/18-web.md, section 7).

A code is good for two minutes, and has to be listened for all that time. So it outlives the request that asked for it:
it runs in the daemon's event loop, and the page shows its state. An invitation is a row of the home, which the daemon
answers (`lottisync.device.invitation_server`).
"""

from typing import NamedTuple

import anyio
from anyio import TASK_STATUS_IGNORED
from anyio.abc import TaskGroup, TaskStatus

from lottisync.device import invitations
from lottisync.device.device import Device
from lottisync.device.invitations import Given
from lottisync.device.pairing import ANYWHERE, admit, own_side
from lottisync.identity.invitation import SECRET_BYTES
from lottisync.identity.pairing import Paired
from lottisync.identity.pairing_offer import OFFER_LIFETIME_MS, CodeOffer, new_code, parse_code
from lottisync.net.address import Address
from lottisync.net.pairing import Self, show_code, type_code
from lottisync.problem import Problem

INVITATION_MINUTES = 15


class Shown(NamedTuple):
    """A code on a page: as people read it, the port at which it is typed, until when it is good (ms)."""

    code: str
    port: int
    until: int


class Joined(NamedTuple):
    """A device that was paired with: what it is called now, and the words that both sides show."""

    name: str
    words: str


class Pairing:
    """The code that this device's pages show, one at a time, and how the last pairing ended."""

    def __init__(self, device: Device, listen: Address = ANYWHERE, *, discover: bool = True) -> None:
        self._device = device
        self._listen = listen
        self._discover = discover
        self._tasks: TaskGroup | None = None
        self._scope: anyio.CancelScope | None = None
        self.shown: Shown | None = None
        self.ended: Joined | Problem | None = None

    async def run(self, *, task_status: TaskStatus[None] = TASK_STATUS_IGNORED) -> None:
        """Run the codes that pages show, until cancelled."""
        async with anyio.create_task_group() as self._tasks:
            task_status.started()
            await anyio.sleep_forever()

    async def show(self) -> None:
        """Show a code, in the place of the one before. Raises `Problem` if nothing can listen."""
        if self._tasks is None:
            raise Problem("no-daemon", "no daemon runs here, so nobody would answer", hint="daemon")
        self.stop()
        await self._tasks.start(self._answer)
        if isinstance(self.ended, Problem):
            raise self.ended

    def stop(self) -> None:
        """Show the code no more, and forget how the last pairing ended."""
        if self._scope is not None:
            self._scope.cancel()
        self.shown = self.ended = None

    async def type(self, code: str, at: Address | None) -> None:
        """Pair with the device that shows `code`: at an address, or wherever mDNS finds it. Raises `Problem`."""
        self.stop()
        digits = parse_code(code)
        paired = await type_code(await self._me(), digits, at=at, search_from=self._listen.host)
        self.ended = await anyio.to_thread.run_sync(self._take_in, paired)

    def invite(self) -> Given:
        """Give out an invitation, which the daemon answers. Raises `Problem` if too many are open."""
        device = self._device
        now = device.environment.now()
        until = now + INVITATION_MINUTES * 60_000
        return invitations.give_out(device.space, _random(device, SECRET_BYTES), until, self._listen, now)

    async def _answer(self, *, task_status: TaskStatus[None]) -> None:
        device = self._device
        now = device.environment.now
        until = now() + OFFER_LIFETIME_MS
        offer = CodeOffer(new_code(_random(device, 64)), until)

        def ready(port: int) -> None:
            self.shown = Shown(offer.shown, port, until)
            task_status.started()

        with anyio.CancelScope() as scope:
            self._scope = scope
            me = await self._me()
            outcome: Joined | Problem
            try:
                paired = await show_code(me, offer, self._listen, discover=self._discover, clock=now, ready=ready)
                outcome = await anyio.to_thread.run_sync(self._take_in, paired)
            except Problem as problem:
                outcome = problem
            nothing_listens = self.shown is None
            if self._scope is scope:
                self.shown, self.ended = None, outcome
            if nothing_listens:
                task_status.started()

    async def _me(self) -> Self:
        me = await anyio.to_thread.run_sync(own_side, self._device)
        return me._replace(consent=self._refuse_revoked)

    def _refuse_revoked(self, device: str) -> None:
        """A device that was taken out for good may be in other hands: a terminal asks about it, a page refuses."""
        member = self._device.roster().members.get(device)
        if member is not None and member.status == "revoked":
            raise Problem(
                "revoked",
                "{name} was taken out for good here, and stays out. To take it back in, pair in a terminal",
                name=member.name,
            )

    def _take_in(self, paired: Paired) -> Joined:
        name, _ = admit(self._device, paired)
        return Joined(name, " ".join(paired.words))


def _random(device: Device, size: int) -> bytes:
    return b"".join(device.environment.new_seed() for _ in range(0, size, 32))[:size]
