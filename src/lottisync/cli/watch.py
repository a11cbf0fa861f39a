"""`--watch`: a page that is shown again whenever what it shows may have changed (docs/specs/11-command-line.md, 2).

Every process that commits to a store of the home rings a bell (`lottisync.store.doorbell`). The daemon writes the state
of the other devices into a file. A page is a function that reads and shows, so it is simply called again.
"""

import contextlib
import functools
import math
import os
import select
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import click

from lottisync.cli.terminal import Terminal
from lottisync.daemon.home import TaskHome
from lottisync.store.doorbell import FALLBACK_SECONDS, Bell

F = TypeVar("F", bound=Callable[..., Any])


def watchable(page: F) -> F:
    """Give a page `--watch`. Put it below `common`, which gives the page its `Terminal`."""

    @click.option("--watch", is_flag=True, help="Show it again whenever something changes, until Ctrl-C.")
    @functools.wraps(page)
    def command(*args: Any, watch: bool, **kwargs: Any) -> Any:
        if not watch:
            return page(*args, **kwargs)
        [terminal] = [each for each in args if isinstance(each, Terminal)]
        with contextlib.suppress(KeyboardInterrupt):
            for _ in changes(terminal.home):
                terminal.begin_page()
                page(*args, **kwargs)
        return 0

    return command  # type: ignore[return-value]


def changes(home: TaskHome, until: float = math.inf) -> Iterator[None]:
    """Yields at once, then whenever something in the home may have changed since, and a last time at `until` (of
    `time.monotonic`)."""
    bell = Bell(home.bells, f"watch-{os.getpid()}")
    with contextlib.closing(bell):
        seen = None
        while True:
            bell.clear()
            now = [store.changes() for store in home.stores.values()], _status_changed(home)
            if now != seen or time.monotonic() >= until:
                seen = now
                yield
            else:
                select.select([bell], [], [], max(0.0, min(FALLBACK_SECONDS, until - time.monotonic())))


def _status_changed(home: TaskHome) -> int:
    from lottisync.device.alone import STATUS_FILE

    try:
        return (home.path / STATUS_FILE).stat().st_mtime_ns
    except FileNotFoundError:
        return 0
