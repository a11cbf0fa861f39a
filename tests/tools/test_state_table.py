"""The specifications' state tables are the code's: SYNC-3, AGENT-5, AGENT-40."""

import pytest
from tools import state_table

from lottisync.agents import run_log
from lottisync.protocol import session


def test_the_tables_in_the_specifications_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    """SYNC-3, AGENT-5, AGENT-40"""
    assert state_table.main(["--check"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(("module", "name"), [(session, "sync session"), (run_log, "run")])
def test_a_transition_that_changes_changes_the_table(
    module: object, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """SYNC-3, AGENT-40"""
    changed = dict(module.TRANSITIONS)  # type: ignore[attr-defined]
    changed.popitem()
    monkeypatch.setattr(module, "TRANSITIONS", changed)
    assert state_table.main(["--check"]) == 1
    assert f"the table {name!r}" in capsys.readouterr().out


def test_a_specification_without_the_markers_is_not_overwritten() -> None:
    with pytest.raises(SystemExit, match="no block"):
        state_table.with_table("# Sync\n", "sync session", "| a |")
