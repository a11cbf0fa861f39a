"""`python -m lottisync` in processes of its own, as a person's shell runs it."""

import hashlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec
import pytest
from tests.support.event_loop import BOUND_SECONDS

from lottisync.answers.form import VERSION
from lottisync.cli.main import main
from lottisync.journal import task_list
from lottisync.store import text_index


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The answer, without the version that every answer has."""
        return unversioned(self.out)

    @property
    def content(self) -> Any:
        return content(self.out)


def unversioned(line: str) -> Any:
    """One answer (docs/json.md) without its version."""
    answer = msgspec.json.decode(line)
    assert answer.pop("lottisync") == VERSION
    return answer


def content(line: str) -> Any:
    """The answer; of one about several things, the array alone."""
    answer = unversioned(line)
    [*values] = answer.values()
    return values[0] if len(values) == 1 and isinstance(values[0], list) else answer


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "NO_COLOR": "1",
        "COLUMNS": "120",
        "PYTHONWARNINGS": "error",
        "LOTTISYNC_HOME": "/nonexistent",
    }


def run(*arguments: str | bytes, home: Path | None = None) -> Result:
    """One command to its end."""
    call = [sys.executable, "-m", "lottisync", *arguments]
    if home is not None:
        call += ["--home", str(home)]
    done = subprocess.run(call, capture_output=True, timeout=BOUND_SECONDS, env=environment(), check=False)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_here(*arguments: str, home: Path) -> Result:
    """The same call in this process, in a tenth of the time: for tests that do not need a process of its own."""
    return run_line(*arguments, "--home", str(home))


def run_line(*arguments: str) -> Result:
    """A whole line of arguments in this process, with the home where it stands."""
    out, err = _captured(), _captured()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert isinstance(ended.value.code, int)
    return Result(ended.value.code, _text(out), _text(err))


def _captured() -> io.TextIOWrapper:
    """A standard stream that also takes bytes, as one of a process does."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


def started(*arguments: str, home: Path) -> AbstractContextManager["subprocess.Popen[str]"]:
    """A command that runs until the block ends, or until it ends by itself."""
    return program(sys.executable, "-m", "lottisync", *arguments, "--home", str(home))


@contextmanager
def program(*call: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that runs until the block ends, or until it ends by itself."""
    process = subprocess.Popen(
        call,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        with process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGKILL)
    finally:
        process.wait()


def eventually(condition: Callable[[], Any], what: str = "it") -> Any:
    """Wait until a condition gives something true, and return that; fail after a time."""
    end = time.monotonic() + BOUND_SECONDS
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {BOUND_SECONDS} s")
        time.sleep(0.02)
    return found


INDEXES = (text_index.FILE, task_list.FILE)


def contents(home: Path) -> dict[str, object]:
    """All that a command could change in a home: what the stores hold, to the byte, and the other files. Indexes
    follow from the stores, and a command that only reads may build them."""
    found: dict[str, object] = {}
    for file in sorted(home.rglob("*")) if home.exists() else []:
        name = str(file.relative_to(home))
        if name.startswith(INDEXES):
            continue
        if file.suffix == ".sqlite":
            found[name] = _dumped(file)
        elif file.is_file() and not name.endswith(("-wal", "-shm", "daemon.lock")):
            found[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def _dumped(file: Path) -> object:
    try:
        connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        return str(error)
    try:
        tables = [row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")]
        return {table: connection.execute(f'select * from "{table}" order by 1, 2').fetchall() for table in tables}
    except apsw.Error:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    finally:
        connection.close()
