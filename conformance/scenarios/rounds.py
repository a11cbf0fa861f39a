"""Rounds between replicas: whole, cut off, twice, out of order, and into each other."""

from conformance.world import AGENT, DAY, JOURNAL, SPACE, Replica, World


def _filled(world: World, device: Replica, count: int) -> None:
    for n in range(count):
        device.write(f"t{n}", {"title": f"task {n}"})


def a_write_travels(world: World) -> None:
    """After a whole round the receiver has the content and the knowledge (SYNC-24)."""
    a, b = world.devices("a b")
    a.write("t1", {"title": "Milk"})
    world.sync(a, b)
    world.expect("the document", b.fields("t1"), {"title": "Milk"})
    world.expect("knowledge", b.knowledge(), a.knowledge())
    world.expect_in_sync(a, b)


def joining_is_not_a_write(world: World) -> None:
    """Receiving takes no counter, so that no echo runs between devices (MERGE-3)."""
    a, b = world.devices("a b")
    a.write("t1", {"title": "x"})
    b.write("t1", {"title": "y"})
    world.meet(a, b)
    world.expect("two writes were made", sorted(a.knowledge().values()), [1, 1])
    before = (b.digest(), b.dump(), b.knowledge())
    world.sync(a, b, store=None)
    world.expect("meeting again changes nothing", [b.digest(), b.dump(), b.knowledge()], [*before])


def nothing_comes_twice(world: World) -> None:
    """The second of two rounds is smaller than the first (SYNC-25)."""
    a, b = world.devices("a b", frame_entities=1)
    _filled(world, a, 5)
    first, second = world.sync(a, b), world.sync(a, b)
    world.expect("no entity is sent again", second["frames"] < first["frames"] - 3, True)


def concurrent_edits_of_two_fields(world: World) -> None:
    """Both are there, and nothing is in conflict (MERGE-2)."""
    a, b = world.devices("a b")
    a.write("t1", {"title": "x"})
    world.sync(a, b)
    a.write("t1", {"due": "2026-03-01"})
    b.write("t1", {"priority": "P1"})
    world.meet(a, b)
    world.expect("the document", a.fields("t1"), {"title": "x", "due": "2026-03-01", "priority": "P1"})
    world.expect("conflicts", a.read("t1")["conflicts"], {})


def concurrent_edits_of_one_field(world: World) -> None:
    """Both are held, the later is shown on every device (MERGE-2, MERGE-4)."""
    a, b, c = world.devices("a b c")
    a.write("t1", {"title": "x"})
    world.meet(a, b, c)
    a.write("t1", {"title": "first"})
    b.write("t1", {"title": "second"})
    world.meet(a, b, c)
    for device in (a, b, c):
        world.expect(f"{device.name} shows", device.fields("t1"), {"title": "second"})
        world.expect(f"{device.name} keeps", device.read("t1")["conflicts"], {"title": ["first"]})


def a_settled_conflict_is_settled_everywhere(world: World) -> None:
    """Somebody who saw both writes has the last word (MERGE-2, MERGE-5)."""
    a, b, c = world.devices("a b c")
    a.write("t1", {"title": "x"})
    b.write("t1", {"title": "y"})
    world.meet(a, b, c)
    c.write("t1", {"title": "settled"})
    world.meet(a, b, c)
    world.expect("a shows", a.read("t1")["fields"], {"title": "settled"})
    world.expect("a has no conflict", a.read("t1")["conflicts"], {})


def an_agents_write_elsewhere_does_not_win(world: World) -> None:
    """Concurrent and later, and still it loses to the user's (MERGE-4)."""
    a, b = world.devices("a b")
    a.write("t1", {"title": "x"})
    world.sync(a, b)
    a.write("t1", {"title": "mine"})
    world.now += DAY
    b.write("t1", {"title": "the agent's"}, actor="agent")
    world.meet(a, b)
    world.expect("b shows the user's", b.fields("t1"), {"title": "mine"})
    world.expect("b keeps the agent's", b.read("t1")["conflicts"], {"title": ["the agent's"]})


def a_far_future_clock_carries_nobody_along(world: World) -> None:
    """What a device with a wrong clock wrote is kept, and later writes of others keep to the real time (CAUS-9)."""
    a, b = world.devices("a b")
    world.now += 365 * DAY
    a.write("t1", {"title": "from the future"})
    world.now -= 365 * DAY
    world.sync(a, b)
    world.expect("kept", b.fields("t1"), {"title": "from the future"})
    b.write("t2", {"title": "now"})
    reading = next(entity for entity in b.dump() if entity["id"] == "t2")["registers"]["title"][0]["hlc"]
    world.expect("b's own reading is of today", reading[0] <= world.now + DAY, True)


def knowledge_waits_for_the_last_frame(world: World) -> None:
    """A round that was cut off moves entities, and no knowledge (SYNC-4)."""
    a, b = world.devices("a b", frame_entities=1)
    _filled(world, a, 4)
    result = world.sync(a, b, abort_after=2)
    world.expect("cut off", result["complete"], False)
    world.expect("knowledge", b.knowledge(), {})
    arrived = len(b.dump())
    world.expect("something has arrived, and not all", 0 < arrived < 4, True)
    world.expect_sound(b)


def what_a_cut_round_left_out_comes_later(world: World) -> None:
    """An entity that was written again moves no knowledge by itself: what lies between its writes is still owed
    (SYNC-4)."""
    a, b = world.devices("a b", frame_entities=1)
    a.write("t1", {"title": "one"})
    a.write("t2", {"title": "two"})
    a.write("t1", {"title": "one again"})
    for cut in (1, 1):
        world.sync(a, b, abort_after=cut)
    world.meet(a, b)
    world.expect("t2 has come", b.fields("t2"), {"title": "two"})


def a_third_device_is_not_deprived(world: World) -> None:
    """Knowledge that was adopted too early would let the next device withhold its copy (SYNC-4)."""
    a, b, c = world.devices("a b c", frame_entities=1)
    a.write("t1", {"title": "one"})
    a.write("t2", {"title": "two"})
    world.sync(a, c)
    a.write("t1", {"title": "one again"})
    world.sync(a, b, abort_after=1)
    world.sync(c, b)
    world.sync(b, c)
    world.sync(a, b)
    world.meet(a, b, c)
    for device in (b, c):
        world.expect(f"{device.name} has t2", device.fields("t2"), {"title": "two"})
        world.expect(f"{device.name} has the last t1", device.fields("t1"), {"title": "one again"})


def every_place_to_cut(world: World) -> None:
    """Wherever a round is cut, the next one completes it (SYNC-4)."""
    a = world.device("a", frame_entities=1)
    a.write("t0", {"title": "old"})
    _filled(world, a, 3)
    whole = world.sync(a, world.device("whole"))["frames"]
    for cut in range(whole):
        b = world.device(f"b{cut}")
        world.expect(f"cut after {cut}", world.sync(a, b, abort_after=cut)["complete"], False)
        world.expect(f"knowledge after {cut}", b.knowledge(), {})
        world.sync(a, b)
        world.expect_in_sync(a, b)


def a_cut_round_is_not_sent_again(world: World) -> None:
    """What arrived is kept, and named to the next sender (SYNC-28)."""
    a, b = world.devices("a b", frame_entities=1)
    _filled(world, a, 8)
    whole = world.begin(a, b)
    whole.abort()
    world.sync(a, b, abort_after=6)
    rest = world.sync(a, b)
    world.expect("fewer frames than the whole", rest["frames"] <= whole.frames - 4, True)
    world.expect_in_sync(a, b)


def held_beyond_knowledge_is_passed_on(world: World) -> None:
    """A device passes on what a cut round left with it (SYNC-8)."""
    a, b, c = world.devices("a b c", frame_entities=1)
    _filled(world, a, 3)
    world.sync(a, b, abort_after=2)
    held = {entity["id"] for entity in b.dump()}
    world.sync(b, c)
    world.expect("c holds what b holds", sorted(entity["id"] for entity in c.dump()), sorted(held))
    world.meet(a, b, c)


def frames_twice(world: World) -> None:
    """A frame that comes again changes nothing (MERGE-3)."""
    a, b = world.devices("a b", frame_entities=2)
    _filled(world, a, 5)
    b.write("t1", {"title": "b's own"})
    world.expect("complete", world.sync(a, b, faults=["duplicate"])["complete"], True)
    world.meet(a, b)


def frames_out_of_order(world: World) -> None:
    """A round is whole when all of its frames are in, in whatever order they came (MERGE-1, SYNC-4)."""
    a, b = world.devices("a b", frame_entities=1)
    _filled(world, a, 5)
    b.write("t1", {"title": "b's own"})
    world.expect("complete", world.sync(a, b, faults=["reorder"])["complete"], True)
    world.meet(a, b)


def frames_out_of_order_and_cut(world: World) -> None:
    """The frame that ends a round does not complete it while another is missing (SYNC-4)."""
    a, b = world.devices("a b", frame_entities=1)
    _filled(world, a, 4)
    for cut in (1, 2):
        result = world.sync(a, b, abort_after=cut, faults=["reorder", "duplicate"])
        world.expect("complete", result["complete"], False)
        world.expect("knowledge", b.knowledge(), {})
    world.meet(a, b)


def writes_while_a_round_runs(world: World) -> None:
    """A round is a moment of the sender: what comes later waits, and the receiver's own stays (STORE-13)."""
    a, b = world.devices("a b", frame_entities=1)
    _filled(world, a, 3)
    running = world.begin(a, b)
    running.step()
    a.write("t0", {"title": "changed on a"})
    a.write("t9", {"title": "new on a"})
    b.write("t1", {"title": "b's own"})
    running.finish()
    world.expect("the first three writes are known", b.knowledge()[a.hosts[JOURNAL]], 3)
    world.expect("the later one is not there", b.read("t9"), None)
    world.meet(a, b)
    world.expect("it came with the next round", b.fields("t0"), {"title": "changed on a"})


def two_rounds_into_one_device(world: World) -> None:
    """Rounds of two senders interleave (SYNC-24)."""
    a, b, c = world.devices("a b c", frame_entities=1)
    _filled(world, a, 3)
    b.write("t1", {"title": "b's own"})
    b.write("t8", {"title": "b's new"})
    first, second = world.begin(a, c), world.begin(b, c)
    over = [False, False]
    while not all(over):
        over = [over[0] or first.step(), over[1] or second.step()]
    world.expect("c knows both", len(c.knowledge()), 2)
    world.meet(a, b, c)


def rounds_in_both_directions_at_once(world: World) -> None:
    """Two devices send to each other at the same time (SYNC-24)."""
    a, b = world.devices("a b", frame_entities=1)
    _filled(world, a, 2)
    b.write("t0", {"title": "b's own"})
    there, back = world.begin(a, b), world.begin(b, a)
    there.step()
    back.step()
    there.finish()
    back.finish()
    world.expect_in_sync(a, b)


def a_round_that_was_given_up(world: World) -> None:
    """What is given up adopts nothing and cannot go on (SYNC-4)."""
    a, b = world.devices("a b", frame_entities=1)
    _filled(world, a, 3)
    running = world.begin(a, b)
    running.step()
    running.abort()
    world.expect("knowledge", b.knowledge(), {})
    world.expect_refused("it cannot go on", "unknown-round", "round.step", round=running.number)
    world.meet(a, b)


def a_crash_within_a_round(world: World) -> None:
    """What arrived is kept, the round begins again (SYNC-28, STORE-5)."""
    a, b = world.devices("a b", frame_entities=1)
    _filled(world, a, 4)
    running = world.begin(a, b)
    running.step()
    running.step()
    world.crash()
    world.expect("knowledge", b.knowledge(), {})
    world.expect_sound(a, b)
    world.meet(a, b)


def the_stores_come_in_order(world: World) -> None:
    """Space before journal before agent, wherever the meeting is cut: no decision before its effect (SYNC-27)."""
    a = world.device("a", frame_entities=1)
    a.write("g1", {"displayName": "x"}, type="agent", store=AGENT)
    a.write("t1", {"title": "x"})
    a.write("s1", {"value": 1}, type="setting", store=SPACE)
    cut, complete = 0, False
    while not complete:
        b = world.device(f"b{cut}")
        complete = world.sync(a, b, store=None, abort_after=cut)["complete"]
        there = [b.read("s1", SPACE) is not None, b.read("t1") is not None, b.read("g1", AGENT) is not None]
        world.expect(f"in order, cut after {cut}", there, sorted(there, reverse=True))
        cut += 1
        world.expect("it ends", cut < 50, True)


def what_nobody_knows_passes_through(world: World) -> None:
    """Types and fields without a schema go through other devices whole (ENT-11)."""
    a, b, c = world.devices("a b c")
    a.write("s1", {"engines": 4, "xList": [1.5, "ä", None]}, type="spaceship")
    world.sync(a, b)
    b.write("s1", {"crew": {"kirk": True}}, type="spaceship")
    world.sync(b, c)
    world.expect("on c", c.fields("s1"), {"engines": 4, "xList": [1.5, "ä", None], "crew/kirk": True})
    world.meet(a, b, c)


def a_ring_of_four(world: World) -> None:
    """Nobody meets everybody, and all arrive at the same (SYNC-8, STORE-8)."""
    ring = world.devices("a b c d")
    for turn in range(3):
        for n, device in enumerate(ring):
            device.write("shared", {"title": f"{device.name}{turn}", f"labels/{device.name}": turn})
            world.sync(device, ring[(n + 1) % 4])
    for _ in range(3):
        for n, device in enumerate(ring):
            world.sync(device, ring[(n + 1) % 4])
    world.expect_in_sync(*ring)
    labels = {f"labels/{device.name}": 2 for device in ring}
    world.expect("everybody's label", {k: v for k, v in ring[0].fields("shared").items() if k != "title"}, labels)


def both_ends_are_one_device(world: World) -> None:
    """A device has no round with itself (SYNC-4)."""
    world.device("a")
    world.expect_refused("from a to a", "bad-request", "sync", **{"from": "a", "to": "a", "now": world.now})
