"""`check`, `history` and `conflicts`, as a person calls them."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support import sqlite
from tests.support.command_line import run_here
from tests.support.rounds import send

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.journal import names, tasks


def call(home: Path, *arguments: str, status: int = 0) -> Any:
    done = run_here(*arguments, "--json", home=home)
    assert done.code == status, done.err
    return done.content


def meet(a: TaskHome, b: TaskHome) -> None:
    for name in ("space", "journal"):
        send(getattr(a, name), getattr(b, name), now=clock.now())
        send(getattr(b, name), getattr(a, name), now=clock.now())


@pytest.fixture
def apart(tmp_path: Path) -> tuple[Path, Path]:
    """Two paired homes that both renamed one task, and the first of which has ticked an item."""
    laptop, phone = (TaskHome.create(tmp_path / name, name) for name in ("laptop", "phone"))
    laptop.members.add("phone", phone.key.certificate, clock.now())
    phone.members.add("laptop", laptop.key.certificate, clock.now())
    with laptop.journal.transaction(clock.now(), HIGH) as tx:
        tx.put("t1", "task", {"title": "Milk", "estimate": 5})
    meet(laptop, phone)
    with laptop.journal.transaction(clock.now(), HIGH) as tx:
        tx.put("t1", "task", {"title": "Oat milk"}, precedence=0)
    with phone.journal.transaction(clock.now(), HIGH) as tx:
        tx.put("t1", "task", {"title": "Soy milk"})
    meet(laptop, phone)
    for home in (laptop, phone):
        home.close()
    return tmp_path / "laptop", tmp_path / "phone"


SOUND = {"faults": [], "sound": ["space", "journal", "agent"]}


def test_a_sound_home_is_sound_and_a_damaged_one_is_not(apart: tuple[Path, Path]) -> None:
    """STORE-20"""
    assert call(apart[0], "check") == SOUND
    home = TaskHome.open(apart[0])
    with home.journal.transaction(clock.now(), HIGH) as tx:
        tx.execute("update journal_entities set serialized = replace(serialized, 'milk', 'wine')")
    home.close()
    found = call(apart[0], "check", status=1)
    assert found["sound"] == ["space", "agent"]
    assert any("t1" in fault["message"] for fault in found["faults"])
    assert {fault["store"] for fault in found["faults"]} == {"journal"}


def test_cli_1080_what_check_finds_is_said_in_the_readers_language(apart: tuple[Path, Path]) -> None:
    """CLI-1080, CLI-1081: it was English in every language."""
    home = TaskHome.open(apart[0])
    sqlite.connection(home.journal).execute("update journal_entities set hash = zeroblob(32) where id = 't1'")
    home.close()
    shown = run_here("check", "--language", "de", home=apart[0])
    assert "t1: der Inhalt hat nicht den Hash" in shown.out
    found = call(apart[0], "check", "--language", "de", status=1)
    said = "t1: its content does not have the hash that was stored with it"
    assert {"store": "journal", "code": "wrong-hash", "message": said} in found["faults"]


def test_rel_d7_a_person_accepts_what_a_damaged_row_shows(apart: tuple[Path, Path]) -> None:
    """MEND-25, MEND-302: there is a command that helps where no other device does."""
    home = TaskHome.open(apart[0])
    sqlite.connection(home.journal).execute(
        "update journal_entities set serialized = replace(serialized, 'milk', 'wine') where id = 't1'"
    )
    home.close()
    assert call(apart[0], "check", "--accept", "nobody", status=1)["error"]["code"] == "unknown-id"
    assert call(apart[0], "check", "--accept", "t1") == {"id": "t1"}
    assert call(apart[0], "check") == SOUND
    assert call(apart[0], "check", "--accept", "t1", status=1)["error"]["code"] == "not-damaged"


def test_mend_882_a_damaged_id_is_found_again_without_another_device(apart: tuple[Path, Path]) -> None:
    """MEND-882: `check` named it, and no command took the name."""
    home = TaskHome.open(apart[0])
    sqlite.connection(home.journal).execute("update journal_entities set id = cast(x'F431' as text) where id = 't1'")
    home.close()
    faults = [fault["message"] for fault in call(apart[0], "check", status=1)["faults"]]
    shown = next(fault for fault in faults if "its content does not have the hash" in fault).partition(":")[0]
    assert call(apart[0], "check", "--accept", shown) == {"id": "t1"}
    assert call(apart[0], "check") == SOUND
    assert [task["id"] for task in call(apart[0], "task", "list")] == ["t1"]


def test_history_says_who_wrote_what_where_and_what_it_replaced(apart: tuple[Path, Path]) -> None:
    """STORE-16"""
    rows = [row for row in call(apart[0], "history", "t1")["writes"] if row["path"] == "title"]
    assert {(row["value"], row["by"], row["deviceName"]) for row in rows} == {
        ("Milk", "user", "laptop"),
        ("Oat milk", "agent", "laptop"),
        ("Soy milk", "user", "phone"),
    }
    assert rows[0]["value"] == "Milk"
    assert {row["value"]: row["replaced"] for row in rows} == {"Milk": None, "Oat milk": "Milk", "Soy milk": None}
    assert [row["current"] for row in rows] == [False, True, True]


def test_cli480_history_takes_a_piece_of_a_tasks_title(apart: tuple[Path, Path]) -> None:
    """CLI-480: like every other command that a person gives a task's name to."""
    assert call(apart[0], "history", "milk") == call(apart[0], "history", "t1")
    assert "no task has it in its title" in run_here("history", "nowhere", home=apart[0]).err
    home = TaskHome.open(apart[0])
    with home.journal.transaction(clock.now(), HIGH) as tx:
        tx.put("t2", "task", {"title": "Milk shake"})
    home.close()
    assert run_here("history", "milk", home=apart[0]).err.startswith("lottisync: 'milk' fits more than one task: ")


def test_history_of_a_value_that_was_settled_names_what_was_shown(apart: tuple[Path, Path]) -> None:
    """STORE-16: of several that went at once, the one that people had seen."""
    laptop, _ = apart
    call(laptop, "conflicts", "combine", "t1", "title", "Oat or soy milk")
    rows = [row for row in call(laptop, "history", "t1")["writes"] if row["path"] == "title"]
    assert rows[-1]["value"] == "Oat or soy milk"
    assert rows[-1]["replaced"] == "Soy milk"


def test_conflicts_are_listed_shown_and_settled(apart: tuple[Path, Path]) -> None:
    """STORE-17, STORE-69: and the other device takes the value that the person kept."""
    laptop, phone = apart
    [listed] = call(laptop, "conflicts")
    assert (listed["id"], listed["path"]) == ("t1", "title")
    assert [(v["value"], v["by"], v["deviceName"]) for v in listed["values"]] == [
        ("Soy milk", "user", "phone"),
        ("Oat milk", "agent", "laptop"),
    ]
    assert call(laptop, "conflicts", "show", "t1") == [listed]
    call(phone, "conflicts", "keep", "t1", "title", "2")
    homes = TaskHome.open(laptop), TaskHome.open(phone)
    meet(*homes)
    for home in homes:
        home.close()
    assert call(laptop, "conflicts") == []
    assert call(laptop, "task", "show", "t1")["title"] == "Oat milk"


def test_f10_the_page_of_a_task_shows_both_values(apart: tuple[Path, Path]) -> None:
    """CLI-67, CLI-306: and the list names the task."""
    shown = run_here("task", "show", "t1", home=apart[0]).out
    assert "! Soy milk: Title: 1 Soy milk (phone)  |  2 Oat milk (laptop)" in shown
    assert "lottisync conflicts keep t1 title N" in shown
    [conflict] = call(apart[0], "task", "show", "t1")["conflicts"]
    assert (conflict["path"], conflict["title"]) == ("title", "Soy milk")
    assert "Soy milk" in run_here("conflicts", home=apart[0]).out


def test_f10_a_tick_that_two_devices_disagree_on_is_one_decision(apart: tuple[Path, Path]) -> None:
    """CLI-67: though a tick is stored with its author and its time."""
    homes = TaskHome.open(apart[0]), TaskHome.open(apart[1])
    with homes[0].journal.transaction(clock.now(), HIGH) as tx:
        tasks.add_item(tx, "i1", "t1", "Shake it")
    meet(*homes)
    for home, ticks in zip(homes, ((True,), (True, False)), strict=True):
        with home.journal.transaction(clock.now(), HIGH) as tx:
            for checked in ticks:
                tasks.check_item(tx, "i1", checked)
    meet(*homes)
    for home in homes:
        home.close()
    assert [one["path"] for one in call(apart[0], "conflicts") if one["id"] == "i1"] == ["isChecked"]
    call(apart[0], "conflicts", "keep", "i1", "isChecked", "1")
    assert [one for one in call(apart[0], "conflicts") if one["id"] == "i1"] == []


def test_combining_takes_a_value_in_ones_own_words(apart: tuple[Path, Path]) -> None:
    call(apart[0], "conflicts", "combine", "t1", "title", "Oat or soy milk")
    assert call(apart[0], "conflicts") == []
    assert call(apart[0], "task", "show", "t1")["title"] == "Oat or soy milk"
    settled = call(apart[0], "conflicts", "show", "t1", status=1)["error"]
    assert (settled["code"], "t1 Oat or soy milk has no conflict" in settled["message"]) == ("no-conflict", True)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("history", "nowhere"), "unknown-id"),
        (("conflicts", "show", "nowhere"), "unknown-id"),
        (("conflicts", "keep", "t1", "estimate", "1"), "no-conflict"),
        (("conflicts", "keep", "t1", "title", "9"), "bad-value"),
    ],
)
def test_what_is_not_there_is_said_in_words(apart: tuple[Path, Path], arguments: tuple[str, ...], code: str) -> None:
    assert call(apart[0], *arguments, status=1)["error"]["code"] == code


def test_cli_442_what_became_of_a_task_is_said_in_the_readers_language(tmp_path: Path) -> None:
    """CLI-442: a deletion and the edit that it conflicts with, on every page that shows either."""
    laptop, phone = (TaskHome.create(tmp_path / name, name) for name in ("laptop", "phone"))
    laptop.members.add("phone", phone.key.certificate, clock.now())
    phone.members.add("laptop", laptop.key.certificate, clock.now())
    with laptop.journal.transaction(clock.now(), HIGH) as tx:
        tx.put("t1", "task", {"title": "Milk"})
    meet(laptop, phone)
    with laptop.journal.transaction(clock.now(), HIGH) as tx:
        tx.delete("t1")
    with phone.journal.transaction(clock.now(), HIGH) as tx:
        tx.put("t1", "task", {"title": "Oat milk"})
    meet(laptop, phone)
    for home in (laptop, phone):
        home.close()
    pages = (("conflicts",), ("conflicts", "show", "t1"), ("history", "t1"))
    said = [run_here(*page, "--language", "de", home=laptop.path).out for page in pages]
    assert all("gelöscht" in page for page in said)
    assert all("bearbeitet" in page for page in said[:2])
    assert re.findall(r"\b(deleted|edited)\b", "".join(said)) == []


def test_cli_1102_history_and_conflicts_show_values_as_the_other_pages_do(apart: tuple[Path, Path]) -> None:
    """CLI-1102: a length of time and a repetition in words."""
    for home, minutes, rule in ((apart[0], "90", "weekly"), (apart[1], "2h", "every 2 weeks")):
        run_here("task", "due", "t1", "2026-12-01", home=home)
        run_here("task", "estimate", "t1", minutes, home=home)
        run_here("task", "repeat", "t1", rule, home=home)
    laptop, phone = (TaskHome.open(home) for home in apart)
    meet(laptop, phone)
    laptop.close()
    phone.close()
    for page in (("history", "t1"), ("conflicts",), ("conflicts", "show", "t1")):
        said = run_here(*page, home=apart[0]).out
        assert all(word in said for word in ("1h 30m", "every week", "every 2 weeks" if page[0] == "conflicts" else ""))
        assert "R/2026" not in said


def test_cli481_history_says_deleted_in_a_word(apart: tuple[Path, Path]) -> None:
    """CLI-481: and not with the clocks that the deletion had seen."""
    assert run_here("task", "delete", "t1", home=apart[0]).code == 0
    [row] = [line for line in run_here("history", "t1", home=apart[0]).out.splitlines() if "deleted" in line]
    assert row.split()[-2:] == ["Deleted", "deleted"]


def test_cli_618_status_counts_the_conflicts(apart: tuple[Path, Path]) -> None:
    """CLI-618: each row of `conflicts` once, until it is settled."""
    rows = call(apart[0], "conflicts")
    assert rows
    assert call(apart[0], "status")["conflictsWaiting"] == len(rows)
    shown = run_here("status", home=apart[0]).out
    assert f"{len(rows)} conflict" in shown
    assert "lottisync conflicts" in shown
    for row in rows:
        call(apart[0], "conflicts", "keep", row["id"], row["path"], "1")
    assert call(apart[0], "status")["conflictsWaiting"] == 0
    assert "conflict" not in run_here("status", home=apart[0]).out


def test_cli_950_a_conflict_is_meant_by_what_the_page_calls_it(apart: tuple[Path, Path]) -> None:
    """CLI-950: an item by its title, a field by the word that is printed; only an id and a register were taken."""
    homes = [TaskHome.open(each) for each in apart]
    with homes[0].journal.transaction(clock.now(), HIGH) as tx:
        tx.put("i1", "checklistItem", {"title": "Flour", "taskId": "t1"})
        tx.put("i2", "checklistItem", {"title": "Flour and salt", "taskId": "t1"})
        tx.put("i3", "checklistItem", {"title": "Milk powder", "taskId": "t1"})
    meet(*homes)
    for later, (home, title) in enumerate(zip(homes, ("Rye flour", "White flour"), strict=True)):
        with home.journal.transaction(clock.now() + later, HIGH) as tx:  # within one millisecond, the host decides
            tx.put("i1", "checklistItem", {"title": title})
    meet(*homes)
    for home in homes:
        home.close()
    assert [row["title"] for row in call(apart[0], "conflicts", "show", "white flour")] == ["White flour"]
    assert run_here("conflicts", "keep", "flour", "Title", "2", home=apart[0]).out == "title is settled.  Rye flour\n"
    assert call(apart[0], "conflicts", "show", "rye flour", status=1)["error"]["code"] == "unknown-id"
    assert call(apart[0], "conflicts", "combine", "soy", "title", "Oat") == {"id": "t1", "path": "title"}


def test_cli_950_a_piece_that_fits_two_conflicts_is_refused_with_both(apart: tuple[Path, Path]) -> None:
    """CLI-950"""
    homes = [TaskHome.open(each) for each in apart]
    for home, title in zip(homes, ("Milk can", "Milk jug"), strict=True):
        with home.journal.transaction(clock.now(), HIGH) as tx:
            tx.put("i1", "checklistItem", {"title": title, "taskId": "t1"})
    meet(*homes)
    for home in homes:
        home.close()
    said = run_here("conflicts", "keep", "milk", "title", "1", home=apart[0])
    assert said.code == 1
    assert all(ident in said.err for ident in ("t1", "i1"))
    assert len(call(apart[0], "conflicts")) == 2


def test_cli_1015_history_fits_a_narrow_terminal_and_names_a_category(
    apart: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-1015: cells of five letters were below each other; a category was 32 digits."""
    assert run_here("task", "category", "t1", "A category with a name of many words", home=apart[0]).code == 0
    wide = run_here("history", "t1", home=apart[0]).out
    assert "A category with a name of many words" in wide
    monkeypatch.setenv("COLUMNS", "40")
    narrow = run_here("history", "t1", home=apart[0]).out
    assert "  value: Oat milk  before: Milk" in narrow.splitlines(), narrow
    assert "  value: A category with a name of many" in narrow.splitlines()


def test_cli_1086_history_is_in_the_readers_language(apart: tuple[Path, Path]) -> None:
    """CLI-1086: fields had the names of the store."""
    assert run_here("task", "done", "t1", home=apart[0]).code == 0
    shown = run_here("history", "t1", "--language", "de", home=apart[0]).out
    assert "Titel" in shown
    assert "erledigt" in shown
    assert "Agent" in shown
    assert "DONE" not in shown


def test_cli_1013_the_page_of_a_conflict_has_one_row_a_decision(apart: tuple[Path, Path]) -> None:
    """CLI-1013: a tick, who set it and when were two rows, of which one was settled with the other."""
    homes = [TaskHome.open(each) for each in apart]
    with homes[0].journal.transaction(clock.now(), HIGH) as tx:
        tasks.add_item(tx, "i1", "t1", "Flour")
    meet(*homes)
    for later, (home, on) in enumerate(zip(homes, (True, False), strict=True)):
        with home.journal.transaction(clock.now() + later, HIGH) as tx:
            tasks.check_item(tx, "i1", checked=True)
            tasks.check_item(tx, "i1", on)
    meet(*homes)
    for home in homes:
        home.close()
    assert [row["path"] for row in call(apart[0], "conflicts", "show", "flour")] == ["isChecked"]
    assert [row["path"] for row in call(apart[0], "conflicts") if row["id"] == "i1"] == ["isChecked"]


def test_cli_606_conflicts_call_a_label_by_its_name(apart: tuple[Path, Path]) -> None:
    """CLI-606: and the page of one has the line that settles it."""
    homes = [TaskHome.open(each) for each in apart]
    with homes[0].journal.transaction(clock.now(), HIGH) as tx:
        tx.put("garden-1", "label", {"name": "garden"})
    meet(*homes)
    for home, on in zip(homes, (True, False), strict=True):
        with home.journal.transaction(clock.now(), HIGH) as tx:
            tx.put("t1", "task", {"labels/garden-1": on})
    meet(*homes)
    for home in homes:
        home.close()
    shown = run_here("conflicts", home=apart[0]).out
    assert "label garden" in shown
    assert "labels/" not in shown
    assert "lottisync conflicts keep t1 labels/garden-1 N" in run_here("conflicts", "show", "t1", home=apart[0]).out
    assert (
        run_here("conflicts", "keep", "t1", "labels/garden-1", "1", home=apart[0]).out == "label garden is settled.\n"
    )


def test_cli_475_history_calls_labels_and_proposals_what_people_call_them(apart: tuple[Path, Path]) -> None:
    """CLI-475: it said `labels/at~1home` and `receipts/` with an id. A program reads the names of the registers."""
    home = TaskHome.open(apart[0])
    with home.journal.transaction(clock.now(), HIGH) as tx:
        tx.put("t1", "task", {"labels/at~1home": True, "receipts/o1": {"args": {"minutes": 5}, "result": "applied"}})
    home.close()
    shown = run_here("history", "t1", home=apart[0]).out.splitlines()
    assert [line.split()[-1] for line in shown if "label at/home" in line] == ["added"]
    assert [line.split()[-1] for line in shown if "confirmed proposal" in line] == ["applied"]
    assert not [line for line in shown if "receipts" in line or "labels/" in line]
    paths = {row["path"] for row in call(apart[0], "history", "t1")["writes"]}
    assert {"labels/at~1home", "receipts/o1"} <= paths


def test_cli_1096_history_says_that_a_label_was_added_or_taken_off(apart: tuple[Path, Path]) -> None:
    """CLI-1096: it said `true`, and nothing. A tick is done or not done."""
    home = apart[0]
    for words in ("task label add t1 garden", "task label remove t1 garden", "task label add t1 garden"):
        call(home, *words.split())
    lines = [line for line in run_here("history", "t1", home=home).out.splitlines() if "label garden" in line]
    shown = [line.split("label garden")[1].split() for line in lines]
    assert shown == [["added"], ["taken", "off", "added"], ["added"]]
    opened = TaskHome.open(home)
    with opened.journal.transaction(clock.now(), HIGH) as tx:
        tx.put("t1", "task", {"suppressedLabels/garden": True})
        tx.put("i1", "checklistItem", {"isChecked": True})
    opened.close()
    assert "rejected label garden" in run_here("history", "t1", home=home).out
    assert re.search(r" Done +done", run_here("history", "i1", home=home).out)


def test_cli_462_a_page_shows_instants_by_the_clock_of_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-462: also those that a register holds; what is not an instant stays as it is."""
    home = TaskHome.create(tmp_path / "a", "laptop")
    with home.journal.transaction(clock.now(), HIGH) as tx:
        at = "2026-01-02T14:00:05.000Z"
        tx.put("t1", "task", {"title": at, "due": "2026-01-03", "remindAt": at, "createdAt": "soon"})
    with home.space.reading() as reader:
        [record] = reader.documents("membership")
    home.close()
    try:
        monkeypatch.setenv("TZ", "UTC+5")
        time.tzset()
        shown = run_here("history", "t1", home=tmp_path / "a").out
        signed = run_here("history", record.id, home=tmp_path / "a").out
    finally:
        monkeypatch.undo()
        time.tzset()
    held = {tuple(re.split(r"\s{2,}", line.split("laptop")[1].strip())) for line in shown.splitlines()[1:]}
    assert held == {
        ("Title", at),
        ("Due date", "2026-01-03"),
        ("Reminder", "2026-01-02 09:00:05"),
        ("Created", "soon"),
    }
    assert str(record.document()["at_ms"]) not in signed
    assert {row["path"]: row["value"] for row in call(tmp_path / "a", "history", "t1")["writes"]}["remindAt"] == at


@pytest.mark.parametrize(
    ("field", "mine", "theirs", "typed", "stored", "refused"),
    [
        ("due", "2030-01-02", "2030-01-03", "2030-01-05", "2030-01-05", "someday"),
        ("priority", "P0", "P1", "p3", "P3", "high"),
        ("estimate", 10, 20, "1h", 60, "soon"),
        ("title", "A", "B", "2026", "2026", " "),
        ("remindAt", "2030-01-02T09:00:00.000Z", "2030-01-03T09:00:00.000Z", "none", None, "some time"),
        ("repeat", "R/2030-01-02/P1W", "R/2030-01-02/P1D", "none", None, "now and then"),
        ("repeat", "R/2030-01-02/P1W", None, "every 2 months", "R/2030-01-01/P2M", "now and then"),
        ("languageCode", "de", "en", "FR", "fr", "qq"),
        ("categoryId", "a", "b", "null", None, " "),
    ],
)
def test_cli_866_a_combined_value_is_one_that_the_field_can_hold(
    apart: tuple[Path, Path], field: str, mine: Any, theirs: Any, typed: str, stored: Any, refused: str
) -> None:
    """CLI-866: `combine ID due tomorrow` stored the word, and `title 2026` a number."""
    laptop, phone = (TaskHome.open(path) for path in apart)
    with laptop.journal.transaction(clock.now(), HIGH) as tx:
        tx.put("t1", "task", {"due": "2030-01-01"})
    for home, held in ((laptop, mine), (phone, theirs)):
        with home.journal.transaction(clock.now(), HIGH) as tx:
            tx.put("t1", "task", {field: held})
    meet(laptop, phone)
    laptop.close()
    phone.close()
    assert run_here("conflicts", "combine", "t1", field, refused, home=apart[0]).code != 0
    said = run_here("conflicts", "combine", "t1", field, typed, home=apart[0])
    assert said.code == 0, said.err
    assert said.out.startswith(f"{field} is settled.  ")
    conflicts = call(apart[0], "task", "show", "t1")["conflicts"]
    assert (held_of(apart[0], field), [one["path"] for one in conflicts].count(field)) == (stored, 0)


def held_of(home: Path, field: str) -> Any:
    laptop = TaskHome.open(home)
    task = laptop.journal.read("t1")
    laptop.close()
    assert task is not None
    return task.value(field)


def test_cli_866_a_combined_category_is_one_by_its_name(apart: tuple[Path, Path]) -> None:
    """CLI-866: the name was stored as if it were an id."""
    laptop, phone = (TaskHome.open(path) for path in apart)
    for home, name in ((laptop, "House"), (phone, "Garden")):
        with home.journal.transaction(clock.now(), HIGH) as tx:
            tx.put("t1", "task", {"categoryId": names.find_or_make(tx, "category", name)})
    meet(laptop, phone)
    laptop.close()
    phone.close()
    said = run_here("conflicts", "combine", "t1", "category", "Boats", home=apart[0])
    assert said.code == 0, said.err
    laptop = TaskHome.open(apart[0])
    with laptop.journal.reading() as reader:
        made = names.find_known(reader, "category", "Boats")
    laptop.close()
    assert held_of(apart[0], "categoryId") == made


def test_cli_867_a_conflict_says_what_people_say(apart: tuple[Path, Path]) -> None:
    """CLI-867: it said `IN PROGRESS`, and an instant to the second."""
    laptop, phone = (TaskHome.open(path) for path in apart)
    for home, held, at in ((laptop, "BLOCKED", "2030-01-01T09:00"), (phone, "IN PROGRESS", "2030-01-02T09:00")):
        with home.journal.transaction(clock.now(), HIGH) as tx:
            tx.put("t1", "task", {"status": held, "statusReason": None, "remindAt": f"{at}:00.000Z"})
    meet(laptop, phone)
    laptop.close()
    phone.close()
    for page in (("task", "show", "t1"), ("conflicts",), ("conflicts", "show", "t1")):
        said = run_here(*page, home=apart[0]).out
        assert "in progress (phone)" in said
        assert "blocked (laptop)" in said
        assert page[-1] != "conflicts" or ":00:00" not in said
