"""The guides for a relay: their commands run, in their order, with a real server."""

import re
import shlex
from pathlib import Path

import anyio
import nkeys
import pytest
from nats.js.errors import APIError
from tests.support import nats_account
from tests.support.command_line import Result, eventually, run_here
from tests.support.nats_server import WHERE, Server
from tests.support.ports import free_port

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.relay import server_files
from lottisync.relay.connection import connect
from lottisync.relay.setting import RelaySetting

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


def configurations(page: str) -> list[str]:
    return re.findall(r"^```nats\n(.*?)^```$", (GUIDE / page).read_text(), re.MULTILINE | re.DOTALL)


def test_relay_540_the_guide_for_a_server_permits_what_a_device_needs(home: Path, tmp_path: Path) -> None:
    """RELAY-540"""
    accounts, _ = configurations("relay-server.md")
    assert set(re.findall(r'^ +"(\S+)"$', accounts, re.MULTILINE)) == set(server_files.PUBLISH)
    server = Server(tmp_path / "server", more=with_key(accounts, tmp_path))
    try:
        for command in commands("relay-server.md"):
            said = ran(command.replace("nats://relay.example:4222", server.url), home).out
    finally:
        server.stop()
    assert "these work: publish, list, read and delete" in " ".join(said.split())


def with_key(accounts: str, folder: Path) -> str:
    """The accounts of the page, and a device's key for them in the folder."""
    device = nats_account.key(nkeys.PREFIX_BYTE_USER, 5)
    (folder / "laptop.nkey").write_text(nats_account.seed(device))
    return accounts.replace("PUBLIC KEY OF THE DEVICE", nats_account.name(device))


@pytest.mark.deep
def test_relay_1042_the_cluster_of_the_guide_goes_on_without_a_node(home: Path, tmp_path: Path) -> None:
    """RELAY-1042: three replicas count three times for the account, and the device is at a node that lives."""
    accounts, node = configurations("relay-server.md")
    keyed = with_key(accounts, tmp_path).replace("users: [ {", "users: [ { user: admin, password: adm }, {")
    public, private = server_files.certificate(["127.0.0.1"], clock.now())
    ports, routes = ([free_port() for _ in range(3)] for _ in range(2))
    servers = []
    for number, (port, route) in enumerate(zip(ports, routes, strict=True)):
        folder = tmp_path / f"n{number}"
        folder.mkdir()
        others = ", ".join(f'"nats://route:long@127.0.0.1:{each}"' for each in routes)
        text = re.sub(r"routes: \[.*\]", f"routes: [ {others} ]", node).replace("A LONG PASSWORD", "long")
        text = text.replace("server_name: n1", f"server_name: n{number}").replace("100GB", "1GB")
        text = text.replace("0.0.0.0:4222", f"127.0.0.1:{port}").replace("0.0.0.0:6222", f"127.0.0.1:{route}")
        files = {"nats.conf": text, "accounts.conf": keyed, "certificate.pem": public, "key.pem": private}
        for name, content in files.items():
            (folder / name).write_text(content)
        servers.append(Server.configured(folder / "nats.conf", port))
    (tmp_path / "certificate.pem").write_text(public)
    try:
        url = f"tls://127.0.0.1:{ports[0]}"
        ran(f"lottisync relay set {url} --certificate certificate.pem --credentials laptop.nkey", home)
        eventually(lambda: run_here("relay", "doctor", home=home).code == 0, "that the cluster has a leader")
        anyio.run(replicated, url.replace("//", "//admin:adm@"), public)
        servers[1].stop()
        eventually(lambda: run_here("relay", "doctor", home=home).code == 0, "that it goes on without a node")
    finally:
        for server in servers:
            server.stop()


async def replicated(url: str, certificate: str) -> None:
    """Three replicas fit the account, and twice the bytes with them do not."""
    client = await connect(RelaySetting(url, bytes(16), certificate))
    context = client.jetstream(timeout=60)
    [stream] = await context.streams_info()
    changed = await context.update_stream(stream.config.evolve(num_replicas=3))
    assert changed.config.num_replicas == 3
    with pytest.raises(APIError, match="insufficient storage"):
        await context.update_stream(changed.config.evolve(max_bytes=2 * server_files.STREAM_BYTES))
    await client.close()
