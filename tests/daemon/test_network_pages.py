"""The pages for the person's network: HTTPS that a phone trusts, in this process on the loopback address."""

import ssl
from functools import partial
from pathlib import Path

import anyio
import pytest

from lottisync.daemon import pages
from lottisync.daemon.home import TaskHome
from lottisync.daemon.network_pages import NetworkPages, OnNetwork
from lottisync.device import clock
from lottisync.net.address import Address
from lottisync.problem import Problem
from lottisync.web.access import Access, read_door
from lottisync.web.admission import Browsers, Network
from lottisync.web.authority import Authority

DAY = 86_400_000
HERE = OnNetwork("127.0.0.1", 0)


def test_web_69_a_browser_that_trusts_the_authority_reaches_the_door_by_tls(tmp_path: Path) -> None:
    """The certificate is verified as a phone does it: chain, limits, name."""
    home = TaskHome.create(tmp_path / "home", "laptop")

    async def ask() -> bytes:
        async with anyio.create_task_group() as tasks:
            await tasks.start(
                partial(pages.serve, home, pages.listen(pages.Where(port=0)), HERE, Address("127.0.0.1", 0))
            )
            door = read_door(home.path)
            assert door is not None
            trusting = ssl.create_default_context(cadata=Authority(home.path, clock.now()).der)
            [origin] = [each for each in door.network if "127.0.0.1" in each]
            port = int(origin.rpartition(":")[2])
            stream = await anyio.connect_tcp(
                "127.0.0.1", port, tls_hostname="127.0.0.1", ssl_context=trusting, tls_standard_compatible=False
            )
            async with stream:
                request = f"GET /enter HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
                await stream.send(request.encode())
                answer = b"".join([chunk async for chunk in stream])
            assert await _plain(port) == b""
            tasks.cancel_scope.cancel()
        return answer

    answer = anyio.run(ask)
    home.close()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"Let this browser in" in answer


async def _plain(port: int) -> bytes:
    """What an HTTP request without TLS gets."""
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(b"GET /enter HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        try:
            return await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return b""


@pytest.mark.parametrize("content", ["", "nonsense"])
def test_web_69_a_certificate_that_cannot_be_used_is_said_at_once(tmp_path: Path, content: str) -> None:
    file = tmp_path / "own.pem"
    file.write_text(content)
    access = Access(tmp_path, 1, clock.now, pages.new_secret)
    network = Network(Browsers(tmp_path, clock.now, pages.new_secret))
    with pytest.raises(Problem, match="is not a certificate"):
        NetworkPages(tmp_path, HERE._replace(certificate=file, key=file), network, access)


def test_web_69_a_certificate_without_the_key_of_another_is_refused(tmp_path: Path) -> None:
    """The key of the authority is not that of the certificate."""
    certificate = Authority(tmp_path, clock.now()).signed(("127.0.0.1",), clock.now())
    access = Access(tmp_path, 1, clock.now, pages.new_secret)
    network = Network(Browsers(tmp_path, clock.now, pages.new_secret))
    wanted = HERE._replace(certificate=certificate, key=tmp_path / "web-authority.pem")
    with pytest.raises(Problem, match="cannot be used"):
        NetworkPages(tmp_path, wanted, network, access)
    NetworkPages(tmp_path, wanted._replace(key=certificate), network, access).socket.close()
    assert network.hosts > {name for name in network.hosts if name.startswith("127.0.0.1:")} != set()


def test_web_1507_a_certificate_that_is_out_of_date_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WEB-1507: it was served without a word, and so was one that could not be read any more."""
    certificate = Authority(tmp_path, clock.now()).signed(("127.0.0.1",), clock.now())
    access = Access(tmp_path, 1, clock.now, pages.new_secret)
    network = Network(Browsers(tmp_path, clock.now, pages.new_secret))
    said: list[str] = []
    wanted = HERE._replace(certificate=certificate, key=certificate)
    served = NetworkPages(tmp_path, wanted, network, access, lambda code, sentence: said.append(sentence))
    assert said == []
    now = clock.now()
    for later, expected in ((800 * DAY, "was good until"), (-800 * DAY, "is good from")):
        monkeypatch.setattr(clock, "now", lambda later=later: now + later)
        served._try()
        served._try()
        assert [expected in each for each in said] == [True], said
        said.clear()
    certificate.write_text("")
    served._try()
    served._try()
    assert [each.partition(":")[2] for each in said] == [
        f" {certificate} is not a certificate (PEM): it cannot be read"
    ]
    served.socket.close()


def test_web_69_what_the_network_cannot_be_served_with_is_said() -> None:
    for host in ("evil.example", "laptop", "1.2.3"):
        with pytest.raises(Problem, match="need an address of this machine"):
            pages.where_of(host, 1, None, None)
    with pytest.raises(Problem, match="a certificate needs its key") as raised:
        pages.where_of("0.0.0.0", 1, Path("c"), None)
    assert raised.value.hint == "web-key"
    with pytest.raises(Problem, match="for pages on the network") as raised:
        pages.where_of("127.0.0.1", 1, Path("c"), Path("k"))
    assert raised.value.hint == "web-network"
    assert pages.where_of("0.0.0.0", 22443, None, None).network == OnNetwork("0.0.0.0", 22443)
    assert pages.where_of("127.0.0.1", 5, None, None).network is None
