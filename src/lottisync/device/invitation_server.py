"""Answers the invitations of a home (docs/specs/16-meeting.md, section 6).

It listens for each invitation on a separate port, until a day after the invitation has ended. So a device that comes
late gets the answer `used` or `expired`. It keeps nothing itself. Each connection reads the row again, so a change by a
command counts at once, and a restart loses nothing.

A device that joins is recorded before it hears that it has joined. If this program is killed in between, the
invitation is used up and no device has joined by it: the person makes another one. The other order would let a second
device in.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import anyio
from anyio.abc import Listener, SocketStream, TaskGroup

from lottisync.device import clock, invitations
from lottisync.device.device import Device
from lottisync.device.invitations import Given
from lottisync.device.pairing import admit, own_side
from lottisync.identity.invitation import InvitationOffer
from lottisync.identity.pairing import Paired
from lottisync.identity.pairing_message import PairingError
from lottisync.net.address import Address
from lottisync.net.doorway import Slots, remote_host, welcome
from lottisync.net.listener import listen, port_of
from lottisync.net.pairing import BROKEN_OFF, let_in
from lottisync.problem import Problem
from lottisync.store.doorbell import Bell

SETTLE_SECONDS = 0.1
"""The shortest pause between two looks, and between a commit and the look that follows."""
LOOK_SECONDS = 60.0
"""The longest pause between two looks: some invitations may have to be forgotten."""
AGAIN_SECONDS = 10.0
"""Until a port that could not be had is tried again."""


class InvitationServer:
    """`report` is called with (code, sentence); with `only`, other invitations than that one are left alone."""

    def __init__(self, device: Device, report: Callable[[str, str], None], only: int | None = None) -> None:
        self._device, self._report, self._only = device, report, only
        self._space, self._now = device.space, device.environment.now
        self._open: dict[bytes, anyio.CancelScope] = {}
        self._slots = Slots(kept=0)

    async def run(self) -> None:
        """Until cancelled. Raises `Problem` if the store cannot be read."""
        bell = Bell(self._device.bells, f"invitations-{clock.token(6)}")
        try:
            async with anyio.create_task_group() as tasks:
                while True:
                    bell.clear()
                    self._follow(tasks, await anyio.to_thread.run_sync(self._kept))
                    with anyio.move_on_after(LOOK_SECONDS):
                        await anyio.wait_readable(bell)
                        # What was committed goes to the other devices first: this would take a thread beside it.
                        await anyio.sleep(SETTLE_SECONDS)
        finally:
            self._open.clear()
            bell.close()

    def _kept(self) -> dict[bytes, Given]:
        given = invitations.given_out(self._space, self._now())
        return {each.secret: each for each in given if self._only in (None, each.number)}

    def _follow(self, tasks: TaskGroup, kept: dict[bytes, Given]) -> None:
        """Listen for those that are kept and for no others."""
        for secret in self._open.keys() - kept.keys():
            self._open.pop(secret).cancel()
            tasks.start_soon(self._forget)
        for secret in kept.keys() - self._open.keys():
            self._open[secret] = anyio.CancelScope()
            tasks.start_soon(self._answer, kept[secret], self._open[secret])

    async def _forget(self) -> None:
        with suppress(Problem):  # a full disk: they are passed over all the same
            await anyio.to_thread.run_sync(invitations.forget_old, self._space, self._now())

    async def _answer(self, given: Given, scope: anyio.CancelScope) -> None:
        with scope:
            listener = await self._listener(given)
            try:
                await self._note_listening(given, port_of(listener), "")
                await welcome(listener, partial(self._serve, given.number))
            finally:
                with anyio.CancelScope(shield=True):
                    await listener.aclose()

    async def _listener(self, given: Given) -> Listener[SocketStream]:
        """On the port that the invitation names: where it cannot be had, it is tried again."""
        said = given.failure
        while True:
            try:
                return await listen(Address(given.host, given.port or given.wanted))
            except OSError as error:
                reason = error.strerror or str(error)
                if reason != said:
                    self._report(
                        "failed", f"invitation {given.number} cannot be answered, and is tried again: {reason}"
                    )
                    await self._note_listening(given, given.port, reason)
                said = reason
            await anyio.sleep(AGAIN_SECONDS)

    async def _note_listening(self, given: Given, port: int, failure: str) -> None:
        if (given.port, given.failure) == (port, failure):
            return
        try:
            await anyio.to_thread.run_sync(
                invitations.note_listening, self._space, given.number, port, failure, self._now()
            )
        except Problem as problem:
            self._report("failed", problem.message)

    async def _serve(self, number: int, raw: SocketStream) -> None:
        host = remote_host(raw)
        if not self._slots.take(host):
            await anyio.aclose_forcefully(raw)
            return
        try:
            await self._pair(number, raw)
        except PairingError as error:
            self._report("refused", f"a device that came with invitation {number} was refused: {error.message}")
        except Problem as problem:
            self._report("failed", f"nobody could join by invitation {number}: {problem.message}")
        except BROKEN_OFF:
            pass  # a peer connected and went away
        finally:
            self._slots.leave(host)
            await anyio.aclose_forcefully(raw)

    async def _pair(self, number: int, raw: SocketStream) -> None:
        given = await anyio.to_thread.run_sync(invitations.given, self._space, number)
        if given is None:
            return
        me = await anyio.to_thread.run_sync(own_side, self._device)

        async def join(paired: Paired) -> None:
            name = await anyio.to_thread.run_sync(self._join, given, paired)
            self._report("joined", f"{name} joined by invitation {given.number}")

        await let_in(raw, me, given.offer(self._device.id), self._now, admit=join)

    def _join(self, given: Given, paired: Paired) -> str:
        """Take the device in; what it is called then."""
        member = self._device.roster().members.get(paired.peer_id)
        if member is not None and member.status == "revoked" and not given.takes_back:
            raise PairingError("revoked", "{name} was taken out for good here, and stays out", name=member.name)
        if not invitations.note_joined(self._space, given.number, paired, self._now()):
            raise PairingError("used", "{what} has paired a device already; make a new one", what=InvitationOffer.what)
        try:
            name, _ = admit(self._device, paired)
        except BaseException:  # raised again, whatever it is: a device that did not join uses up no invitation
            invitations.note_not_joined(self._space, given.number, self._now())
            raise
        return name
