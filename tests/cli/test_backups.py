"""`backup`, `restore`, `export` and `import`, as a person calls them."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import run, run_here

from lottisync.daemon.home import TaskHome

TASKS = {
    "format": "lottisync-tasks/1",
    "tasks": [{"key": "a", "title": "Bake bread", "createdAt": "2025-12-01T12:00:00Z"}],
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    TaskHome.create(tmp_path / "laptop", "laptop").close()
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps(TASKS))
    assert run_here("import", str(file), home=tmp_path / "laptop").code == 0
    return tmp_path / "laptop"


def titles(home: Path) -> list[str]:
    listed = run_here("task", "list", "--json", home=home).json["tasks"]
    return [task["title"] for task in listed]


def test_a_backup_is_made_rotated_and_restored(home: Path, tmp_path: Path) -> None:
    """BACKUP-22, BACKUP-4, BACKUP-5"""
    said = run_here("backup", str(tmp_path / "backups"), home=home)
    assert (said.code, said.err) == (0, "")
    assert "and checked" in said.out
    assert "It holds this device's key" in said.out
    assert run_here("task", "add", "Later", home=home).code == 0
    restored = run_here("restore", str(tmp_path / "backups"), home=tmp_path / "again")
    assert "is laptop again, as it was at" in restored.out
    assert titles(tmp_path / "again") == ["Bake bread"]
    assert run_here("check", home=tmp_path / "again").code == 0
    refused = run_here("restore", str(tmp_path / "backups"), home=home)
    assert (refused.code, "exists and is not empty" in refused.err) == (1, True)
    nothing = run_here("restore", str(tmp_path), home=tmp_path / "third")
    assert (nothing.code, "is not a backup, and holds none" in nothing.err) == (1, True)


def test_everything_is_exported_and_imported_elsewhere(home: Path, tmp_path: Path) -> None:
    """BACKUP-11, BACKUP-12, BACKUP-23, BACKUP-24"""
    file = tmp_path / "everything.jsonl"
    exported: dict[str, Any] = run_here("export", str(file), "--json", home=home).json
    assert exported == {"file": str(file), "entities": len(file.read_text().splitlines()) - 1}
    TaskHome.create(tmp_path / "new", "phone").close()
    would = run_here("import", str(file), "--dry-run", home=tmp_path / "new")
    assert (exported["entities"], would.out) == (1, "Would add 1 entity; 0 were here already.\n")
    assert titles(tmp_path / "new") == []
    assert run_here("import", str(file), home=tmp_path / "new").out.startswith("Added ")
    assert titles(tmp_path / "new") == ["Bake bread"]
    assert run_here("import", str(file), "--json", home=tmp_path / "new").json == {
        "added": 0,
        "present": exported["entities"],
        "byType": {},
        "dryRun": False,
    }
    file.write_text(file.read_text() + "{broken\n")
    refused = run_here("import", str(file), home=tmp_path / "new")
    assert (refused.code, "is not of the format lottisync-export/1" in refused.err) == (1, True)


def test_a_dry_run_of_a_task_file_adds_nothing(home: Path, tmp_path: Path) -> None:
    """BACKUP-24"""
    file = tmp_path / "tasks.json"
    file.write_text(json.dumps(TASKS).replace("Bake bread", "Other").replace('"a"', '"b"'))
    would = run_here("import", str(file), "--dry-run", home=home)
    assert would.out == "Would add 1 task, 0 checklist items, 0 notes, 0 labels; 0 were here already.\n"
    assert titles(home) == ["Bake bread"]


def test_an_export_goes_through_a_pipe(home: Path, tmp_path: Path) -> None:
    """BACKUP-10"""
    said = run("export", "-", home=home)
    assert said.code == 0
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert lines[0]["format"] == "lottisync-export/1"
    assert [line["fields"]["title"] for line in lines[1:] if line["type"] == "task"] == ["Bake bread"]


@pytest.mark.parametrize("name", ["tasks.md", "tasks.csv"])
def test_jour_460_tasks_go_out_and_in_as_text(home: Path, tmp_path: Path, name: str) -> None:
    """JOUR-460, JOUR-461"""
    file = tmp_path / name
    run_here("task", "note", "bread", "with rye", home=home)
    exported: dict[str, Any] = run_here("export", str(file), "--json", home=home).json
    assert exported == {"file": str(file), "entities": 1}
    assert run_here("import", str(file), home=home).out.startswith(
        "Added 0 tasks, 0 checklist items, 0 notes, 0 labels"
    )
    TaskHome.create(tmp_path / "new", "phone").close()
    would = run_here("import", str(file), "--dry-run", home=tmp_path / "new")
    assert would.out.startswith("Would add 1 task, 0 checklist items, 1 note")
    assert titles(tmp_path / "new") == []
    run_here("import", str(file), home=tmp_path / "new")
    assert titles(tmp_path / "new") == ["Bake bread"]
    file.write_text(file.read_text() + ("- [ ]\n" if name.endswith("md") else "item,,\n"))
    refused = run_here("import", str(file), home=tmp_path / "new")
    assert (refused.code, f"line {len(file.read_text().splitlines())}: a title has" in refused.err) == (1, True)


def test_jour_464_lines_that_are_left_out_are_counted(home: Path, tmp_path: Path) -> None:
    """JOUR-464"""
    file = tmp_path / "notes.txt"
    file.write_text("# Week\n\nWe talked.\n- [ ] Call Ada\n")
    imported = run_here("import", str(file), "--markdown", home=home)
    assert (imported.code, titles(home)) == (0, ["Bake bread", "Call Ada"])
    assert "1 line has no box" in imported.err
    assert "line 3" in imported.err
    assert run_here("import", str(file), "--markdown", "--csv", home=home).code == 2
