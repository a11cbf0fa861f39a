"""`open`: what it prints for a person who opens the address on another machine."""

import webbrowser
from pathlib import Path

import pytest
from tests.support.command_line import run_here

from lottisync.answers.devices import Admission
from lottisync.cli.browsers import _shown
from lottisync.cli.terminal import Terminal
from lottisync.web.access import Door

ORIGIN = "https://the-laptop-in-the-attic.local:22443"


@pytest.fixture(params=[True, False])
def narrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """32 columns, of a terminal or of a pipe."""
    monkeypatch.setenv("COLUMNS", "32")
    if request.param:
        monkeypatch.setenv("FORCE_COLOR", "1")


@pytest.mark.usefixtures("narrow")
def test_cli_1500_the_address_for_a_phone_stands_whole_on_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """CLI-1500: it stood within a sentence, and a narrow terminal broke it."""
    _shown(Terminal(None, as_json=False), Admission(f"{ORIGIN}/enter?token=x", "k7f2-9p3x-m4tq", "", [ORIGIN], ""))
    assert f"{ORIGIN}/enter" in capsys.readouterr().out.splitlines()


def test_cli_1500_where_no_browser_starts_the_address_stands_on_a_line_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-1500: also the one that a person opens without us."""
    assert run_here("init", home=tmp_path / "laptop").code == 0
    monkeypatch.setattr("lottisync.daemon.pages.door_of", lambda home: Door("attic.localhost", 1, "x"))
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    done = run_here("open", home=tmp_path / "laptop")
    assert (done.code, done.out) == (1, "http://attic.localhost:1/enter?token=x\n")
    assert "Open the address above yourself" in done.err
