"""Another user of this machine: what they can do with a home while its daemon runs, tried with a user of its own."""

import http.client
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.command_line import run_here
from tests.support.daemons import daemon

from lottisync.web.access import FILE

NOBODY = 65534
TITLE = "Ask about the mortgage"
ATTEMPTS = """
import json, os, sys
paths, pid, user = json.load(sys.stdin)
os.setgroups([]); os.setgid(user); os.setuid(user)
attempts = {
    "listed": os.listdir,
    "read": lambda path: os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 1),
    "written": lambda path: os.open(path, os.O_WRONLY | os.O_NONBLOCK),
    "put": lambda path: os.open(os.path.join(path, "planted"), os.O_WRONLY | os.O_CREAT),
    "moved": lambda path: os.rename(path, path + ".moved"),
    "ended": lambda path: os.kill(pid, 0),
}
done = []
for path in paths:
    for name, attempt in attempts.items():
        try:
            attempt(path)
        except OSError:
            continue
        done.append([name, path])
print(json.dumps(done))
"""
"""It becomes the other user after its imports: the interpreter may stand where only root reads."""


@pytest.fixture
def home() -> Iterator[Path]:
    """A home in a folder that every user may enter, with one task."""
    with tempfile.TemporaryDirectory(prefix="lottisync-shared-") as folder:
        Path(folder).chmod(0o755)
        home = Path(folder) / "home"
        assert run_here("init", "--name", "laptop", home=home).code == 0
        assert run_here("task", "add", TITLE, home=home).code == 0
        yield home


def done_by_another(home: Path, pid: int) -> list[tuple[str, str]]:
    """What another user managed to do, with each file and folder of a home."""
    tried = json.dumps([[str(home), *map(str, sorted(home.rglob("*")))], pid, NOBODY])
    said = subprocess.run([sys.executable, "-c", ATTEMPTS], input=tried, capture_output=True, text=True, check=True)
    return [(name, str(Path(path).relative_to(home))) for name, path in json.loads(said.stdout)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_neither_reads_nor_changes_anything_of_a_home(home: Path) -> None:
    """STORE-930, WEB-4, WEB-6: and gets nothing of the pages, whose port every user of the machine reaches."""
    with daemon(home, web="127.0.0.1:0") as running:
        assert done_by_another(home, running.process.pid) == []
        connection = http.client.HTTPConnection("127.0.0.1", json.loads((home / FILE).read_bytes())["port"])
        connection.request("GET", "/tasks")
        answer = connection.getresponse()
        assert answer.status >= 400
        assert TITLE.encode() not in answer.read()
        connection.close()
        # The look itself can fail: in a folder that everybody may enter, the stores could be read.
        home.chmod(0o755)
        assert ("read", "journal.sqlite") in done_by_another(home, running.process.pid)
        home.chmod(0o700)
