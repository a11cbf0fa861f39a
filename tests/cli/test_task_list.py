"""`task list`: CLI-65, CLI-100, CLI-101, CLI-1003 to CLI-1006."""

from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import run_here

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.journal import tasks


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=path).code == 0
    for words in (
        ("Buy milk", "--item", "Return the bottles"),
        ("Bake bread", "--due", "tomorrow", "--priority", "p1"),
        ("Call the people who look after the old apple trees in the garden", "--due", "in 2 weeks"),
    ):
        assert run_here("task", "add", *words, home=path).code == 0
    return path


def titles(home: Path, *words: str) -> list[str]:
    return [task["title"].split()[0] for task in asked(home, *words)]


def asked(home: Path, *words: str) -> Any:
    result = run_here("task", "list", *words, "--json", home=home)
    assert result.code == 0, result
    return result.json["tasks"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), ["Bake", "Call", "Buy"]),
        (("--sort", "title"), ["Bake", "Buy", "Call"]),
        (("--sort", "changed"), ["Call", "Bake", "Buy"]),
        (("--search", "bottle"), ["Buy"]),
        (("--search", "trees garden", "--due", "week"), []),
        (("--label", "Shopping"), ["Buy"]),
        (("--due", "overdue"), []),
        (("--due", "today"), []),
        (("--due", "tomorrow"), ["Bake"]),
        (("--due", "week"), ["Bake"]),
        (("--due", "in 3 weeks"), ["Bake", "Call"]),
        (("--limit", "2"), ["Bake", "Call"]),
        (("--limit", "2", "--page", "2"), ["Buy"]),
        (("--page", "2"), []),
    ],
)
def test_cli_65_filters_and_orders(home: Path, words: tuple[str, ...], found: list[str]) -> None:
    """CLI-65, CLI-100, CLI-1003"""
    assert run_here("task", "label", "add", "milk", "shopping", home=home).code == 0
    wanted = ["Buy", "Call", "Bake"] if words == ("--sort", "changed") else found
    assert titles(home, *words) == wanted


def test_cli_1005_a_page_has_50_tasks_and_a_program_gets_all(tmp_path: Path) -> None:
    """CLI-1005, CLI-1006, CLI-1004: where nobody says how many."""
    path = tmp_path / "home"
    with closing(TaskHome.create(path, "laptop")) as made, made.journal.transaction(clock.now(), HIGH) as tx:
        for number in range(52):
            tasks.add_task(tx, f"t{number}", f"Row {number}")
    first, second = (run_here("task", "list", *words, home=path).out for words in ((), ("--page", "2")))
    assert (first.count("Row "), second.count("Row ")) == (50, 2)
    assert "There are more: --page 2\n" in first
    assert "There are more" not in second
    assert len(asked(path)) == 52


def test_cli_1004_a_page_says_whether_others_follow(home: Path) -> None:
    """CLI-100, CLI-1004"""
    assert "There are more: --page 2\n" in run_here("task", "list", "--limit", "2", home=home).out
    assert "There are more" not in run_here("task", "list", "--limit", "2", "--page", "2", home=home).out
    assert run_here("task", "list", "--page", "7", home=home).out == "No task fits.\n"


def test_cli_65_a_label_that_is_not_there_is_a_wrong_call(home: Path) -> None:
    """CLI-65"""
    said = run_here("task", "list", "--label", "garden", home=home)
    assert (said.code, "there is no label 'garden'" in said.err) == (2, True)


def test_cli_102_the_answer_says_the_day_that_was_understood(home: Path) -> None:
    """CLI-102, CLI-65"""
    tomorrow = (date.today() + timedelta(days=1)).isoformat()
    assert f"due {tomorrow}" in run_here("task", "add", "Sow", "--due", "tomorrow", home=home).out
    assert f"due {tomorrow}" in run_here("task", "due", "milk", "tomorrow", home=home).out
    assert f"Due on {tomorrow} or before." in run_here("task", "list", "--due", "tomorrow", home=home).out


def test_cli_65_the_deleted_ones_say_when_they_may_be_forgotten(home: Path) -> None:
    """CLI-65: thirty days after the deletion."""
    assert run_here("task", "delete", "milk", home=home).code == 0
    [gone] = asked(home, "--deleted")
    assert gone["title"] == "Buy milk"
    left = date.fromisoformat(gone["forgottenAt"][:10]) - date.today()
    assert abs(left.days - 30) <= 1
    assert gone["forgottenAt"][:10] in run_here("task", "list", "--deleted", home=home).out


@pytest.mark.parametrize("words", [(), ("--deleted",), ("--due", "in 3 weeks"), ("--limit", "1")])
def test_cli_101_a_list_fits_40_columns(home: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-101"""
    for verb in (("status", "bread", "in-progress"), ("estimate", "bread", "2h30m"), ("delete", "call the")):
        assert run_here("task", *verb, home=home).code == 0
    monkeypatch.setenv("COLUMNS", "40")
    lines = run_here("task", "list", *words, home=home).out.splitlines()
    assert lines
    assert max(map(len, lines)) <= 40
    if not words:
        assert lines[0] == "Bake bread"
        assert "in progress" in "".join(lines)
