"""Stores of a program's own, and devices with different ones: SYNC-62 to SYNC-64, FORGET-11, STORE-39."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.engines import engine_of, introduce, running
from tests.support.event_loop import until
from tests.support.household import Cable, Member, in_step, meet
from tests.support.household import household as paired
from tests.support.messages import HAVE

from lottisync.daemon.stores import SPACE, STORES
from lottisync.entities.schema import EntityType, StoreSchema, schema
from lottisync.protocol import message as m
from lottisync.store import forgetting
from lottisync.store.check import broken_invariants
from lottisync.store.doorbell import Bell
from lottisync.sync.verification_request import VerificationState, ask, requests

pytestmark = pytest.mark.anyio
RECIPES = schema("recipe-book", [EntityType("recipe", owner="book")])
OTHERS = [made for made in STORES if made is not SPACE]
PHOTOS = schema("photos", [EntityType("photo", owner="album")])


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[Member]]:
    members = paired(tmp_path)
    yield members
    for member in members:
        member.close()


def again(pair: list[Member], number: int, *schemas: StoreSchema) -> Member:
    """One of the two, whose program has these stores now, in this order."""
    member = pair[number]
    member.close()
    pair[number] = Member(member.folder, member.number, schemas)
    return pair[number]


def rounds(cable: Cable, side: int) -> list[str]:
    return [message.store for message in cable.said(side) if isinstance(message, m.Begin)]


def same(name: str, *members: Member) -> bool:
    first, *others = (member.state()[name] for member in members)
    return all(other == first for other in others)


async def test_sync_64_a_store_of_a_programs_own_is_delivered_in_the_order_that_it_was_given(
    pair: list[Member],
) -> None:
    """STORE-39: under its own name, which may have a hyphen."""
    a, b = (again(pair, number, SPACE, RECIPES) for number in (0, 1))
    a.put("soup", "Lentil soup", store="recipe-book", kind="recipe")
    cable = await meet(a, b)
    assert b.title("soup", store="recipe-book") == "Lentil soup"
    assert rounds(cable, 0) == ["space", "recipe-book"]
    assert in_step(a, b)
    for member in pair:
        with member.stores["recipe-book"].reading() as reader:
            assert broken_invariants(reader) == []


@pytest.mark.parametrize("dialled", [0, 1])
async def test_sync_63_a_store_that_one_side_lacks_holds_up_no_other(pair: list[Member], dialled: int) -> None:
    """SYNC-62, SYNC-283: from either side; the store comes before others, and changes while the two are connected."""
    a, b = again(pair, 0, SPACE, RECIPES, *OTHERS), pair[1]
    a.put("soup", "Lentil soup", store="recipe-book", kind="recipe")
    a.put("t", "Milk")
    b.put("u", "Bread")

    async def work(*connections: object) -> None:
        await until(lambda: b.title("t") == "Milk" and a.title("u") == "Bread")
        a.put("soup", "Pea soup", store="recipe-book", kind="recipe")
        a.put("t", "Oat milk")
        b.put("u", "Rye bread")
        await until(lambda: b.title("t") == "Oat milk" and a.title("u") == "Rye bread")

    first, second = (a, b) if dialled == 0 else (b, a)
    await meet(first, second, meanwhile=work, done=lambda: same("journal", a, b) and same("space", a, b))
    there = f"device {a.device[:8]} also has recipe-book, which this device does not: everything else syncs."
    assert ("stores-differ", there) in b.reports
    here = f"device {b.device[:8]} does not have recipe-book: it syncs everything else."
    assert ("stores-differ", here) in a.reports
    assert [code for code, _ in a.reports + b.reports if code != "stores-differ"] == []


async def test_sync_63_each_side_may_have_one_more(pair: list[Member]) -> None:
    a, b = again(pair, 0, *STORES, RECIPES), again(pair, 1, *STORES, PHOTOS)
    a.put("t", "Milk")
    b.put("u", "Bread")
    await meet(a, b, done=lambda: all(same(name, a, b) for name in ("space", "journal", "agent")))
    assert (a.title("u"), b.title("t")) == ("Bread", "Milk")
    second = await meet(a, b, done=lambda: same("journal", a, b))
    assert rounds(second, 0) == rounds(second, 1) == []


async def test_sync_283_a_peer_may_invent_stores_without_end(pair: list[Member]) -> None:
    """SYNC-77: what is not here costs nothing but the frame that it came in."""
    a, b = pair
    conversation = a.conversation(b, dialled=False)
    parties = conversation._exchange._parties
    parties.shares([f"s{number}" for number in range(10_000)] + ["No Name", "journal"])
    assert parties.shared == {"journal"}
    assert len(conversation.status.only_there) == 32
    assert conversation.status.only_here == ["agent", "space"]
    assert conversation._exchange.carry_out([m.Want({"diary": HAVE})], a.now) == []
    conversation.release()


async def test_sync_284_status_shows_which_stores_are_not_shared(pair: list[Member]) -> None:
    """With two engines on sockets."""
    a, b = again(pair, 0, *STORES, RECIPES), pair[1]
    a.put("soup", "Lentil soup", store="recipe-book", kind="recipe")
    a.put("t", "Milk")
    first, second = engine_of(a), engine_of(b)
    async with running(second):
        introduce(a, b, second.port)
        async with running(first):
            await until(lambda: b.title("t") == "Milk" and first.connections and second.connections)
            (here,), (there,) = await first.snapshot(), await second.snapshot()
    assert (here.only_here, here.only_there) == (["recipe-book"], [])
    assert (there.only_here, there.only_there) == ([], ["recipe-book"])
    assert here.in_step.keys() == there.in_step.keys() == {made.name for made in STORES}, "only what both have"


async def test_mend_29_to_compare_a_store_that_the_peer_lacks_ends_at_once(pair: list[Member]) -> None:
    """MEND-29: before, it stayed "waiting", as if the two could still come to know the same."""
    a, b = again(pair, 0, *STORES, RECIPES), pair[1]
    first, second = engine_of(a), engine_of(b)
    async with running(second):
        introduce(a, b, second.port)
        async with running(first):
            with contextlib.closing(Bell(a.folder / "bells", "verify-soup")):
                ask(a.stores["space"], "verify-soup", [(b.device, name) for name in ("journal", "recipe-book")], a.now)
                await until(lambda: not any(one.open for one in requests(a.stores["space"])), "both requests end")
                found = {one.store: one.state for one in requests(a.stores["space"])}
    assert found == {"journal": VerificationState.EQUAL, "recipe-book": VerificationState.NOT_SHARED}


async def test_forget_11_no_device_waits_for_one_that_does_not_have_the_store(pair: list[Member]) -> None:
    """FORGET-224: if it adds the store later, with something of its own in it, it is behind. Nothing comes back, and
    nothing is lost."""
    a, b = again(pair, 0, *STORES, RECIPES), pair[1]
    a.put("soup", "Lentil soup", store="recipe-book", kind="recipe")
    assert forgetting.waited_for("recipe-book", a.stores, [b.device]) == {b.device}, "it was never heard of at all"
    await meet(a, b, done=lambda: same("journal", a, b) and same("space", a, b))
    assert forgetting.waited_for("recipe-book", a.stores, [b.device]) == set()
    assert forgetting.waited_for("space", a.stores, [b.device]) == {b.device}
    a.delete("soup", store="recipe-book")
    with a.stores["recipe-book"].transaction(a.now, None) as tx:
        waited_for = forgetting.waited_for("recipe-book", a.stores, [b.device])
        assert forgetting.purge(tx, waited_for, min_age=0) == 1
    b = again(pair, 1, *STORES, RECIPES)
    b.put("bread", "Rye bread", store="recipe-book", kind="recipe")
    cable = await meet(a, b)
    assert any(isinstance(message, m.Begin) and message.behind for message in cable.said(0))
    assert in_step(a, b)
    assert a.title("bread", store="recipe-book") == "Rye bread"
    assert b.title("soup", store="recipe-book") is None
    assert forgetting.waited_for("recipe-book", a.stores, [b.device]) == {b.device}


async def test_forget_110_a_device_whose_store_is_empty_holds_back_a_purge(pair: list[Member]) -> None:
    """What is deleted after it was there is a deletion that it has not seen."""
    a, b = (again(pair, number, *STORES, RECIPES) for number in (0, 1))
    await meet(a, b)
    assert forgetting.waited_for("recipe-book", a.stores, [b.device]) == {b.device}
    a.put("soup", "Lentil soup", store="recipe-book", kind="recipe")
    a.delete("soup", store="recipe-book")
    with a.stores["recipe-book"].transaction(a.now, None) as tx:
        assert forgetting.purge(tx, forgetting.waited_for("recipe-book", a.stores, [b.device]), min_age=0) == 0


@pytest.mark.parametrize("name", ["", "Recipes", "my store", "my_store", "1st", "-", "a" * 33, "journal\n", "x'; drop"])
def test_store_39_a_bad_name_is_refused_where_it_is_given(name: str) -> None:
    with pytest.raises(ValueError, match="a store has a name of small letters"):
        schema(name, [])
