"""The registry: classes, schemas, and what is accepted of what a model sends."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.agents.toolbox import TOOLBOX, RetractSuggestions
from lottisync.journal.actions.add_multiple_checklist_items import AddMultipleChecklistItems
from lottisync.journal.actions.set_task_status import PROPOSED_STATUSES
from lottisync.journal.arguments import Call
from lottisync.journal.task_action import ActionBatch, TaskAction
from lottisync.journal.toolbox import ACTIONS, BadCall, schema
from lottisync.review.proposal import CITATIONS


def accepted(name: str, args: Any) -> dict[str, Any]:
    call = TOOLBOX.parse(name, json.dumps(args))
    assert not isinstance(call, BadCall), call
    return call.arguments()


def refused(name: str, args: Any) -> str:
    call = TOOLBOX.parse(name, args if isinstance(args, str) else json.dumps(args))
    assert isinstance(call, BadCall), call
    return call.text


def test_rev1_classes_of_tools() -> None:
    """REV-1, S1-15..S1-21, S2-01, S2-02, S2-05, S2-24."""
    deferred = {name for name, tool in TOOLBOX.tools.items() if issubclass(tool, TaskAction | ActionBatch)}
    assert TOOLBOX.tools.keys() - deferred == {
        *("update_report", "record_observations", "request_attention"),  # kept with the agent
        *("set_task_language", "retract_suggestions"),  # done at once, or at the end of the wake
        *("read_entries", "search_task"),  # they only read
    }
    assert deferred == {
        "set_task_title",
        "update_task_estimate",
        "update_task_due_date",
        "update_task_priority",
        "set_task_status",
        "add_multiple_checklist_items",
        "update_checklist_items",
        "add_checklist_item",
        "update_checklist_item",
        "suggest_checklist_completion",
        "assign_task_labels",
        "assign_task_label",
        "create_follow_up_task",
        "link_task",
        "migrate_checklist_items",
        "migrate_checklist_item",
        "create_time_entry",
        "update_time_entry",
        "update_running_timer",
    }


def test_rev46_every_argument_that_is_an_id_is_said_to_be_one() -> None:
    """REV-46: nobody is asked to type one, and no field of a page shows one."""
    for name, tool in ACTIONS.tools.items():
        if issubclass(tool, TaskAction) and not tool.is_batch:
            ids = {each for each in schema(tool)["properties"] if re.search(r"(^i|I)ds?$", each)}
            assert ids <= ACTIONS.unasked(name) <= {*ids, *CITATIONS, *tool.subject}, name
    assert ACTIONS.unasked("a tool of a newer version") == CITATIONS


def test_rev2_what_a_model_reads_is_what_it_read_before() -> None:
    """REV-2: names, order, descriptions and schemas, byte by byte. A change here changes the prompt of every agent."""
    pinned = json.loads((Path(__file__).parent.parent / "journal" / "tool_schemas.json").read_text())
    assert json.dumps(TOOLBOX.definitions()) == json.dumps(pinned["definitions"])
    assert [one["name"] for one in TOOLBOX.definitions(RetractSuggestions)] == pinned["retracting"]
    all_tools = [
        {"name": tool.tool, "description": tool.purpose, "parameters": schema(tool)} for tool in TOOLBOX.tools.values()
    ]
    in_any_order = [sorted(tools, key=lambda tool: str(tool["name"])) for tools in (all_tools, pinned["all"])]
    assert json.dumps(in_any_order[0]) == json.dumps(in_any_order[1])
    assert TOOLBOX.aliases == pinned["aliases"]


def test_rev2_one_source_for_schema_and_description() -> None:
    """REV-2, REV-301, S0-29..S0-31, S0-35: the required sentences, and no JSON schema construct that small servers
    lack."""
    offered = {tool["name"]: tool for tool in TOOLBOX.definitions()}
    assert "update_checklist_item" not in offered
    batch = offered["update_checklist_items"]
    assert "AFTER the user's action" in batch["description"]
    assert "Title updates are always allowed." in batch["description"]
    element = batch["parameters"]["properties"]["items"]["items"]
    assert element["properties"]["reason"]["type"] == "string"
    assert "Must cite specific evidence" in element["properties"]["reason"]["description"]
    assert "will be rejected for user-set items" in element["properties"]["isChecked"]["description"]
    assert element["required"] == ["id"]
    text = json.dumps(TOOLBOX.definitions())
    assert "$ref" not in text
    assert "anyOf" not in text
    assert offered["set_task_status"]["parameters"]["properties"]["status"]["enum"] == list(PROPOSED_STATUSES)
    assert offered["set_task_title"]["parameters"]["properties"]["title"]["maxLength"] == 400
    assert offered["set_task_title"]["parameters"]["required"] == ["title"]


@pytest.mark.parametrize("given_minutes", [60, "60", 60.0, " 60 ", 59.6])
def test_rev140_an_estimate_in_whatever_form(given_minutes: Any) -> None:
    """REV-140, S4-19."""
    assert accepted("update_task_estimate", {"minutes": given_minutes}) == {"minutes": 60}


@pytest.mark.parametrize("given_minutes", [0, 1441, -1, "soon", True, None, "nan", "inf", [60]])
def test_rev3_estimates_that_are_not_valid(given_minutes: Any) -> None:
    """REV-3, REV-302."""
    assert "minutes" in refused("update_task_estimate", {"minutes": given_minutes})


@pytest.mark.parametrize("alias", sorted(TOOLBOX.aliases))
def test_rev140_aliases(alias: str) -> None:
    """REV-140."""
    assert TOOLBOX.aliases[alias] in TOOLBOX.tools
    assert refused(alias, {}).startswith(TOOLBOX.aliases[alias])


@pytest.mark.parametrize(
    ("tool", "args", "part"),
    [
        ("set_task_title", {"title": "  "}, "a title has 1 to 400 characters"),
        ("set_task_title", {"title": "x" * 401}, "got 401"),
        ("set_task_title", {"title": 5}, "title"),
        ("set_task_title", {"title": "x", "colour": "red"}, "colour: there is no such argument"),
        ("update_task_due_date", {"dueDate": "2026-02-30"}, "a due date is a day"),
        ("update_task_due_date", {"dueDate": "tomorrow"}, "'tomorrow'"),
        ("update_task_priority", {"priority": "P9"}, "'P9'"),
        ("set_task_status", {"status": "DONE"}, "only the user sets DONE"),
        ("set_task_status", {"status": "rejected"}, "only the user sets REJECTED"),
        ("set_task_status", {"status": "BLOCKED"}, "needs a reason"),
        ("set_task_status", {"status": "ON HOLD", "reason": "  "}, "needs a reason"),
        ("set_task_status", {"status": "LOST"}, "'LOST'"),
        ("add_multiple_checklist_items", {"items": []}, "items"),
        ("add_multiple_checklist_items", {"items": [{"title": "x"}] * 21}, "items"),
        ("add_multiple_checklist_items", {"items": ["bare"]}, "items.0"),
        ("update_checklist_items", {"items": [{"id": "a"}]}, "changes isChecked, title or isArchived"),
        ("update_checklist_items", {"items": [{"isChecked": True}]}, "items.0.id"),
        ("record_observations", {"observations": []}, "observations"),
        ("set_task_language", {"languageCode": "german"}, "'german'"),
        ("delete_task", {}, "There is no tool 'delete_task'. The tools are:"),
    ],
)
def test_rev3_what_is_refused_says_why(tool: str, args: Any, part: str) -> None:
    """REV-141, REV-3, REV-300, REV-302, S0-11, S2-25: an invalid proposal never reaches a person."""
    assert part in refused(tool, args)


def test_rev140_normal_forms() -> None:
    """REV-140."""
    assert accepted("set_task_title", {"title": " Bake \n bread "}) == {"title": "Bake bread"}
    assert accepted("set_task_status", {"status": "in_progress"}) == {"status": "IN PROGRESS"}
    assert accepted("update_task_priority", {"priority": " p0 "}) == {"priority": "P0"}
    report = {"tldr": "Half done.", "dueDate": "2026-02-25", "checklistProgress": {"total": 5, "completed": 3}}
    assert accepted("update_report", report) == {**report, "achieved": [], "remaining": [], "learnings": []}
    assert accepted("record_observations", {"observations": ["Likes short titles"]}) == {
        "observations": [{"text": "Likes short titles", "priority": "routine", "category": "operational"}]
    }


def test_rev3_the_reason_survives_explosion() -> None:
    """REV-3, S0-32, S1-25: N elements, N calls, each with its own arguments."""
    items = [{"id": "a", "isChecked": True, "reason": "The note of 22:30 says so", "evidenceEntryIds": ["e1"]}]
    call = TOOLBOX.parse("update_checklist_items", json.dumps({"items": [*items, {"id": "b", "title": "B"}]}))
    assert isinstance(call, ActionBatch)
    assert [(part.tool, part.arguments()) for part in call.parts()] == [
        ("update_checklist_item", items[0]),
        ("update_checklist_item", {"id": "b", "title": "B"}),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"items": "[{\\"title\\": \\"Milk\\"}]"}',
        '{"items": ["{\\"title\\": \\"Milk\\"}"]}',
        json.dumps(json.dumps({"items": [{"title": "Milk"}]})),
        '```json\n{"items": [{"title": "Milk"}]}\n```',
        'Here it is: {"items": [{"title": "Milk"}]} as you asked.',
    ],
)
def test_rev4_arguments_that_were_encoded_twice_or_wrapped(text: str) -> None:
    """REV-303."""
    call = TOOLBOX.parse("add_multiple_checklist_items", text)
    assert isinstance(call, AddMultipleChecklistItems)
    assert call.arguments() == {"items": [{"title": "Milk"}]}


@pytest.mark.parametrize("text", ['{"title": "x"', "[1]", "null", "title=x", '"x"', "[" * 100_000, "x" * 100_001])
def test_rev4_arguments_that_are_not_an_object(text: str) -> None:
    """REV-4."""
    assert refused("set_task_title", text)


def test_rev4_half_a_character_is_refused() -> None:
    """REV-4."""
    assert refused("set_task_title", '{"title": "\\ud800"}')


@given(st.text(max_size=60), st.text(max_size=200))
def test_rev4_whatever_a_model_sends_is_answered(name: str, text: str) -> None:
    """REV-4."""
    assert isinstance(TOOLBOX.parse(name, text), BadCall | Call)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["id", "title", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.sampled_from(sorted(TOOLBOX.tools)),
    st.dictionaries(st.sampled_from(["title", "minutes", "items", "status"]), _json),
)
def test_rev140_a_normal_form_is_its_own_normal_form(tool: str, args: dict[str, Any]) -> None:
    """REV-351."""
    once = TOOLBOX.checked(tool, args)
    if not isinstance(once, BadCall):
        assert TOOLBOX.checked(once.tool, once.arguments()) == once
