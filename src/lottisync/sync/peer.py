"""How another device stands, as the engine tells it and `status` shows it.

It stands alone, so that a program that only reads a status does not load the code of connections.
"""

from collections.abc import Sequence

import msgspec

from lottisync.causality.vector_clock import Host
from lottisync.device.peers import LastFailure


class AddressState(msgspec.Struct, rename="camel"):
    """An address where a device is looked for. `source` is `announced`, `worked`, `given` or `recorded`; times are ISO
    8601; since `failingSince` every attempt has failed, at last for the reason `error` (`code`: unreachable, refused,
    version)."""

    address: str
    source: str
    worked_at: str | None = None
    failing_since: str | None = None
    code: str | None = None
    error: str | None = None


class PeerState(msgspec.Struct, rename="camel"):
    """What the engine knows of a device, for `status`; times are ISO 8601. `acknowledged` is the
    knowledge that the device named last, by store; `error` is why the last attempt failed,
    `away` a word for why there is no connection (`why_away`), `addresses` where the device is looked for.
    `diverged` names the stores that differ although both know the same, `mended` says how many entities were put
    right, here and there; `comparing` how far a store has been read for a comparison, (done, of). `twice` is when a
    second program with this device's key greeted last; `only_here` and `only_there` name stores that one of the two
    does not have, so that they do not sync; `ahead` what its clock said (ISO 8601) when that was far ahead
    of ours; `left_at` is when its program said goodbye, if it did."""

    device: str
    name: str
    connected: bool = False
    address: str | None = None
    last_seen: str | None = None
    in_step: dict[str, bool] = {}
    acknowledged: dict[str, dict[Host, int]] = {}
    diverged: list[str] = []
    mended: dict[str, int] = {}
    comparing: dict[str, tuple[int, int]] = {}
    only_here: list[str] = []
    only_there: list[str] = []
    twice: str | None = None
    ahead: str | None = None
    error: str | None = None
    away: str | None = None
    left_at: str | None = None
    addresses: list[AddressState] = []


def why_away(peer: PeerState) -> str:
    """The word for why a device is away (MEET-26): what the last attempts came to. A refusal says more than silence,
    and after a goodbye silence is what was to be expected."""
    codes = {each.code for each in peer.addresses if each.code is not None}
    if peer.left_at is not None and not codes & {"version", "refused"}:
        return "stopped"
    if not peer.addresses:
        return "no-address"
    return next((code for code in ("version", "refused", "unreachable") if code in codes), "looking")


def last_failure(peer: PeerState, now: str) -> LastFailure | None:
    """What is to be remembered of a device that cannot be reached, tried last at `now` (ISO 8601)."""
    failing = [each for each in peer.addresses if each.code == peer.away and each.failing_since is not None]
    if not failing:
        return None
    first = failing[0]
    return LastFailure(first.address, str(first.code), str(first.error), str(first.failing_since), now)


def clock_warning(name: str, said: str) -> str:
    """In the person's words, of a device whose clock is far ahead."""
    return (
        f"{name}'s clock is ahead: it said {said}. What is written there is kept, and is shown in place of"
        " what others write at the same time. Set the clock there, or here if this one is behind"
    )


def not_shared(name: str, only_here: Sequence[str], only_there: Sequence[str]) -> list[str]:
    """In the person's words, of a device that does not have the same stores (SYNC-63)."""
    said = []
    if only_here:
        said.append(f"{name} does not have {', '.join(only_here)}: it syncs everything else.")
    if only_there:
        said.append(f"{name} also has {', '.join(only_there)}, which this device does not: everything else syncs.")
    return said
