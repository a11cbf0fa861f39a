"""`lottisync review`: the verbs of a verdict, what they answer, and their exit codes."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from pydantic import field_validator
from tests.support.review_desk import AGENT, BATCH, Desk, elsewhere

from lottisync.device import clock
from lottisync.entities.entity import LOW
from lottisync.journal.task_action import TaskAction
from lottisync.journal.toolbox import ACTIONS, Toolbox
from lottisync.language import speaking, translated
from lottisync.problem import Invalid
from lottisync.review.action import Unreadable
from lottisync.store.instant import iso

VERBS = ("show", "confirm", "edit", "reject", "defer", "undo", "keep", "dismiss")


Verb = Callable[[Desk], list[dict[str, Any]]]


def test_rev81_each_verb_has_its_effect_and_result(desk: Desk) -> None:
    """REV-81, S1-36, S1-37, S1-39, S1-43, S1-44: several items at once, in the order of the list."""
    desk.propose("add_multiple_checklist_items", BATCH)
    desk.propose("update_task_estimate", {"minutes": 60}, "r2")
    desk.propose("set_task_title", {"title": "Rye"}, "r3")
    assert [one["result"] for one in desk.ask("confirm", desk.name(1), desk.name(0))] == ["applied", "applied"]
    assert [item.title for item in desk.page.items] == ["Flour", "Milk", "Eggs"]
    items = {item["summary"]: item["id"] for one in desk.ask("--all") for item in one["items"]}
    assert desk.ask("edit", items["Set estimate to 60 minutes"], "minutes=75")[0]["result"] == "applied"
    assert desk.page.task.estimate == 75
    assert desk.ask("undo", items["Set estimate to 60 minutes"])[0]["result"] == "undone"
    assert desk.page.task.estimate == 30
    assert desk.ask("reject", items['Set title to "Rye"'], "--reason", "no")[0]["result"] == "rejected"
    assert desk.ask("defer", items['Add: "Salt"'], "--for", "2d")[0]["result"] == "deferred"
    assert desk.ask() == []
    assert desk.ask("undo", items['Add: "Salt"'])[0]["result"] == "undone"
    assert len(desk.ask()) == 1
    assert [one["result"] for one in desk.ask("dismiss", items['Add: "Salt"'])] == ["rejected"]
    assert desk.ask("keep", items['Add: "Salt"'])[0]["result"] == "already"
    outcomes = {one["summary"]: one["outcome"] for one in desk.ask("ledger", "t1")}
    assert outcomes == {
        'Add: "Milk"': "confirmed",
        'Add: "Eggs"': "confirmed",
        'Add: "Salt"': "rejected",
        "Set estimate to 60 minutes": "undone",
        'Set title to "Rye"': "rejected",
    }
    assert "Laura" in desk.type("ledger")
    assert len(desk.ask("log", "t1")) == 8


def test_rev81_confirm_all(desk: Desk) -> None:
    """REV-81, S1-39."""
    desk.propose("add_multiple_checklist_items", BATCH)
    desk.type()
    assert [one["result"] for one in desk.ask("confirm", "--all")] == ["applied"] * 3
    assert desk.ask("confirm", "--all") == []


def test_rev82_what_could_not_be_done_is_exit_code_1_and_a_wrong_call_2(desk: Desk) -> None:
    """REV-82, REV-325, S1-71: was, is now, by whom, proposed."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.edit(estimate=90)
    name = desk.name()
    shown = desk.type("confirm", name, code=1)
    assert "changed since" in shown
    assert "Estimate: it was 30 and is now 90, by the user; proposed is 60" in shown
    [outcome] = desk.ask("confirm", name, code=1)
    assert (outcome["result"], outcome["staleFields"][0]["now"]) == ("stale", 90)
    assert desk.ask("confirm", name, "--anyway")[0]["result"] == "applied"
    assert "no proposal has the name" in desk.type("confirm", "1", code=1)
    assert "no proposal has the name" in desk.type("undo", "nothing", code=1)
    assert "give an ITEM" in desk.type("confirm", code=2)
    assert "give an ITEM" in desk.type("confirm", name, "--all", code=2)
    assert "like 2d" in desk.type("defer", name, "--for", "soon", code=2)
    assert "--interactive" in desk.type("-i", "--json", code=2)


@pytest.mark.parametrize("which", ["²", "٣", "0", "9999", "10000", ".0", "x.²", "\udcff.0", "\x1b[2J.0"])
def test_rev82_a_wrong_number_or_id(desk: Desk, which: str) -> None:
    """REV-82: a clear sentence, also for digits of other scripts."""
    desk.propose("update_task_estimate", {"minutes": 60})
    said = desk.type("confirm", which, code=1)
    assert "no proposal has the name" in said
    assert "\x1b" not in said


@pytest.mark.parametrize("verb", VERBS)
def test_rev82_each_verb_has_its_exit_codes_and_one_json_value(desk: Desk, verb: str) -> None:
    """REV-82, REV-81, CLI-7: 0 done, 1 could not be done, 2 a wrong call."""
    more = ["minutes=75"] if verb == "edit" else []
    desk.propose("update_task_estimate", {"minutes": 60})
    item = desk.ask()[0]["items"][0]["id"]
    assert "no proposal has the name" in desk.type(verb, "x.0", *more, code=1)
    assert desk.type(verb, "--nonsense", code=2) is not None
    desk.type(verb, code=2)
    if verb in ("undo", "keep"):
        desk.type("confirm", item)
    found = desk.ask(verb, item, *more)
    assert isinstance(found, dict if verb == "show" else list)
    desk.ask("show", item)
    assert desk.ask(verb, item, *more) or verb == "dismiss"  # nothing is left in its set


def test_rev50_a_command_that_was_killed_is_finished_by_the_next_one(desk: Desk) -> None:
    """REV-50: also where no daemon runs."""
    desk.propose("update_task_estimate", {"minutes": 60})
    item = desk.ask()[0]["items"][0]["id"]
    desk.dies_while_confirming(item)
    assert desk.page.task.estimate == 30
    assert desk.ask() == []
    assert desk.page.task.estimate == 60


def test_rev126_a_beginning_that_two_sets_have_is_refused_with_the_candidates(desk: Desk) -> None:
    """REV-126."""
    item = {"id": "", "toolName": "set_task_title", "args": {"title": "Rye"}, "humanSummary": "", "digest": ""}
    for ident in ("abcd1", "abcd2"):
        items = [{**item, "id": f"{ident}.0", "operationId": ident}]
        fields = {"agentId": AGENT, "taskId": "t1", "items": items, "createdAt": iso(clock.now())}
        with desk.home.agent.transaction(clock.now(), LOW) as tx:
            tx.put(ident, "changeSet", fields)
    said = desk.type("confirm", "abcd.0", code=1)
    assert "abcd1.0, abcd2.0" in said
    assert {item["name"] for one in desk.ask("--all") for item in one["items"]} <= {"abcd1.0", "abcd2.0"}
    assert "Rye" in desk.type("show", "abcd2.0")


def test_rev88_confirm_one_task_or_one_set(desk: Desk) -> None:
    """REV-88: what waits elsewhere goes on waiting."""
    elsewhere(desk, 'tasks.add_task(tx, "t2", "Sweep")')
    [batch] = desk.propose("add_multiple_checklist_items", BATCH)
    desk.propose("update_task_estimate", {"minutes": 60}, "r2")
    desk.type()
    assert desk.ask("confirm", "--task", "t2") == []
    assert [one["result"] for one in desk.ask("confirm", "--set", batch[:4])] == ["applied"] * 3
    assert desk.page.task.estimate == 30
    assert "give an ITEM" in desk.type("confirm", "--all", "--task", "t1", code=2)
    assert [one["result"] for one in desk.ask("confirm", "--task", "t1")] == ["applied"]


def test_rev_951_a_refused_range_says_which_item_is_missing(desk: Desk) -> None:
    """REV-951: it only said that nothing has the name; nothing of the range is decided."""
    desk.propose("add_multiple_checklist_items", BATCH)
    desk.type()
    names = [desk.name(place) for place in range(3)]
    stem = names[0].partition(".")[0]
    said = desk.type("confirm", f"{stem}.1-4", code=1)
    assert f"{stem}.3, {stem}.4" in said
    assert f"{stem}.2" not in said
    assert "begins after its end" in desk.type("confirm", f"{stem}.2-1", code=1)
    assert [desk.name(place) for place in range(3)] == names


def test_rev_952_a_wrong_value_is_refused_in_the_readers_language(desk: Desk) -> None:
    """REV-952: it was pydantic's English sentence."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.type()
    name = desk.name()
    wrong = desk.type("edit", name, "minutes=0", code=1, language="de_DE")
    assert "1 bis 1440" in wrong
    assert "minutes go" not in wrong
    typed = desk.type("edit", name, "minutes=soon", code=1, language="de_DE")
    assert "soon" in typed
    assert "are a number" not in typed
    assert "minutes are a number" in desk.type("edit", name, "minutes=soon", code=1)
    assert desk.page.task.estimate == 30


def test_rev_952_what_the_library_finds_is_said_in_words_of_ours(desk: Desk) -> None:
    """REV-952"""
    read = ACTIONS.read("add_checklist_item", {"title": 7, "colour": "red"})
    assert isinstance(read, Unreadable)
    assert "title: it is a text" in str(read.reason)
    with speaking("de"):
        assert "title: es ist ein Text" in translated(read.reason)
        assert "colour: dieses Argument gibt es nicht" in translated(read.reason)


class Sized(TaskAction):
    """An action whose check raises as all of the journal may."""

    tool: ClassVar[str] = "size"
    purpose: ClassVar[str] = "Set a size."

    size: int

    @field_validator("size")
    @classmethod
    def _checked(cls, size: int) -> int:
        raise Invalid("a title has 1 to {max_title} characters; got {count}", max_title=9, count=size)


def test_rev_952_what_a_check_finds_is_said_in_the_readers_language() -> None:
    """REV-952"""
    read = Toolbox([Sized]).read("size", {"size": 10})
    assert isinstance(read, Unreadable)
    with speaking("de"):
        assert translated(read.reason) == "size: ein Titel hat 1 bis 9 Zeichen; angegeben: 10"


def test_rev_600_the_answer_to_an_edit_says_what_took_effect(desk: Desk) -> None:
    """REV-600: and not what was proposed; in the reader's language."""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    said = desk.type("edit", name, "minutes=75", language="de_DE").replace(name, "")  # which may hold any digits
    assert "75" in said
    assert "60" not in said


def test_rev_1091_several_verdicts_are_taken_back_in_one_call(desk: Desk) -> None:
    """REV-1091, REV-82: names and ranges; each item has its line, also the one that cannot be done."""
    desk.propose("add_multiple_checklist_items", {"items": [{"title": title} for title in "ABCD"]})
    desk.propose("update_task_estimate", {"minutes": 60}, "r2")
    first, *_, fourth, estimate = (item["name"] for one in desk.ask() for item in one["items"])
    names = f"{first}-2"
    desk.type("confirm", names)
    desk.type("reject", estimate)
    said = desk.type("undo", names, fourth, estimate, code=1).splitlines()
    assert [line.partition("  ")[0] for line in said] == ["undone"] * 3 + ["could not be done", "undone"]
    assert [line.split("  ")[1] for line in said][-2:] == [fourth, estimate]
    assert [item.title for item in desk.page.items] == ["Flour"]
    assert [one["result"] for one in desk.ask("undo", names)] == ["already"] * 3
    assert "has no item" in desk.type("undo", f"{first}-9", code=1)


def test_rev_1091_what_others_build_on_is_taken_back_after_them(desk: Desk) -> None:
    """REV-1091, REV-116: in whichever order they are named."""
    desk.propose("create_follow_up_task", {"title": "Buy salt", "relation": "has_follow_up"})
    names = [item["name"] for one in desk.ask() for item in one["items"]]
    assert len(names) == 2
    assert {one["result"] for one in desk.ask("confirm", *names)} == {"applied"}
    assert [one["result"] for one in desk.ask("undo", *names)] == ["undone"] * len(names)


def test_cli_460_a_proposal_is_put_off_until_a_time_as_people_say_it(desk: Desk) -> None:
    """CLI-460"""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    desk.type("defer", name, "--until", "10 min ago", code=2)
    desk.type("defer", name, "--until", "in 2 hours")
    assert desk.ask() == []
    assert [item["name"] for one in desk.ask("--all") for item in one["items"]] == [name]
