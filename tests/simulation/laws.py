"""What has to hold after every step, and in the end. Each raises `Broken` with the law's name."""

from collections.abc import Container, Iterable, Sequence
from itertools import combinations

from tests.simulation.device import ByValue, Device, Kept
from tests.simulation.pool import looking_through
from tests.simulation.reference import Broken, Found, Reference

from lottisync.causality.hlc import MAX_DRIFT_MILLIS
from lottisync.causality.vector_clock import Host, covers
from lottisync.store import lookups
from lottisync.store.chain import nodes
from lottisync.store.check import broken_invariants

QUARANTINED = "in quarantine, kept as it came"


def knowledge_is_true(
    device: Device, kept: Kept, written: ByValue, reference: Reference, spared: Container[tuple[str, str]]
) -> None:
    """What a store claims to know has been in it: every effect of every write up to there."""
    for host, known in kept.knowledge.items():
        first, values = kept.chains.get(host, (1, []))
        if known >= first + len(values):
            raise Broken("chain", f"{kept.name} of device {device.slot} knows {host}:{known}, beyond its chain")
        for counter, value in enumerate(values[: known - first + 1], first):
            store, entity, writes = written.get(value, ("", "", ()))
            missing = set(writes) - kept.seen.get(entity, frozenset()) - reference.purged
            if missing and store == kept.name and (store, entity) not in spared:
                raise Broken(
                    "knowledge",
                    f"{kept.name} of device {device.slot} claims {host}:{counter} without "
                    f"{[reference.writes[n] for n in missing]}",
                )


def equal_knowledge_means_equal_digest(devices: Sequence[Device]) -> None:
    for a, b in combinations(devices, 2):
        for name, kept in a.kept.items():
            ours, theirs = kept.summary, b.kept[name].summary
            if ours is not None and theirs is not None and ours.known == theirs.known and ours.digest != theirs.digest:
                raise Broken("digest", f"{name} of devices {a.slot} and {b.slot} know the same and differ")


def nothing_durable_is_gone(device: Device, now: Kept, before: Kept) -> None:
    """After a power cut a store knows at least what it was seen to know: all that had been said, and acknowledged."""
    with now.store.reading() as reader:
        knowledge, split = reader.knowledge(), nodes(reader) != frozenset(before.nodes)
    if not split and not covers(knowledge, before.knowledge):
        raise Broken("durable", f"{now.name} of device {device.slot} knew {before.knowledge}, and now {knowledge}")


def clocks_do_not_follow(device: Device, kept: Kept, now: int) -> None:
    """A time in the future that a peer names does not move another device's clock there (CAUS-9)."""
    if kept.millis > now + MAX_DRIFT_MILLIS:
        raise Broken("clock", f"{kept.name} of device {device.slot} is {kept.millis - now} ms ahead")


def no_stranger_has_come_in(device: Device, kept: Kept, owned: Container[Host]) -> None:
    """Nothing is known of a host that belongs to no device (SYNC-9), and nothing of a branch of it."""
    for host in kept.knowledge:
        if host not in owned and kept.roots.get(host) not in owned:
            raise Broken("stranger", f"{kept.name} of device {device.slot} knows of {host}, which is nobody's")


def no_decision_before_its_effect(device: Device, reference: Reference) -> None:
    if "agent" not in device.kept:
        return
    there = device.kept["journal"].all_seen
    for seen in device.kept["agent"].seen.values():
        for decision in seen & reference.effects.keys():
            if reference.effects[decision] - there - reference.purged - reference.mislaid:
                raise Broken("order", f"a decision is on device {device.slot} before its effect")


def no_decision_without_its_effect(devices: Sequence[Device], reference: Reference) -> None:
    """In the end a device that knows a decision has its effect, unless the only journal that ever had it lost it."""
    for device in devices:
        if "agent" not in device.kept:
            return
        there = device.kept["journal"].all_seen
        for decision in device.kept["agent"].all_seen & reference.effects.keys():
            if reference.effects[decision] - there - reference.purged - reference.gone:
                raise Broken("effect", f"device {device.slot} has a decision whose effect was lost")


def sound(devices: Iterable[Device], spared: Container[tuple[str, str]]) -> None:
    """What a store keeps twice is the same in both places. The quarantine holds only what a device has lied about."""
    for device in devices:
        for name, kept in device.kept.items():
            with looking_through(kept.store) as reader:
                found = broken_invariants(reader)
            for one in found:
                entity, _, wrong = one.partition(": ")
                if not (wrong.startswith(QUARANTINED) and (name, entity) in spared):
                    raise Broken("check", f"{name} of device {device.slot}: {found}")


def converged(devices: Sequence[Device]) -> None:
    """All know the same, hold the same beyond it, and have the same content."""
    for name in devices[0].kept:
        known = {device.slot: device.kept[name].summary for device in devices}
        if len({summary.known for summary in known.values() if summary is not None}) > 1:
            raise Broken("converged", f"{name}: knowledge differs in the end: {_knowledge(devices, name)}")
        if len({summary.digest for summary in known.values() if summary is not None}) > 1:
            raise Broken("converged", f"{name}: content differs in the end")


def _knowledge(devices: Sequence[Device], name: str) -> list[object]:
    found: list[object] = []
    for device in devices:
        with device.kept[name].store.reading() as reader:
            found.append((device.slot, reader.knowledge(), lookups.held_beyond(reader), reader.host))
    return found


def nothing_is_lost(devices: Sequence[Device], reference: Reference, spared: Container[tuple[str, str]]) -> None:
    """Each device shows what follows from all writes, and from what each writer had seen. `spared`: what was
    tampered with."""
    for name in devices[0].kept:
        entities = sorted({entity for device in devices for entity in device.kept[name].seen})
        for entity in entities:
            if (name, entity) in spared:
                continue
            everything = frozenset().union(*(device.kept[name].seen.get(entity, frozenset()) for device in devices))
            found: dict[str, Found | None] = {f"device {d.slot}": d.kept[name].found(entity) for d in devices}
            reference.judge((name, entity), everything, found)
