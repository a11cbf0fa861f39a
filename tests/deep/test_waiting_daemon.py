"""A daemon that cannot start for now waits, and starts without anybody's help (docs/specs/11-command-line.md, section
3): real processes, on a home that is mounted read-only, on a full disk, and with no free file descriptor."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.command_line import environment, program, run_here
from tests.support.daemons import Daemon
from tests.support.event_loop import BOUND_SECONDS

CAN_MOUNT = subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode == 0
ARGUMENTS = ("daemon", "--json", "--no-discovery", "--no-web", "--listen", "127.0.0.1:0")
pytestmark = pytest.mark.deep

PROGRAM = """
import json, subprocess, sys
from pathlib import Path
from tests.support.command_line import run_here, started
from tests.support.daemons import Daemon

home, kind = Path(sys.argv[1]), sys.argv[2]
filling = home / "filling"

def spoil():
    if kind == "read-only":
        subprocess.run(["mount", "-o", "remount,bind,ro", str(home)], check=True)
    else:
        with filling.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass

def mend():
    if kind == "read-only":
        subprocess.run(["mount", "-o", "remount,bind,rw", str(home)], check=True)
    else:
        filling.unlink()

spoil()
with started(*json.loads(sys.argv[3]), home=home) as process:
    daemon = Daemon(home, process)
    daemon.event(kind)
    assert run_here("task", "list", home=home).code == (0 if kind == "disk-full" else 1)
    mend()
    daemon.event("started")
    assert run_here("task", "add", "Bread", home=home).code == 0
    assert run_here("status", "--json", home=home).json["daemon"] is not None
    ended = daemon.stop()
print(json.dumps([ended, [event["event"] for event in daemon.events]]))
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    assert run_here("init", "--name", "laptop", home=tmp_path / "home").code == 0
    return tmp_path / "home"


@pytest.mark.skipif(not CAN_MOUNT, reason="this machine lets nobody make a mount namespace")
@pytest.mark.parametrize("kind", ["read-only", "disk-full"])
def test_rel_d11_a_daemon_starts_when_its_home_takes_writes_again(home: Path, kind: str) -> None:
    """CLI-750, CLI-751, CLI-125, REL-D10, REL-D11: the same process, which has said it once."""
    mount = "mount --bind" if kind == "read-only" else "mount -t tmpfs -o size=6m"
    source = f'"{home}"' if kind == "read-only" else "tmpfs"
    script = (
        f'cp -r "{home}" "{home}.copy" && {mount} {source} "{home}" && cp -r "{home}.copy/." "{home}/" && exec "$@"'
    )
    program = [sys.executable, "-c", PROGRAM, str(home), kind, json.dumps(ARGUMENTS)]
    done = subprocess.run(
        ["unshare", "-rm", "bash", "-c", script, "bash", *program],
        capture_output=True,
        text=True,
        timeout=3 * BOUND_SECONDS,
        env={**environment(), "PYTHONPATH": str(Path.cwd())},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ended, events = json.loads(done.stdout)
    assert ended == [0, ""]
    assert events.count(kind) == 1
    assert events.index(kind) < events.index("started")


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="this system does not change the limit of another process")
@pytest.mark.parametrize("limit", [8, 12, 16, 18])
def test_cli_750_a_daemon_starts_when_file_descriptors_are_free_again(home: Path, limit: int) -> None:
    """CLI-750, CLI-751, REL-D5: whatever it was that could not be opened."""
    call = [sys.executable, "-m", "lottisync", *ARGUMENTS, "--home", str(home)]
    with program("sh", "-c", f'ulimit -Sn {limit}; exec "$@"', "sh", *call) as process:
        daemon = Daemon(home, process)
        assert os.strerror(24) in daemon.event("no-descriptor")["text"]
        hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (min(hard, 1024) if hard > 0 else 1024, hard))
        daemon.event("started")
        assert run_here("task", "add", "Bread", home=home).code == 0
        assert daemon.stop(signal.SIGTERM) == (0, "")
    assert [event["event"] for event in daemon.events].count("no-descriptor") == 1
