"""Typed views over documents that newer programs, or hands, have written."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import HOSTS, one_write

from lottisync.agents.types import Agent, AgentMessage
from lottisync.entities import version
from lottisync.entities.canonical import UNREADABLE
from lottisync.entities.entity import Entity
from lottisync.entities.path import flatten
from lottisync.entities.registers import Registers
from lottisync.entities.view import BATCH, view, view_stored, views_stored
from lottisync.journal.types import ChecklistItem, Label, Task


def entity(fields: dict[str, Any], type_name: str = "task") -> Entity:
    registers = {path: (one_write(value),) for path, value in flatten(fields).items()}
    return Entity("t1", type_name, {HOSTS[0]: 1}, Registers.of(registers))


def test_a_view_has_the_winning_values_under_the_programs_names() -> None:
    """ENT-13"""
    task = view(entity({"title": "x", "statusReason": "why", "labels": {"l1": True}, "due": None}), Task)
    assert (task.id, task.title, task.status_reason, task.labels, task.due) == ("t1", "x", "why", {"l1": True}, None)


def test_what_is_absent_has_its_default() -> None:
    """ENT-13, S0-27: a record of before a field was thought of."""
    item = view(entity({"title": "x"}, "checklistItem"), ChecklistItem)
    assert (item.is_checked, item.checked_by, item.checked_at, item.is_archived) == (False, "user", None, False)


@pytest.mark.parametrize(
    "odd",
    [
        {"estimate": "long"},
        {"estimate": 1.5},
        {"estimate": True},
        {"title": 7},
        {"labels": "bug"},
        {"labels": {"bug": "yes"}},
        {"status": ["OPEN"]},
        {"due": {"day": 1}},
    ],
)
def test_one_odd_value_does_not_make_a_task_unreadable(odd: dict[str, Any]) -> None:
    """ENT-13: it reads as the default, all others as they are."""
    fields = {"title": "x", "priority": "P0", "due": "2026-01-01"} | odd
    task = view(entity(fields), Task)
    assert task.priority == "P0"
    name = next(iter(odd))
    assert getattr(task, name) == getattr(Task("t1"), name)


def test_a_field_that_the_program_does_not_know_is_passed_over() -> None:
    """ENT-13"""
    assert view(entity({"title": "x", "mood": "good"}), Task).title == "x"


def test_the_id_is_the_entitys_own() -> None:
    """ENT-13: a document cannot claim another."""
    assert view(entity({"id": "t2", "title": "x"}), Task).id == "t1"


@pytest.mark.parametrize(
    ("kind", "field", "unknown", "fallback"),
    [(ChecklistItem, "checkedBy", "robot", "user"), (AgentMessage, "kind", "dream", "system")],
)
def test_an_unknown_word_reads_as_the_fallback(kind: type[Any], field: str, unknown: str, fallback: str) -> None:
    """ENT-15, S0-05, S0-51"""
    for fields in ({field: unknown}, {field: None}, {}):
        name = "checked_by" if field == "checkedBy" else field
        assert getattr(view(entity({"title": "x", **fields}), kind), name) == fallback


def test_a_state_that_people_are_shown_reads_as_it_is() -> None:
    """ENT-221: `OPEN`, or a living agent, would be a claim."""
    assert view(entity({"status": "SOMEDAY"}), Task).status == "SOMEDAY"
    assert view(entity({"lifecycle": "hibernating"}, "agent"), Agent).lifecycle == "hibernating"


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "x", "checkedAt": None, "isChecked": True, "mood": [1, {"id": "t2"}]},
        {"title": None, "rank": "a0"},
        {"title": "a/b", "checkedBy": "robot"},
        {"title": "x", "receipts": {"op/1": {"dot": 1}}, "isArchived": "yes"},
        {"id": "t2", "title": "x"},
        {"title": "x"},
    ],
)
def test_a_stored_document_reads_as_the_entity_does(fields: dict[str, Any]) -> None:
    """ENT-13: also where it is decoded straight into the struct."""
    made = entity(fields, "checklistItem")
    assert view_stored("t1", version.close(made).document, ChecklistItem) == view(made, ChecklistItem)


def test_a_stored_document_without_a_field_has_the_defaults() -> None:
    """ENT-13"""
    assert view_stored("t1", b"{}", Task) == Task("t1")


class Shown(msgspec.Struct, frozen=True):
    id: str
    title: str = ""
    minutes: int | None = None


def test_a_stored_document_with_a_map_reads_as_the_entity_does() -> None:
    """ENT-13: alone and among others; a key of a map is a path of its own."""
    made = entity({"title": "x", "labels": {"l1": True}})
    document = version.close(made).document
    assert view(made, Task).labels == {"l1": True}
    assert view_stored("t1", document, Task) == view(made, Task)
    assert views_stored([("t1", document)] * 2, Task) == [view(made, Task)] * 2


def test_a_number_at_the_end_of_a_document_is_read_whole() -> None:
    """ENT-13: the id is put behind it."""
    assert view_stored("t1", b'{"minutes":12}', Shown) == Shown("t1", "", 12)
    assert views_stored([("t1", b'{"minutes":12}')], Shown) == [Shown("t1", "", 12)]


PLAIN = [(f"t{number}", b'{"minutes":%d,"title":"x"}' % number) for number in range(2 * BATCH + 1)]
ODD = [("odd", b'{"minutes":"ten","title":"odd"}'), ("none", b"{}"), ("named", b'{"id":"t9","title":"y"}')]


@given(st.lists(st.sampled_from([*PLAIN, *ODD]), max_size=2 * BATCH + 5))
def test_many_stored_documents_read_as_each_of_them_does(documents: list[tuple[str, bytes]]) -> None:
    """ENT-13: whatever stands beside them, in their order."""
    assert views_stored(documents, Shown) == [view_stored(*each, Shown) for each in documents]
    assert [one.id for one in views_stored(documents, Label)] == [ident for ident, _ in documents]
    assert [one.id for one in views_stored(documents, Task)] == [ident for ident, _ in documents]


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b'{"title":"x',
        b'{"title":"x"},{"title":"y"}',
        b'{"id":"bad"},{"title":"y"}',
        b'{"title":"\xff"}',
        b"7",
    ],
)
def test_a_damaged_document_is_not_read_into_its_neighbours(damage: bytes) -> None:
    """STORE-29: also where it could pass for two elements, or for part of the next one."""
    documents = [PLAIN[0], ("bad", damage), PLAIN[1]]
    with pytest.raises(UNREADABLE):
        views_stored(documents, Shown)


def test_two_damaged_documents_that_make_up_for_each_other_are_found() -> None:
    """STORE-29: there are as many elements as documents, and none is of the document in its place."""
    split, joined = b'{"title":"a","id":"x"},{"title":"b"}', b'{"x":[{"y":1}'
    documents = [("one", split), ("two", joined), ("three", b"]}")]
    with pytest.raises(msgspec.DecodeError):
        views_stored(documents, Shown)
