"""Proof and damage: `check` finds what was changed behind the store's back, `verify` mends it."""

from conformance.world import World


def a_sound_store_has_nothing_to_say(world: World) -> None:
    """After writes, deletions and cut rounds nothing is broken (STORE-6)."""
    a, b = world.devices("a b", frame_entities=1)
    for n in range(4):
        a.write(f"t{n}", {"title": n, "labels": {"ä": True}})
    a.delete("t2")
    b.write("t1", {"title": "b's own"}, actor="agent")
    world.sync(a, b, abort_after=2)
    world.expect_sound(a, b)
    world.meet(a, b)


def a_changed_value_is_found(world: World) -> None:
    """The stored hash does not fit the content any more, and the entity is named (STORE-6)."""
    a = world.device("a")
    a.write("t1", {"title": "x"})
    a.write("t2", {"title": "y"})
    world.ask("corrupt", replica="a", store="journal", entity="t2", path="title", value="forged")
    broken = a.check()
    world.expect("something is broken", len(broken) > 0, True)
    world.expect("and t2 is named", any("t2" in line for line in broken), True)
    world.expect("and t1 is not", any("t1" in line for line in broken), False)


def a_dropped_field_is_found(world: World) -> None:
    """So is a field that was taken out (STORE-6)."""
    a = world.device("a")
    a.write("t1", {"title": "x", "due": "2026-03-01"})
    a.write("t1", {"title": "y"})
    world.ask("corrupt", replica="a", store="journal", entity="t1", path="title", drop=True)
    world.expect("something is broken", len(a.check()) > 0, True)


def a_path_that_is_not_there_cannot_be_damaged(world: World) -> None:
    """The harness itself answers with a code."""
    a = world.device("a")
    a.write("t1", {"title": "x"})
    for entity, path, code in (("t1", "due", "unknown-path"), ("t2", "title", "unknown-id")):
        where = {"replica": "a", "store": "journal", "entity": entity, "path": path}
        world.expect_refused(f"{entity}/{path}", code, "corrupt", drop=True, **where)


def verify_says_equal(world: World) -> None:
    """Two stores that met are equal, and nothing needs mending (SYNC-7)."""
    a, b = world.devices("a b")
    a.write("t1", {"title": "x"})
    world.sync(a, b)
    result = world.ask("verify", **{"from": "a", "to": "b", "store": "journal", "now": world.now})
    world.expect("verify", [result["equal"], result["mended"]], [True, 0])


def verify_says_unequal(world: World) -> None:
    """Two stores that have not met are not equal, which is not damage (SYNC-7)."""
    a, _ = world.devices("a b")
    a.write("t1", {"title": "x"})
    result = world.ask("verify", **{"from": "a", "to": "b", "store": "journal", "now": world.now})
    world.expect("verify", [result["equal"], result["mended"]], [False, 0])


def verify_mends(world: World) -> None:
    """A row that fails its own hash is replaced by the peer's."""
    a, b = world.devices("a b")
    a.write("t1", {"title": "x"})
    world.sync(a, b)
    world.ask("corrupt", replica="b", store="journal", entity="t1", path="title", value="forged")
    result = world.ask("verify", **{"from": "a", "to": "b", "store": "journal", "now": world.now})
    world.expect("verify", [result["equal"], result["mended"]], [True, 1])
    world.expect("mended", b.fields("t1"), {"title": "x"})
    world.expect_in_sync(a, b)
