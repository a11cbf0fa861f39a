"""Import of Taskwarrior's export: JOUR-60 to JOUR-62."""

import json
from datetime import UTC, date, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command_line import contents, run_here

from lottisync.journal.taskwarrior import is_taskwarrior, read
from lottisync.problem import Problem

UUID = "296d835e-8f85-4224-8f36-c612cad1b9f8"


def task(**fields: Any) -> dict[str, Any]:
    usual = {"uuid": UUID, "status": "pending", "entry": "20250110T231200Z", "description": "Pay bills", "urgency": 4.2}
    return usual | fields


def exported(*tasks: dict[str, Any]) -> bytes:
    """As Taskwarrior writes it: a task a line."""
    return ("[\n" + ",\n".join(map(json.dumps, tasks)) + "\n]\n").encode()


def test_jour_60_what_becomes_of_each_field() -> None:
    """JOUR-60"""
    raw = exported(
        task(
            status="waiting",
            wait="20250201T000000Z",
            due="20250301T230000Z",
            priority="H",
            project="Home.Garden",
            tags=["grün", "money"],
            annotations=[{"entry": "20250111T080000Z", "description": "Ask the bank"}],
            parent="x",
        )
    )
    file = read(raw, "tasks.json", timezone(timedelta(hours=2)))
    [found] = file.tasks
    assert (found.key, found.title, found.created_at) == (UUID, "Pay bills", "2025-01-10T23:12:00.000Z")
    assert (found.status, found.status_reason) == ("ON HOLD", "waits until 2025-02-01")
    assert (found.due, found.priority) == (date(2025, 3, 2), "P1")
    assert [label.name for label in file.labels] == ["grün", "money", "Home.Garden"]
    assert found.labels == [label.key for label in file.labels]
    assert [(note.at, note.text) for note in found.notes] == [("2025-01-11T08:00:00.000Z", "Ask the bank")]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"status": "completed", "end": "20250110T231200Z"}, ["DONE"]),
        ({"start": "20250110T231200Z"}, ["IN PROGRESS"]),
        ({"status": "deleted"}, []),
        ({"status": "recurring", "recur": "weekly"}, []),
    ],
)
def test_jour_60_statuses(fields: dict[str, Any], status: list[str]) -> None:
    """JOUR-60"""
    assert [each.status for each in read(exported(task(**fields)), "tasks.json", UTC).tasks] == status


@given(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=80))
def test_jour_60_a_title_stays_as_it_is_in_either_form(title: str) -> None:
    """JOUR-60: quotes, brackets, pipes and emoji too; on one line a task, or laid out over several."""
    one = task(description=f"a{title}")
    for raw in (exported(one), json.dumps([one], indent=1, ensure_ascii=False).encode(), json.dumps(one).encode()):
        if raw.startswith(b"[") or b"\n" not in raw:
            assert is_taskwarrior(raw)
            assert [each.title for each in read(raw, "tasks.json").tasks] == [f"a{title}"]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (exported(task(), task(status="lost")), "line 3 is not a task"),
        (exported(task(entry="yesterday")), "line 2 is not a task"),
        (json.dumps([task(), task(due=7)], indent=1).encode(), "task 2 is not a task"),
        (b'[{"description"', "line 1 is not a task"),
        (b'[{"description": "a"}]x', "line 1 is not a task"),
        (exported(task(), task()), "line 3: the uuid .* is used twice"),
        (exported(task(entry="00010101T000000Z")), "line 2: .*is not a time"),
        (exported(task(description="")), "line 2 is not a task"),
        (exported(task(annotations=[{"entry": "20250111T080000Z", "description": ""}])), "line 2 is not a task"),
        (json.dumps([task(description="a" * 501)], indent=1).encode(), "task 1 is not a task"),
    ],
)
def test_jour_61_the_place_of_an_error_is_named(raw: bytes, said: str) -> None:
    """JOUR-61, JOUR-950"""
    assert is_taskwarrior(raw)
    with pytest.raises(Problem, match=said):
        read(raw, "tasks.json")


@pytest.mark.parametrize(("due", "hours"), [("00010101T000000Z", -2), ("99991231T235959Z", 2)])
def test_ent_570_a_day_beyond_the_calendar_is_not_a_day_of_a_task(due: str, hours: int) -> None:
    """ENT-570, JOUR-61: in a zone where it would be one before the first or after the last."""
    with pytest.raises(Problem, match="line 2 is not a task"):
        read(exported(task(due=due)), "tasks.json", timezone(timedelta(hours=hours)))


def test_jour_64_a_file_with_an_error_imports_nothing(tmp_path: Path) -> None:
    """JOUR-64: the task ahead of the one that cannot be read is not there either."""
    home, file = tmp_path / "home", tmp_path / "tasks.json"
    file.write_bytes(exported(task(), task(status="lost")))
    assert run_here("init", "--name", "laptop", home=home).code == 0
    before = contents(home)
    assert run_here("import", str(file), home=home).code == 1
    assert contents(home) == before


def test_jour_62_twice_adds_nothing_and_overwrites_nothing(tmp_path: Path) -> None:
    """JOUR-62"""
    home, file = tmp_path / "home", tmp_path / "tasks.json"
    file.write_bytes(exported(task(tags=["money"])))
    assert run_here("init", "--name", "laptop", home=home).code == 0
    before = contents(home)
    assert run_here("import", str(file), "--dry-run", "--json", home=home).json["added"] == 2
    assert contents(home) == before
    assert run_here("import", str(file), "--json", home=home).json["added"] == 2
    assert run_here("task", "edit", "bills", "--title", "Pay all bills", home=home).code == 0
    before = contents(home)
    assert run_here("import", str(file), "--json", home=home).json == {
        "added": 0,
        "present": 2,
        "byType": {"task": 0, "checklistItem": 0, "entry": 0, "label": 0},
        "dryRun": False,
    }
    assert contents(home) == before
