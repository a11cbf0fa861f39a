"""Calls as models make them: one bad element among good ones, older forms, reasons that are never shown."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.review.reviewer import Reviewer

from lottisync.agents.toolbox import TOOLBOX
from lottisync.journal import checklist
from lottisync.journal.actions.add_multiple_checklist_items import AddMultipleChecklistItems
from lottisync.journal.arguments import Call
from lottisync.journal.guard import MIN_REASON, objection
from lottisync.journal.toolbox import BadCall
from lottisync.journal.types import LANGUAGES
from lottisync.shown import visible


def parsed(tool: str, **args: object) -> Call | BadCall:
    return TOOLBOX.parse(tool, json.dumps(args))


@given(
    elements=st.lists(
        st.one_of(
            st.builds(lambda title: {"title": title}, st.text(st.characters(codec="ascii"), min_size=1, max_size=20)),
            st.sampled_from([{}, "bare", 7, None, {"title": ""}, {"title": "x", "colour": "red"}]),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_rev_d13_what_is_sound_is_taken_and_what_is_not_is_named(elements: list[object]) -> None:
    """REV-90, REV-900, REV-901, REV-3, REV-302: each element is taken if and only if a call with it alone is."""
    alone = [not isinstance(parsed("add_multiple_checklist_items", items=[one]), BadCall) for one in elements]
    call = parsed("add_multiple_checklist_items", items=elements)
    if not any(alone):
        assert isinstance(call, BadCall)
        return
    assert isinstance(call, AddMultipleChecklistItems)
    assert len(call.parts()) == sum(alone)
    answer = call.answered("Proposal queued.")
    for place, sound in enumerate(alone):
        assert (f"items.{place}" in answer) is not sound
    if all(alone):
        assert answer == "Proposal queued."
    else:
        assert f"{alone.count(False)} malformed item(s) skipped" in answer


def test_rev90_what_was_left_out_is_named_with_the_reason() -> None:
    """REV-90: each by its place in the call."""
    call = parsed("add_multiple_checklist_items", items=[{"title": "Flour", "colour": "red"}, {"title": "Salt"}, {}])
    assert isinstance(call, AddMultipleChecklistItems)
    assert [each.arguments()["title"] for each in call.parts()] == ["Salt"]
    assert call.answered("Queued.").splitlines()[2:] == [
        "- items.0.colour: there is no such argument",
        "- items.2.title: Field required",
    ]


def test_rev_d13_the_others_are_queued(laptop: Reviewer) -> None:
    """REV-900"""
    laptop.add_task()
    items = [{"title": "Flour"}, {"name": "Salt"}, {"title": "Oven"}]
    assert laptop.propose("add_multiple_checklist_items", {"items": items}).startswith("Proposal queued")
    assert [item.summary for item in laptop.waiting()] == ['Add: "Flour"', 'Add: "Oven"']


def test_rev_d13_a_fault_beside_the_list_refuses_the_call() -> None:
    """REV-902, REV-3: only elements are left out."""
    assert isinstance(parsed("add_multiple_checklist_items", items=[{"title": "a"}], colour="red"), BadCall)
    assert isinstance(parsed("add_multiple_checklist_items", items=[{"title": "a"}] * 21), BadCall)


def test_rev_d13_a_step_that_is_done_already(laptop: Reviewer) -> None:
    """REV-91: `isChecked` of a new item; confirmed, it is the person's tick."""
    laptop.add_task()
    items = [{"title": "Flour", "isChecked": True}, {"title": "Salt", "isChecked": "yes"}]
    laptop.propose("add_multiple_checklist_items", {"items": items})
    first, second = laptop.waiting()
    assert (first.summary, second.summary) == ('Add as done: "Flour"', 'Add: "Salt"')
    assert [change.path for change in first.changes] == ["checklistItem", "isChecked"]
    for item in (first, second):
        assert laptop.verdicts.confirm(item.id, laptop.later()).result == "applied"
    flour, salt = laptop.page().items
    assert (flour.is_checked, flour.set_by_user, flour.checked_at is not None) == (True, True, True)
    assert (salt.is_checked, salt.checked_at) == (False, None)
    assert laptop.verdicts.undo(first.id, laptop.later()).result == "undone"
    assert laptop.titles() == ["Salt"]


@pytest.mark.parametrize("ids", [["l1", "l2"], "l1, l2", '["l1", "l2"]'])
def test_rev91_labels_by_their_ids_alone(laptop: Reviewer, ids: object) -> None:
    """REV-306: `labelIds`, the older form."""
    laptop.add_task()
    for ident in ("l1", "l2"):
        laptop.do(lambda tx, i=ident: tx.put(i, "label", {"name": i.upper()}))  # type: ignore[misc]
    assert "2 item(s) queued" in laptop.propose("assign_task_labels", {"labelIds": ids})
    assert [item.summary for item in laptop.waiting()] == ['Assign label: "L1"', 'Assign label: "L2"']


@pytest.mark.parametrize("code", ["xx", "zz", "qqq", "german", ""])
def test_rev_d14_a_language_is_one_of_a_list(code: str) -> None:
    """REV-6, JOUR-2"""
    refused = parsed("set_task_language", languageCode=code)
    assert isinstance(refused, BadCall)
    assert "ISO 639-1" in refused.text


@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_rev_d14_languages_that_are_on_it(code: str) -> None:
    """REV-6, JOUR-2"""
    assert not isinstance(parsed("set_task_language", languageCode=code.upper()), BadCall)


@pytest.mark.parametrize("filler", ["\u200b", "\u2060", "\u3164", "\u2800", "\ufeff", "\u00ad", " \n", "\U000e0041"])
def test_rev_d15_a_reason_of_invisible_characters_is_not_a_reason(laptop: Reviewer, filler: str) -> None:
    """SOV-2"""
    laptop.add_task(items=("Flour",))
    laptop.tick("t1-i0")
    for reason in (filler * 25, f"ok{filler * 25}"):
        update = {"id": "t1-i0", "isChecked": False, "reason": reason}
        assert "Provide a reason" in laptop.propose("update_checklist_items", {"items": [update]})
    assert laptop.waiting() == []


@given(st.text(max_size=60), st.text(st.characters(categories=["Cf", "Zs"]), max_size=30))
def test_rev_d15_what_is_hidden_never_makes_a_reason_longer(reason: str, hidden: str) -> None:
    """SOV-2: no character that cannot be seen counts, wherever it stands."""

    def stands(text: str) -> bool:
        refused_because = objection(is_checked=True, checked_by="user", checked_at=None, proposed=False, reason=text)
        return refused_because is None

    assert stands(reason) is (len(visible(reason)) >= MIN_REASON)
    assert len(visible(reason + hidden)) <= len(visible(reason)) + len(visible(hidden)) + 1
    assert visible(f"{reason}\u200b\u2060") == visible(reason)


@pytest.mark.parametrize("blank", ["\t", "\v", "\x1c", "\x1f", "\x85", "\u00a0", "\u2028", "\u3000"])
def test_rev_1000_white_space_in_a_reason_is_one_character(blank: str) -> None:
    """REV-1000, REV-1001, ENT-30: some of these are control characters, too, and did not count."""
    assert visible(f"{blank}{'x' * 10}{blank}{blank}{'x' * 9}{blank}") == f"{'x' * 10} {'x' * 9}"
    assert visible(f"a {chr(0x200B)} b\x08\x7f\u2800") == "a b"


def test_rev92_another_reason_of_the_same_status_is_a_change(laptop: Reviewer) -> None:
    """REV-92: it is proposed, shown, written and taken back."""
    laptop.add_task()
    laptop.edit(status="BLOCKED", statusReason="no flour")
    assert "status is already BLOCKED" in laptop.propose("set_task_status", {"status": "BLOCKED", "reason": "no flour"})
    assert "queued" in laptop.propose("set_task_status", {"status": "BLOCKED", "reason": "the oven is broken"})
    [item] = laptop.waiting()
    assert [(one.path, one.before, one.after) for one in item.changes] == [
        ("statusReason", "no flour", "the oven is broken")
    ]
    assert laptop.verdicts.confirm(item.id, laptop.later()).result == "applied"
    assert (laptop.page().task.status, laptop.page().task.status_reason) == ("BLOCKED", "the oven is broken")
    assert laptop.verdicts.undo(item.id, laptop.later()).result == "undone"
    assert laptop.page().task.status_reason == "no flour"


def test_rev93_an_item_is_archived_and_taken_out(laptop: Reviewer) -> None:
    """REV-93, REV-20: proposed, shown, confirmed and undone; a change without effect is not proposed."""
    laptop.add_task(items=("Flour", "flour"))
    put_away = {"items": [{"id": "t1-i1", "isArchived": True}]}
    assert "queued" in laptop.propose("update_checklist_items", put_away)
    [item] = laptop.waiting()
    assert (item.summary, [(one.path, one.before, one.after) for one in item.changes]) == (
        'Archive: "flour"',
        [("isArchived", False, True)],
    )
    assert laptop.verdicts.confirm(item.id, laptop.later()).result == "applied"
    assert laptop.titles() == ["Flour"]
    assert '"flour" is already archived' in laptop.propose("update_checklist_items", put_away, run="run2")
    assert laptop.verdicts.undo(item.id, laptop.later()).result == "undone"
    assert laptop.titles() == ["Flour", "flour"]


def test_rev93_an_archive_beside_a_tick_that_the_user_set(laptop: Reviewer) -> None:
    """REV-93, SOV-6: the archive passes, the tick is withheld."""
    laptop.add_task(items=("Flour",))
    laptop.tick("t1-i0")
    answer = laptop.propose(
        "update_checklist_items", {"items": [{"id": "t1-i0", "isChecked": False, "isArchived": True}]}
    )
    assert "the rest is queued, but not this. User set this item at" in answer
    assert [item.summary for item in laptop.waiting()] == ['Archive: "Flour"']


def test_rev93_what_the_person_archived_since_is_named(laptop: Reviewer) -> None:
    """REV-93, S4-14"""
    laptop.add_task(items=("Flour",))
    wake = laptop.builder()
    laptop.do(lambda tx: checklist.archive_item(tx, "t1-i0"))
    answer = wake.queue("update_checklist_items", {"items": [{"id": "t1-i0", "isArchived": False}]}, laptop.now)
    assert "changed since your context was read: the user archived it" in answer
