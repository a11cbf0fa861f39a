"""The guides for a relay: their commands run, in their order, with a real server."""

import re
import shlex
from pathlib import Path

import nkeys
import pytest
from tests.support import nats_account
from tests.support.command_line import Result, run_here
from tests.support.nats_server import WHERE, Server
from tests.support.ports import free_port

from lottisync.daemon.home import TaskHome
from lottisync.relay import server_files

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
pytestmark = pytest.mark.skipif(WHERE is None, reason="there is no nats-server on this machine")


def commands(page: str) -> list[str]:
    """The lines of the shell blocks of a page."""
    found = re.findall(r"^```sh\n(.*?)^```$", (GUIDE / page).read_text(), re.MULTILINE | re.DOTALL)
    return [line for block in found for line in block.splitlines()]


def ran(command: str, home: Path) -> Result:
    program, *arguments = shlex.split(command)
    assert program == "lottisync"
    done = run_here(*arguments, home=home)
    assert done.code == 0, done.out + done.err
    return done


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    TaskHome.create(tmp_path / "laptop", "laptop").close()
    return tmp_path / "laptop"


def test_relay_541_the_guide_for_a_household_works_from_top_to_bottom(home: Path, tmp_path: Path) -> None:
    """RELAY-541"""
    port = free_port()
    first, start, *rest = commands("relay-at-home.md")
    ran(f"{first.replace('nas.home.arpa', '127.0.0.1')} --port {port}", home)
    assert start == "nats-server -c nats-server.conf"
    server = Server.configured(tmp_path / "relay" / "nats-server.conf", port)
    try:
        said = [ran(command, home).out for command in rest]
    finally:
        server.stop()
    assert len(said) == 4
    assert "No relay is used any more" in said[-1]


def test_relay_540_the_guide_for_a_server_permits_what_a_device_needs(home: Path, tmp_path: Path) -> None:
    """RELAY-540"""
    device = nats_account.key(nkeys.PREFIX_BYTE_USER, 5)
    [accounts] = re.findall(r"^```nats\n(.*?)^```$", (GUIDE / "relay-server.md").read_text(), re.MULTILINE | re.DOTALL)
    assert set(re.findall(r'^ +"(\S+)"$', accounts, re.MULTILINE)) == set(server_files.PUBLISH)
    (tmp_path / "laptop.nkey").write_text(nats_account.seed(device))
    server = Server(tmp_path / "server", more=accounts.replace("PUBLIC KEY OF THE DEVICE", nats_account.name(device)))
    try:
        for command in commands("relay-server.md"):
            said = ran(command.replace("nats://relay.example:4222", server.url), home).out
    finally:
        server.stop()
    assert "these work: publish, list, read and delete" in " ".join(said.split())
