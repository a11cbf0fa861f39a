"""What a running daemon says of itself, and how others read it.

The daemon writes `daemon.json` into its home; whether one is running is told by its lock, which the
system lets go of when a process ends, and not by the file, which a process that was killed leaves behind.
"""

import msgspec

from lottisync.daemon.home import TaskHome
from lottisync.device.addresses import Reach, read_reach
from lottisync.device.peers import remembered
from lottisync.store.forgetting import acknowledged, lacking
from lottisync.store.lock import is_held
from lottisync.sync.peer import AddressState, PeerState

STATUS_FILE = "daemon.json"
LOCK_FILE = "daemon.lock"


class DaemonStatus(msgspec.Struct, rename="camel"):
    """What a running daemon says of itself in `daemon.json`; `nearby` counts devices that it is not paired with,
    `damaged` names rows, as `journal/ID`, whose content is not what was stored; `twice` is when a peer last said that
    another program runs with this device's key."""

    pid: int
    port: int
    started_at: str
    peers: list[PeerState] = []
    nearby: int = 0
    damaged: list[str] = []
    twice: str | None = None


def read_status(home: TaskHome) -> DaemonStatus | None:
    """The status of the running daemon; None if none is running (an old file does not count), or if that is unknown."""
    try:
        if not is_held(home.path / LOCK_FILE):
            return None
        return msgspec.json.decode((home.path / STATUS_FILE).read_bytes(), type=DaemonStatus)
    except (OSError, msgspec.MsgspecError):
        return None


def lacked(home: TaskHome, running: DaemonStatus | None) -> dict[str, dict[str, int]]:
    """How many changes each active device lacks, by store, if its knowledge is known."""
    states = {state.device: state for state in running.peers} if running else {}
    lacks: dict[str, dict[str, int]] = {}
    for name, store in home.stores.items():
        with store.reading() as reader:
            noted = acknowledged(reader)
            for member in home.roster().active_peers():
                state = states.get(member.device)
                known = state.acknowledged.get(name) if state else None
                known = noted.get(member.device) if known is None else known
                if known is not None:
                    lacks.setdefault(member.device, {})[name] = lacking(reader, known)
    return lacks


def known_addresses(home: TaskHome, running: DaemonStatus | None) -> dict[str, list[AddressState]]:
    """The addresses of each device: from the running daemon, with errors; without one, from the stores."""
    with home.space.reading() as reader:
        reach = read_reach(reader)
        found = {
            member.device: [
                *(AddressState(str(at), "worked", worked or None) for at, worked in remembered(reader, member.device)),
                *(AddressState(str(at), "given") for at in reach.get(member.device, Reach()).given),
                *(AddressState(str(at), "recorded") for at in reach.get(member.device, Reach()).addresses),
            ]
            for member in home.roster().active_peers()
        }
    for peer in running.peers if running else []:
        if peer.addresses:
            found[peer.device] = peer.addresses
    return found


def last_seen(home: TaskHome, running: DaemonStatus | None) -> dict[str, str]:
    """When each device was connected last (ISO 8601), as far as that is known: what the daemon that runs says, and what
    earlier ones wrote down."""
    with home.space.reading() as reader:
        seen = dict(reader.local("select device, max(seen_at) from peers group by device"))
    for peer in running.peers if running else []:
        if peer.last_seen is not None:
            seen[peer.device] = max(peer.last_seen, seen.get(peer.device, ""))
    return seen
