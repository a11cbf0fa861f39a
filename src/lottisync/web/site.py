"""What the pages look at and act through: one home, its clock, and what its daemon knows of the other devices.

Pages hold no rules of their own. They read the views that the command line reads, and call the same verbs.
"""

import hashlib
from collections.abc import Callable
from typing import NamedTuple

from lottisync.device.home import Home
from lottisync.journal.toolbox import ACTIONS
from lottisync.review import index
from lottisync.review.inbox import Inbox
from lottisync.review.verdict import Verdicts
from lottisync.store.store import Store
from lottisync.web.access import Door
from lottisync.web.admission import Browsers
from lottisync.web.words import LANGUAGE


class DeviceLine(NamedTuple):
    """A device as its daemon sees it. `lacks` is how many changes it lacks, by store, as far as that is known; `seen`
    is when it was connected last (ISO 8601)."""

    name: str
    device: str
    status: str
    this: bool
    linked: bool
    lacks: dict[str, int]
    seen: str | None


class Site:
    """`devices` says how the devices stand; `now` is in ms; `new_id` mints an id from a time; `browsers` are those
    of the network, and `door` says where they find the pages."""

    def __init__(
        self,
        home: Home,
        now: Callable[[], int],
        new_id: Callable[[int], str],
        devices: Callable[[], list[DeviceLine]],
        browsers: Browsers,
        door: Callable[[], Door],
    ) -> None:
        self.home = home
        self.now = now
        self.new_id = new_id
        self.devices = devices
        self.browsers = browsers
        self.door = door

    @property
    def journal(self) -> Store:
        return self.home.store("journal")

    @property
    def agents(self) -> Store:
        return self.home.store("agent")

    def inbox(self) -> Inbox:
        return Inbox(self.journal, self.agents, ACTIONS, language=LANGUAGE)

    def verdicts(self) -> Verdicts:
        """The person's verdicts here; what another process left half done is finished first."""
        found = Verdicts(self.journal, self.agents, ACTIONS, device_id=self.home.key.device_id, new_id=self.new_id)
        found.recover(self.now())
        return found

    def waiting(self) -> int:
        """How many items want the person's word."""
        return index.waiting(self.agents, self.now())

    def conflicts(self) -> int:
        """In how many entities devices have written the same field at once."""
        count = 0
        for store in self.home.stores.values():
            with store.reading() as reader:
                count += len(reader.conflicted())
        return count

    def picture(self) -> str:
        """A value that differs whenever a page may look different: the stores' digests, and how the devices stand."""
        hashed = hashlib.sha256()
        for store in self.home.stores.values():
            with store.reading() as reader:
                hashed.update(reader.digest())
        hashed.update(repr([(line.device, line.linked, line.lacks) for line in self.devices()]).encode())
        return hashed.hexdigest()[:32]
