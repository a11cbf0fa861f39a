"""Backups that come back and homes that are copied: no dot twice, and nothing of either branch lost."""

from conformance.world import JOURNAL, World


def a_restored_device_hears_of_itself_first(world: World) -> None:
    """It learns from a peer what it had written, and goes on under another host (STORE-9)."""
    a, b = world.devices("a b")
    a.write("t1", {"title": "before"})
    a.close()
    backup = world.copy(a, "backup")
    a.open()
    lost = a.write("t1", {"title": "after the backup"})
    world.sync(a, b)
    a.close()
    world.restore(a, backup)
    world.sync(b, a)
    world.expect("it has its own write back", a.fields("t1"), {"title": "after the backup"})
    fresh = a.write("t2", {"title": "new"})
    world.expect("and gives no dot twice", fresh["host"] == lost["host"] and fresh["counter"] <= lost["counter"], False)
    world.meet(a, b)


def a_restored_device_that_wrote_first(world: World) -> None:
    """It wrote past its backup before it met anybody: both branches are kept."""
    a, b = world.devices("a b")
    a.write("t1", {"title": "before"})
    a.close()
    backup = world.copy(a, "backup")
    a.open()
    a.write("t2", {"title": "after the backup"})
    world.sync(a, b)
    a.close()
    world.restore(a, backup)
    a.write("t3", {"title": "after the restore"})
    world.meet(a, b)
    for device in (a, b):
        world.expect(f"the first branch on {device.name}", device.fields("t2"), {"title": "after the backup"})
        world.expect(f"the second branch on {device.name}", device.fields("t3"), {"title": "after the restore"})


def a_copied_home(world: World) -> None:
    """Two devices with one past: both go on writing, and a third gets all of it."""
    a, c = world.devices("a c")
    a.write("t1", {"title": "before"})
    a.close()
    twin = world.opened_from(world.copy(a, "twin"), "twin")
    a.open()
    a.write("t2", {"title": "the original's"})
    twin.write("t3", {"title": "the copy's"})
    world.meet(a, twin, c)
    world.expect("the original's on c", c.fields("t2"), {"title": "the original's"})
    world.expect("the copy's on c", c.fields("t3"), {"title": "the copy's"})


def a_copy_that_only_reads(world: World) -> None:
    """A copied folder has the content of the original (STORE-8)."""
    a = world.device("a")
    a.write("t1", {"title": "x"})
    expected = (a.knowledge(), a.digest(JOURNAL), a.dump())
    a.close()
    twin = world.opened_from(world.copy(a, "twin"), "twin")
    world.expect("the copy", [twin.knowledge(), twin.digest(), twin.dump()], [*expected])
    world.expect_sound(twin)
