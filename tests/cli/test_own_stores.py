"""The stock commands on a program's own store, while that program is not running (STORE-34, STORE-40)."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import run
from tests.support.rounds import send

from lottisync.device import clock
from lottisync.device.home import Home
from lottisync.entities.entity import HIGH
from lottisync.entities.schema import EntityType, schema

COOKBOOK = schema("cookbook", [EntityType("recipe", subtype="course")], owner_column="book_id")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home that knows no tasks, only recipes; the title of one was changed on two devices."""
    laptop, phone = (Home.create(tmp_path / name, name, [COOKBOOK]) for name in ("laptop", "phone"))
    with laptop.store("cookbook").transaction(clock.now(), HIGH) as tx:
        tx.put("r1", "recipe", {"title": "Soup", "course": "starter"})
    send(laptop.store("cookbook"), phone.store("cookbook"), now=clock.now())
    for device, title in ((laptop, "Onion soup"), (phone, "Leek soup")):
        with device.store("cookbook").transaction(clock.now(), HIGH) as tx:
            tx.put("r1", "recipe", {"title": title})
    send(phone.store("cookbook"), laptop.store("cookbook"), now=clock.now())
    laptop.close()
    phone.close()
    return tmp_path / "laptop"


def test_store_34_check_and_status_count_it(home: Path) -> None:
    checked = run("check", "--json", home=home)
    assert (checked.code, "cookbook" in checked.json["sound"]) == (0, True), checked
    stores = run("status", "--json", home=home).json["stores"]
    assert stores["cookbook"]["entities"] == 1
    assert list(stores) == ["space", "journal", "agent", "cookbook"]


def test_store_34_history_and_conflicts_show_and_settle_it(home: Path) -> None:
    assert "Soup" in run("history", "r1", "--json", home=home).out
    [conflict] = run("conflicts", "--json", home=home).json["conflicts"]
    assert {value["value"] for value in conflict["values"]} == {"Onion soup", "Leek soup"}
    assert run("conflicts", "combine", "r1", "title", "Leek and onion soup", home=home).code == 0
    assert run("conflicts", "--json", home=home).json["conflicts"] == []


def test_store_41_the_commands_for_tasks_work_beside_it(home: Path) -> None:
    assert run("task", "add", "Buy leek", home=home).code == 0
    program = Home.open(home, [COOKBOOK])
    assert list(program.stores) == ["space", "cookbook", "journal", "agent"]
    program.close()


def test_store_400_a_programs_own_journal_gets_a_sentence_that_helps(tmp_path: Path) -> None:
    Home.create(tmp_path / "laptop", "laptop", [schema("journal", [EntityType("recipe")])]).close()
    answer = run("task", "list", home=tmp_path / "laptop")
    assert answer.code == 1
    assert "'journal' holds recipe, and this program's holds category, checklist, checklistItem" in answer.err
    assert "Give one of the two stores another name" in answer.err


def with_a_job(path: Path, here: dict[str, Any], elsewhere: dict[str, Any]) -> Path:
    """A home with a program's own store, whose one job was written here and elsewhere at the same time."""
    jobs = schema("jobs", [EntityType("job")])
    laptop, phone = (Home.create(path / name, name, [jobs]) for name in ("laptop", "phone"))
    for device, fields in ((laptop, here), (phone, elsewhere)):
        with device.store("jobs").transaction(clock.now(), HIGH) as tx:
            tx.put("j1", "job", fields)
    send(phone.store("jobs"), laptop.store("jobs"), now=clock.now())
    laptop.close()
    phone.close()
    return path / "laptop"


def test_store_34_nothing_and_an_empty_text_are_seen(tmp_path: Path) -> None:
    """STORE-34: of `estimate=null` there was nothing, where the value stands."""
    home = with_a_job(tmp_path, {"estimate": None, "note": ""}, {"estimate": 90, "note": "late"})
    for call in (["conflicts"], ["conflicts", "show", "j1"], ["history", "j1"]):
        said = run(*call, home=home).out
        assert ("none" in said, '""' in said) == (True, True), said
    numbers = {
        one["path"]: 1 + [each["value"] for each in one["values"]].index({"estimate": None, "note": ""}[one["path"]])
        for one in run("conflicts", "--json", home=home).json["conflicts"]
    }
    said = run("conflicts", "keep", "j1", "estimate", str(numbers["estimate"]), home=home).out
    assert said.strip() == "estimate is settled.  none"
    said = run("--language", "de", "conflicts", "keep", "j1", "note", str(numbers["note"]), home=home).out
    assert said.strip() == 'note ist geklärt.  ""'


def test_store_34_a_text_that_would_not_be_seen_is_quoted(tmp_path: Path) -> None:
    """STORE-34: blanks are seen, and the text `none` is another thing than nothing."""
    home = with_a_job(tmp_path, {"note": "   "}, {"note": "none"})
    for call in (["conflicts"], ["conflicts", "show", "j1"]):
        said = run(*call, home=home).out
        assert ('"   "' in said, '"none"' in said) == (True, True), said


def test_store_34_sets_and_receipts_of_another_program_are_called_by_their_names(tmp_path: Path) -> None:
    """STORE-34: they may be called like ours."""
    home = with_a_job(tmp_path, {"labels/x": 1, "receipts/r": 1}, {"labels/x": 2, "receipts/r": 2})
    for call in (["conflicts"], ["conflicts", "show", "j1"], ["history", "j1"]):
        said = run(*call, home=home).out
        assert ("labels/x" in said, "receipts/r" in said) == (True, True), said


def test_store_34_fields_that_are_called_like_ours_are_shown_as_they_are(tmp_path: Path) -> None:
    """STORE-34: `estimate=90` of a program was shown as 1h 30m, and its status in the words of tasks."""
    fields = {"estimate": 90, "isChecked": True, "status": "GROOMED", "at": "noon", "categoryId": "c"}
    with_a_job(tmp_path, {**fields, "status": "DONE"}, {**fields, "status": "OPEN"})
    history = run("history", "j1", home=tmp_path / "laptop").out
    for name, value in {**fields, "status": "DONE", "isChecked": "true"}.items():
        assert re.search(rf"\b{name} +{value}", history), (name, history)
    assert re.search(r"status.*(DONE.*OPEN|OPEN.*DONE)", run("conflicts", home=tmp_path / "laptop").out)
