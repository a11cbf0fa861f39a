"""Machines on a network of their own: Linux network namespaces, joined by bridges. Needs root and `ip`. Where
namespaces cannot be made, the tests that want them are skipped, unless LOTTISYNC_NAMESPACES is `required` (in CI)."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple, Self

import pytest
from tests.support.command_line import content, environment, eventually
from tests.support.daemons import Daemon
from tests.support.event_loop import BOUND_SECONDS


def namespaces_or_skip() -> None:
    name = f"lsprobe{os.urandom(4).hex()}"
    try:
        made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
        reason = made.stderr.decode().strip()
        if made.returncode == 0:
            subprocess.run(["ip", "netns", "del", name], check=True)
            return
    except FileNotFoundError:
        reason = "there is no `ip` (iproute2)"
    if os.environ.get("LOTTISYNC_NAMESPACES") == "required":
        raise AssertionError(f"network namespaces are required here, and cannot be made: {reason}")
    pytest.skip(f"no network namespaces: {reason}")


def ip(*arguments: str, within: str | None = None) -> None:
    subprocess.run(["ip", *(("-n", within) if within else ()), *arguments], check=True, capture_output=True)


class Machine:
    """A namespace with one network card, `eth0`, and a home."""

    def __init__(self, network: "Network", number: int, folder: Path) -> None:
        self.network, self.number = network, number
        self.namespace = f"{network.name}m{number}"
        self.name = "abcdefgh"[number]
        self.home = folder / self.name
        self.daemons: list[Daemon] = []

    def run(self, *arguments: str) -> Any:
        """Run a command to its end; returns its answer as JSON."""
        done = self._started(*arguments)
        out, err = done.communicate(timeout=BOUND_SECONDS)
        assert done.returncode == 0, err
        return content(out.splitlines()[-1])

    def _started(self, *arguments: str) -> "subprocess.Popen[str]":
        call = ["ip", "netns", "exec", self.namespace, sys.executable, "-m", "lottisync", *arguments]
        call += ["--json", "--home", str(self.home)]
        return subprocess.Popen(
            call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True
        )

    def join(self, uri: str) -> None:
        self.run("pair", uri)

    @contextlib.contextmanager
    def inviting(self) -> Iterator[str]:
        process = self._started("pair", "--invite")
        assert process.stdout is not None
        with process:
            try:
                yield json.loads(process.stdout.readline())["uri"]
                out, err = process.communicate(timeout=BOUND_SECONDS)
            except BaseException:
                process.kill()
                raise
        assert process.returncode == 0, (out, err)

    def daemon(self, *options: str, web: str | None = None) -> Daemon:
        """A daemon of this machine, with pages at the address `web` if there is one."""
        pages = ("--no-web",) if web is None else ("--web", web)
        running = Daemon(self.home, self._started("daemon", *pages, *options))
        self.daemons.append(running)
        running.event("started")
        return running

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        for each in self.daemons:
            if each.process.poll() is None:
                code, err = each.stop(number)
                for stream in (each.process.stdout, each.process.stderr):
                    assert stream is not None
                    stream.close()
                assert number != signal.SIGTERM or (code, err) == (0, ""), (code, err)
        self.daemons.clear()

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.run("status")
        return found

    def connected_with(self) -> set[str]:
        return {peer["name"] for peer in self.status()["peers"] if peer["connected"]}

    def until_connected(self, *others: "Machine") -> None:
        wanted = {other.name for other in others}
        eventually(lambda: wanted <= self.connected_with(), f"{self.name} connected with {sorted(wanted)}")

    # -- its network card

    def address(self, verb: str, *addresses: str) -> None:
        """`add` or `del` addresses, as `ip` takes them."""
        for address in addresses:
            nodad = ("nodad",) if ":" in address and verb == "add" else ()
            ip("address", verb, address, "dev", "eth0", *nodad, within=self.namespace)

    def connection(self, *state: str) -> None:
        ip("link", "set", "eth0", *state, within=self.namespace)


class Cable(NamedTuple):
    """How a machine is joined to the network: the delay of each frame in seconds, and the share of frames that is
    lost."""

    delay: float
    loss: float


class Network:
    """Machines on one bridge. Without `multicast` the bridge carries none, like many a guest Wi-Fi. `cables` holds
    the bad cables, by the number of the machine."""

    def __init__(
        self,
        folder: Path,
        count: int,
        *,
        multicast: bool = True,
        ipv6: bool = True,
        cables: Mapping[int, Cable] = MappingProxyType({}),
    ) -> None:
        self.name = f"ls{os.urandom(4).hex()}"
        self.machines = [Machine(self, number, folder) for number in range(count)]
        self._namespaces = [self.name, *(machine.namespace for machine in self.machines)]
        self._multicast, self._ipv6, self._cables = multicast, ipv6, cables
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            ip("netns", "add", self.name)
            ip("link", "add", "bridge", "type", "bridge", "mcast_snooping", "0", within=self.name)
            ip("link", "set", "bridge", "up", within=self.name)
            for machine in self.machines:
                self._connect(machine)
        except BaseException:
            self._remove()
            raise
        return self

    def _connect(self, machine: Machine) -> None:
        port = f"p{machine.number}"
        ip("netns", "add", machine.namespace)
        if machine.number in self._cables:
            self._lay(port, self._cables[machine.number], machine)
        else:
            ends = (port, "type", "veth", "peer", "name", "eth0", "netns", machine.namespace)
            ip("link", "add", *ends, within=self.name)
        ip("link", "set", port, "master", "bridge", "up", within=self.name)
        if not self._multicast:
            call = ["bridge", "-n", self.name, "link", "set", "dev", port, "mcast_flood", "off"]
            subprocess.run(call, check=True, capture_output=True)
        off = "0" if self._ipv6 else "1"
        # Else an address of its own may not be used for a second or two; the larger one of `all` and the card counts.
        settings = (f"all.disable_ipv6={off}", "all.accept_dad=0", "eth0.accept_dad=0")
        for setting in (f"net.ipv6.conf.{each}" for each in settings):
            call = ["ip", "netns", "exec", machine.namespace, "sysctl", "-qw", setting]
            subprocess.run(call, check=True, capture_output=True)
        ip("link", "set", "lo", "up", within=machine.namespace)
        ip("link", "set", "eth0", "up", within=machine.namespace)

    def _lay(self, port: str, cable: Cable, machine: Machine) -> None:
        call = ["ip", "netns", "exec", self.name, sys.executable, "-m", "tests.support.lossy_cable"]
        call += [str(cable.delay), str(cable.loss), str(machine.number), port, f"far{machine.number}"]
        running = subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._running.append(running)
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        ip("link", "set", f"far{machine.number}", "name", "eth0", "netns", machine.namespace, within=self.name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for machine in self.machines:
                machine.stop(signal.SIGTERM if kind is None else signal.SIGKILL)
        finally:
            self._remove()

    def _remove(self) -> None:
        for cable in self._running:
            cable.communicate(timeout=BOUND_SECONDS)  # its standard input ends, and so does it
        for name in reversed(self._namespaces):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def household(self) -> list[Machine]:
        """A home on each machine; the first and all behind the second were paired with the second one only."""
        for machine in self.machines:
            machine.run("init", "--name", machine.name)
        first, second, *others = self.machines
        for other in (first, *others):
            with second.inviting() as uri:
                other.join(uri)
        return self.machines
