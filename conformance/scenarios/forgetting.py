"""Purging tombstones that everybody knows, and retiring devices that do not come any more."""

from conformance.world import DAY, World


def a_tombstone_that_everybody_knows(world: World) -> None:
    """It is forgotten, and nothing else changes."""
    a, b = world.devices("a b")
    a.write("t1", {"title": "x"})
    a.write("t2", {"title": "y"})
    a.delete("t1")
    world.meet(a, b)
    digest = a.digest()
    result = world.ask("purge", replica="a", store="journal", now=world.now + DAY, min_age=0)
    world.expect("purged", result["purged"], 1)
    world.expect("it is gone", a.read("t1"), None)
    world.expect("the digest has not changed", a.digest(), digest)
    world.sync(b, a)
    world.expect("and it does not come back", a.read("t1"), None)


def a_tombstone_that_somebody_has_not_seen(world: World) -> None:
    """It stays."""
    a, b, _ = world.devices("a b c")
    a.write("t1", {"title": "x"})
    a.delete("t1")
    world.sync(a, b)
    world.sync(b, a)
    result = world.ask("purge", replica="a", store="journal", now=world.now + DAY, min_age=0)
    world.expect("purged", result["purged"], 0)


def a_young_tombstone(world: World) -> None:
    """It stays until it is old enough."""
    a, b = world.devices("a b")
    a.write("t1", {"title": "x"})
    a.delete("t1")
    world.meet(a, b)
    result = world.ask("purge", replica="a", store="journal", now=world.now, min_age=DAY)
    world.expect("purged", result["purged"], 0)


def a_retired_device_holds_nobody_up(world: World) -> None:
    """What the active devices know may be forgotten."""
    a, b, _ = world.devices("a b c")
    a.write("t1", {"title": "x"})
    a.delete("t1")
    world.ask("retire", replica="a", target="c")
    world.meet(a, b)
    result = world.ask("purge", replica="a", store="journal", now=world.now + DAY, min_age=0)
    world.expect("purged", result["purged"], 1)
