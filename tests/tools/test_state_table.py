"""The specification's state table is the code's: SYNC-3."""

import pytest
from tools import state_table

from lottisync.protocol.session import TRANSITIONS


def test_sync_3_the_table_in_the_specification_is_up_to_date() -> None:
    spec = state_table.SPEC.read_text()
    assert state_table.with_table(spec) == spec


def test_sync_3_a_transition_that_changes_changes_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    before = state_table.table()
    changed = dict(TRANSITIONS)
    changed.popitem()
    monkeypatch.setattr(state_table, "TRANSITIONS", changed)
    assert state_table.table() != before


def test_a_specification_without_the_markers_is_not_overwritten() -> None:
    with pytest.raises(SystemExit, match="no block"):
        state_table.with_table("# Sync\n")
