"""What the pages look at and act through: one home, its clock, and what its daemon knows of the other devices.

Pages hold no rules of their own. They read the views that the command line reads, and call the same verbs.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple, Protocol

from lottisync.agents import admission
from lottisync.causality.vector_clock import Host
from lottisync.device.home import Home
from lottisync.device.invitations import Given, given_out
from lottisync.journal.toolbox import ACTIONS
from lottisync.language import say, spoken
from lottisync.review.acts import note_verdict
from lottisync.review.inbox import Inbox
from lottisync.review.set_counts import SetCount, SetCounts
from lottisync.review.verdict import Verdicts, unnoted
from lottisync.store import conflict
from lottisync.store.chain import roots
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.web.access import Door
from lottisync.web.admission import Browsers
from lottisync.web.pairing import Pairing


class DeviceLine(NamedTuple):
    """A device as its daemon sees it. `lacks` is how many changes it lacks, by store, as far as that is known; `seen`
    is when it was connected last (ISO 8601), `away` why it could not be reached."""

    name: str
    device: str
    status: str
    this: bool
    connected: bool
    lacks: dict[str, int]
    seen: str | None
    away: str = ""


class Setting(NamedTuple):
    """A line of this device's `config.toml`: its value, `usual` without that line, and whether it is there."""

    name: str
    value: str | bool | None
    usual: str | bool | None
    given: bool


class DeviceSettings(Protocol):
    """What a person sets once for this device."""

    def all(self) -> list[Setting]: ...

    def change(self, name: str, text: str | None) -> None:
        """Change a setting; None sets the usual value. Raises `Problem` for a name or a value that is not one."""

    def language(self) -> str | None:
        """The language that is set; None if there is none, or the settings cannot be read."""

    def endpoints(self) -> Collection[str] | None:
        """The names of the model servers of this device; None where they cannot be read."""


class Counted(NamedTuple):
    """How much waits in each set of the inbox: of an agent store with that digest, for a visit that began at `since`,
    made at `made`, and right until before `until` (ms)."""

    digest: bytes
    since: int
    made: int
    until: int
    counts: list[SetCount]

    def shows(self, since: int) -> bool:
        """Whether a visit that began at `since` sees the same: in a later one nothing was decided, for the store has
        not changed."""
        return self.since == since or (since >= self.made and all(count.waiting for count in self.counts))


class Site:
    """`devices` gives the states of the devices; `now` is in ms; `new_id` mints an id from a time; `browsers` are those
    of the network, and `door` says where they find the pages; `pairing` is the code that a page shows."""

    def __init__(
        self,
        home: Home,
        now: Callable[[], int],
        new_id: Callable[[int], str],
        devices: Callable[[], list[DeviceLine]],
        browsers: Browsers,
        door: Callable[[], Door],
        pairing: Pairing,
        settings: DeviceSettings,
    ) -> None:
        self.home = home
        self.now = now
        self.new_id = new_id
        self.devices = devices
        self.browsers = browsers
        self.door = door
        self.pairing = pairing
        self.settings = settings
        self._counts = SetCounts(home.store("agent"))
        self._counted: Counted | None = None

    @property
    def journal(self) -> Store:
        return self.home.store("journal")

    @property
    def agents(self) -> Store:
        return self.home.store("agent")

    @property
    def here(self) -> admission.Here:
        """This device now, as an agent asks whether it may wake on it."""
        endpoints = self.settings.endpoints()
        return admission.Here(self.home.key.device_id, self.now(), None, self.name_of, endpoints)

    def inbox(self) -> Inbox:
        return Inbox(self.journal, self.agents, ACTIONS, language=spoken())

    def verdicts(self, origin: str | None = None) -> Verdicts:
        """The person's verdicts here; what another process left half done is finished first. With an origin they are
        noted, so that they can be taken back from there."""
        found = Verdicts(
            self.journal,
            self.agents,
            ACTIONS,
            device_id=self.home.key.device_id,
            new_id=self.new_id,
            note=partial(note_verdict, self.journal, origin) if origin is not None else unnoted,
        )
        found.recover(self.now())
        return found

    def waiting(self) -> int:
        """How many items want the person's word."""
        return sum(self.waiting_by_task().values())

    def waiting_by_task(self) -> dict[str, int]:
        """How many items wait, for each task; tasks without such items are left out."""
        found: Counter[str] = Counter()
        for count in self.counts(self.now()):
            found[count.task_id] += count.waiting
        return +found

    def counts(self, since: int) -> list[SetCount]:
        """How much waits in each set of the inbox, for a visit that began at `since` (ms). Every page needs it, so it
        is counted once for as long as it holds."""
        now, held = self.now(), self._counted
        with self.agents.reading() as reader:
            digest = reader.digest()
        if held is None or held.digest != digest or not held.made <= now < held.until or not held.shows(since):
            counts = self._counts.visited(now, since)
            held = self._counted = Counted(digest, since, now, self._counts.until, counts)
        return held.counts

    def names_of_hosts(self, reader: Reader) -> dict[Host, str]:
        """What the device of each host is called that has written to a store."""
        roster = self.home.roster()
        owners = {host: roster.members.get(roster.host_owner.get(root, "")) for host, root in roots(reader).items()}
        return {host: member.name for host, member in owners.items() if member is not None}

    def name_of(self, device: str) -> str:
        """What a device is called."""
        member = self.home.roster().members.get(device)
        return member.name if member is not None else say("another device")

    def conflicts(self) -> int:
        """How many conflicts the person has to settle, each decision once."""
        count = 0
        for store in self.home.stores.values():
            with store.reading() as reader:
                count += len(conflict.decisions_of_store(reader))
        return count

    def invitations(self) -> list[Given]:
        """The invitations that were given out, and who joined by them, the newest first."""
        return given_out(self.home.space, self.now())[::-1]

    def picture(self, devices: list[DeviceLine] | None = None) -> str:
        """A value that differs whenever a page may look different: the stores' digests, the states of the devices, who
        may join, and what is set."""
        devices = self.devices() if devices is None else devices
        hashed = hashlib.sha256()
        for store in self.home.stores.values():
            with store.reading() as reader:
                hashed.update(reader.digest())
        hashed.update(repr([(line.device, line.connected, line.lacks) for line in devices]).encode())
        hashed.update(repr((self.pairing.shown, self.pairing.ended, self.invitations())).encode())
        return hashed.hexdigest()[:32]
