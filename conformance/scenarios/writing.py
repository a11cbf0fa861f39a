"""One replica alone: dots, read contexts, and what a write may not do."""

from conformance.world import AGENT, DAY, World


def counters_start_at_one_and_skip_nothing(world: World) -> None:
    """Writes of a store are numbered from 1, whatever entity they are of (CAUS-1, STORE-3)."""
    a = world.device("a")
    dots = [a.write("t1", {"title": "x"}), a.write("t2", {"title": "y"}), a.write("t1", {"title": "z"})]
    world.expect("the dots", dots, [{"host": a.hosts["journal"], "counter": n} for n in (1, 2, 3)])
    world.expect("knowledge", a.knowledge(), {a.hosts["journal"]: 3})


def stores_count_for_themselves(world: World) -> None:
    """Each store has its own host and its own counter (STORE-3)."""
    a = world.device("a")
    a.write("t1", {"title": "x"})
    dot = a.write("g1", {"displayName": "y"}, type="agent", store=AGENT)
    world.expect("the first write of the other store", dot, {"host": a.hosts["agent"], "counter": 1})
    world.expect("three different hosts", len(set(a.hosts.values())), 3)


def a_refused_write_takes_no_counter(world: World) -> None:
    """A counter is never burnt: the next write is numbered as if there had been none (STORE-4, STORE-12)."""
    a = world.device("a")
    a.write("t1", {"title": "x"})
    before = (a.knowledge(), a.digest(), a.dump())
    asked = {"replica": "a", "store": "journal", "actor": "user", "now": world.now}
    world.expect_refused("an invalid path", "bad-value", "write", **asked, entity="t1", type="task", set={"1": 2})
    twice = {"labels": {"bug": True, "ui": True}, "labels/bug": False}
    world.expect_refused("a path named twice", "bad-value", "write", **asked, entity="t1", type="task", set=twice)
    world.expect_refused("an invalid id", "bad-value", "write", **asked, entity="a b", type="task", set={"x": 2})
    world.expect_refused("a write of nothing", "empty-write", "write", **asked, entity="t1", type="task", set={})
    world.expect_refused("another type", "wrong-type", "write", **asked, entity="t1", type="label", set={"x": 2})
    world.expect_refused("what is not there cannot be deleted", "unknown-id", "delete", **asked, entity="nothing")
    world.expect("nothing has changed", [*before], [a.knowledge(), a.digest(), a.dump()])
    world.expect("the next write", a.write("t1", {"title": "y"})["counter"], 2)


def a_write_replaces_what_it_saw(world: World) -> None:
    """No conflict with oneself (MERGE-5)."""
    a = world.device("a")
    a.write("t1", {"title": "x", "due": "2026-03-01"})
    a.write("t1", {"title": "y"})
    world.expect("the document", a.fields("t1"), {"title": "y", "due": "2026-03-01"})
    world.expect("conflicts", a.read("t1")["conflicts"], {})
    world.expect("its clock", a.read("t1")["clock"], {a.hosts["journal"]: 2})


def a_write_from_an_older_read_leaves_a_sibling(world: World) -> None:
    """Only what the writer had read is replaced (MERGE-5)."""
    a = world.device("a")
    a.write("t1", {"title": "x"})
    seen = a.read("t1")["clock"]
    a.write("t1", {"title": "y"})
    a.write("t1", {"title": "z"}, seen=seen)
    world.expect("the later is shown", a.fields("t1"), {"title": "z"})
    world.expect("the other is a conflict", a.read("t1")["conflicts"], {"title": ["y"]})
    a.write("t1", {"title": "settled"})
    world.expect("a write that saw both settles it", a.read("t1")["conflicts"], {})


def an_agent_that_had_not_read_loses_to_a_user(world: World) -> None:
    """The agent's write is later and does not win (MERGE-4, MERGE-5)."""
    a = world.device("a")
    a.write("t1", {"title": "x"})
    seen = a.read("t1")["clock"]
    a.write("t1", {"title": "mine"})
    a.write("t1", {"title": "the agent's"}, actor="agent", seen=seen)
    world.expect("the user's value is shown", a.fields("t1"), {"title": "mine"})
    world.expect("the agent's is a conflict", a.read("t1")["conflicts"], {"title": ["the agent's"]})


def an_agent_that_had_read_replaces(world: World) -> None:
    """Causality comes before precedence (CAUS-10, MERGE-5)."""
    a = world.device("a")
    a.write("t1", {"title": "mine"})
    a.write("t1", {"title": "the agent's"}, actor="agent")
    world.expect("the document", a.fields("t1"), {"title": "the agent's"})
    world.expect("conflicts", a.read("t1")["conflicts"], {})


def fields_of_one_write_share_a_dot(world: World) -> None:
    """One write is one dot, however many fields it has (MERGE-5)."""
    a = world.device("a")
    a.write(
        "i1", {"isChecked": True, "checkedBy": "user", "checkedAt": "2026-03-01T09:00:00.000Z"}, type="checklistItem"
    )
    registers = a.dump()[0]["registers"]
    world.expect("three registers", sorted(registers), ["checkedAt", "checkedBy", "isChecked"])
    world.expect("all of write 1", [writes[0]["counter"] for writes in registers.values()], [1, 1, 1])


def a_map_is_split_into_its_keys(world: World) -> None:
    """A map-valued field is one register a key (ENT-3)."""
    a = world.device("a")
    a.write("t1", {"labels": {"bug": True, "a/b": True}, "labels/home": True})
    world.expect("paths", a.fields("t1"), {"labels/bug": True, "labels/a~1b": True, "labels/home": True})


def unknown_types_and_fields_are_kept(world: World) -> None:
    """No schema is needed to store (ENT-11)."""
    a = world.device("a")
    a.write("s1", {"engines": 4, "xMap": {"k": {"deep": [1, None]}}}, type="spaceship")
    world.expect("the document", a.fields("s1"), {"engines": 4, "xMap/k": {"deep": [1, None]}})
    world.expect("the type", a.dump()[0]["type"], "spaceship")


def what_is_not_there_reads_as_null(world: World) -> None:
    """Absent is not an error (STORE-6)."""
    a = world.device("a")
    world.expect("read", a.read("nothing"), None)
    world.expect("dump", a.dump(), [])
    world.expect("knowledge", a.knowledge(), {})
    world.expect("the digest of nothing", a.digest(), "0" * 64)


def the_digest_of_one_entity_is_its_hash(world: World) -> None:
    """A store's digest is the sum of what its entities add (STORE-6)."""
    a = world.device("a")
    a.write("t1", {"title": "x"})
    first = a.dump()[0]
    world.expect("one entity", a.digest(), world.ask("entity.digest", entity=first))
    a.write("t2", {"title": "y", "estimate": 1.5, "labels": {"ä": True}})
    total = sum(int(world.ask("entity.digest", entity=entity), 16) for entity in a.dump())
    world.expect("two entities", a.digest(), f"{total % 2**256:064x}")


def readings_go_up_when_the_wall_clock_goes_back(world: World) -> None:
    """A later write of one device is the greater one, whatever its clock says (CAUS-7)."""
    a = world.device("a")
    readings = []
    for step in (0, -3 * DAY, 0, 5 * DAY):
        world.now += step
        a.write("t1", {"title": step})
        readings.append(a.dump()[0]["registers"]["title"][0]["hlc"])
    world.expect("each greater than the last", readings, sorted(readings))
    world.expect("and none twice", len({tuple(reading) for reading in readings}), 4)


def a_closed_replica_goes_on_where_it_was(world: World) -> None:
    """Host, counter and content are in the folder (CAUS-1)."""
    a = world.device("a")
    a.write("t1", {"title": "x"})
    before, hosts = (a.knowledge(), a.digest(), a.dump()), a.hosts
    a.close()
    a.open()
    world.expect("the same hosts", a.hosts, hosts)
    world.expect("the same content", [a.knowledge(), a.digest(), a.dump()], [*before])
    world.expect("the next counter", a.write("t1", {"title": "y"})["counter"], 2)


def an_acknowledged_write_survives_a_crash(world: World) -> None:
    """A write whose dot was answered is found again, and no counter is used twice (STORE-5, STORE-67)."""
    a = world.device("a")
    a.write("t1", {"title": "x"})
    a.write("t1", {"due": "2026-03-01"})
    world.crash()
    world.expect("the document", a.fields("t1"), {"title": "x", "due": "2026-03-01"})
    world.expect("the next counter", a.write("t1", {"title": "y"})["counter"], 3)
    world.expect_sound(a)


def only_what_is_open_answers(world: World) -> None:
    """A replica that was never opened, or was closed, is a named error (STORE-2)."""
    a = world.device("a")
    world.expect_refused("nobody", "unknown-replica", "read", replica="nobody", store="journal", entity="t1")
    world.expect_refused("no such store", "bad-request", "digest", replica="a", store="attic")
    a.close()
    world.expect_refused("closed", "unknown-replica", "knowledge", replica="a", store="journal")
