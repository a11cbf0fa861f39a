"""Answers about devices: how they stand, and what was done to them."""

from typing import Annotated, Literal

import msgspec

from lottisync.answers.agents import AttentionWanted
from lottisync.answers.form import DeviceId, Digest, Instant
from lottisync.device.absence import Away
from lottisync.sync.peer import AddressState, Receiving
from lottisync.sync.refusal import Refusal

DeviceStatus = Literal["active", "retired", "revoked", "unvouched"]


class Named(msgspec.Struct, frozen=True):
    """A device, where only who it is matters."""

    id: DeviceId
    name: str


class DeviceAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """`lacks` says how many changes the device has not got yet, by store; null if nothing is known of it. `away`: why
    there is no connection; null if it is connected, or nothing is known."""

    id: DeviceId
    name: str
    status: DeviceStatus
    this: bool
    connected: bool
    lacks: dict[str, int] | None
    addresses: list[AddressState]
    clock_said: Instant | None
    away: Away | None


class Devices(msgspec.Struct, frozen=True):
    """All devices of this person that this one knows."""

    devices: list[DeviceAnswer]


class Compared(msgspec.Struct, frozen=True):
    """How many entities have been compared, of how many."""

    done: int
    of: int


class Peer(msgspec.Struct, frozen=True, rename="camel"):
    """How another device in use stands. `holdsBack`: deleted things that cannot be forgotten before it has seen them.
    `away`: why there is no connection; null if it is connected, or nothing is known. `address`: where it is
    connected, if this device dialled it. `diverged`: stores that differ although nothing is missing; `mendedByStore`:
    how many entities were put right. `comparing`: how much of a store has been compared, by store.
    `receiving`: how far the changes have come that this device is getting from it now; null if there are none.
    `onlyHere`, `onlyThere`: stores that one of the two does not have; `failingThere`: stores that the device has and
    leaves out, because it cannot use their files. `refusals`: each kind of what was refused between the two in the last
    day, while this daemon runs, the latest first. `runsTwice`: two programs use its key.
    `clockSaid`: the time of a write of its own that was far ahead of our clock. `clockOff`: what its clock said last,
    less what ours said then, in milliseconds, and `clockHeardAt` when that was; null if it has not said it.
    `leftAt`: when its program said goodbye."""

    id: DeviceId
    name: str
    connected: bool
    in_step: bool
    lacks: dict[str, int] | None
    holds_back: int
    address: str | None
    addresses: list[AddressState]
    last_seen_at: Instant | None
    away: Away | None
    failure: str | None
    diverged: list[str]
    mended_by_store: dict[str, int]
    comparing: dict[str, Compared]
    receiving: Receiving | None
    only_here: list[str]
    only_there: list[str]
    failing_there: list[str]
    refusals: list[Refusal]
    runs_twice: bool
    clock_said: Instant | None
    clock_off: int | None
    clock_heard_at: Instant | None
    left_at: Instant | None


class Daemon(msgspec.Struct, frozen=True, rename="camel"):
    """The daemon that runs."""

    pid: int
    port: int
    started_at: Instant


class StoreAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """`knowledge`: how many writes of each host the store has. `quarantined`: entities that came and cannot be read."""

    entities: int
    digest: Digest
    knowledge: dict[str, int]
    quarantined: int


class RelayReached(msgspec.Struct, frozen=True, rename="camel"):
    """The relay that is used: reached, or `failure` says why not, and since when; `stateSince` is null if no
    daemon runs, or it has not tried yet."""

    url: str
    state_since: Instant | None
    failure: str | None


class Copy(msgspec.Struct, frozen=True, rename="camel"):
    """A device that was copied, or restored from a backup: `backupAt` is its last write before that (null if unknown),
    `kept` how many writes made after the backup were kept. `acknowledged`: the person has said that they know."""

    device_name: str
    backup_at: Instant | None
    kept: int
    noticed_at: Instant
    acknowledged: bool


class InvitationState(msgspec.Struct, frozen=True, rename="camel"):
    """An invitation of this device. `port` is null until somebody listens there; `failure` says why nobody can. Once it
    is used, the device that joined by it."""

    number: int
    state: Literal["open", "used", "expired"]
    until: Instant
    port: int | None
    failure: str | None
    device_id: DeviceId | None
    device_name: str | None
    joined_at: Instant | None


class Invitations(msgspec.Struct, frozen=True):
    """The invitations that are open, or ended less than a day ago."""

    invitations: list[InvitationState]


class AsleepAgent(msgspec.Struct, frozen=True, rename="camel"):
    """An agent that gave up by itself, and the `reason`. `taskTitle` is null if its task is not here."""

    agent_id: str
    agent_name: str
    task_title: str | None
    reason: str


class PausedAgent(msgspec.Struct, frozen=True, rename="camel"):
    """An agent that waits for its endpoint, or has used its tokens of the day, the `reason`, and when it goes on."""

    agent_id: str
    agent_name: str
    task_title: str | None
    reason: str
    until: Instant | None


class Reminder(msgspec.Struct, frozen=True, rename="camel"):
    """An open task of which the person wanted to be reminded at `at`, which is over."""

    task_id: str
    task_title: str
    at: Instant


class UnfinishedVerdict(msgspec.Struct, frozen=True):
    """A verdict whose effect is not there: `failure` says why it failed; null if it was begun, and the next `review`
    or the daemon finishes it. `item` is the name of the proposal."""

    item: str
    failure: str | None


class Overview(msgspec.Struct, frozen=True, rename="camel"):
    """This device. `daemon` is null if none runs, and so is `nearby`: how many devices are near that it is not paired
    with. `damaged`: rows whose content is not what was stored, as `STORE/ID`. `unusable`: the stores that do not sync
    because their file cannot be used, and why. `peers`: the other devices in use. `proposalsWaiting`: how many
    proposals wait for the person; null if they could not be counted. `agentsOff`: the person has turned all agents off.
    `paused`: agents that wait for an endpoint, or have used their budget of the day. `attention`: what agents want the
    person to look at. `reminders`: what the person wanted to be reminded of. `conflictsWaiting`: how many decisions the
    person has to make about what two devices wrote at once. `clockDoubt`: why this device's own clock cannot be right,
    or null. `leftOut`: why something is missing in this answer: rows that are damaged. `unfinished`: verdicts that were
    not carried out. `relay`: null if none is used."""

    id: DeviceId
    name: str
    home: str
    daemon: Daemon | None
    nearby: int | None
    damaged: list[str]
    unusable: dict[str, str]
    runs_twice: bool
    copies: list[Copy]
    stores: dict[str, StoreAnswer]
    peers: list[Peer]
    invitations: list[InvitationState]
    asleep: list[AsleepAgent]
    agents_off: bool
    paused: list[PausedAgent]
    attention: list[AttentionWanted]
    reminders: list[Reminder]
    proposals_waiting: int | None
    conflicts_waiting: int
    clock_doubt: str | None
    left_out: list[str]
    unfinished: list[UnfinishedVerdict]
    relay: RelayReached | None


class Made(msgspec.Struct, frozen=True, rename="camel"):
    """A new home and its device. `peerId` and `peerName`: the device that it joined by an invitation, or null."""

    id: DeviceId
    name: str
    home: str
    peer_id: DeviceId | None
    peer_name: str | None


class StoresMade(msgspec.Struct, frozen=True, rename="camel"):
    """The stores that were missing, and are empty now."""

    home: str
    stores_made: list[str]


class CodeAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """The first line of `pair`: the code to type on the other device, which finds this one at `port`."""

    code: str
    port: int
    until: Instant


class InvitationShown(msgspec.Struct, frozen=True, rename="camel"):
    """The first line of `pair --invite`: the invitation to open on the other device."""

    number: int
    uri: str
    port: int
    until: Instant


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


class Acknowledged(msgspec.Struct, frozen=True, rename="camel"):
    """How many copied or restored devices the person did not know of before."""

    newly_acknowledged: int


class Event(msgspec.Struct, frozen=True):
    """A line of `daemon`. `event` is for programs, `text` for people; `port` is set in `started`."""

    at: Instant
    event: Annotated[str, msgspec.Meta(min_length=1)]
    text: str
    port: int | None = None


class Left(msgspec.Struct, frozen=True, rename="camel"):
    """The home that was deleted, and the name of a device that has everything that was in it; null if none has."""

    home: str
    device_name: str | None


class Arrived(msgspec.Struct, frozen=True):
    """The devices that have everything that this one has."""

    devices: list[Named]


class ComparedStore(msgspec.Struct, frozen=True, rename="camel"):
    """`outcome`: `equal`; `differs` and could not be mended; `waiting`: the two do not know the same yet;
    `unsettled`: written to all the time; `refused`: the other device compares no more for now; `not-shared`: the other
    device does not have the store; `left-out`: one of the two cannot use its file. `mended`: how many
    entities were put right, here and there."""

    device_id: DeviceId
    device_name: str
    store: str
    outcome: Literal["equal", "differs", "waiting", "unsettled", "away", "refused", "not-shared", "left-out"]
    mended: int


class VerifiedAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """What was compared with which device, and the devices that were not reached."""

    compared: list[ComparedStore]
    not_reached: list[Named]


class BackedUp(msgspec.Struct, frozen=True):
    """The folder of the backup, the digest of each store in it, and the folders of older backups that were removed."""

    folder: str
    digests: dict[str, Digest]
    removed: list[str]


class Restored(msgspec.Struct, frozen=True):
    """The device that is back in `home`, as it was at `at`."""

    id: DeviceId
    name: str
    home: str
    at: Instant


class Pages(msgspec.Struct, frozen=True):
    """Where the pages of this home are. The address lets one browser in, once."""

    address: str


class Admission(msgspec.Struct, frozen=True):
    """What lets in one browser of the network: the code, where it is typed, and the address that the QR code holds.
    `fingerprint` is that of the certificate authority to trust; null if the certificate is the person's."""

    address: str
    code: str
    until: Instant
    origins: list[str]
    fingerprint: str | None


class BrowserAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """A browser of the network that is let in, or was."""

    id: str
    name: str
    admitted_at: Instant
    last_seen_at: Instant


class BrowsersAnswer(msgspec.Struct, frozen=True):
    """The browsers of the network that see the pages of this device, the one seen last first."""

    browsers: list[BrowserAnswer]
