"""What a person decides is what they were shown: changes between the list and the verdict."""

import pytest
from tests.support.review_desk import NOTE, Desk, elsewhere

from lottisync.device import clock
from lottisync.journal.toolbox import ACTIONS
from lottisync.review.cleanup import remove_old_sets
from lottisync.review.verdict import Verdicts


def test_rev_860_an_answer_names_the_task_as_it_was_shown(desk: Desk) -> None:
    """REV-860: a new title was printed as the name of the task that gets it."""
    desk.propose("set_task_title", {"title": "Oiling the chain"})
    name = desk.name()
    desk.type()
    assert desk.type("confirm", name) == f'applied  {name}  Bake bread: Set title to "Oiling the chain"\n'
    assert f"undone  {name}  Oiling the chain: " in desk.type("undo", name)


def test_rev_860_an_answer_names_the_item_as_it_was_shown(desk: Desk) -> None:
    """REV-860"""
    desk.propose("update_checklist_item", {"id": "i1", "title": "Rye flour"})
    name = desk.name()
    shown = desk.type("show", name)
    assert "Flour" in shown
    summary = shown.split("\n")[1]
    assert desk.type("confirm", name) == f"applied  {name}  Bake bread: {summary}\n"


@pytest.mark.parametrize("verb", ["confirm", "reject", "edit", "defer", "dismiss"])
def test_rev86_another_process_changes_the_target_and_then_the_cited_note(desk: Desk, verb: str) -> None:
    """REV-122, REV-86, REV-64: between `review` and the verdict. Both are refused, and what is there now is shown."""
    elsewhere(desk, NOTE)
    args = {"id": "i1", "isChecked": True, "reason": "The note says that it is here", "evidenceEntryIds": ["e1"]}
    desk.propose("update_checklist_items", {"items": [args]})
    name = desk.name()
    more = ["reason=The note says that it came"] if verb == "edit" else []
    elsewhere(desk, 'tx.put("i1", "checklistItem", {"title": "Rye flour"})')
    said = desk.type(verb, name, *more, code=1)
    assert "not as it was shown" in said
    assert "Rye flour" in said
    assert "The flour is here" in said
    elsewhere(desk, 'tx.put("e1", "entry", {"text": "The flour is gone"})')
    said = desk.type(verb, name, *more, code=1)
    assert "not as it was shown" in said
    assert "The flour is gone" in said
    assert [one["outcome"] for one in desk.ask("ledger")] == ["pending"]
    done = {"reject": "rejected", "dismiss": "rejected", "defer": "deferred"}.get(verb, "applied")
    assert desk.ask(verb, name, *more)[0]["result"] == done


@pytest.mark.parametrize("first", [["defer"], ["reject", "undo"], ["defer", "undo"], ["reject", "undo", "defer"]])
def test_rev150_the_answer_to_ones_own_defer_or_undo_is_a_page(desk: Desk, first: list[str]) -> None:
    """REV-150: an item that was put off, or whose rejection was taken back, can be decided at once."""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    for verb in first:
        desk.type(verb, name)
    assert desk.ask("confirm", name)[0]["result"] == "applied"
    assert desk.page.task.estimate == 60


@pytest.mark.parametrize("when", ["before", "after"])
def test_rev150_what_else_has_changed_is_shown_after_ones_own_undo_too(desk: Desk, when: str) -> None:
    """REV-150, REV-64: a change by somebody else is shown first, whether it came before the undo or after it."""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    desk.type("reject", name)
    if when == "before":
        desk.edit(estimate=45)
    desk.type("undo", name)
    if when == "after":
        desk.edit(estimate=45)
    said = desk.type("confirm", name, code=1)
    assert "not as it was shown" in said
    assert "45" in said
    assert desk.page.task.estimate == 45


def test_cli_66_an_item_that_is_shown_again_has_the_name_that_it_has_on_the_page(desk: Desk) -> None:
    """CLI-66: in the answer of a verdict it had the whole id of its set."""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    desk.edit(estimate=45)
    [outcome] = desk.ask("confirm", name, code=1)
    assert (outcome["result"], outcome["view"]["name"]) == ("stale", name)


def test_rev150_a_decision_of_another_device_is_shown_after_ones_own_defer_too(desk: Desk) -> None:
    """REV-150: the kept digest has the person's own decision in it, and no other."""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    desk.type("defer", name)
    item = desk.ask("list", "--all")[0]["items"][0]["id"]
    phone = Verdicts(desk.home.journal, desk.home.agent, ACTIONS, device_id="phone", new_id=clock.new_id)
    phone.defer(item, clock.now() + 3_600_000, clock.now())
    assert "not as it was shown" in desk.type("confirm", name, code=1)


@pytest.mark.parametrize(
    "call", [("confirm",), ("reject",), ("edit", "minutes=75"), ("confirm", "--all"), ("defer",), ("dismiss",)]
)
def test_rev86_what_was_never_shown_here_is_not_decided(desk: Desk, call: tuple[str, ...]) -> None:
    """REV-86, REV-1230: a proposal that came after the page was printed; nothing of the call is done."""
    [known] = desk.propose("update_task_priority", {"priority": "P1"})
    desk.type()
    [unseen] = desk.propose("update_task_estimate", {"minutes": 60}, "r2")
    verb, *more = call
    one = verb in ("edit", "dismiss")
    items = [] if more == ["--all"] else [f"{unseen}.0"] if one else [f"{known}.0", f"{unseen}.0"]
    assert "never shown on this device" in desk.type(verb, *items, *more, code=2)
    assert {one["outcome"] for one in desk.ask("ledger")} == {"pending"}


def test_rev1231_a_program_says_itself_what_was_shown(desk: Desk) -> None:
    """REV-1231: `--shown`, for one item; a wrong digest is refused with the present page, which has the right one."""
    [change_set] = desk.propose("update_task_estimate", {"minutes": 60})
    [outcome] = desk.ask("confirm", f"{change_set}.0", "--shown", f"{'0' * 64}.{'0' * 64}", code=1)
    assert desk.page.task.estimate == 30
    digest = outcome["view"]["shown"]
    desk.propose("update_task_priority", {"priority": "P1"}, "r2")
    assert "the digest of one ITEM" in desk.type("confirm", "--all", "--shown", digest, code=2)
    assert desk.ask("confirm", f"{change_set}.0", "--shown", digest)[0]["result"] == "applied"


def test_rev123_in_a_terminal_it_is_shown_and_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """REV-123: it is shown before the question, and a no leaves it."""
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    [change_set] = desk.propose("update_task_estimate", {"minutes": 60})
    assert "nothing was changed" in desk.type("confirm", f"{change_set}.0", keys=["n"], code=1)
    assert desk.page.task.estimate == 30
    said = desk.type("confirm", f"{change_set}.0", keys=["y"])
    shown, asked, _ = said.partition("Confirm this?")
    assert "Set estimate to 60 minutes" in shown
    assert asked
    assert desk.page.task.estimate == 60


def test_rev86_what_was_shown_is_forgotten_with_the_set(desk: Desk) -> None:
    """REV-86, REV-36: else the table would grow without end."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.type("reject", desk.name())
    remove_old_sets(desk.home.agent, clock.now() + 91 * 86_400_000)
    with desk.home.agent.reading() as reader:
        assert reader.local("select * from item_shown") == []
