"""What has to hold after every step, and in the end. Each raises `Broken` with the law's name."""

from collections.abc import Iterable, Sequence
from itertools import combinations

from tests.simulation.device import Device, Kept
from tests.simulation.reference import Broken, Found, Reference

from lottisync.causality.chain import LINK_BYTES
from lottisync.store.check import broken_invariants

Links = dict[bytes, tuple[str, str, tuple[int, ...]]]
"""A chain's value -> the store, the entity and the writes that it stands for."""


def knowledge_is_true(
    device: Device, kept: Kept, links: Links, reference: Reference, spared: set[tuple[str, str]]
) -> None:
    """What a store claims to know is there: every effect of every write up to there has been in it."""
    with kept.store.reading() as reader:
        knowledge = reader.knowledge()
        segments = reader.local(
            "select h.host, c.first, c.links from chain c join hosts h on h.n = c.host order by 1, 2"
        )
        ends = dict.fromkeys(knowledge, 0)
        for host, first, values in segments:
            known = knowledge.get(host, 0)
            ends[host] = first + len(values) // LINK_BYTES - 1
            for at in range(0, min(len(values), (known - first + 1) * LINK_BYTES), LINK_BYTES):
                store, entity, writes = links.get(values[at : at + LINK_BYTES], ("", "", ()))
                missing = set(writes) - kept.seen.get(entity, frozenset()) - reference.purged
                if missing and store == kept.name and (store, entity) not in spared:
                    raise Broken(
                        "knowledge",
                        f"{kept.name} of device {device.slot} claims {host}:{first + at // LINK_BYTES} without "
                        f"{[reference.writes[n] for n in missing]}",
                    )
        for host, known in knowledge.items():
            if known > ends[host]:
                raise Broken("chain", f"{kept.name} of device {device.slot} knows {host}:{known}, beyond its chain")


def equal_knowledge_means_equal_digest(devices: Sequence[Device]) -> None:
    for a, b in combinations(devices, 2):
        for name, kept in a.kept.items():
            ours, theirs = kept.summary, b.kept[name].summary
            if ours is not None and theirs is not None and ours.known == theirs.known and ours.digest != theirs.digest:
                raise Broken("digest", f"{name} of devices {a.slot} and {b.slot} know the same and differ")


def no_decision_before_its_effect(device: Device, reference: Reference) -> None:
    if "agent" not in device.kept:
        return
    there = frozenset().union(*device.kept["journal"].seen.values())
    for seen in device.kept["agent"].seen.values():
        for decision in seen & reference.effects.keys():
            if reference.effects[decision] - there - reference.purged:
                raise Broken("order", f"a decision is on device {device.slot} before its effect")


def sound(devices: Iterable[Device]) -> None:
    for device in devices:
        for name, kept in device.kept.items():
            with kept.store.reading() as reader:
                found = broken_invariants(reader)
            if found:
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
            found.append((device.slot, reader.knowledge(), reader.held_beyond(), reader.host))
    return found


def nothing_is_lost(devices: Sequence[Device], reference: Reference, spared: set[tuple[str, str]]) -> None:
    """What each device shows is what follows from who wrote what, having seen what. `spared`: what somebody has
    tampered with."""
    for name in devices[0].kept:
        entities = sorted({entity for device in devices for entity in device.kept[name].seen})
        for entity in entities:
            if (name, entity) in spared:
                continue
            everything = frozenset().union(*(device.kept[name].seen.get(entity, frozenset()) for device in devices))
            found: dict[str, Found | None] = {f"device {d.slot}": d.kept[name].found(entity) for d in devices}
            reference.judge((name, entity), everything, found)
