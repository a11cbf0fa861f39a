"""The state of another device, as the engine tells it and `status` shows it. This module imports little, so that a
program that only reads a status does not load the code of connections.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from lottisync.causality.hlc import MAX_DRIFT_MILLIS
from lottisync.causality.vector_clock import Host
from lottisync.device.absence import Away
from lottisync.problem import Sentence
from lottisync.store.instant import InstantText, iso, millis, to_the_minute
from lottisync.sync.refusal import Refusal


class AddressState(msgspec.Struct, rename="camel"):
    """An address where a device is looked for. `sources` is who says so: `announced`, `worked`, `handed-over` (at
    pairing), `given` (by hand), `recorded`. Times are ISO 8601: it was tried last at `triedAt`; since `failingSince`
    every attempt has failed, at last for the reason `failure` (`code`: unreachable, refused, version). With `stranger`,
    what answers there did not prove that it is the device."""

    address: str
    sources: list[str]
    worked_at: InstantText | None = None
    tried_at: InstantText | None = None
    failing_since: InstantText | None = None
    code: Literal["unreachable", "refused", "version"] | None = None
    failure: Sentence | None = None
    stranger: bool = False


class Receiving(msgspec.Struct, frozen=True, rename="camel"):
    """A round that comes in: `entities` of the `of` that were announced are in `store`. `perSecond`: how many came in a
    second until now; null until that is known."""

    store: str
    entities: int
    of: int
    per_second: int | None


def per_second(entities: int, millis: int) -> int | None:
    """How many came in a second, if `entities` came in `millis`; None if no time passed, or a clock was set back."""
    return entities * 1000 // millis if millis > 0 else None


class PeerState(msgspec.Struct, rename="camel"):
    """What the engine knows of a device, for `status`; times are ISO 8601. `acknowledged` is the
    knowledge that the device named last, by store; `failure` is why the last attempt failed,
    `away` why there is no connection (`why_away`), `addresses` where the device is looked for, `address` where it is
    connected now, if this device has dialled it.
    `diverged` names the stores that differ although both know the same, `mended` says how many entities were put
    right, here and there; `comparing` how far a store has been read for a comparison, (done, of); `receiving` the
    round that comes from it now. `duplicate_key_at` is when a second program with this device's key greeted last;
    `only_here` and `only_there` name stores that one of the two does not have, `failing_there` those that the device
    has and leaves out, because it cannot use their files; none of them syncs. `refusals` is what was refused between
    the two since this program started. `ahead` is the time (ISO 8601) of a write of its own that was far ahead of our
    clock; `clock_off` is what its clock said last, less what ours said then (ms), None if it has not said it, and
    `clock_heard_at` when that was; `left_at` is when its program said goodbye, if it did."""

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
    receiving: Receiving | None = None
    only_here: list[str] = []
    only_there: list[str] = []
    failing_there: list[str] = []
    refusals: list[Refusal] = []
    duplicate_key_at: str | None = None
    ahead: str | None = None
    clock_off: int | None = None
    clock_heard_at: str | None = None
    failure: Sentence | None = None
    away: Away | None = None
    left_at: str | None = None
    addresses: list[AddressState] = []


def why_away(peer: PeerState, now: str) -> Away:
    """Why a device is away (MEET-26), at `now` (ISO 8601). A refusal says more than silence. After a goodbye nobody is
    expected at its addresses: neither silence nor a stranger there says anything of the device (MEET-430)."""
    failing = [each for each in peer.addresses if each.code is not None]
    tried_at = max((each.tried_at for each in failing if each.tried_at), default=now)
    if peer.left_at is not None and all(each.code == "unreachable" or each.stranger for each in failing):
        return Away("stopped", tried_at, peer.left_at, clock_said=peer.ahead)
    if not peer.addresses:
        return Away("no-address", now, failure=peer.failure, clock_said=peer.ahead)
    for code in ("version", "refused", "unreachable"):
        if found := [each for each in failing if each.code == code]:
            since = min((each.failing_since for each in found if each.failing_since), default=None)
            first = found[0]
            return Away(first.code or code, tried_at, since, first.address, len(found) - 1, first.failure, peer.ahead)
    return Away("looking", tried_at, failure=peer.failure, clock_said=peer.ahead)


def clock_warning(name: str, said: str) -> Sentence:
    """In the person's words, of a device whose clock is far ahead."""
    return Sentence(
        "{name}'s clock is ahead: it said {said}. What is written there is kept, and is shown in place of"
        " what others write at the same time. Set the clock there, or here if this one is behind",
        name=name,
        said=said,
    )


def is_far(off: int | None) -> bool:
    """Whether two clocks that are so far apart (ms; None: unknown) are a case for the person."""
    return off is not None and abs(off) > MAX_DRIFT_MILLIS


def clock_difference(name: str, off: int, now: int) -> Sentence:
    """In the person's words, of a device whose clock says `off` ms more than ours, which says `now` (ms since 1970).
    Two devices cannot tell which of them is wrong."""
    theirs, ours = _minute(now + off), _minute(now)
    return Sentence(
        "{name}'s clock and this device's differ: there it is {theirs}, here {ours}. Changes go both ways as before,"
        " but what is written on the device that is ahead may be shown in place of what the other writes. Set the"
        " clock that is wrong",
        name=name,
        theirs=theirs,
        ours=ours,
    )


def clock_difference_then(name: str, off: int, at: int) -> Sentence:
    """What `clock_difference` says, for a device that was heard last `at` a time of ours, and is silent now."""
    theirs, ours = _minute(at + off), _minute(at)
    return Sentence(
        "{name}'s clock and this device's differ, as of {ours}: there it was {theirs} then. What is written on the"
        " device that is ahead may be shown in place of what the other writes. Set the clock that is wrong, unless that"
        " is done",
        name=name,
        theirs=theirs,
        ours=ours,
    )


def clock_trouble(
    name: str, off: int | None, said: str | None, now: int, *, heard_at: str | None = None
) -> Sentence | None:
    """What to say to the person of a device's clock: what it says now counts more than the time of a write. `heard_at`
    (ISO 8601) is when it was heard, if it is silent now."""
    if off is not None and is_far(off):
        return (
            clock_difference(name, off, now) if heard_at is None else clock_difference_then(name, off, millis(heard_at))
        )
    return clock_warning(name, said) if said else None


def own_clock_doubt(peers: Iterable[PeerState], now: int) -> Sentence | None:
    """What to say to the person of this device's own clock, by what the clocks of the others said (CAUS-422): None
    unless two or more, and most of them, are far ahead, or far behind."""
    offs = sorted(peer.clock_off for peer in peers if peer.clock_off is not None)
    ahead, behind = [off for off in offs if off > MAX_DRIFT_MILLIS], [off for off in offs if off < -MAX_DRIFT_MILLIS]
    against = max(ahead, behind, key=len)
    if len(against) < 2 or 2 * len(against) <= len(offs):
        return None
    theirs = _minute(now + against[len(against) // 2])
    return Sentence(
        "this device's clock is probably wrong: it says {ours}, while {against} of {others} other devices say {theirs}"
        " or so. Set the clock",
        ours=_minute(now),
        against=len(against),
        others=len(offs),
        theirs=theirs,
    )


def _minute(millis: int) -> str:
    return to_the_minute(iso(max(0, millis)))


def not_shared(
    name: str, only_here: Sequence[str], only_there: Sequence[str], failing_there: Sequence[str]
) -> list[Sentence]:
    """Sentences for the person about a device that does not have the same stores (SYNC-284), or leaves some out
    (SYNC-884)."""
    said = []
    if failing_there:
        said.append(
            Sentence(
                "{name} leaves out {stores}, because it cannot use the file there: everything else syncs.",
                name=name,
                stores=", ".join(failing_there),
            )
        )
    if only_here:
        stores = ", ".join(only_here)
        said.append(Sentence("{name} does not have {stores}: it syncs everything else.", name=name, stores=stores))
    if only_there:
        said.append(
            Sentence(
                "{name} also has {stores}, which this device does not: everything else syncs.",
                name=name,
                stores=", ".join(only_there),
            )
        )
    return said
