"""`lottisync review -i`: one proposal after the other, each with a key."""

import re
import subprocess
import sys

import pytest
from tests.support.review_desk import Desk

from lottisync.cli.review_keys import KeyInput
from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.journal import tasks, time_entry


def test_rev83_one_by_one_with_the_keys_of_git_add_p(desk: Desk) -> None:
    """REV-83: y n e d s b q ?"""
    desk.propose("add_multiple_checklist_items", {"items": [{"title": t} for t in "ABCDEF"]})
    shown = desk.type("-i", keys=["y", "n", "not needed", "e", "C2", "x", "d", "s", "q"])
    assert "(1/6)" in shown
    assert "Confirm this? [y,n,e,d,s,b,q,?]" in shown
    assert "q  quit: the other items wait" in shown
    assert [item.title for item in desk.page.items] == ["Flour", "A", "C2"]
    outcomes = [(one["outcome"], [d.get("reason") for d in one["decisions"]]) for one in desk.ask("ledger", "t1")]
    assert outcomes == [
        ("confirmed", [None]),
        ("rejected", ["not needed"]),
        ("confirmed", [None]),
        ("deferred", [None]),
        ("pending", []),
        ("pending", []),
    ]


def test_rev414_what_has_changed_is_shown_before_it_is_confirmed_over(desk: Desk) -> None:
    """REV-414, REV-413, REV-44"""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.edit(estimate=90)
    assert "is now 90" in desk.type("-i", keys=["y"])
    assert desk.page.task.estimate == 90
    assert desk.type("-i", keys=["y", "y"]).count("Confirm this?") == 2
    assert desk.page.task.estimate == 60
    assert desk.type("-i") == "Nothing waits for you.\n"


def test_rev411_back_and_an_edit_that_is_typed_again(desk: Desk) -> None:
    """REV-411, REV-412: a wrong value changes nothing, and one can go back to what was skipped."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.propose("set_task_status", {"status": "BLOCKED", "reason": "no yeast"}, "r2")
    shown = desk.type("-i", keys=["s", "b", "e", "soon", "e", "75", "q"])
    assert [line for line in shown.splitlines() if line.startswith("(")] == ["(1/2)", "(2/2)", "(1/2)", "(2/2)"]
    assert "could not be done" in shown
    assert desk.page.task.estimate == 75


@pytest.mark.parametrize("keys", [False, True])
def test_jour_600_an_edit_says_done_and_names_the_next_task(desk: Desk, keys: bool) -> None:
    """JOUR-600, JOUR-602: with `edit` and with `-i`; undo takes it back."""
    with desk.home.journal.transaction(clock.now(), HIGH) as tx:
        tasks.edit_task(tx, "t1", {"due": "2099-01-05", "repeat": "R/2099-01-05/P1W"})
    desk.propose("set_task_status", {"status": "GROOMED"})
    item = desk.name()
    said = desk.type("-i", keys=["e", "DONE"]) if keys else desk.type("edit", item, "status=DONE")
    assert "'Bake bread'" in said
    assert "is next, due 2099-01-12" in said
    assert "Bake bread: Set status to done" in said
    for page in ("ledger", "log"):
        assert "Set status to done" in desk.type(page, "t1")
    with desk.home.journal.reading() as reader:
        assert sorted(line.status for line in tasks.all_tasks(reader)[0]) == ["DONE", "OPEN"]
    desk.type("undo", item)
    with desk.home.journal.reading() as reader:
        assert [line.status for line in tasks.all_tasks(reader)[0]] == ["OPEN"]


def test_rev410_in_a_terminal_one_key_decides(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """REV-410, REV-412: no Enter; a reason and an edit are lines."""
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    desk.propose("add_multiple_checklist_items", {"items": [{"title": t} for t in "ABC"]})
    desk.propose("update_task_estimate", {"minutes": 60}, "r2")
    desk.propose("create_follow_up_task", {"title": "Buy salt", "priority": "P1"}, "r3")
    shown = desk.type("-i", keys=["ynnot needed", "yesoon", "e75", "eP9", "Buy rye", "eP3", ""])
    outcomes = {one["summary"]: one["outcome"] for one in desk.ask("ledger")}
    assert outcomes == {
        'Add: "A"': "confirmed",
        'Add: "B"': "rejected",
        'Add: "C"': "confirmed",
        "Set estimate to 75 minutes": "confirmed",
        'Create follow-up task: "Buy rye"': "confirmed",
    }
    assert "title [Buy rye]" in shown
    assert desk.ask("ledger")[1]["reason"] == "not needed"


def test_rev414_what_changes_while_it_is_on_the_screen_is_shown_before_a_no(desk: Desk) -> None:
    """REV-414, REV-86: between the page and the key another process writes; that key does nothing."""
    desk.propose("update_task_estimate", {"minutes": 60})
    asked = KeyInput.key

    def key(keys: KeyInput) -> str:
        if desk.page.task.estimate == 30:
            desk.edit(estimate=75)
        return asked(keys)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeyInput, "key", key)
        shown = desk.type("-i", keys=["n", "n", "never"])
    assert "not as it was shown" in shown
    assert "75 → 60" in shown
    assert [one["outcome"] for one in desk.ask("ledger")] == ["rejected"]


def test_rev_1090_where_nobody_can_answer_one_by_one_is_refused(desk: Desk) -> None:
    """REV-1090: with an empty input it ended well, and had decided nothing."""
    desk.propose("update_task_estimate", {"minutes": 60})
    assert "nobody is here to answer" in desk.type("-i", code=2)
    assert "review confirm NAME" in desk.type("-i", code=2)
    desk.type("-i", keys=["q"])
    assert desk.name()


def test_rev_1090_a_closed_input_is_an_input_without_answers(desk: Desk) -> None:
    desk.propose("update_task_estimate", {"minutes": 60})
    call = [sys.executable, "-m", "lottisync", "review", "-i", "--home", str(desk.home.path)]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *call], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert done.stderr.startswith("lottisync: nobody is here to answer")


def test_rev463_what_a_proposal_is_about_is_not_asked_for(desk: Desk) -> None:
    """REV-46: whatever its tool calls it; what was typed there failed."""
    span = time_entry.checked_span("2026-01-05T08:00:00Z", "2026-01-05T09:00:00Z")
    desk.edit_journal(lambda tx: time_entry.add(tx, "e1", "t1", "kneading", span))
    desk.propose("update_time_entry", {"entryId": "e1", "summary": "shaping"})
    shown = desk.type("-i", keys=["e", "resting", "q"])
    assert "entryId [" not in shown
    with desk.home.journal.reading() as reader:
        assert time_entry.read(reader, "e1").text == "resting"


@pytest.mark.parametrize(
    ("tool", "args", "typed", "asked"),
    [
        ("link_task", {"relation": "blocks", "targetTaskId": "t2"}, "fixes", ["relation"]),
        (
            "update_checklist_items",
            {"items": [{"id": "i1", "isChecked": True, "reason": "The note says so, now", "evidenceEntryIds": ["e1"]}]},
            "",
            ["isChecked", "reason"],
        ),
    ],
)
def test_rev463_nobody_is_asked_to_type_an_id(
    desk: Desk, tool: str, args: dict[str, object], typed: str, asked: list[str]
) -> None:
    """REV-46: neither of another task, nor of an entry that is cited."""
    desk.edit_journal(lambda tx: tasks.add_task(tx, "t2", "Go shopping"))
    desk.edit_journal(lambda tx: tasks.add_note(tx, "e1", "t1", "The flour is here"))
    desk.propose(tool, args)
    shown = desk.type("-i", keys=["e", *[typed] * len(asked), "q"])
    assert re.findall(r"^(\w+) \[.*\]:$", shown, re.MULTILINE) == asked
    assert [one["outcome"] for one in desk.ask("ledger")] == ["confirmed"]


def test_rev463_a_proposal_in_which_nothing_can_be_typed_waits_for_another_key(desk: Desk) -> None:
    """REV-46: it was confirmed as if it had been edited."""
    desk.edit_journal(lambda tx: tasks.add_task(tx, "t2", "Go shopping"))
    desk.propose("migrate_checklist_items", {"items": [{"id": "i1", "title": "Flour"}], "targetTaskId": "t2"})
    assert "There is nothing to edit in this proposal." in desk.type("-i", keys=["e", "q"])
    assert [one["outcome"] for one in desk.ask("ledger")] == ["pending"]
