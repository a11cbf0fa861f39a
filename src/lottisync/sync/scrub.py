"""Looking through the stores a little at a time (docs/specs/05-store.md, section 16).

A digest is a running sum. It is right about what went through transactions, but does not show a flipped bit or a
change made in an SQLite browser. So while the device is idle, the rows are read once more, a few at a time, and their
content is hashed and compared with the hash that was stored with it. At the end of a pass the stored hashes are added
up: a row that was taken away shows in nothing else. A row that does not fit is reported once, and stays in `status`
until it is found in order again. It leads to a comparison with a peer (`lottisync.sync.verification`).

The reading itself is the store's (`lottisync.store.damage`). Here is only when: on the engine's loop, in small pieces,
and not while a round comes in.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

import anyio

from lottisync.problem import Problem
from lottisync.store import damage
from lottisync.store.check import adds_up, damaged_rows
from lottisync.store.store import Store
from lottisync.sync.off_loop import Caller

T = TypeVar("T")
PAUSE_SECONDS = 10
SUM = "the digest"
"""What is named in place of a row when the rows do not add up."""
ROWS = 200
"""Rows looked at between two pauses: about a millisecond's work. A hundred thousand take some 80 minutes."""


class Scrub:
    """`idle` says whether now is a good time. `report` gets (code, sentence). `changed` is called after a change."""

    def __init__(
        self,
        stores: Mapping[str, Store],
        call: Caller,
        *,
        idle: Callable[[], bool],
        report: Callable[[str, str], None],
        changed: Callable[[], None],
    ) -> None:
        self._stores, self._call, self._idle = stores, call, idle
        self._report, self._changed = report, changed
        self._found: dict[str, set[str]] = {}
        self._said: set[str] = set()

    def damaged(self) -> list[str]:
        """The ids of the rows that were found damaged, by store, as `cookbook/r1`."""
        return sorted(f"{name}/{ident}" for name, found in self._found.items() for ident in found)

    def found(self) -> dict[str, frozenset[str]]:
        """What was found damaged, by store."""
        return {name: frozenset(found) for name, found in self._found.items()}

    async def look_again(self, name: str) -> None:
        """Look now at what was found damaged in a store: it may have been mended."""
        found = self._found.get(name)
        if found:
            left = await self._call(lambda: {ident for ident in found if _is_damaged(self._stores[name], ident)})
            if left != found:
                self._found[name] = left
                self._changed()

    async def run(self) -> None:
        while True:
            for name, store in list(self._stores.items()):
                await self._pass(name, store)

    async def _pass(self, name: str, store: Store) -> None:
        """All rows of a store, once."""
        found: set[str] = set()
        last: int | None = -1
        while last is not None:
            await anyio.sleep(PAUSE_SECONDS)
            if not self._idle():
                continue
            try:
                damaged, last = await self._call(lambda after=last: _look(store, after))  # type: ignore[misc]
                if last is None and not await self._call(lambda: _adds_up(store)):
                    damaged.append(SUM)
            except Problem as problem:
                if problem.message not in self._said:
                    self._said.add(problem.message)
                    self._report("failed", problem.message)
                return
            found.update(damaged)
            self._tell(name, damaged)
        if found != self._found.get(name, set()):
            self._found[name] = found
            self._changed()

    def _tell(self, name: str, damaged: list[str]) -> None:
        known = self._found.setdefault(name, set())
        for ident in damaged:
            if ident not in known:
                known.add(ident)
                self._report("damaged", f"{name}: {ident} is not what was stored")
                self._changed()


def _look(store: Store, after: int) -> tuple[list[str], int | None]:
    with store.reading() as reader:
        return damaged_rows(reader, after, ROWS)


def _adds_up(store: Store) -> bool:
    """In a separate read transaction, so that no writer waits for it."""
    snapshot = store.snapshot()
    try:
        return adds_up(snapshot)
    finally:
        snapshot.close()


def _is_damaged(store: Store, ident: str) -> bool:
    if ident == SUM:
        return not _adds_up(store)
    with store.reading() as reader:
        row = damage.raw_row(reader, ident)
        return row is not None and not row.is_sound
