"""Daemons on networks of their own: MEET-2, MEET-5, MEET-6, MEET-11, MEET-16, MEET-18, and what was found before
(REL-D3, REL-D3b, REL-D4b). The slow ones are `deep`."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.support.command_line import eventually
from tests.support.network import Cable, Machine, Network, namespaces_or_skip

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.device.peers import remember_address
from lottisync.net.address import Address
from lottisync.protocol.session import DEAD_SECONDS
from lottisync.store.instant import millis
from lottisync.sync.meeting import MAX_STRANGERS


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    namespaces_or_skip()


def connections_of(machine: Machine) -> list[str]:
    """When its daemon connected with another one, as it says itself: no command has to be started for that."""
    return [event["at"] for event in machine.daemons[0].events if event["event"] == "connected"]


def remember_dead(machine: Machine, other: Machine, count: int) -> None:
    """Let a machine remember addresses of another one that do not answer any more."""
    home, there = TaskHome.open(machine.home), TaskHome.open(other.home)
    with home.space.transaction(1, None) as tx:
        for number in range(count):
            tx.execute(
                "insert into peers(device, host, port, seen_at) values (?, ?, 22067, '2026-01-01')",
                (there.id, f"10.9.0.{100 + number}"),
            )
    home.close()
    there.close()


@contextlib.contextmanager
def inventing(stranger: Machine, count: int) -> Iterator[None]:
    """A machine that announces `count` devices that there are not."""
    call = ["ip", "netns", "exec", stranger.namespace, sys.executable, "-m", "tests.support.invented"]
    with subprocess.Popen([*call, str(count), "10.9.0.3"], stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "ready\n"
            yield
        finally:
            running.kill()


@pytest.mark.deep
def test_meet_2_rel_d3_without_multicast_a_device_that_moves_is_found_by_all(tmp_path: Path) -> None:
    """The second restarts on another port and another address. The first finds it, and so does the third, which was
    never paired with the first."""
    with Network(tmp_path, 3, multicast=False) as network:
        for number, machine in enumerate(network.machines):
            machine.address("add", f"10.9.0.{number + 1}/24")
        a, b, c = network.household()
        for machine in (a, b, c):
            machine.daemon()
        a.until_connected(b, c)
        c.until_connected(a, b)
        b.stop()
        c.stop()
        b.address("del", "10.9.0.2/24")
        b.address("add", "10.9.0.77/24")
        b.daemon("--listen", "[::]:31999")
        a.until_connected(b)
        # The third was not there meanwhile; it hears of the move from the first.
        c.daemon()
        c.until_connected(a, b)


def test_meet_18_rel_d3b_devices_meet_over_link_local_addresses_alone(tmp_path: Path) -> None:
    """No IPv4 and no router: what is announced is what is listened on."""
    with Network(tmp_path, 2) as network:
        a, b = network.household()
        a.daemon()
        b.daemon("--listen", "[::]:22067")
        a.until_connected(b)
        b.until_connected(a)
        [peer] = a.status()["peers"]
        assert any(each["address"].startswith("[fe80::") for each in peer["addresses"])


@pytest.mark.deep
def test_meet_18_rel_d3b_dual_stack(tmp_path: Path) -> None:
    """One listens on both families, one on IPv4, one on IPv6; the one on both is connected with both others."""
    with Network(tmp_path, 3) as network:
        for number, machine in enumerate(network.machines):
            machine.address("add", f"10.9.0.{number + 1}/24", f"fd09::{number + 1}/64")
        a, b, c = network.household()
        b.daemon("--listen", "[::]:22067")
        a.daemon("--listen", "0.0.0.0:22067")
        c.daemon("--listen", "[fd09::3]:22067")
        b.until_connected(a, c)


@pytest.mark.deep
def test_meet_18_ipv4_alone_on_a_system_without_ipv6(tmp_path: Path) -> None:
    with Network(tmp_path, 2, multicast=False, ipv6=False) as network:
        for number, machine in enumerate(network.machines):
            machine.address("add", f"10.9.0.{number + 1}/24")
        a, b = network.household()
        a.daemon()
        b.daemon()
        a.until_connected(b)


@pytest.mark.deep
@pytest.mark.parametrize("multicast", [True, False])
def test_meet_11_rel_d4b_forty_dead_addresses_do_not_delay_a_meeting(tmp_path: Path, multicast: bool) -> None:
    with Network(tmp_path, 2, multicast=multicast) as network:
        for number, machine in enumerate(network.machines):
            machine.address("add", f"10.9.0.{number + 1}/24")
        a, b = network.household()
        b.daemon()
        remember_dead(a, b, 40)
        a.daemon().event("connected")


@pytest.mark.deep
@pytest.mark.parametrize("how", ["new address", "new subnet", "down and up"])
def test_meet_16_a_change_of_network_is_acted_on_at_once(tmp_path: Path, how: str) -> None:
    """MEET-303: Before, a connection was given up after fifteen seconds of silence."""
    with Network(tmp_path, 3, multicast=False) as network:
        for number, machine in enumerate(network.machines):
            machine.address("add", f"10.9.0.{number + 1}/24", f"10.8.0.{number + 1}/24")
        a, b, c = network.household()
        for machine in (a, b, c):
            machine.daemon()
        b.until_connected(a, c)
        before = len(connections_of(b))
        began = clock.now()
        if how == "new address":
            b.address("del", "10.9.0.2/24", "10.8.0.2/24")
            b.address("add", "10.9.0.55/24", "10.8.0.55/24")
        elif how == "new subnet":
            b.address("del", "10.9.0.2/24")
        else:
            b.connection("down")
            b.daemons[0].event("disconnected")
            began = clock.now()
            b.connection("up")
        if how != "new subnet":
            eventually(lambda: len(connections_of(b)) >= before + 2, "both connected again")
        a.until_connected(b)
        c.until_connected(b)
        assert all(millis(at) - began < 1000 * DEAD_SECONDS for at in connections_of(b)[before:])


@pytest.mark.deep
def test_meet_5_an_address_that_is_entered_leads_across_a_network_that_tells_nothing(tmp_path: Path) -> None:
    """Paired by an invitation, moved while both were off, no multicast: an address by hand is enough; and `status` has
    said what is missing."""
    with Network(tmp_path, 2, multicast=False) as network:
        a, b = network.machines
        a.address("add", "10.9.0.1/24")
        b.address("add", "10.9.0.2/24")
        network.household()
        b.address("del", "10.9.0.2/24")
        b.address("add", "10.9.0.3/24")
        b.daemon("--listen", "10.9.0.3:4000")
        a.stop()
        home = TaskHome.open(a.home)
        with home.space.transaction(1, None) as tx:
            tx.execute("delete from peers")
        home.close()
        a.address("del", "10.9.0.1/24")
        a.address("add", "10.9.0.9/24")
        a.daemon("--listen", "10.9.0.9:4000")
        eventually(lambda: a.status()["peers"][0]["away"]["reason"] == "no-address")
        a.run("devices", "address", b.name, "10.9.0.3:4000")
        a.until_connected(b)


@pytest.mark.deep
def test_meet_16_a_bad_cable_and_a_stopped_device_delay_no_other_device(tmp_path: Path) -> None:
    """Five devices: one behind a cable that loses a tenth of all frames and takes 0.1 s for each, one that is stopped,
    two of one name."""
    with Network(tmp_path, 5, cables={2: Cable(delay=0.1, loss=0.1)}) as network:
        for number, machine in enumerate(network.machines):
            machine.address("add", f"10.9.0.{number + 1}/24", f"fd09::{number + 1}/64")
        network.machines[4].name = "d"
        a, b, c, d, e = network.household()
        for machine in (a, b, c, d, e):
            machine.daemon()
        eventually(lambda: sum(peer["connected"] for peer in a.status()["peers"]) == 4, "all connected with a")
        d.daemons[0].process.send_signal(signal.SIGSTOP)
        try:
            a.run("task", "add", "Milk")
            for other in (b, e):
                eventually(partial(other.run, "task", "list"), f"the task on {other.name}")
        finally:
            d.daemons[0].process.send_signal(signal.SIGCONT)
        eventually(lambda: all(peer["inStep"] for peer in a.status()["peers"]), "all in step")


def test_the_addresses_of_this_test_are_remembered_as_the_program_does(tmp_path: Path) -> None:
    """MEET-238: the forty rows above stand for forty connections; a program keeps eight of them."""
    home = TaskHome.create(tmp_path / "home", "laptop")
    for number in range(40):
        remember_address(home.space, "b" * 64, Address("10.9.0.1", 1000 + number), number)
    with home.space.reading() as reader:
        assert reader.local("select count(*) from peers") == [(8,)]
    home.close()


@pytest.mark.deep
def test_meet_9_rel_d4b_three_hundred_invented_announcements_cost_nothing(tmp_path: Path) -> None:
    """They are recognised by their names as unpaired; before, each was dialled, and a meeting took three minutes."""
    with Network(tmp_path, 3) as network:
        for machine in network.machines:
            machine.address("add", f"10.9.0.{machine.number + 1}/16")
        stranger = network.machines.pop()
        a, b = network.household()
        with inventing(stranger, 300):
            a.daemon()
            second = b.daemon()
            second.event("connected")  # within the bound of every wait; it took three minutes
            eventually(lambda: b.status()["nearby"] == MAX_STRANGERS, "the strangers")
        network.machines.append(stranger)


@pytest.mark.deep
def test_meet_11_forty_dead_addresses_and_three_hundred_invented_announcements_at_once(tmp_path: Path) -> None:
    """MEET-9, MEET-11: either alone does not delay a meeting, nor both."""
    with Network(tmp_path, 3) as network:
        for machine in network.machines:
            machine.address("add", f"10.9.0.{machine.number + 1}/16")
        stranger = network.machines.pop()
        a, b = network.household()
        remember_dead(b, a, 40)
        with inventing(stranger, 300):
            a.daemon()
            second = b.daemon()
            second.event("connected")  # within the bound of every wait; it took three minutes
        network.machines.append(stranger)
