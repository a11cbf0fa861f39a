"""What a running daemon says of itself, and how others read it.

The daemon writes `daemon.json` into its home. Its lock says whether one is running: the system lets go of a lock when a
process ends, while the file of a process that was killed stays behind.
"""

import msgspec

from lottisync import wording
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.device.absence import Away
from lottisync.device.addresses import Reach, read_reach
from lottisync.device.alone import LOCK_FILE, STATUS_FILE
from lottisync.device.peers import ClockHeard, last_absences, last_clocks, remembered
from lottisync.net import interfaces
from lottisync.problem import Sentence
from lottisync.relay.reached import Reached
from lottisync.store.forgetting import acknowledged, lacking
from lottisync.store.instant import iso
from lottisync.store.lock import is_held
from lottisync.sync.peer import AddressState, PeerState
from lottisync.sync.whereabouts import said_of, states


class DaemonStatus(msgspec.Struct, rename="camel"):
    """What a running daemon says of itself in `daemon.json`; `nearby` counts devices that it is not paired with,
    `damaged` names rows, as `journal/ID`, whose content is not what was stored; `duplicate_key_at` is when a peer
    last said that another program runs with this device's key; `unusable` says by store why it does not sync; `relay`
    says how the relay was reached, null without one and until it was tried."""

    pid: int
    port: int
    started_at: str
    peers: list[PeerState] = []
    nearby: int = 0
    damaged: list[str] = []
    duplicate_key_at: str | None = None
    unusable: dict[str, Sentence] = {}
    relay: Reached | None = None


_encoder = msgspec.json.Encoder(enc_hook=wording.encoded)
_decoder = msgspec.json.Decoder(DaemonStatus, dec_hook=wording.decoded)


def encoded(status: DaemonStatus) -> bytes:
    """The content of `daemon.json`. Sentences keep their words, so that each command says them in its language."""
    return _encoder.encode(status)


def read_status(home: TaskHome) -> DaemonStatus | None:
    """The status of the running daemon; None if none is running (an old file does not count), or if that is unknown."""
    try:
        if not is_held(home.path / LOCK_FILE):
            return None
        return _decoder.decode((home.path / STATUS_FILE).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None


def lacked(home: TaskHome, running: DaemonStatus | None) -> dict[str, dict[str, int]]:
    """How many changes each active device lacks, by store, if its knowledge is known."""
    states = {state.device: state for state in running.peers} if running else {}
    lacks: dict[str, dict[str, int]] = {}
    peers = home.roster().active_peers()
    for name, store in home.stores.items() if peers else ():
        with store.reading() as reader:
            noted = acknowledged(reader)
            for member in peers:
                state = states.get(member.device)
                known = state.acknowledged.get(name) if state else None
                known = noted.get(member.device) if known is None else known
                if known is not None:
                    lacks.setdefault(member.device, {})[name] = lacking(reader, known)
    return lacks


def known_addresses(home: TaskHome, running: DaemonStatus | None) -> dict[str, list[AddressState]]:
    """The addresses of each device: from the running daemon, with what failed; without one, from the stores. For this
    device, the addresses that it announces."""
    scopes = interfaces.scopes() or [""]
    with home.space.reading() as reader:
        reach = read_reach(reader)
        own = reach.get(home.id, Reach())
        found = {home.id: states(said_of(own, (), scopes=[""]), {})}
        for member in home.roster().active_peers():
            worked = dict(remembered(reader, member.device))
            found[member.device] = states(said_of(reach.get(member.device, Reach()), worked, (), scopes), worked)
    for peer in running.peers if running else []:
        if peer.addresses:
            found[peer.device] = peer.addresses
    return found


def absences(home: TaskHome, running: DaemonStatus | None) -> dict[str, Away]:
    """Why each device is away: what the running daemon knows; what was written down when it was tried last, unless it
    was connected since. A device that is connected is left out."""
    seen = last_seen(home, running)
    with home.space.reading() as reader:
        written = {
            device: away for device, away in last_absences(reader).items() if away.tried_at >= seen.get(device, "")
        }
    for peer in running.peers if running else []:
        if peer.connected:
            written.pop(peer.device, None)
        elif peer.away is not None and (peer.away.reason != "looking" or peer.device not in written):
            written[peer.device] = peer.away
    return written


def clocks_heard(home: TaskHome, running: DaemonStatus | None) -> dict[str, ClockHeard]:
    """How far the clock of each device was from ours when it was heard last: by the daemon that runs, or by an earlier
    one."""
    with home.space.reading() as reader:
        heard = last_clocks(reader)
    for peer in running.peers if running else []:
        if peer.clock_off is not None and peer.clock_heard_at is not None:
            heard[peer.device] = ClockHeard(peer.clock_off, peer.clock_heard_at)
    return heard


def last_seen(home: TaskHome, running: DaemonStatus | None) -> dict[str, str]:
    """When each device was connected last (ISO 8601), as far as that is known: what the daemon that runs says, and what
    earlier ones wrote down. A time that was written down while this device's own clock was too far ahead does not
    count: it would be the last one until that time comes (CAUS-880)."""
    with home.space.reading() as reader:
        rows = "select device, max(seen_at) from peers where seen_at <> '' and seen_at < ? group by device"
        seen = dict(reader.local(rows, (iso(clock.LATEST),)))
    for peer in running.peers if running else []:
        if peer.last_seen is not None:
            seen[peer.device] = max(peer.last_seen, seen.get(peer.device, ""))
    return seen
