"""What the person was notified of, and by which device (docs/specs/11-command-line.md, section 7).

Each device has one record in `space`: what it knew of a store when it last notified the person. What another device
wrote into that store is announced if one of these clocks covers it. So a record stays as small as a clock, however much
was announced, and two devices never write to the same one. `space` leads every round: the record of a notification
arrives before, or together with, what it was about.
"""

from collections.abc import Mapping
from typing import Any

from lottisync.causality.vector_clock import Clock, ClockError, Host, validate
from lottisync.entities import path
from lottisync.entities.entity import LOW, Entity, is_deleted
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.store import Store

TYPE = "setting"
PREFIX = "announced-"


def announced(reader: Reader, store: str) -> list[Clock]:
    """What was announced of a store: a clock for each device that ever notified the person. A record that cannot be
    read counts as absent."""
    clocks = (_clock(entity, store) for entity in reader.by_type(TYPE) if entity.id.startswith(PREFIX))
    return [clock for clock in clocks if clock is not None]


def announce(space: Store, device: str, store: str, known: Clock, now: int) -> None:
    """Write down that `device` has notified the person of all that `known` covers in a store."""
    with space.transaction(now, LOW) as tx:
        tx.put(PREFIX + device, TYPE, {path.join("known", store): dict(known), path.join("at", store): iso(now)})


def _clock(entity: Entity, store: str) -> Clock | None:
    known: Any = None if is_deleted(entity) else entity.value(path.join("known", store))
    if not isinstance(known, Mapping):
        return None
    clock = {Host(host): counter for host, counter in known.items()}
    try:
        validate(clock)
    except ClockError:
        return None
    return clock
