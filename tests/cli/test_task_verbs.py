"""What a person does to tasks that are there: CLI-60 to CLI-63, CLI-463, JOUR-16, JOUR-161, JOUR-164, JOUR-20 to
JOUR-23, JOUR-465."""

import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.command_line import contents, run_here
from tests.support.task_commands import done, home_with, refused, task

from lottisync.daemon.home import TaskHome
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal.actions.set_task_language import SetTaskLanguage
from lottisync.journal.types import ENTRY_LINK, EntryLink, Task


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return home_with(tmp_path / "home", "Buy milk", "Bake bread", "Bake cake")


def test_cli_60_a_task_is_named_by_a_piece_of_its_title(home: Path) -> None:
    """CLI-60, CLI-61, JOUR-161, JOUR-162"""
    said = task(home, "done", "MILK")
    assert said.code == 0
    assert said.out.startswith("'Buy milk'  ")
    assert said.out.rstrip().endswith("done")
    assert done(home, "show", "milk")["status"] == "DONE"
    assert done(home, "done", "milk")[0]["changed"] is False
    assert "done already" in task(home, "done", "milk").out


def test_cli_60_an_ambiguous_name_lists_the_candidates_and_changes_nothing(home: Path) -> None:
    """CLI-60, JOUR-16, JOUR-163, JOUR-164: also if another name of the same call fits."""
    for words in (("done", "milk", "bake"), ("delete", "bake")):
        said = refused(home, *words, code=1)
        assert "'Bake bread'" in said
        assert "'Bake cake'" in said
    assert "there is no task" in refused(home, "done", "milk", "soup", code=1)


def test_cli_60_a_whole_title_is_taken_before_a_piece(home: Path) -> None:
    """JOUR-161"""
    task(home, "add", "Bake")
    assert [each["title"] for each in done(home, "done", "bake")] == ["Bake"]


def test_cli_60_several_at_once(home: Path) -> None:
    answers = done(home, "priority", "bread", "cake", "bread", "p0")
    assert [(each["title"], each["priority"]) for each in answers] == [("Bake bread", "P0"), ("Bake cake", "P0")]


def test_cli_62_a_done_task_can_be_opened_again_by_the_person(home: Path) -> None:
    """CLI-62, CLI-304"""
    done(home, "done", "milk")
    answer = done(home, "reopen", "milk")[0]
    assert (answer["status"], answer["changed"]) == ("OPEN", True)
    assert done(home, "reopen", "milk")[0]["changed"] is False
    with closing(TaskHome.open(home)) as opened, opened.journal.reading() as reader:
        entity = reader.entity(answer["id"])
    assert entity is not None
    assert {writes[0].stamp.precedence for writes in entity.registers.values()} == {HIGH}


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (("status", "milk", "in-progress"), "status", "IN PROGRESS"),
        (("status", "milk", "blocked", "--reason", "closed"), "statusReason", "closed"),
        (("due", "milk", "2026-12-01"), "due", "2026-12-01"),
        (("estimate", "milk", "1h 30m"), "estimate", 90),
        (("estimate", "milk", "45"), "estimate", 45),
        (("estimate", "milk", "1h30"), "estimate", 90),
        (("estimate", "milk", "90 min"), "estimate", 90),
        (("edit", "milk", "--title", "Buy oat milk", "--due", "2027-01-02"), "title", "Buy oat milk"),
    ],
)
def test_cli_61_a_field_is_set(home: Path, words: tuple[str, ...], field: str, value: object) -> None:
    """CLI-303: and the same call again writes nothing."""
    assert done(home, *words)[0]["changed"] is True
    assert done(home, "show", "milk")[field] == value
    before = run_here("history", "milk", "--json", home=home).content
    assert done(home, *words)[0]["changed"] is False
    assert run_here("history", "milk", "--json", home=home).content == before


def test_cli_61_a_value_is_taken_away(home: Path) -> None:
    for verb, value in (("due", "2026-12-01"), ("estimate", "20")):
        done(home, verb, "milk", value)
        assert done(home, verb, "milk", "none")[0][verb] is None


@pytest.mark.parametrize(
    "words",
    [
        ("status", "milk", "blocked"),
        ("status", "milk", "tired"),
        ("due", "milk", "2026-13-01"),
        ("estimate", "milk", "long"),
        ("estimate", "milk", "25h"),
        ("edit", "milk", "--reason", "why"),
        ("note", "milk", "  "),
        ("link", "milk", "eats", "bread"),
    ],
)
def test_cli_61_a_wrong_value_changes_nothing(home: Path, words: tuple[str, ...]) -> None:
    refused(home, *words, code=2)


def test_jour_20_a_deleted_task_comes_back_with_all_it_has(home: Path) -> None:
    """JOUR-20"""
    done(home, "item", "add", "milk", "bottles", "money")
    done(home, "note", "milk", "The shop has none")
    before = done(home, "show", "milk")
    done(home, "delete", "milk")
    assert "there is no task" in refused(home, "show", "milk", code=1)
    assert "there is no deleted task" in refused(home, "undelete", "cake", code=1)
    done(home, "undelete", "milk")
    assert done(home, "show", "milk") == before


def test_cli_1014_what_was_looked_for_is_said_in_the_readers_language(home: Path) -> None:
    """CLI-1014: the word for it was English in every language."""
    for call, said in (
        (("show", "pie"), "zu 'pie' (gesucht: Aufgabe)"),
        (("undelete", "pie"), "zu 'pie' (gesucht: Aufgabe, gelöscht)"),
        (("item", "check", "pie"), "zu 'pie' (gesucht: Punkt einer Checkliste)"),
        (("time", "remove", "pie"), "zu 'pie' (gesucht: Notiz oder Zeiteintrag)"),
        (("label", "remove", "bread", "pie"), "zu 'pie' (gesucht: Label)"),
    ):
        assert said in task(home, *call, "--language", "de").err


def test_cli_60_items_are_added_edited_ticked_and_removed(home: Path) -> None:
    done(home, "item", "add", "milk", "bottles", "money")
    assert done(home, "item", "edit", "money", "coins")[0]["title"] == "coins"
    assert [each["isChecked"] for each in done(home, "item", "check", "bottles", "coins")] == [True, True]
    assert done(home, "item", "check", "coins", "--off")[0]["isChecked"] is False
    done(home, "item", "remove", "bottles")
    items = done(home, "show", "milk")["checklists"][0]["items"]
    assert [(each["title"], each["isChecked"]) for each in items] == [("coins", False)]


def test_cli_60_notes_and_time_are_written_down(home: Path) -> None:
    done(home, "note", "milk", "The shop has none")
    done(home, "time", "add", "milk", "1h5m", "walked")
    page = done(home, "show", "milk")
    assert {each["text"] for each in page["entries"]} == {"The shop has none", "walked"}
    assert page["minutesSpent"] == 65


def test_jour_21_a_label_is_found_by_its_name_and_made_once(home: Path) -> None:
    """JOUR-21, JOUR-300"""
    done(home, "label", "add", "milk", "Shopping")
    done(home, "label", "add", "bread", "shopping", "home")
    assert done(home, "show", "milk")["labels"] == ["Shopping"]
    assert sorted(done(home, "show", "bread")["labels"]) == ["Shopping", "home"]
    assert done(home, "label", "add", "bread", "SHOPPING")[0]["changed"] is False
    done(home, "label", "remove", "bread", "shopping")
    assert done(home, "show", "bread")["labels"] == ["home"]
    assert "there is no label" in refused(home, "label", "remove", "bread", "nothing", code=1)


def test_jour_22_a_label_that_was_not_wanted_is_wanted_again(home: Path) -> None:
    """JOUR-22"""
    ident = done(home, "label", "add", "milk", "shopping")[0]["id"]
    done(home, "label", "remove", "milk", "shopping")
    with closing(TaskHome.open(home)) as opened:
        with opened.journal.transaction(1, HIGH) as tx:
            label = tx.documents("label")[0].id
            tx.put(ident, "task", {"suppressedLabels": {label: True}})
        assert done(home, "label", "add", "milk", "shopping")[0]["changed"] is True
        with opened.journal.reading() as reader:
            document = reader.document(ident)
    assert document is not None
    assert not document.view(Task).suppressed_labels.get(label)


def test_jour_21_a_category(home: Path) -> None:
    """JOUR-21, JOUR-300"""
    done(home, "category", "milk", "bread", "Household")
    assert done(home, "category", "milk", "household")[0]["changed"] is False
    assert done(home, "show", "milk")["categoryId"] == done(home, "show", "bread")["categoryId"] is not None
    done(home, "category", "milk", "none")
    assert done(home, "show", "milk")["categoryId"] is None


def test_cli_720_the_language_that_a_person_names_is_theirs(home: Path) -> None:
    """CLI-720"""
    assert done(home, "language", "milk", "bread", "DE")[0]["changed"] is True
    assert done(home, "language", "milk", "de")[0]["changed"] is False
    with closing(TaskHome.open(home)) as opened:
        ident = done(home, "show", "milk")["id"]
        with opened.journal.transaction(1, LOW) as tx:
            assert "the user chose" in SetTaskLanguage.model_validate({"languageCode": "fr"}).at_once(tx, ident)
    assert done(home, "show", "milk")["languageCode"] == "de"
    done(home, "language", "milk", "none")
    assert done(home, "show", "milk")["languageCode"] is None
    assert "ISO 639-1" in refused(home, "language", "milk", "xx", code=2)


def test_jour_23_a_link_is_one_from_both_ends(home: Path) -> None:
    """JOUR-23, JOUR-301"""
    assert done(home, "link", "milk", "blocks", "cake")[0]["changed"] is True
    assert done(home, "link", "cake", "is_blocked_by", "milk")[0]["changed"] is False
    assert done(home, "link", "milk", "fixes", "cake")[0]["changed"] is True
    assert done(home, "link", "milk", "blocks", "cake", "--remove")[0]["changed"] is True
    assert relations(home) == {"fixes"}
    with closing(TaskHome.open(home)) as opened, opened.journal.transaction(1, HIGH) as tx:
        (found,) = tx.links_from(done(home, "show", "milk")["id"], ENTRY_LINK)
        tx.delete(found.id)
    done(home, "link", "milk", "blocks", "cake")
    assert relations(home) == {"blocks"}
    assert "not linked to itself" in refused(home, "link", "milk", "blocks", "milk", code=1)


def relations(home: Path) -> set[str]:
    milk = done(home, "show", "milk")["id"]
    with closing(TaskHome.open(home)) as opened, opened.journal.reading() as reader:
        (found,) = reader.links_from(milk, ENTRY_LINK)
        document = reader.document(found.id)
    assert document is not None
    return {word for word, on in document.view(EntryLink).relations.items() if on}


def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *replacements: tuple[str, str]) -> Path:
    """An editor that replaces one text by another, each time that it is opened the next pair; it notes what it saw."""
    seen = tmp_path / "seen"
    seen.mkdir()
    script = tmp_path / "editor"
    script.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        f"seen = pathlib.Path({str(seen)!r})\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "n = len(list(seen.iterdir()))\n"
        "(seen / str(n)).write_text(file.read_text())\n"
        f"old, new = ({replacements!r} + (('', ''),) * 9)[n]\n"
        "file.write_text(file.read_text().replace(old, new) if old else file.read_text())\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", str(script))
    return seen


def test_cli_63_the_editor_changes_what_was_changed_in_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-63"""
    editor(tmp_path, monkeypatch, ("due: ", "due: 2026-12-01"))
    assert done(home, "edit", "milk")[0]["due"] == "2026-12-01"
    with closing(TaskHome.open(home)) as opened, opened.journal.reading() as reader:
        entity = reader.entity(done(home, "show", "milk")["id"])
    assert entity is not None
    written = {path: writes[0].stamp.counter for path, writes in entity.registers.items()}
    assert [path for path, counter in written.items() if counter == max(written.values())] == ["due"]


def test_cli_89_a_form_with_a_mistake_is_offered_again(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-89"""
    seen = editor(tmp_path, monkeypatch, ("priority: P2", "priority: P9"), ("priority: P9", "priority: P1"))
    assert done(home, "edit", "milk")[0]["priority"] == "P1"
    assert (seen / "1").read_text().startswith("# Wrong: a priority is one of")


def test_cli_89_a_mistake_that_stays_changes_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-89"""
    editor(tmp_path, monkeypatch, ("priority", "urgency"))
    assert "is not a field" in refused(home, "edit", "milk", code=2)


def test_cli_89_an_editor_that_is_closed_changes_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-89"""
    editor(tmp_path, monkeypatch)
    before = contents(home)
    assert done(home, "edit", "milk") == []
    assert contents(home) == before


@pytest.mark.parametrize(
    ("words", "titles"),
    [
        ((), ["Buy milk", "Bake cake"]),
        (("--status", "done"), ["Bake bread"]),
        (("--due", "2026-12-01"), ["Buy milk"]),
        (("--due", "2026-11-30"), []),
        (("--status", "open", "--all"), ["Buy milk", "Bake cake"]),
        (("--deleted",), ["Old"]),
    ],
)
def test_cli_65_a_list_shows_what_fits_its_filters(home: Path, words: tuple[str, ...], titles: list[str]) -> None:
    """CLI-65"""
    done(home, "due", "milk", "2026-12-01")
    done(home, "done", "bread")
    assert task(home, "add", "Old", "--due", "2020-01-01").code == 0
    done(home, "delete", "old")
    listed = task(home, "list", *words, "--json").json["tasks"]
    assert [each["title"] for each in listed] == titles
    if not titles:
        assert task(home, "list", *words).out == "No task fits.\n"


@pytest.mark.parametrize("words", [("--status", "tired"), ("--due", "soon")])
def test_cli_65_a_filter_that_cannot_be_read_is_a_wrong_call(home: Path, words: tuple[str, ...]) -> None:
    """CLI-65"""
    refused(home, "list", *words, code=2)


def test_cli_463_a_reminder_that_is_over_is_shown(home: Path) -> None:
    """CLI-463, CLI-460"""
    assert "reminds you on " in task(home, "remind", "milk", "in 2 hours").out
    assert run_here("status", "--json", home=home).json["reminders"] == []
    done(home, "remind", "milk", "bread", "10 min ago")
    assert {each["taskTitle"] for each in run_here("status", "--json", home=home).json["reminders"]} == {
        "Buy milk",
        "Bake bread",
    }
    assert "Reminder: 'Buy milk', 10 min ago" in run_here("status", home=home).out
    done(home, "done", "milk")
    done(home, "remind", "bread", "none")
    assert run_here("status", "--json", home=home).json["reminders"] == []


def test_jour_465_a_task_that_repeats_is_done_and_comes_again(home: Path) -> None:
    """JOUR-465, JOUR-469"""
    done(home, "due", "milk", "2026-12-01")
    assert task(home, "repeat", "milk", "every 2 weeks").out.rstrip().endswith("repeats every 2 weeks")
    assert done(home, "show", "milk")["repeat"] == "R/2026-12-01/P2W"
    assert "repeats every 2 weeks" in task(home, "show", "milk").out
    said = task(home, "done", "milk").out.splitlines()
    assert "is next, due 20" in said[1]
    waiting = [one for one in done(home, "list") if one["title"] == "Buy milk"]
    assert len(waiting) == 1
    assert run_here("undo", home=home).code == 0
    assert [one["due"] for one in done(home, "list") if one["title"] == "Buy milk"] == ["2026-12-01"]
    assert "does not repeat" in task(home, "repeat", "milk", "none").out
    assert "repeats daily" in refused(home, "repeat", "milk", "often", code=2)


@pytest.mark.parametrize(("typed", "minutes"), [("2h", 120), ("1h30", 90), ("90 min", 90), ("45", 45)])
def test_cli_603_a_new_task_takes_an_estimate_as_estimate_does(tmp_path: Path, typed: str, minutes: int) -> None:
    """CLI-603"""
    home = tmp_path / "home"
    run_here("init", "--name", "a", home=home)
    assert run_here("task", "add", "Milk", "--estimate", typed, home=home).code == 0
    assert run_here("task", "show", "milk", "--json", home=home).content["estimate"] == minutes
    refused = run_here("task", "add", "Bread", "--estimate", "soon", home=home)
    assert (refused.code, "a time is minutes, or like 1h30m" in refused.err) == (2, True)
