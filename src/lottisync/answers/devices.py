"""Answers about devices: how they stand, and what was done to them."""

from typing import Annotated, Literal

import msgspec

from lottisync.answers.form import DeviceId, Digest, Instant
from lottisync.sync.peer import AddressState

DeviceStatus = Literal["active", "retired", "revoked", "unvouched"]


class Named(msgspec.Struct, frozen=True):
    """A device, where only who it is matters."""

    id: DeviceId
    name: str


class Device(msgspec.Struct, frozen=True, rename="camel"):
    """`lacks` says how many changes the device has not got yet, by store; null if nothing is known of it."""

    id: DeviceId
    name: str
    status: DeviceStatus
    this: bool
    connected: bool
    lacks: dict[str, int] | None
    addresses: list[AddressState]


class Devices(msgspec.Struct, frozen=True):
    """All devices of this person that this one knows."""

    devices: list[Device]


class Peer(msgspec.Struct, frozen=True, rename="camel"):
    """How another device in use stands. `holdsBack`: deleted things that cannot be forgotten before it has seen them.
    `away`: a word for why there is no link. `diverged`: stores that differ although nothing is missing; `mended`: how
    many entities were put right, by store. `comparing`: how much of a store has been compared, done and of how many.
    `onlyHere`, `onlyThere`: stores that one of the two does not have. `runsTwice`: two programs use its key.
    `clockSaid`: what its clock said when that was far ahead of ours."""

    id: DeviceId
    name: str
    connected: bool
    in_step: bool
    lacks: dict[str, int] | None
    holds_back: int
    address: str | None
    addresses: list[AddressState]
    last_seen_at: Instant | None
    away: str | None
    error: str | None
    diverged: list[str]
    mended: dict[str, int]
    comparing: dict[str, tuple[int, int]]
    only_here: list[str]
    only_there: list[str]
    runs_twice: bool
    clock_said: Instant | None


class Daemon(msgspec.Struct, frozen=True, rename="camel"):
    """The daemon that runs."""

    pid: int
    port: int
    started_at: Instant


class StoreState(msgspec.Struct, frozen=True, rename="camel"):
    """`knowledge`: how many writes of each host the store has. `quarantined`: entities that came and cannot be read."""

    entities: int
    digest: Digest
    knowledge: dict[str, int]
    quarantined: int


class Copy(msgspec.Struct, frozen=True, rename="camel"):
    """A device that was copied, or restored from a backup: `backupAt` is its last write before that (null if unknown),
    `kept` how many writes made after the backup were kept. `acknowledged`: the person has said that they know."""

    device_name: str
    backup_at: Instant | None
    kept: int
    noticed_at: Instant
    acknowledged: bool


class AsleepAgent(msgspec.Struct, frozen=True, rename="camel"):
    """An agent that gave up by itself, and why."""

    agent_id: str
    agent_name: str
    asleep_because: str


class Overview(msgspec.Struct, frozen=True, rename="camel"):
    """This device. `daemon` is null if none runs, and so is `nearby`: how many devices are near that it is not paired
    with. `damaged`: rows whose content is not what was stored, as `STORE/ID`. `peers`: the other devices in use.
    `proposalsWaiting`: how many proposals wait for the person; null if they could not be counted."""

    id: DeviceId
    name: str
    home: str
    daemon: Daemon | None
    nearby: int | None
    damaged: list[str]
    runs_twice: bool
    copies: list[Copy]
    stores: dict[str, StoreState]
    peers: list[Peer]
    asleep: list[AsleepAgent]
    proposals_waiting: int | None


class Made(msgspec.Struct, frozen=True, rename="camel"):
    """A new home and its device. `peerId` and `peerName`: the device that it joined by an invitation, or null."""

    id: DeviceId
    name: str
    home: str
    peer_id: DeviceId | None
    peer_name: str | None


class StoresMade(msgspec.Struct, frozen=True):
    """The stores that were missing, and are empty now."""

    home: str
    stores: list[str]


class CodeShown(msgspec.Struct, frozen=True, rename="camel"):
    """The first line of `pair`: the code to type on the other device, which finds this one at `port`."""

    code: str
    port: int
    expires_at: Instant


class InvitationShown(msgspec.Struct, frozen=True, rename="camel"):
    """The first line of `pair --invite`: the link to open on the other device."""

    uri: str
    port: int
    addresses: list[str]
    expires_at: Instant


class PairedWith(msgspec.Struct, frozen=True, rename="camel"):
    """The other device, under the name that it has now; both devices show the same `words`. `ownName`: what this
    device is called now."""

    id: DeviceId
    name: str
    words: list[str]
    own_name: str


class AddressGiven(msgspec.Struct, frozen=True):
    """`given` is false if the address was taken away."""

    id: DeviceId
    name: str
    address: str
    given: bool


class DeviceChanged(msgspec.Struct, frozen=True, rename="camel"):
    """A device as it is now. `formerName` is null if it was not renamed. `alsoRevoked`: devices that only it had
    brought in, and that went with it."""

    id: DeviceId
    name: str
    status: DeviceStatus
    former_name: str | None = None
    also_revoked: list[Named] = []


class Acknowledged(msgspec.Struct, frozen=True):
    """How many copied or restored devices the person did not know of before."""

    acknowledged: int


class Event(msgspec.Struct, frozen=True):
    """A line of `daemon`. `event` is for programs, `text` for people; `port` is set in `started`."""

    at: Instant
    event: Annotated[str, msgspec.Meta(min_length=1)]
    text: str
    port: int | None = None


class ComparedStore(msgspec.Struct, frozen=True, rename="camel"):
    """`outcome`: `equal`; `differs` and could not be mended; `waiting`: the two do not know the same yet;
    `unsettled`: written to all the time; `not-shared`: the other device does not have the store. `mended`: how many
    entities were put right, here and there."""

    device_id: DeviceId
    device_name: str
    store: str
    outcome: Literal["equal", "differs", "waiting", "unsettled", "away", "not-shared"]
    mended: int


class Verified(msgspec.Struct, frozen=True):
    """`away`: devices that were not reached."""

    compared: list[ComparedStore]
    away: list[Named]


class BackedUp(msgspec.Struct, frozen=True):
    """The folder of the backup, the digest of each store in it, and the folders of older backups that were removed."""

    folder: str
    stores: dict[str, Digest]
    removed: list[str]


class Restored(msgspec.Struct, frozen=True):
    """The device that is back in `home`, as it was at `at`."""

    id: DeviceId
    name: str
    home: str
    at: Instant


class Browser(msgspec.Struct, frozen=True, rename="camel"):
    """A browser of the person's network that sees the pages of this device."""

    id: str
    name: str
    admitted_at: Instant
    last_seen_at: Instant


class Browsers(msgspec.Struct, frozen=True):
    """All browsers that were let in."""

    browsers: list[Browser]


class BrowserRevoked(msgspec.Struct, frozen=True):
    """The browser that sees nothing any more."""

    id: str
    name: str


class Admission(msgspec.Struct, frozen=True):
    """What lets one browser of the network in, once: an address, or a code to type at one of the origins.
    `fingerprint`: of the certificate that the browser is shown, SHA-256."""

    address: str
    code: str
    until: Instant
    origins: list[str]
    fingerprint: str


class Pages(msgspec.Struct, frozen=True):
    """Where the pages of this home are. The address lets one browser in, once."""

    address: str
