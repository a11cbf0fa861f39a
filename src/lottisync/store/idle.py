"""Idle stores: what lies in their logs is written over into their files (docs/specs/05-store.md, STORE-680).

A commit goes to a log beside the file, and SQLite carries the log over when it has grown. In a quiet home that may be
days later. So a daemon looks now and then, and carries over what has rested since the last look: then a plain copy of
the file has everything. A backup (`lottisync backup`) needs none of this.
"""

from collections.abc import Mapping
from contextlib import suppress

from lottisync.problem import Problem
from lottisync.store.store import Store

QUIET_SECONDS = 30.0
"""Between two looks. A store that nobody wrote to in between is idle."""


class Idle:
    """`look` is called once in `QUIET_SECONDS`."""

    def __init__(self, stores: Mapping[str, Store]) -> None:
        self._stores = stores
        self._seen: dict[str, tuple[int, int] | None] = {}

    def look(self) -> list[str]:
        """Carry over the logs that are as they were at the last look; the names of the stores whose file holds
        everything now. A disk that takes nothing is reported by those who write."""
        done = []
        for name, store in self._stores.items():
            log = store.log()
            with suppress(Problem):
                if log is not None and self._seen.get(name) == log and store.carry_over():
                    done.append(name)
            self._seen[name] = log
        return done
