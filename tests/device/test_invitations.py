"""Invitations that outlive the command that made them, over loopback: MEET-21 to MEET-24, MEET-27 to MEET-30."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from tests.support.event_loop import until

from lottisync.device import invitation_server, invitations
from lottisync.device.clock import MACHINE, Environment
from lottisync.device.home import Home
from lottisync.device.invitation_server import InvitationServer
from lottisync.device.invitations import MAX_ENDED, MAX_OPEN, REMEMBERED_MS, Given
from lottisync.device.pairing import admit, own_side
from lottisync.identity.pairing import Paired
from lottisync.identity.pairing_message import PairingError
from lottisync.net.address import Address
from lottisync.net.pairing import accept
from lottisync.problem import Problem

pytestmark = pytest.mark.anyio
HERE = Address("127.0.0.1", 0)
NOON = 1_764_590_400_000
MINUTE = 60_000


class Inviting:
    """A laptop with a clock that is wound by hand, and a phone."""

    def __init__(self, folder: Path) -> None:
        self.now = NOON
        environment = Environment(lambda: self.now, MACHINE.new_id, MACHINE.new_host, MACHINE.new_seed)
        self.laptop = Home.create(folder / "laptop", "laptop", environment=environment)
        self.phone = Home.create(folder / "phone", "phone")
        self.said: list[tuple[str, str]] = []

    def give_out(self, *, takes_back: bool = False) -> Given:
        secret = self.laptop.environment.new_seed()[:16]
        end = self.now + 15 * MINUTE
        return invitations.give_out(self.laptop.space, secret, end, HERE, self.now, takes_back=takes_back)

    def row(self, number: int = 1) -> Given:
        found = invitations.given(self.laptop.space, number)
        assert found is not None
        return found

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """A program of the laptop answers, until the block ends."""
        server = InvitationServer(self.laptop, lambda code, text: self.said.append((code, text)))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run)
            yield
            tasks.cancel_scope.cancel()

    async def listening(self, number: int = 1) -> Given:
        await until(lambda: self.row(number).port)
        return self.row(number)

    async def join(self, given: Given) -> Paired:
        paired = await accept(own_side(self.phone), given.invitation(self.laptop.id))
        admit(self.phone, paired)
        return paired


@pytest.fixture
def inviting(tmp_path: Path) -> Iterator[Inviting]:
    made = Inviting(tmp_path)
    yield made
    made.laptop.close()
    made.phone.close()


async def test_meet_27_an_invitation_is_answered_at_its_port_by_the_program_that_comes_next(inviting: Inviting) -> None:
    inviting.give_out()
    async with inviting.serving():
        before = await inviting.listening()
    async with inviting.serving():
        await until(lambda: _answers(before.port))
        paired = await inviting.join(before)
    row = inviting.row()
    assert (row.port, row.device, row.name) == (before.port, inviting.phone.id, "phone")
    assert row.words == " ".join(paired.words)
    assert {member.name for member in inviting.laptop.roster().active_peers()} == {"phone"}
    assert ("joined", "phone joined by invitation 1") in inviting.said


async def test_meet_28_a_late_device_hears_that_the_invitation_was_used_also_after_a_restart(
    inviting: Inviting,
) -> None:
    """MEET-21: it pairs one device, once."""
    inviting.give_out()
    async with inviting.serving():
        row = await inviting.listening()
        await inviting.join(row)
        with pytest.raises(PairingError) as refused:
            await inviting.join(row)
        assert refused.value.code == "used"
    async with inviting.serving():
        await until(lambda: _answers(row.port))
        with pytest.raises(PairingError) as refused:
            await inviting.join(row)
        assert refused.value.code == "used"


async def test_meet_28_a_late_device_hears_that_the_invitation_has_expired_until_it_is_forgotten(
    inviting: Inviting,
) -> None:
    """MEET-305: MEET-22: by the clock of the device that made it."""
    inviting.give_out()
    async with inviting.serving():
        row = await inviting.listening()
        inviting.now += 15 * MINUTE
        with pytest.raises(PairingError) as refused:
            await inviting.join(row)
        assert refused.value.code == "expired"
        inviting.now += REMEMBERED_MS
        inviting.give_out()
        await until(lambda: _free(row.port))
        with pytest.raises(Problem) as gone:
            await inviting.join(row)
        assert gone.value.code == "unreachable"
    assert row.secret not in {each.secret for each in invitations.given_out(inviting.laptop.space, inviting.now)}


async def test_meet_307_one_that_is_taken_back_has_expired(inviting: Inviting) -> None:
    inviting.give_out()
    async with inviting.serving():
        row = await inviting.listening()
        invitations.take_back(inviting.laptop.space, 1, inviting.now)
        with pytest.raises(PairingError) as refused:
            await inviting.join(row)
        assert refused.value.code == "expired"
    for number in (1, 2):
        with pytest.raises(Problem, match=f"no open invitation {number}"):
            invitations.take_back(inviting.laptop.space, number, inviting.now)


async def test_meet_29_a_device_that_cannot_be_taken_in_leaves_it_open(
    inviting: Inviting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> tuple[str, str]:
        raise Problem("disk-full", "the disk is full")

    inviting.give_out()
    async with inviting.serving():
        row = await inviting.listening()
        with monkeypatch.context() as patched:
            patched.setattr(invitation_server, "admit", full)
            with pytest.raises(Problem):
                await inviting.join(row)
            assert inviting.phone.roster().active_peers() == []
            await until(lambda: ("failed", "nobody could join by invitation 1: the disk is full") in inviting.said)
        assert inviting.row().device is None
        await inviting.join(row)


async def test_meet_29_of_two_that_come_at_once_one_joins(inviting: Inviting) -> None:
    """The second is refused where it is written down, whatever its run has seen before."""
    given = inviting.give_out()
    paired = Paired("phone", inviting.phone.id, inviting.phone.key.certificate, ("a", "b", "c", "d"))
    assert invitations.note_joined(inviting.laptop.space, given.number, paired, NOON)
    assert not invitations.note_joined(inviting.laptop.space, given.number, paired, NOON)


async def test_meet_30_a_revoked_device_stays_out_unless_the_person_said_otherwise(inviting: Inviting) -> None:
    laptop = inviting.laptop
    laptop.members.add("phone", inviting.phone.key.certificate, NOON)
    laptop.members.revoke(inviting.phone.id, (), NOON + 1)
    inviting.give_out()
    inviting.give_out(takes_back=True)
    async with inviting.serving():
        row = await inviting.listening(1)
        with pytest.raises(PairingError) as refused:
            await inviting.join(row)
        assert (refused.value.code, inviting.row(1).device) == ("revoked", None)
        assert laptop.roster().members[inviting.phone.id].status == "revoked"
        inviting.now += MINUTE
        await inviting.join(await inviting.listening(2))
    assert laptop.roster().members[inviting.phone.id].status == "active"


async def test_meet_242_a_port_that_is_taken_is_said_and_tried_again(
    inviting: Inviting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invitation_server, "AGAIN_SECONDS", 0.05)
    inviting.give_out()
    async with inviting.serving():
        row = await inviting.listening()
    with socket.create_server(("127.0.0.1", row.port)):
        async with inviting.serving():
            await until(lambda: inviting.row().failure)
            assert [code for code, _ in inviting.said] == ["failed"]
    async with inviting.serving():
        await until(lambda: not inviting.row().failure)
        await inviting.join(row)


def test_meet_27_few_are_open_and_few_that_ended_are_kept(inviting: Inviting) -> None:
    for _ in range(MAX_OPEN):
        inviting.give_out()
    with pytest.raises(Problem, match="8 invitations are open"):
        inviting.give_out()
    inviting.now += 15 * MINUTE
    for _ in range(MAX_OPEN):
        inviting.give_out()
    inviting.now += 15 * MINUTE
    inviting.give_out()
    kept = invitations.given_out(inviting.laptop.space, inviting.now)
    assert [each.state_at(inviting.now) for each in kept] == ["expired"] * MAX_ENDED + ["open"]


def test_meet_24_what_is_printed_holds_no_secret(inviting: Inviting) -> None:
    given = inviting.give_out()
    assert str(given.secret) not in f"{given} {given.offer('0' * 64)}"


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
