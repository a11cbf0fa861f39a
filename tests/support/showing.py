"""Only one device at a time shows a code on this machine's network: whoever types one asks the first that is found."""

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_code_at_a_time() -> Iterator[None]:
    """Wait for the tests in other processes that announce a code by mDNS."""
    with (Path(tempfile.gettempdir()) / "lottisync-tests-that-show-a-code.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
