"""The two sides of one exchange: who they are, our stores, and what we know of the peer's.

All parts of an exchange share this: rounds that come in, rounds that go out, comparisons and gossip.
"""

from collections.abc import Iterable, Mapping, Sequence

from lottisync.entities.schema import is_store_name
from lottisync.store.store import Store
from lottisync.sync.agreement import Agreement
from lottisync.sync.event import Event, StoresDiffer
from lottisync.sync.incoming import Unacceptable
from lottisync.sync.peer_status import PeerStatus

MAX_UNKNOWN = 32
"""Stores of the peer that are not here, which are shown to people: a peer may invent any number."""


class Parties:
    """`stores` are in the order in which rounds deliver them, `failing` those that are left out here. `peer` is ""
    until it has greeted. `shared` are the stores that both have; None until the peer has said which it has. `now` is
    the wall clock (ms) as the driver gave it last, and `events` is what has happened since the driver asked."""

    def __init__(self, device: str, stores: Mapping[str, Store], failing: Sequence[str]) -> None:
        self.device, self.peer = device, ""
        self.stores, self.failing = stores, failing
        self.agreements = {name: Agreement(name, store) for name, store in stores.items()}
        self.shared: set[str] | None = None
        self.status = PeerStatus()
        self.events: list[Event] = []
        self.now = 0

    def agreement(self, name: str) -> Agreement:
        """Raises `Unacceptable` for a store that is not here (SYNC-31)."""
        if name not in self.agreements:
            raise Unacceptable("unknown-store", "there is no store {name!r} here", name=name[:40])
        return self.agreements[name]

    def shares(self, names: Iterable[str], failing: Iterable[str] = ()) -> None:
        """The peer has these stores, and those that are `failing` there. The first time it says so it names all of them
        (SYNC-62, SYNC-883)."""
        theirs = set(names)
        if self.shared is not None:
            self.shared |= theirs & self.stores.keys()
            return
        self.shared = theirs & self.stores.keys()
        left_out = set(failing) - theirs
        here, there = self.stores.keys() - theirs, theirs - self.stores.keys() - set(self.failing)
        status = self.status
        status.only_here, status.failing_there = sorted(here - left_out), sorted(here & left_out)
        status.only_there = [name for name in sorted(there) if is_store_name(name)][:MAX_UNKNOWN]
        if here or there:
            found = (status.only_here, status.only_there, status.failing_there)
            self.events.append(StoresDiffer(*map(tuple, found)))

    def shared_in_order(self) -> list[str]:
        """The stores that both have, in the order of delivery; all that are here until the peer has said its own."""
        return [name for name in self.stores if self.shared is None or name in self.shared]
