"""Which Python the environment is made with."""

import os
import sys
from pathlib import Path

import pytest
from tools import interpreter


def test_an_interpreter_that_is_clearly_quicker_is_preferred() -> None:
    took = {"/usr/bin/python3.11": 1.0, "/opt/python3.11": 1.5}
    assert interpreter.chosen(took, "/opt/python3.11") == "/usr/bin/python3.11"
    assert interpreter.chosen(took, "/usr/bin/python3.11") == "/usr/bin/python3.11"


def test_one_that_is_as_quick_is_not_left() -> None:
    took = {"/usr/bin/python3.11": 1.0, "/opt/python3.11": 1.05}
    assert interpreter.chosen(took, "/opt/python3.11") == "/opt/python3.11"


@pytest.fixture(autouse=True)
def _once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is measured once: here it does not matter how quick it is."""
    monkeypatch.setattr(interpreter, "TURNS", 1)


def test_the_one_that_runs_is_measured_and_named() -> None:
    assert interpreter.described().startswith("Python 3.")


@pytest.mark.parametrize("says", ["exit 1", "echo 2 7 0.000001 /usr/bin/python2.7"])
def test_one_that_does_not_run_or_is_of_another_version_is_left_out(
    says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / f"python3.{sys.version_info[1]}"
    other.write_text(f"#!/bin/sh\n{says}\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert interpreter.quickest() not in (str(other), "/usr/bin/python2.7")
