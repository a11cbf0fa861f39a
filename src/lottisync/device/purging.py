"""Forgetting on a whole device what was deleted long ago (docs/specs/14-forgetting.md)."""

from lottisync.device.device import Device
from lottisync.store import forgetting

PURGED_AT_ONCE = 1_000
"""Entities forgotten in one transaction: a fraction of a second."""


def purge(device: Device, now: int, min_age: int = forgetting.MIN_AGE) -> dict[str, int]:
    """Forget what was deleted at least `min_age` ms ago and every active device that has the store has seen; how many
    entities, by store. Each transaction purges a bounded number, so that other writers do not wait long."""
    active = _active_peers(device)
    purged = dict.fromkeys(device.stores, 0)
    for name, store in device.stores.items():
        gone = PURGED_AT_ONCE
        waited_for = forgetting.waited_for(name, device.stores, active)
        while gone == PURGED_AT_ONCE:
            with store.transaction(now, None) as tx:
                gone = forgetting.purge(tx, waited_for, min_age, PURGED_AT_ONCE)
            purged[name] += gone
    return purged


def held_back(device: Device, now: int, min_age: int = forgetting.MIN_AGE) -> dict[str, int]:
    """How many deleted entities each active device holds back from being forgotten, by device id; devices that hold
    none back are left out. `min_age` (ms) as for `purge`."""
    active = _active_peers(device)
    held: dict[str, int] = {}
    for name, store in device.stores.items():
        waited_for = forgetting.waited_for(name, device.stores, active)
        with store.reading() as reader:
            for ident, count in forgetting.holding_back(reader, waited_for, min_age, now).items():
                held[ident] = held.get(ident, 0) + count
    return held


def _active_peers(device: Device) -> list[str]:
    return [member.device for member in device.roster().active_peers()]
