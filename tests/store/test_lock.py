"""A lock on a file, between holders that are as strange to each other as two programs: each opens the file itself."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lottisync.store.lock import Lock, is_held

HOLDER = """
import signal, sys, pathlib
from lottisync.store.lock import Lock
with Lock(pathlib.Path(sys.argv[1])) as lock:
    print(lock.take(), flush=True)
    signal.pause()
"""


def test_one_holds_it_until_the_end_of_its_block(tmp_path: Path) -> None:
    file = tmp_path / "work.lock"
    with Lock(file) as first, Lock(file) as second:
        assert first.take()
        assert first.take(), "who holds it may ask again"
        assert not second.take()
    with Lock(file) as third:
        assert third.take()


def test_it_is_not_held_before_somebody_has_taken_it(tmp_path: Path) -> None:
    file = tmp_path / "work.lock"
    assert not is_held(file)
    assert not file.exists(), "asking writes nothing"
    with Lock(file) as lock:
        assert not is_held(file)
        assert lock.take()
        assert is_held(file)
        assert is_held(file), "to ask does not take it away"
    assert not is_held(file)


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    with Lock(tmp_path / "work.lock"):
        assert (tmp_path / "work.lock").stat().st_mode & 0o777 == 0o600


def test_a_program_that_is_killed_lets_go(tmp_path: Path) -> None:
    file = tmp_path / "work.lock"
    call = [sys.executable, "-c", HOLDER, str(file)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=os.environ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        assert is_held(file)
        holder.send_signal(signal.SIGKILL)
    assert not is_held(file)


def test_a_lock_in_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Lock(tmp_path / "nowhere" / "work.lock")
    assert not is_held(tmp_path / "nowhere" / "work.lock")
