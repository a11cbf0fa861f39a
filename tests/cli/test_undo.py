"""`lottisync undo` at a terminal: CLI-140 to CLI-145."""

from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.support.command_line import run_here
from tests.support.review_desk import Desk

from lottisync.cli import undoing
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.review.acts import note_verdict
from lottisync.store import description


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=path).code == 0
    assert run_here("task", "add", "Buy milk", "--item", "bottles", home=path).code == 0
    return path


def call(home: Path, *arguments: str) -> Any:
    done = run_here(*arguments, "--json", home=home)
    assert done.code == 0, done
    return done.json


def refused(home: Path, *arguments: str, code: int = 1) -> str:
    done = run_here(*arguments, home=home)
    assert (done.code, done.out) == (code, ""), done
    return done.err


def shown(home: Path) -> Any:
    """The task, without what says when."""
    page = call(home, "task", "show", "milk")
    return {name: page[name] for name in ("title", "status", "statusReason", "due", "priority", "labels", "checklists")}


@pytest.mark.parametrize(
    "act",
    [
        ("task", "edit", "milk", "--title", "Buy oat milk", "--due", "2026-12-01"),
        ("task", "done", "milk"),
        ("task", "status", "milk", "blocked", "--reason", "closed"),
        ("task", "label", "add", "milk", "shop"),
        ("task", "category", "milk", "household"),
        ("task", "item", "add", "milk", "money", "bag"),
        ("task", "item", "edit", "bottles", "crate of bottles"),
        ("task", "item", "archive", "bottles"),
        ("task", "item", "remove", "bottles"),
        ("task", "check", "bottles"),
        ("task", "checklist", "add", "milk", "Cellar"),
        ("task", "note", "milk", "the shop has none"),
        ("task", "time", "add", "milk", "25", "walked"),
        ("task", "delete", "milk"),
        ("task", "add", "Bake bread"),
    ],
    ids=lambda act: "-".join(act[1:3]),
)
def test_cli_140_each_verb_is_taken_back_and_done_again(home: Path, act: tuple[str, ...]) -> None:
    """CLI-140, CLI-141"""
    before, listed = shown(home), call(home, "task", "list")
    call(home, *act)
    taken = call(home, "undo")
    assert (shown(home), call(home, "task", "list")) == (before, listed)
    call(home, "undo", str(taken["number"]))
    call(home, "undo")
    assert (shown(home), call(home, "task", "list")) == (before, listed)


def test_cli_1400_what_an_undo_deletes_is_the_persons_act(home: Path) -> None:
    """It has the lower precedence, and was shown as an agent's, where there was no agent at all."""
    made = call(home, "task", "add", "Bake bread")["id"]
    call(home, "undo")
    assert [(each["path"], each["by"]) for each in call(home, "history", made)["writes"]][-1] == ("deletedAt", "user")


def test_cli_140_the_list_says_what_was_done_and_what_became_of_it(home: Path) -> None:
    """CLI-140, CLI-144: a verb that changes nothing is not among them."""
    call(home, "task", "due", "milk", "2026-12-01")
    call(home, "task", "due", "milk", "2026-12-01")
    assert run_here("undo", home=home).out == "Took back act 2 (due 2026-12-01: Buy milk)\n"
    assert [
        (act["number"], act["origin"], act["text"], act["undoneBy"]) for act in call(home, "undo", "--list")["acts"]
    ] == [
        (3, "here", "took back (due 2026-12-01: Buy milk)", None),
        (2, "here", "due 2026-12-01: Buy milk", 3),
        (1, "here", "added: Buy milk", None),
    ]
    assert "taken back by 3" in run_here("undo", "--list", home=home).out
    assert "there is no act 9" in refused(home, "undo", "9")
    assert "To do it again: lottisync undo 3" in refused(home, "undo", "2")
    refused(home, "undo", "2", "--list", code=2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("task done bread", "done: Bake bread"),
        ("task label add milk shop", "labelled shop: Buy milk"),
        ("task label add milk Buy", "labelled Buy: Buy milk"),
        ("task category milk household", "in household: Buy milk"),
        ("task item add milk money bag", "2 items added: money, bag"),
        ("task add Rice --item bag", "added: Rice"),
        ("task link milk blocks bread", "blocks 'Bake bread': Buy milk"),
        ("task time start milk", "timer started: Time spent"),
        ("task done milk bread", "done: Buy milk, Bake bread"),
        ("task add A", "added: A"),
    ],
)
def test_cli_1093_an_act_names_each_thing_once(home: Path, words: str, said: str) -> None:
    """CLI-1093: "done: Alpha, Alpha, Todos" was a task that repeats, the next one, and its checklist."""
    call(home, "task", "add", "Bake bread", "--item", "flour", "--due", "2099-01-05")
    call(home, "task", "repeat", "bread", "weekly")
    call(home, *words.split())
    assert call(home, "undo", "--list")["acts"][0]["text"] == said
    assert run_here("undo", home=home).out.endswith(f" ({said})\n")


def test_cli_1094_the_creation_of_an_agent_is_taken_back(home: Path) -> None:
    """CLI-1094, CLI-10941: `undo` passed over it, and took back what was done before."""
    call(home, "agent", "create", "milk")
    call(home, "agent", "create", "milk")
    taken = run_here("undo", home=home)
    assert taken.out == "Took back act 2 (agent created: Buy milk)\n"
    assert call(home, "agent", "list")["agents"][0]["lifecycle"] == "destroyed"
    assert "lottisync agent create" in refused(home, "undo", "3")
    assert call(home, "undo")["takenBack"]["text"] == "added: Buy milk"


def test_cli_10940_an_agent_whose_creation_was_taken_back_is_brought_back(home: Path) -> None:
    """CLI-10940, CLI-10941: by the command that the refusal names, and it is the same agent."""
    call(home, "agent", "create", "milk")
    [made] = call(home, "agent", "list")["agents"]
    call(home, "undo")
    command = refused(home, "undo", "3").rpartition("lottisync ")[2].split()
    assert command[:2] == ["agent", "create"]
    call(home, *command)
    [back] = call(home, "agent", "list")["agents"]
    assert (back["id"], back["lifecycle"]) == (made["id"], made["lifecycle"])


def test_cli_145_verdicts_of_several_calls_that_are_taken_back_in_one(tmp_path: Path) -> None:
    """CLI-145, REV-1091: what `review undo` took back is not taken back once more."""
    desk = Desk(tmp_path / "home")
    home = desk.home.path
    desk.propose("add_multiple_checklist_items", {"items": [{"title": title} for title in ("Milk", "Eggs", "Salt")]})
    first, second, third = (item["name"] for one in call(home, "review")["sets"] for item in one["items"])
    call(home, "review", "defer", first)
    call(home, "review", "confirm", first, second)
    call(home, "review", "reject", third)
    call(home, "review", "undo", third, first, second)
    listed = [(act["text"], act["undoneBy"] is not None) for act in call(home, "undo", "--list")["acts"]]
    assert sorted(listed[-3:]) == [
        ("confirmed: 2 proposals", True),
        ("put off: 1 proposal", False),
        ("rejected: 1 proposal", True),
    ]


def test_cli_441_an_act_is_listed_with_the_plural_of_the_readers_language(home: Path) -> None:
    """CLI-441, CLI-860: Romanian has another form from twenty on."""
    call(home, "task", "item", "add", "milk", *(f"item {number}" for number in range(20)))
    note_verdict(TaskHome.open(home).journal, "tty", "confirmed", [f"p{number}" for number in range(20)], clock.now())
    listed = run_here("undo", "--list", "--language", "ro", home=home).out
    assert "20 de elemente adăugate" in listed
    assert "20 de propuneri" in listed
    call(home, "task", "item", "add", "milk", "bag")
    assert "1 element adăugat: bag" in run_here("undo", "--list", "--language", "ro", home=home).out


def test_cli_1095_an_agent_that_has_worked_stays(home: Path) -> None:
    """CLI-1095, CLI-430: and the answer names the command that ends it."""
    call(home, "agent", "create", "milk")
    call(home, "agent", "pause", "milk")
    said = refused(home, "undo")
    assert said.startswith(
        "lottisync: Laura is not as it was created. Nothing was taken back. To end it: lottisync agent"
    )
    call(home, *said.rpartition("lottisync ")[2].split(), "--yes")
    call(home, "undo")
    assert call(home, "undo")["takenBack"]["text"] == "added: Buy milk"


def test_cli_142_another_terminal_has_its_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-142"""
    monkeypatch.setattr(undoing, "this_terminal", lambda: "terminal of nobody")
    assert "nothing that was done from here" in refused(home, "undo")
    assert call(home, "undo", "--list")["acts"][0]["origin"] == "terminal"
    call(home, "undo", "1")
    assert call(home, "task", "list")["tasks"] == []


def test_cli_145_verdicts_are_taken_back(tmp_path: Path) -> None:
    """CLI-145, CLI-141: all of one call, and not once more after `review undo`."""
    desk = Desk(tmp_path / "home")
    home = desk.home.path
    desk.propose("add_multiple_checklist_items", {"items": [{"title": title} for title in ("Milk", "Eggs")]})
    desk.propose("update_task_estimate", {"minutes": 45}, "r2")
    run_here("review", home=home)
    run_here("review", "confirm", "--all", home=home)
    assert (len(desk.page.items), desk.page.task.estimate) == (3, 45)
    taken = call(home, "undo")
    assert taken["takenBack"]["text"] == "confirmed: 3 proposals"
    assert (len(desk.page.items), desk.page.task.estimate) == (1, 30)
    assert "given again by a new verdict" in refused(home, "undo", str(taken["number"]))
    desk.propose("update_task_priority", {"priority": "P1"}, "r3")
    [name] = [item["name"] for one in call(home, "review")["sets"] for item in one["items"]]
    call(home, "review", "reject", name)
    call(home, "review", "undo", name)
    assert "nothing that was done from here" in refused(home, "undo")


def _two_proposals(desk: Desk) -> list[str]:
    desk.propose("add_multiple_checklist_items", {"items": [{"title": title} for title in ("Milk", "Eggs")]})
    return [item["name"] for one in call(desk.home.path, "review")["sets"] for item in one["items"]]


def test_cli_1451_what_is_left_of_an_act_is_what_undo_takes_back(tmp_path: Path) -> None:
    """CLI-1451: it said that it took back both, of which one was taken back before."""
    desk = Desk(tmp_path / "home")
    home = desk.home.path
    first, second = _two_proposals(desk)
    call(home, "review", "confirm", first, second)
    call(home, "review", "undo", first)
    [*_, listed] = sorted(call(home, "undo", "--list")["acts"], key=lambda act: act["number"])
    assert listed["text"] == "confirmed: 1 proposal"
    assert run_here("undo", home=home).out == f"Took back act {listed['number']} (confirmed: 1 proposal)\n"
    assert len(desk.page.items) == 1


def test_cli_1451_a_verdict_that_was_given_again_is_another_act(tmp_path: Path) -> None:
    """CLI-1451: `undo` was refused where one of two rejections was taken back before, and took back a later verdict."""
    desk = Desk(tmp_path / "home")
    home = desk.home.path
    first, second = _two_proposals(desk)
    call(home, "review", "reject", first, second)
    call(home, "review", "undo", first)
    assert call(home, "undo")["takenBack"]["text"] == "rejected: 1 proposal"
    call(home, "review")
    call(home, "review", "reject", first, second)
    rejected = max(act["number"] for act in call(home, "undo", "--list")["acts"])
    call(home, "review", "undo", first)
    call(home, "review")
    call(home, "review", "confirm", first)
    call(home, "undo", str(rejected))
    assert [item.title for item in desk.page.items][1:] == ["Milk"]
    assert call(home, "undo")["takenBack"]["text"] == "confirmed: 1 proposal"


def test_cli_145_a_verdict_whose_effect_was_edited_since_stays(tmp_path: Path) -> None:
    """CLI-145, CLI-143"""
    desk = Desk(tmp_path / "home")
    desk.propose("update_task_estimate", {"minutes": 45})
    run_here("review", home=desk.home.path)
    run_here("review", "confirm", "--all", home=desk.home.path)
    desk.edit(estimate=60)
    assert "was changed since it was confirmed" in refused(desk.home.path, "undo")
    assert desk.page.task.estimate == 60


def test_cli_196_a_home_of_an_earlier_program_gets_the_tables_it_lacks(home: Path) -> None:
    """CLI-196: a home that was made before acts were noted takes writes, and notes them."""
    earlier = apsw.Connection(str(home / "journal.sqlite"))
    earlier.execute("drop table acts; drop table act_writes; drop view tasks").fetchall()
    earlier.close()
    assert run_here("task", "list", home=home).code == 0
    assert run_here("task", "done", "milk", home=home).code == 0
    assert run_here("undo", home=home).code == 0
    assert call(home, "task", "show", "milk")["status"] == "OPEN"
    assert not call(home, "check")["faults"]


def test_cli_197_what_the_disk_does_not_take_is_left_out_and_read_without(home: Path) -> None:
    """CLI-197"""
    with closing(apsw.Connection(str(home / "journal.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        description.add_local_tables(connection, "create table if not exists lacking (n integer);")
        assert connection.execute("select count(*) from sqlite_schema where name = 'lacking'").fetchall() == [(0,)]


def test_cli_604_the_list_is_in_the_readers_language(tmp_path: Path) -> None:
    """CLI-604: also what an act before was called; titles and programs' answers stay as they are."""
    desk = Desk(tmp_path / "home")
    home = desk.home.path
    desk.propose("update_task_estimate", {"minutes": 45})
    run_here("task", "add", "done", "--language", "fr", home=home)
    run_here("task", "done", "done", "--language", "de", home=home)
    run_here("review", home=home)
    run_here("review", "confirm", "--all", home=home)
    run_here("undo", home=home)
    said = run_here("undo", "--list", "--language", "de", home=home).out
    for words in (
        "zurückgenommen (bestätigt: 1 Vorschlag)",
        "bestätigt: 1 Vorschlag",
        "erledigt: done",
        "hinzugefügt: done",
    ):
        assert words in said
    assert [act["text"] for act in call(home, "undo", "--list")["acts"]] == [
        "took back (confirmed: 1 proposal)",
        "confirmed: 1 proposal",
        "done: done",
        "added: done",
    ]


def test_cli_616_statuses_and_links_are_in_the_readers_language(tmp_path: Path) -> None:
    """CLI-604, CLI-616: in the list of acts and in the answer of the verb; programs get English."""
    home = Desk(tmp_path / "home").home.path
    assert run_here("task", "add", "Milk", home=home).code == 0
    assert run_here("task", "add", "Bread", home=home).code == 0
    answers = [
        run_here("task", *verb, "--language", "de", home=home).out
        for verb in (
            ("status", "Milk", "in-progress"),
            ("status", "Milk", "on-hold", "--reason", "no shop"),
            ("link", "Milk", "follows_up_on", "Bread"),
            ("link", "Milk", "follows_up_on", "Bread", "--remove"),
        )
    ]
    said = run_here("undo", "--list", "--language", "de", home=home).out
    words = ("in Arbeit", "pausiert", "folgt auf 'Bread'", "nicht mehr: folgt auf 'Bread'")
    for word, answer in zip(words, answers, strict=True):
        assert word in answer
        assert word in said
    newest, *_, status = call(home, "undo", "--list")["acts"][:4]
    assert newest["text"].startswith("no longer: follows up on 'Bread'")
    assert status["text"] == "in progress: Milk"


def test_cli_604_an_act_of_an_earlier_program_stays_as_it_was_noted(home: Path) -> None:
    """CLI-604, CLI-196"""
    earlier = apsw.Connection(str(home / "journal.sqlite"))
    earlier.execute("drop table act_words").fetchall()
    earlier.close()
    assert "added: Buy milk" in run_here("undo", "--list", "--language", "de", home=home).out
