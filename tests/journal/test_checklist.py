"""Where an item stands: moved to another checklist or another task, put away, taken out again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.review.reviewer import Reviewer

from lottisync.journal import checklist, tasks
from lottisync.journal.types import POSITION
from lottisync.problem import Problem


def places(device: Reviewer, task_id: str) -> dict[str, list[str]]:
    """The titles of each checklist's items, in order."""
    page = device.page(task_id)
    return {each.title: [item.title for item in page.items if item.checklist_id == each.id] for each in page.checklists}


@pytest.fixture
def kitchen(laptop: Reviewer) -> Reviewer:
    """Two tasks; the first has three items and a second checklist."""
    laptop.add_task("t1", items=("flour", "salt", "oven"))
    laptop.add_task("t2", "Clean up")
    laptop.do(lambda tx: tasks.add_checklist(tx, "later", "t1", "Later"))
    return laptop


def test_jour_24_an_item_moves_to_the_end_of_another_checklist(kitchen: Reviewer) -> None:
    """JOUR-24"""
    kitchen.do(lambda tx: checklist.move_item(tx, "t1-i1", "t1", "later"))
    kitchen.do(lambda tx: checklist.move_item(tx, "t1-i0", "t1", "later"))
    assert places(kitchen, "t1") == {"Todos": ["oven"], "Later": ["salt", "flour"]}
    with kitchen.journal.reading() as reader:
        before = reader.knowledge()
    kitchen.do(lambda tx: checklist.move_item(tx, "t1-i0", "t1", "later"))
    with kitchen.journal.reading() as reader:
        assert reader.knowledge() == before


def test_jour_24_an_item_moves_to_another_task_with_its_tick(kitchen: Reviewer) -> None:
    """JOUR-24"""
    kitchen.tick("t1-i1")
    kitchen.do(lambda tx: checklist.move_item(tx, "t1-i1", "t2", tasks.default_checklist(tx, "t2")))
    assert places(kitchen, "t1")["Todos"] == ["flour", "oven"]
    assert [(item.title, item.is_checked) for item in kitchen.page("t2").items] == [("salt", True)]


@given(first=st.sampled_from(["later", "t2"]), second=st.sampled_from(["later", "t2"]))
def test_jour_24_two_devices_that_move_an_item_leave_it_in_one_of_the_places(
    tmp_path_factory: pytest.TempPathFactory, first: str, second: str
) -> None:
    """JOUR-24: task, checklist and rank come from one write, whichever it is."""
    folder = tmp_path_factory.mktemp("devices")
    laptop, phone = Reviewer(folder / "laptop", 1), Reviewer(folder / "phone", 2)
    laptop.add_task("t1", items=("flour", "salt"))
    laptop.add_task("t2", "Clean up")
    laptop.do(lambda tx: tasks.add_checklist(tx, "later", "t1", "Later"))
    laptop.do(lambda tx: tasks.add_checklist(tx, "tidy", "t2", "Tidy"))
    laptop.meet(phone)
    for device, where in ((laptop, first), (phone, second)):
        task_id, place = ("t1", "later") if where == "later" else ("t2", "tidy")
        device.do(lambda tx, t=task_id, p=place: checklist.move_item(tx, "t1-i0", t, p))  # type: ignore[misc]
    laptop.meet(phone)
    assert laptop.same_as(phone)
    for device in (laptop, phone):
        entity = device.journal.read("t1-i0")
        assert entity is not None
        assert len({write.stamp for path in POSITION if (write := entity.winner(path)) is not None}) == 1
        found = device.item("t1-i0")
        assert (found.task_id, found.checklist_id) in {("t1", "later"), ("t2", "tidy")}
        device.close()


def test_jour_25_an_archived_item_keeps_tick_and_place(kitchen: Reviewer) -> None:
    """JOUR-25, JOUR-242, S0-24"""
    kitchen.tick("t1-i1")
    before = kitchen.item("t1-i1")
    kitchen.do(lambda tx: checklist.archive_item(tx, "t1-i1"))
    page = kitchen.page()
    assert ([item.title for item in page.items], [item.title for item in page.archived]) == (
        ["flour", "oven"],
        ["salt"],
    )
    assert [each["title"] for each in tasks.as_json(page)["archivedItems"]] == ["salt"]
    kitchen.do(lambda tx: checklist.archive_item(tx, "t1-i1", archived=False))
    assert kitchen.item("t1-i1") == before
    assert kitchen.titles() == ["flour", "salt", "oven"]


def test_jour_24_a_checklist_is_found_by_its_title(kitchen: Reviewer) -> None:
    """JOUR-24: and of two that are called alike neither is taken."""
    with kitchen.journal.reading() as reader:
        assert checklist.find(reader, "t1", " LATER ") == checklist.find(reader, "t1", "later") == "later"
        with pytest.raises(Problem, match="no checklists of the task are called 'Never'"):
            checklist.find(reader, "t1", "Never")
    kitchen.do(lambda tx: checklist.rename(tx, "later", "Todos"))
    with kitchen.journal.reading() as reader, pytest.raises(Problem, match="2 checklists") as caught:
        checklist.find(reader, "t1", "todos")
    assert caught.value.code == "ambiguous-id"
