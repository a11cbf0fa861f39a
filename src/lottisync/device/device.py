"""A device: its stores, its key, and where it takes time and chance from.

    stores        by name, in the order in which rounds deliver them; `space` comes first, because whoever gets data
                  has to know the device that wrote it
    key           what it signs with; its id follows from it
    environment   clock, ids and random numbers

A device does not know what its stores are for. It is made with them, and every program that has one (a daemon, a
command, a test) makes it in its own way; `lottisync.device.home` is one that lies in a folder.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from lottisync.device.clock import Environment
from lottisync.problem import Problem
from lottisync.store.store import Store

if TYPE_CHECKING:  # they load the cryptography, which a command that only reads does not need
    from lottisync.device.membership import Members
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
            raise Problem("unknown-store", f"there is no store {name!r} here, only {', '.join(self.stores)}")
        return self.stores[name]

    @property
    def space(self) -> Store:
        """What this person's devices know of each other."""
        return self.store("space")

    # -- this device and the others

    @property
    def members(self) -> "Members":
        """The person's devices, and the verbs that change who belongs to them."""
        from lottisync.device.membership import Members

        return Members(self.space, self.key)

    def roster(self) -> "Roster":
        """Who belongs to this person's devices, as far as this device knows."""
        return self.members.roster()

    @property
    def name(self) -> str:
        """What people call this device."""
        return self.roster().members[self.id].name

    def bind_hosts(self, now: int) -> None:
        """Say in `space` that the hosts of all stores are this device's; else peers refuse what it writes."""
        from lottisync.device.membership import bind_hosts

        bind_hosts(self.stores, self.key, now)
