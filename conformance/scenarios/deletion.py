"""Deleting, bringing back, and editing what somebody else deletes."""

from conformance.world import DAY, Replica, World


def _both_have_it(world: World) -> list[Replica]:
    a, b = world.devices("a b")
    a.write("t1", {"title": "x", "due": "2026-03-01"})
    world.meet(a, b)
    return [a, b]


def a_deletion_travels(world: World) -> None:
    """A tombstone is a version like any other (MERGE-7)."""
    a, b = _both_have_it(world)
    a.delete("t1")
    world.meet(a, b)
    world.expect("deleted on b", b.read("t1")["deleted"], True)
    world.expect("no conflict", b.read("t1")["conflicts"], {})
    world.expect("and the last document can still be read", b.fields("t1"), {"title": "x", "due": "2026-03-01"})


def a_clean_tombstone_adds_nothing(world: World) -> None:
    """The digest of a store with nothing but clean tombstones is that of an empty one (STORE-6)."""
    a, b = _both_have_it(world)
    a.delete("t1")
    world.meet(a, b)
    world.expect("on a", a.digest(), "0" * 64)
    world.expect("on b", b.digest(), "0" * 64)


def a_stale_copy_revives_nothing(world: World) -> None:
    """A device that has not heard of the deletion sends its live copy in vain (MERGE-2, MERGE-7)."""
    a, b = _both_have_it(world)
    a.delete("t1")
    world.sync(b, a)
    world.expect("deleted on a", a.read("t1")["deleted"], True)
    world.meet(a, b)
    world.expect("deleted on b", b.read("t1")["deleted"], True)


def a_tombstone_that_comes_before_the_entity(world: World) -> None:
    """A device that never had it keeps the tombstone against a live copy that comes later (MERGE-2, MERGE-7)."""
    a, b, c = world.devices("a b c")
    a.write("t1", {"title": "x"})
    world.sync(a, b)
    a.delete("t1")
    world.sync(a, c)
    world.expect("c has the tombstone", c.read("t1")["deleted"], True)
    world.sync(b, c)
    world.expect("and keeps it", c.read("t1")["deleted"], True)
    world.meet(a, b, c)


def an_edit_that_the_deleter_had_not_seen(world: World) -> None:
    """Two users: deleted, and the edit is shown as a conflict (MERGE-6, MERGE-7)."""
    a, b = _both_have_it(world)
    a.delete("t1")
    b.write("t1", {"title": "edited"})
    world.meet(a, b)
    for device in (a, b):
        found = device.read("t1")
        world.expect(f"deleted on {device.name}", found["deleted"], True)
        world.expect(f"a conflict on {device.name}", "deletedAt" in found["conflicts"], True)
    world.expect("and it counts in the digest", a.digest() == "0" * 64, False)


def an_agents_deletion_against_a_users_edit(world: World) -> None:
    """The user's edit keeps it alive, however late the agent deleted (MERGE-7)."""
    a, b = _both_have_it(world)
    b.write("t1", {"title": "edited"})
    world.now += DAY
    a.delete("t1", actor="agent")
    world.meet(a, b)
    for device in (a, b):
        world.expect(f"alive on {device.name}", device.read("t1")["deleted"], False)
        world.expect(f"a conflict on {device.name}", "deletedAt" in device.read("t1")["conflicts"], True)


def a_users_deletion_against_an_agents_edit(world: World) -> None:
    """Deleted, and the agent's edit is still shown (MERGE-7)."""
    a, b = _both_have_it(world)
    a.delete("t1")
    world.now += DAY
    b.write("t1", {"title": "the agent's"}, actor="agent")
    world.meet(a, b)
    world.expect("deleted on b", b.read("t1")["deleted"], True)
    world.expect("a conflict on b", "deletedAt" in b.read("t1")["conflicts"], True)


def two_deletions_at_once(world: World) -> None:
    """Concurrent deletions are not a conflict (MERGE-6)."""
    a, b = _both_have_it(world)
    a.delete("t1")
    b.delete("t1")
    world.meet(a, b)
    world.expect("deleted", a.read("t1")["deleted"], True)
    world.expect("no conflict", a.read("t1")["conflicts"], {})
    world.expect("nothing in the digest", a.digest(), "0" * 64)


def a_write_does_not_undelete(world: World) -> None:
    """Writing to what one has deleted leaves it deleted (MERGE-9)."""
    a, b = _both_have_it(world)
    a.delete("t1")
    a.write("t1", {"title": "after"})
    world.meet(a, b)
    world.expect("deleted on a", a.read("t1")["deleted"], True)
    world.expect("deleted on b", b.read("t1")["deleted"], True)


def bringing_back_writes_everything_again(world: World) -> None:
    """Every field carries the new dot, so that no older deletion covers it (MERGE-9)."""
    a, b = _both_have_it(world)
    a.delete("t1")
    dot = a.undelete("t1")
    world.meet(a, b)
    world.expect("alive on b", b.read("t1")["deleted"], False)
    world.expect("whole on b", b.fields("t1"), {"title": "x", "due": "2026-03-01"})
    world.expect("no conflict", b.read("t1")["conflicts"], {})
    registers = b.dump()[0]["registers"].values()
    world.expect("one dot", [[write["counter"] for write in writes] for writes in registers], [[dot["counter"]]] * 3)


def an_old_deletion_does_not_come_back(world: World) -> None:
    """Deleted, passed on, brought back: a device that has only the tombstone cannot delete it again (MERGE-9)."""
    a, b, c = world.devices("a b c")
    a.write("t1", {"title": "x"})
    a.delete("t1")
    world.sync(a, c)
    a.undelete("t1")
    world.sync(a, b)
    world.sync(c, b)
    world.expect("alive on b", b.read("t1")["deleted"], False)
    world.meet(a, b, c)
    world.expect("alive on c", c.read("t1")["deleted"], False)


def brought_back_here_deleted_again_there(world: World) -> None:
    """Two who saw it deleted: one brings it back, the other's new deletion is a conflict (MERGE-6)."""
    a, b = _both_have_it(world)
    a.delete("t1")
    world.meet(a, b)
    a.undelete("t1")
    b.delete("t1")
    world.meet(a, b)
    world.expect("a conflict", "deletedAt" in a.read("t1")["conflicts"], True)
    world.expect("the same on both", a.read("t1"), b.read("t1"))


def deleted_while_a_round_runs(world: World) -> None:
    """The live copy is on its way while the receiver deletes (MERGE-6)."""
    a, b = _both_have_it(world)
    a.write("t1", {"priority": "P1"})
    running = world.begin(a, b)
    b.delete("t1")
    running.finish()
    found = b.read("t1")
    world.expect("still deleted", found["deleted"], True)
    world.expect("and in conflict", "deletedAt" in found["conflicts"], True)
    world.meet(a, b)
