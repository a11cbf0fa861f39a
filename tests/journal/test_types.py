"""The journal's types: provenance of a tick, old records."""

from typing import Any

import pytest
from tests.support.strategies import HOSTS, one_write

from lottisync.entities.entity import Entity
from lottisync.entities.path import flatten
from lottisync.entities.registers import Registers
from lottisync.entities.view import view
from lottisync.journal.types import JOURNAL, ChecklistItem


def item(**fields: Any) -> ChecklistItem:
    registers = {path: (one_write(value),) for path, value in flatten(fields).items()}
    return view(Entity("i1", "checklistItem", {HOSTS[0]: 1}, Registers.of(registers)), ChecklistItem)


@pytest.mark.parametrize(
    ("checked_by", "by_user"),
    [("user", True), ("agent", False), ("robot", True), ("", True), (None, True), (7, True)],
)
def test_whatever_is_not_the_agent_is_the_user(checked_by: object, by_user: bool) -> None:
    """JOUR-13, S0-22, S0-51: and no error for a value that nobody knows."""
    assert item(title="x", checkedBy=checked_by).set_by_user is by_user


def test_a_record_without_provenance_counts_as_the_users() -> None:
    """JOUR-13, S0-05, S0-23, S0-43"""
    old = item(title="x", isChecked=True)
    assert (old.set_by_user, old.checked_at) == (True, None)
    new = item(title="x", isChecked=True, checkedBy="agent", checkedAt="2026-01-01T00:00:00.000Z")
    assert (new.set_by_user, new.checked_at) == (False, "2026-01-01T00:00:00.000Z")


def test_what_belongs_to_a_task_is_found_by_its_task() -> None:
    """STORE-10, S0-24"""
    owned = {name for name, described in JOURNAL.types.items() if described.owner == "taskId"}
    assert owned == {"checklist", "checklistItem", "entry"}
