"""Stores of a program's own, and two programs that do not have the same ones (07-sync.md, SYNC-62 to SYNC-64)."""

from conformance.scenarios.meetings import Line
from conformance.world import Replica, World

LEVEL = 2
RECIPES = "recipe-book"


def a_store_of_the_programs_own(world: World) -> None:
    """It syncs under its own name, behind the three (SYNC-64)."""
    a = world.device("a", stores=[RECIPES])
    b = world.device("b", elsewhere=True, stores=[RECIPES])
    a.write("soup", {"title": "Lentil soup"}, type="recipe", store=RECIPES)
    b.write("bread", {"title": "Rye bread"}, type="recipe", store=RECIPES)
    a.write("t1", {"title": "Cook"})
    _meet(world, a, b)
    world.expect("the other's recipe", [a.fields("bread", RECIPES), b.fields("soup", RECIPES)],
                 [{"title": "Rye bread"}, {"title": "Lentil soup"}])  # fmt: skip
    world.expect("equal", a.digest(RECIPES), b.digest(RECIPES))


def one_side_has_a_store_more(world: World) -> None:
    """The others sync, both ways and while the two are connected (SYNC-62, SYNC-63)."""
    for more, stores in (("dialling", ([RECIPES], [])), ("accepting", ([], [RECIPES]))):
        a = world.device(f"a-{more}", stores=stores[0])
        b = world.device(f"b-{more}", elsewhere=True, stores=stores[1])
        owner = a if stores[0] else b
        owner.write("soup", {"title": "Lentil soup"}, type="recipe", store=RECIPES)
        a.write("t1", {"title": "Milk"})
        b.write("t2", {"title": "Bread"})
        line = Line(world, a, b)
        line.rest()
        world.expect("equal", a.digest(), b.digest())
        owner.write("soup", {"title": "Pea soup"}, type="recipe", store=RECIPES)
        a.write("t1", {"title": "Oat milk"})
        b.write("t2", {"title": "Rye bread"})
        line.rest()
        line.cut()
        world.expect("titles", [b.fields("t1"), a.fields("t2")], [{"title": "Oat milk"}, {"title": "Rye bread"}])


def a_store_that_is_added_later(world: World) -> None:
    """A device that did not have the store gets all of it (FORGET-224)."""
    a, b = world.device("a", stores=[RECIPES]), world.device("b", elsewhere=True)
    a.write("soup", {"title": "Lentil soup"}, type="recipe", store=RECIPES)
    a.write("stew", {"title": "Stew"}, type="recipe", store=RECIPES)
    _meet(world, a, b)
    a.delete("stew", store=RECIPES)
    world.now += 1000
    purged = a.ask("purge", store=RECIPES, min_age=0, now=world.now)["purged"]
    world.expect("purged without the device that has no such store", purged, 1)
    b.close()
    b.stores = [RECIPES]
    b.open()
    b.write("bread", {"title": "Rye bread"}, type="recipe", store=RECIPES)
    _meet(world, a, b)
    world.expect("its own", a.fields("bread", RECIPES), {"title": "Rye bread"})
    world.expect("the other's", b.fields("soup", RECIPES), {"title": "Lentil soup"})
    world.expect("what was forgotten", b.read("stew", RECIPES), None)
    world.expect("equal", a.digest(RECIPES), b.digest(RECIPES))


def _meet(world: World, a: Replica, b: Replica) -> None:
    line = Line(world, a, b)
    line.rest()
    line.cut()
