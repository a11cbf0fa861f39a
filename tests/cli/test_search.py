"""`search`: CLI-64."""

from pathlib import Path

from tests.support.command_line import run_here


def test_cli_64_titles_items_and_notes_are_found_with_their_task(tmp_path: Path) -> None:
    """CLI-64, CLI-305"""
    home = tmp_path / "home"

    def found(*words: str) -> list[tuple[str, str]]:
        result = run_here("search", *words, "--json", home=home)
        assert (result.code, result.err) == (0, "")
        return [(one["type"], one["taskTitle"]) for one in result.json["hits"]]

    assert run_here("init", "--name", "laptop", home=home).code == 0
    assert run_here("task", "add", "Buy oat milk", "--item", "take the bottles", home=home).code == 0
    assert found("MILK", "oa") == [("task", "Buy oat milk")]
    assert found("bottl") == [("checklistItem", "Buy oat milk")]
    assert found("bread") == []
    assert run_here("task", "note", "milk", "The shop had bread", home=home).code == 0
    assert found("bread") == [("entry", "Buy oat milk")]
    shown = run_here("search", "bread", home=home).out
    assert "Buy oat milk" in shown
    assert "The shop had [bread]" in shown
    assert run_here("task", "delete", "milk", home=home).code == 0
    assert found("bread") == found("milk") == []
    assert "Nothing has all" in run_here("search", "milk", home=home).out


def test_cli_951_a_task_is_searched_for_with_task_search_too(tmp_path: Path) -> None:
    """CLI-951: it was not a command, and nothing said where the search is."""
    home = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=home).code == 0
    assert run_here("task", "add", "Buy oat milk", home=home).code == 0
    found = run_here("task", "search", "oat", "--json", home=home)
    assert found.code == 0
    assert found.json == run_here("search", "oat", "--json", home=home).json
