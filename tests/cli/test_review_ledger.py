"""`lottisync review ledger` and `log`: what took effect, and what counts."""

import pytest
from tests.support.review_desk import BATCH, Desk

from lottisync.journal import tasks


def test_rev89_ledger_and_log_say_what_took_effect_and_what_counts(desk: Desk) -> None:
    """REV-124, REV-89, REV-D10: the edited value, no reason that was taken back, and names that `undo` takes."""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    desk.type("reject", name, "--reason", "far too long")
    desk.type("undo", name)
    desk.type()
    desk.type("edit", name, "minutes=75")
    ledger, log = desk.type("ledger"), desk.type("log", "t1")
    assert "Set estimate to 75 minutes" in ledger
    assert "far too long" not in ledger
    lines = [line for line in log.splitlines() if line.strip()]
    assert [word in line for word, line in zip(("rejected", "undone", "confirmed"), lines, strict=True)] == [True] * 3
    assert all(line.startswith(name) for line in lines)
    assert desk.ask("undo", desk.ask("log", "t1")[0]["itemName"])[0]["result"] == "undone"


def test_rev_950_an_edited_item_shows_the_value_that_took_effect(desk: Desk) -> None:
    """REV-950: on `review --all` and `review show`, while another item of its set waits."""
    desk.propose("add_multiple_checklist_items", BATCH)
    desk.type()
    name = desk.name()
    desk.type("edit", name, "title=Oat milk")
    for page in (desk.type("--all"), desk.type("show", name)):
        first = next(line for line in page.splitlines() if "Oat milk" in line)
        assert "Milk" not in first
    [one] = desk.ask("--all")
    assert "Oat milk" in one["items"][0]["summary"]
    assert one["items"][0]["args"]["title"] == "Milk"  # what the agent proposed


def test_rev_950_the_log_names_the_task_that_an_edit_moved_to_also_when_it_was_undone(desk: Desk) -> None:
    """REV-950: the undo of an edit is about what took effect, and not about what was proposed."""
    desk.edit_journal(lambda tx: tasks.add_task(tx, "t2", "Go shopping"))
    desk.edit_journal(lambda tx: tasks.add_task(tx, "t3", "Order flour"))
    desk.propose("migrate_checklist_items", {"items": [{"id": "i1", "title": "Flour"}], "targetTaskId": "t2"})
    desk.type()
    name = desk.name()
    assert '"Order flour"' in desk.type("edit", name, "targetTaskId=t3")
    assert '"Order flour"' in desk.type("ledger")
    desk.type("undo", name)
    assert [('"Order flour"' in line, "Go shopping" in line) for line in desk.type("log", "t1").splitlines()] == [
        (True, False)
    ] * 2


def test_rev_1010_a_value_that_took_effect_is_there_once(desk: Desk) -> None:
    """REV-1010: it read `60 → 60`, as if it were still to be done."""
    desk.propose("update_task_estimate", {"minutes": 60})
    assert "30 → 60" in desk.type()
    name = desk.name()
    desk.type("confirm", name)
    shown = desk.type("show", name)
    assert "→" not in shown
    assert "  60\n" in shown
    desk.type("undo", name)
    assert "30 → 60" in desk.type("show", name)


def test_rev_1011_the_log_has_the_order_of_the_proposal(desk: Desk) -> None:
    """REV-1011: the decisions of one call are of one instant, and came in the order of their ids."""
    titles = [f"Step {n}" for n in range(9)]
    desk.propose("add_multiple_checklist_items", {"items": [{"title": each} for each in titles]})
    desk.type()
    desk.type("confirm", "--all")
    assert [one["summary"] for one in desk.ask("log", "t1")] == [f'Add: "{each}"' for each in titles]


def test_rev_1080_the_log_is_in_the_readers_language(desk: Desk) -> None:
    """REV-1080: the ledger was, and the log was not."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.type()
    desk.ask("edit", desk.name(), "minutes=90")
    assert "Set estimate to 90 minutes" in desk.type("log", "t1")
    assert "Aufwand auf 90 Minuten setzen" in desk.type("log", "t1", "--language", "de")


@pytest.mark.parametrize(
    ("language", "words"), [("C", "not archived → archived"), ("de_DE.UTF-8", "nicht archiviert → archiviert")]
)
def test_agent155_what_goes_to_the_archive_is_not_called_done(desk: Desk, language: str, words: str) -> None:
    """AGENT-155: an item that is put away keeps its tick."""
    desk.propose("update_checklist_items", {"items": [{"id": "i1", "isArchived": True}]})
    shown = desk.type(language=language)
    assert words in shown
    assert "done" not in shown
    assert "erledigt" not in shown


def test_the_ledger_and_the_log_begin_with_their_first_row(desk: Desk) -> None:
    desk.propose("update_task_estimate", {"minutes": 90})
    assert desk.type("log", "t1") == "Nothing was decided.\n"
    desk.type("list")
    desk.type("reject", desk.name())
    for verb in ("ledger", "log"):
        first, *others = desk.type(verb, "t1").splitlines()
        assert "Set estimate to 90 minutes" in first
        assert others == []
