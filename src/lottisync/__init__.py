"""lottisync: a local-first, sync-capable data layer. Describe your types, open a device, write, and sync.

    open, Home             a device in a folder: its stores, its key, its clock
    schema, EntityType     what a store holds
    HIGH, LOW              the two precedences of a write: of two concurrent writes the higher one wins
    Reading, Writing       one moment of a store, one transaction
    Change, Conflict       an entry of the change feed; what two devices wrote without knowing of each other
    offering, pair         make two devices trust each other
    syncing                keep a device in sync over the network
    conversation           the same without a network, for a transport of your own
    event                  what happens in a conversation: a class for each kind of event
    Address, LOOPBACK      a host and a port; this machine alone
    Problem                an error that a person can act on

docs/library.md and docs/conversation.md teach them. Within a major version these names stay what they are, and so do
the public members of these classes, the fields of events, `port` and `peers` of what `syncing` gives, and whatever else
the two pages use. New kinds of events may come, so a program passes over those that it does not know. Everything else
in the package may change with any release.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lottisync.device.home import Home
    from lottisync.device.home import open_or_create as open
    from lottisync.device.pairing import LOOPBACK, offering, pair
    from lottisync.device.typed import Reading, Writing
    from lottisync.entities.entity import HIGH, LOW
    from lottisync.entities.schema import EntityType, schema
    from lottisync.net.address import Address
    from lottisync.problem import Problem
    from lottisync.store.conflict import Conflict
    from lottisync.store.reader import Change
    from lottisync.sync import event
    from lottisync.sync.syncing import conversation, syncing

    __version__: str

__all__ = [
    "HIGH",
    "LOOPBACK",
    "LOW",
    "Address",
    "Change",
    "Conflict",
    "EntityType",
    "Home",
    "Problem",
    "Reading",
    "Writing",
    "__version__",
    "conversation",
    "event",
    "offering",
    "open",
    "pair",
    "schema",
    "syncing",
]

_WHERE = {
    "HIGH": "lottisync.entities.entity",
    "LOW": "lottisync.entities.entity",
    "Address": "lottisync.net.address",
    "LOOPBACK": "lottisync.device.pairing",
    "Change": "lottisync.store.reader",
    "Conflict": "lottisync.store.conflict",
    "EntityType": "lottisync.entities.schema",
    "Home": "lottisync.device.home",
    "Problem": "lottisync.problem",
    "Reading": "lottisync.device.typed",
    "Writing": "lottisync.device.typed",
    "conversation": "lottisync.sync.syncing",
    "event": "lottisync.sync.event:",
    "offering": "lottisync.device.pairing",
    "open": "lottisync.device.home:open_or_create",
    "pair": "lottisync.device.pairing",
    "schema": "lottisync.entities.schema",
    "syncing": "lottisync.sync.syncing",
}
"""Where each name is: in a module, under another name behind a colon, or the module itself. It is imported when it is
used first: a command that lists tasks loads no network."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("lottisync")
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    where, colon, other = _WHERE[name].partition(":")
    module = import_module(where)
    found = module if colon and not other else getattr(module, other or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
