"""A device: its stores, its key, and where it takes time and chance from.

    stores        by name, in the order in which rounds deliver them; `space` comes first, because a device that
                  gets data has to know the device that wrote it
    key           what it signs with; its id follows from it
    environment   clock, ids and random numbers

A device does not know what its stores are for. It is made with them, and every program that has one (a daemon, a
command, a test) makes it in its own way; `lottisync.device.home` is one that lies in a folder.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lottisync.device.clock import Environment
from lottisync.device.typed import Reading, Writing
from lottisync.problem import Problem
from lottisync.store.doorbell import FALLBACK_SECONDS, Bell
from lottisync.store.feed import Feed
from lottisync.store.reader import Change
from lottisync.store.store import Store
from lottisync.store.transaction import refuse_bad_precedence

if TYPE_CHECKING:  # they load the cryptography, which a command that only reads does not need
    from lottisync.device.membership import Members, Strangers
    from lottisync.identity.device_key import DeviceKey
    from lottisync.identity.roster import Roster


class Device:
    """`read_key` is called once, when the key is needed first."""

    def __init__(
        self, stores: Mapping[str, Store], read_key: Callable[[], "DeviceKey"], environment: Environment
    ) -> None:
        self.stores = stores
        self.environment = environment
        self._read_key = read_key

    @cached_property
    def key(self) -> "DeviceKey":
        return self._read_key()

    @property
    def id(self) -> str:
        """64 hexadecimal digits, the same for as long as the device has its key."""
        return self.key.device_id

    def store(self, name: str) -> Store:
        """One store; `Problem` if the device has none of this name."""
        if name not in self.stores:
            raise Problem(
                "unknown-store",
                "there is no store {name!r} here, only {stores}",
                name=name,
                stores=", ".join(self.stores),
            )
        return self.stores[name]

    def look_for_stores(self) -> Mapping[str, Problem]:
        """The stores that other programs have made since the last look are in `stores` from here on. Why those that
        cannot be used are left out, by name."""
        return {}

    @property
    def space(self) -> Store:
        """What this person's devices know of each other."""
        return self.store("space")

    # -- reading and writing, as a program's own structs

    @contextmanager
    def read(self, store: str) -> Iterator[Reading]:
        """What a store shows at one moment: everything read in the block belongs together."""
        with self.store(store).reading() as reader:
            yield Reading(reader)

    @contextmanager
    def write(self, store: str, precedence: int) -> Iterator[Writing]:
        """One transaction: all of it is stored durably when the block ends, or nothing if it raises. `precedence` is
        `HIGH` or `LOW`: of two concurrent writes to a field the higher one wins, then the later one. Raises `Problem`:
        `bad-value` for any other precedence, `nested` within another block of this thread that reads or writes the
        store."""
        refuse_bad_precedence(precedence)
        with self.store(store).transaction(self.environment.now(), precedence) as tx:
            yield Writing(tx, self.environment.new_id)

    def changes(self, store: str, consumer: str) -> Iterator[Change]:
        """What changed in a store since this consumer asked last, by any program or device, oldest first. A change is
        dealt with when the next one is asked for. How far the consumer has come is written into the store after each
        500 changes, and when the loop is left: a program that is killed sees the changes since then again. So the feed
        cannot be read within a block that reads or writes the same store: `Problem` (`nested`). A consumer has a name
        of 1 to 64 printable characters; `Problem` (`bad-value`) for any other."""
        return self._changes(Feed(self.store(store), consumer))

    def follow(self, store: str, consumer: str) -> AsyncIterator[Change]:
        """`changes`, and then those to come, until it is cancelled or the loop is left. Raises as `changes` does."""
        return self._follow(Feed(self.store(store), consumer))

    def _changes(self, feed: Feed) -> Iterator[Change]:
        while changes := feed.take():
            handled: Change | None = None
            try:
                for change in changes:
                    yield change
                    handled = change
            finally:
                if handled is not None:
                    feed.done(handled, self.environment.now())

    async def _follow(self, feed: Feed) -> AsyncIterator[Change]:
        import anyio

        bell = Bell(self.bells, f"follow-{self.environment.new_host()}")
        try:
            while True:
                bell.clear()
                for change in self._changes(feed):
                    yield change
                with anyio.move_on_after(FALLBACK_SECONDS):
                    await anyio.wait_readable(bell)
        finally:
            bell.close()

    @property
    def bells(self) -> Path:
        """The folder of named pipes by which a commit in one program wakes the others."""
        return self.space.file.parent / "bells"

    # -- this device and the others

    @property
    def members(self) -> "Members":
        """The person's devices, and the verbs that change who belongs to them."""
        from lottisync.device.membership import Members

        return Members(self.space, self.key)

    def roster(self) -> "Roster":
        """Who belongs to this person's devices, as far as this device knows."""
        return self.members.roster()

    def strangers(self) -> "Strangers":
        """Finds the hosts that belong to no device of this person: what they have written is not taken."""
        from lottisync.device.membership import Strangers

        return Strangers(self.space, self.key.certificate)

    @property
    def name(self) -> str:
        """What people call this device."""
        return self.roster().members[self.id].name

    def bind_hosts(self, now: int) -> None:
        """Say in `space` that the hosts of all stores are this device's; else peers refuse what it writes."""
        from lottisync.device.membership import bind_hosts

        bind_hosts(self.stores, self.key, now)
