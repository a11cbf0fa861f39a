"""A table is written of a quiet machine only."""

import pytest
from tools.bench import __main__, machine, report


def test_others_may_take_a_little_of_the_machine() -> None:
    assert machine.refusal([0.02, machine.QUIET]) is None
    refused = machine.refusal([0.02, 0.4])
    assert refused is not None
    assert refused.startswith("others take 40% of this machine")


@pytest.mark.parametrize("loads", [[0.9], [0.0, 0.9]])
def test_a_loaded_machine_gets_no_table(monkeypatch: pytest.MonkeyPatch, loads: list[float]) -> None:
    """Neither one that is loaded before anything is measured, which is said at once, nor one that is loaded later."""
    asked = iter(loads)
    monkeypatch.setattr(machine, "load", lambda: next(asked))
    monkeypatch.setattr(machine, "compile_bytecode", lambda: None)
    monkeypatch.setattr(__main__, "BENCHES", {"nothing": lambda setting: []})
    monkeypatch.setattr(report, "write", lambda *given: pytest.fail("a table was written"))
    assert __main__.main(["--times", "1"]) == 1


def test_a_quiet_machine_gets_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[object] = []
    monkeypatch.setattr(machine, "load", lambda: 0.0)
    monkeypatch.setattr(machine, "compile_bytecode", lambda: None)
    monkeypatch.setattr(__main__, "BENCHES", {"nothing": lambda setting: []})
    monkeypatch.setattr(report, "write", lambda *given: written.append(given))
    assert __main__.main(["--times", "1"]) == 0
    assert len(written) == 1
