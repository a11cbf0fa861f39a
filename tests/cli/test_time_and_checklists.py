"""What a person does with checklists and with time, on the command line: JOUR-24 to JOUR-27, CLI-60, CLI-61."""

from pathlib import Path

import pytest
from tests.support.command_line import run_here
from tests.support.task_commands import done, home_with, refused, task


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return home_with(tmp_path / "home", "Buy milk", "Bake bread")


def lists(home: Path, named: str) -> dict[str, list[str]]:
    return {each["title"]: [one["title"] for one in each["items"]] for each in done(home, "show", named)["checklists"]}


def test_jour_24_items_move_between_checklists_and_tasks(home: Path) -> None:
    """JOUR-24, CLI-60, CLI-61"""
    done(home, "item", "add", "milk", "bottles", "money", "bag")
    done(home, "checklist", "add", "milk", "Cellar")
    assert [each["changed"] for each in done(home, "item", "move", "bottles", "bag", "--to", "cellar")] == [True, True]
    assert done(home, "item", "move", "bag", "--to", "cellar")[0]["changed"] is False
    assert lists(home, "milk") == {"Todos": ["money"], "Cellar": ["bottles", "bag"]}
    done(home, "item", "add", "milk", "crate", "--to", "Cellar")
    done(home, "checklist", "rename", "milk", "cellar", "Attic")
    assert lists(home, "milk")["Attic"] == ["bottles", "bag", "crate"]
    done(home, "item", "move", "money", "--task", "bread")
    assert (lists(home, "milk")["Todos"], lists(home, "bread")) == ([], {"Todos": ["money"]})
    assert "moved already" in task(home, "item", "move", "money", "--task", "bread").out
    assert "--to CHECKLIST" in refused(home, "item", "move", "money", code=2)
    assert "no checklists of the task are called 'Shed'" in refused(
        home, "item", "move", "money", "--to", "Shed", code=1
    )


def test_jour_242_items_are_archived_and_taken_out(home: Path) -> None:
    """JOUR-242"""
    done(home, "item", "add", "milk", "bottles", "money")
    assert done(home, "item", "archive", "bottles")[0]["isArchived"] is True
    assert lists(home, "milk") == {"Todos": ["money"]}
    assert [each["title"] for each in done(home, "show", "milk")["archivedItems"]] == ["bottles"]
    assert "Archived" in task(home, "show", "milk").out
    assert done(home, "item", "archive", "bottles")[0]["changed"] is False
    done(home, "item", "archive", "bottles", "--off")
    assert lists(home, "milk") == {"Todos": ["bottles", "money"]}


def test_jour_26_time_is_written_down_with_start_and_end(home: Path) -> None:
    """JOUR-26, S3-66"""
    done(home, "time", "add", "milk", "-", "walked", "--from", "2026-01-02T14:00Z", "--to", "2026-01-02T14:25Z")
    done(home, "time", "add", "milk", "1h", "queued", "--from", "2026-01-02T15:00Z")
    listed = done(home, "time", "list", "milk")
    assert [(each["at"], each["end"], each["minutes"]) for each in listed] == [
        ("2026-01-02T14:00:00.000Z", "2026-01-02T14:25:00.000Z", 25),
        ("2026-01-02T15:00:00.000Z", "2026-01-02T16:00:00.000Z", 60),
    ]
    entry = listed[0]["id"]
    assert done(home, "time", "edit", entry, "walked back", "--to", "2026-01-02T14:30Z")[0]["minutes"] == 30
    assert done(home, "time", "edit", entry, "walked back")[0]["changed"] is False
    assert "later end" in refused(home, "time", "edit", entry, "--to", "2026-01-02T13:00Z", code=1)
    assert done(home, "show", "milk")["minutesSpent"] == 90
    done(home, "time", "remove", entry)
    assert [each["text"] for each in done(home, "time", "list", "milk")] == ["queued"]
    assert "queued" in task(home, "time", "list", "milk").out


def test_jour_26_a_time_without_an_offset_is_of_this_device(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JOUR-26"""
    monkeypatch.setenv("TZ", "UTC")
    done(home, "time", "add", "milk", "30", "walked", "--to", "2026-01-02T14:30")
    assert done(home, "time", "list", "milk")[0]["at"] == "2026-01-02T14:00:00.000Z"
    done(home, "time", "add", "bread", "10", "--to", "12:00")
    assert done(home, "time", "list", "bread")[0]["end"].endswith("T12:00:00.000Z")


def test_jour_27_a_timer_is_started_and_stopped(home: Path) -> None:
    """JOUR-27, JOUR-245, JOUR-1010, CLI-1101"""
    assert task(home, "time", "list").out == task(home, "time", "stop").out == "No timer runs.\n"
    done(home, "time", "start", "milk", "walking", "--at", "2026-01-02T14:00Z")
    [runs] = done(home, "time", "list")
    assert (runs["taskTitle"], runs["text"], runs["runs"], runs["minutes"]) == ("Buy milk", "walking", True, None)
    assert "(runs)" in task(home, "show", "milk").out
    assert "runs" in task(home, "time", "list").out
    assert "'walking'" in task(home, "time", "start", "bread", "--at", "2026-01-02T14:40Z").out
    assert done(home, "time", "list", "milk")[0]["minutes"] == 40
    [stopped] = done(home, "time", "stop", "--at", "2026-01-02T15:00Z")
    assert (stopped["taskTitle"], stopped["minutes"], stopped["changed"]) == ("Bake bread", 20, True)
    assert done(home, "time", "stop") == []
    assert "stopped already" in task(home, "time", "stop", stopped["id"]).out
    assert "no timer runs for 'Buy milk'" in refused(home, "time", "stop", "milk", code=1)
    done(home, "time", "start", "milk")
    [by_task] = done(home, "time", "stop", "milk")
    assert (by_task["taskTitle"], by_task["text"], by_task["changed"]) == ("Buy milk", "Time spent", True)


@pytest.mark.parametrize(
    "words",
    [
        ("time", "add", "milk"),
        ("time", "add", "milk", "30", "--from", "14:00", "--to", "15:00"),
        ("time", "add", "milk", "-", "--from", "14:00"),
        ("time", "add", "milk", "30", "--to", "dinner"),
        ("time", "start", "milk", "--at", "2999-01-01T00:00"),
        ("time", "edit", "milk"),
    ],
)
def test_jour_26_a_time_that_cannot_be_read_is_a_wrong_call(home: Path, words: tuple[str, ...]) -> None:
    """JOUR-26, CLI-61"""
    refused(home, *words, code=2)


def test_cli_682_less_than_a_minute_is_shown(home: Path) -> None:
    """CLI-682: a timer that was stopped at once."""
    at = "2026-01-02T14:00Z"
    done(home, "time", "add", "milk", "-", "a call", "--from", at, "--to", at)
    shown = task(home, "show", "milk").out
    assert "spent 0m" in shown
    assert "(0m)  a call" in shown
    assert "  0m " in task(home, "time", "list", "milk").out


@pytest.mark.parametrize("ending", ["md", "csv"])
def test_cli_682_less_than_a_minute_is_exported_as_time(home: Path, tmp_path: Path, ending: str) -> None:
    """CLI-682: it came back as a note."""
    at = "2026-01-02T14:00Z"
    done(home, "time", "add", "milk", "-", "a call", "--from", at, "--to", at)
    file = tmp_path / f"tasks.{ending}"
    assert run_here("export", str(file), home=home).code == 0
    other = tmp_path / "other"
    assert run_here("init", "--name", "other", home=other).code == 0
    assert run_here("import", str(file), home=other).code == 0
    assert [(each["text"], each["minutes"]) for each in done(other, "time", "list", "milk")] == [("a call", 0)]
