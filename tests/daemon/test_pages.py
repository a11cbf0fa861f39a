"""Where the daemon serves its pages, and what they cost while nobody looks."""

import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.command_line import run_here
from tests.support.daemons import daemon
from tests.support.event_loop import BOUND_SECONDS

from lottisync.daemon import pages
from lottisync.daemon.home import TaskHome
from lottisync.problem import Problem
from lottisync.web.access import read_door

LOADS = """
import socket, sys
from pathlib import Path
import anyio
from lottisync.daemon import daemon, pages
from lottisync.daemon.home import TaskHome
from lottisync.net.address import Address
STACK = {"starlette", "uvicorn", "jinja2"}

async def main():
    home = TaskHome.open(Path(sys.argv[1]))
    sockets = pages.listen(pages.Where(port=0))
    port = sockets[0].getsockname()[1]
    async with anyio.create_task_group() as tasks:
        await tasks.start(pages.serve, home, sockets, None, Address("127.0.0.1", 0))
        await anyio.wait_all_tasks_blocked()
        assert not STACK & set(sys.modules), "loaded before anybody came"
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(b"GET / HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n")
            answer = await stream.receive()
        assert b" 421 " in answer and b"other-host" in answer, answer
        assert STACK <= set(sys.modules)
        tasks.cancel_scope.cancel()
    home.close()

anyio.run(main)
"""


def test_web_50_the_web_stack_loads_when_somebody_comes(tmp_path: Path) -> None:
    TaskHome.create(tmp_path / "home", "laptop").close()
    done = subprocess.run(
        [sys.executable, "-c", LOADS, str(tmp_path / "home")],
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_web_14_only_a_loopback_address_is_served() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.7", "evil.example"):
        with pytest.raises(Problem, match="this machine only"):
            pages.Where(host, 22080)
    for host in ("127.0.0.1", "::1", "localhost", ""):
        pages.Where(host, 22080)


def test_web_14_both_loopback_addresses_are_taken() -> None:
    """Else somebody else's server could stand at the other one, and get our cookie."""
    sockets = pages.listen(pages.Where(port=0))
    try:
        hosts = {each.getsockname()[0] for each in sockets}
        assert "127.0.0.1" in hosts
        assert len({each.getsockname()[1] for each in sockets}) == 1
        if len(sockets) == 2:
            assert hosts == {"127.0.0.1", "::1"}
    finally:
        for each in sockets:
            each.close()


def test_web_14_a_port_that_is_taken_gives_way_unless_it_was_asked_for() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Problem, match="is taken"):
            pages.listen(pages.Where(port=port, firm=True))
        sockets = pages.listen(pages.Where(port=port))
        assert sockets[0].getsockname()[1] != port
        for each in sockets:
            each.close()


def test_web_51_open_prints_an_address_that_lets_a_browser_in(tmp_path: Path) -> None:
    home = tmp_path / "home"
    TaskHome.create(home, "laptop").close()
    refused = run_here("open", "--print", home=home)
    assert refused.code == 1
    assert "lottisync daemon" in refused.err
    with daemon(home, web=True):
        printed = run_here("open", "--print", home=home)
    door = read_door(home)
    assert door is not None
    assert printed.out.strip() == door.address
    assert door.address.startswith(f"http://{door.host}:{door.port}/enter?token=")


def test_web_1506_open_is_refused_where_this_daemon_serves_no_pages(tmp_path: Path) -> None:
    """WEB-1506: it printed where an earlier daemon had served them, and a code that nobody could type."""
    home = tmp_path / "home"
    TaskHome.create(home, "laptop").close()
    with daemon(home, web=True):
        assert run_here("open", "--print", home=home).code == 0
    with daemon(home):
        for call in ((), ("--print",), ("--phone",)):
            refused = run_here("open", *call, home=home)
            assert (refused.code, refused.out) == (1, "")
            assert "serves no pages" in refused.err
