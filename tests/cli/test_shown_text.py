"""What another device or a model wrote cannot pass for a line or a name of ours, in any command: CLI-13."""

import codecs
import contextlib
import functools
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command_line import environment, run_here
from tests.support.event_loop import BOUND_SECONDS
from tests.support.examples import examples
from tests.support.review_desk import AGENT, Desk
from tests.test_shown import HIDDEN

from lottisync.agents import lifecycle, report
from lottisync.cli.terminal import MARGIN
from lottisync.device import clock
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal import tasks

PAGES = (
    ("task", "list"),
    ("task", "show", "t1"),
    ("agent", "list"),
    ("agent", "show", "t1"),
    ("agent", "report", "t1"),
    ("review",),
    ("review", "show", "1"),
    ("review", "ledger"),
    ("review", "log", "t1"),
    ("history", "t1"),
    ("history", "i1"),
    ("conflicts",),
    ("status",),
    ("check",),
)
HOSTILE = st.text(
    st.one_of(st.sampled_from(HIDDEN), st.sampled_from("\n\u2028x9 "), st.characters(codec="utf-8")),
    min_size=1,
    max_size=12,
)


def filled(path: Path, text: str) -> Desk:
    """A home in which everything that somebody else may have written is `text`."""
    desk = Desk(path)
    builder_text = f"Rye {text}"
    with desk.home.journal.transaction(clock.now(), HIGH) as tx:
        tx.put("t1", "task", {"title": text, "statusReason": text})
        tx.put("i1", "checklistItem", {"title": text})
        tasks.add_note(tx, "e1", "t1", f"note {text}")
    with desk.home.agent.transaction(clock.now(), LOW) as tx:
        state = lifecycle.state_id(AGENT)
        tx.put(AGENT, "agent", {"displayName": text, "currentStateId": state, "homeDevice": desk.home.key.device_id})
        tx.put(state, "agentState", {"agentId": AGENT, "slots/activeTaskId": "t1", "slots/asleepBecause": text})
        content = {"title": text, "tldr": text, "goal": text, "learnings": [text], "status": text}
        report.put(tx, AGENT, "r1", content, {})
        tx.link("agent_task", AGENT, "t1")
    desk.propose("set_task_title", {"title": builder_text})
    desk.propose("set_task_status", {"status": "BLOCKED", "reason": builder_text}, "r2")
    return desk


def read(text: str) -> Mapping[tuple[str, ...], list[str]]:
    """Of a home with this text: the lines of each page that this program has written."""
    with tempfile.TemporaryDirectory() as folder:
        desk = filled(Path(folder) / "home", text)
        desk.home.close()
        pages: dict[tuple[str, ...], list[str]] = {}
        for page in PAGES:
            done = run_here(*page, home=desk.home.path)
            assert "Traceback" not in done.err
            shown = done.out + done.err
            assert not set(shown) & (set(HIDDEN) - {"\n"}), (page, shown)
            assert len(shown.splitlines()) == shown.count("\n"), (page, shown)
            pages[page] = [line for line in shown.split("\n") if not line.startswith(MARGIN)]
        return pages


@functools.cache
def plain() -> Mapping[tuple[str, ...], list[str]]:
    return read("plain")


ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What our own program sends to a terminal: colours, and to clear the screen."""


class Screen:
    """What a command sends to its terminal."""

    def __init__(self, near: int) -> None:
        self._near, self._read = near, codecs.getincrementaldecoder("utf-8")()

    def until(self, word: str) -> str:
        """All that comes up to a line with the word, and what else comes with it."""
        shown, ends = "", time.monotonic() + BOUND_SECONDS
        while word not in shown or not shown.endswith("\n"):
            ready, _, _ = select.select([self._near], [], [], max(0.0, ends - time.monotonic()))
            assert ready, shown
            shown += self._read.decode(os.read(self._near, 65536))
        return shown

    def rest(self) -> str:
        """All that comes until the command ends."""
        shown, ends = b"", time.monotonic() + BOUND_SECONDS
        with contextlib.suppress(OSError):  # EIO: nobody has the terminal open any more
            while select.select([self._near], [], [], max(0.0, ends - time.monotonic()))[0]:
                shown += os.read(self._near, 65536)
        return self._read.decode(shown)


@contextlib.contextmanager
def on_screen(*arguments: str, home: Path) -> Iterator[Screen]:
    """A command that runs on a terminal of its own until the block ends."""
    near, far = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "lottisync", *arguments, "--home", str(home)],
        stdin=far,
        stdout=far,
        stderr=far,
        env={**environment(), "TERM": "xterm", "COLUMNS": "200"},
    )
    os.close(far)
    try:
        yield Screen(near)
    finally:
        process.kill()
        process.wait()
        os.close(near)


def test_the_law_is_about_text_that_is_shown() -> None:
    """Each text is on some page, or the law below says nothing."""
    shown: Any = plain()
    for page, words in {
        ("task", "show", "t1"): 4,
        ("agent", "list"): 2,
        ("agent", "report", "t1"): 6,
        ("review",): 3,
        ("history", "t1"): 2,
        ("status",): 2,
    }.items():
        assert "\n".join(shown[page]).count("plain") >= words, (page, shown[page])


@examples(6)
@given(HOSTILE)
def test_cli_13_no_text_makes_a_line_of_its_own_in_any_command(text: str) -> None:
    """CLI-13, REL-D13: a title with a newline began a line of its own in `review`, `status`, `task show` and others."""
    shown = read(text)
    assert {page: len(lines) for page, lines in shown.items()} == {page: len(lines) for page, lines in plain().items()}


WATCHED = (("task", "list"), ("task", "show", "t1"), ("agent", "list"), ("agent", "report", "t1"), ("status",))
FORGING = "Milk\nFORGED\r\n\u2028FORGED\u202egnihton\u200b\u2066x\ufeff\x1b[2K\U000e0041"


@pytest.mark.parametrize("page", WATCHED, ids=" ".join)
def test_cli_13_what_is_watched_shows_a_hostile_title_as_one_line_on_a_screen(
    page: tuple[str, ...], tmp_path: Path
) -> None:
    """CLI-13: on a terminal, where tables are drawn and the screen is cleared, and again when it has changed."""
    home = tmp_path / "home"
    desk = filled(home, FORGING)
    with on_screen(*page, "--watch", home=home) as screen:
        first = screen.until("FORGED")
        for ident, kind in (("t1", "task"), (AGENT, "agent"), (lifecycle.state_id(AGENT), "agentState")):
            name = {"task": "title", "agent": "displayName", "agentState": "slots/asleepBecause"}[kind]
            store = desk.home.journal if kind == "task" else desk.home.agent
            with store.transaction(clock.now(), HIGH) as tx:
                tx.put(ident, kind, {name: f"again {FORGING}"})
        content = {"title": f"again {FORGING}", "tldr": "x", "goal": "x", "learnings": [], "status": "x"}
        with desk.home.agent.transaction(clock.now(), LOW) as tx:
            report.put(tx, AGENT, "r2", content, {})
        second = screen.until("again")
    desk.home.close()
    for shown in (first, second):
        plain_text = ANSI.sub("", shown).replace("\r\n", "\n")
        assert not set(plain_text) & (set(HIDDEN) - {"\n"}), plain_text
        assert not [line for line in plain_text.split("\n") if line.lstrip().startswith("FORGED")]


FILES = (("--markdown",), ("--csv",), ())


@pytest.mark.parametrize("form", FILES, ids=" ".join)
def test_cli_1000_an_export_hides_nothing_on_a_screen(form: tuple[str, ...], tmp_path: Path) -> None:
    """CLI-1000, CLI-1001, CLI-13: to a terminal, `export -` sent the control characters of a title as they were."""
    filled(tmp_path / "home", FORGING).home.close()
    with on_screen("export", "-", *form, home=tmp_path / "home") as screen:
        shown = screen.rest().replace("\r\n", "\n")
    assert "FORGED" in shown
    assert not set(shown) & (set(HIDDEN) - {"\n"}), shown
    assert not [line for line in shown.split("\n") if line.lstrip().startswith("FORGED")], shown


def test_cli_1002_an_export_to_a_pipe_has_every_byte(tmp_path: Path) -> None:
    """CLI-1002: what a program reads is the file itself."""
    filled(tmp_path / "home", FORGING).home.close()
    for name, form in (("tasks.md", "--markdown"), ("tasks.csv", "--csv")):
        assert run_here("export", str(tmp_path / name), home=tmp_path / "home").code == 0
        piped = subprocess.run(
            [sys.executable, "-m", "lottisync", "export", "-", form, "--home", str(tmp_path / "home")],
            env=environment(),
            capture_output=True,
            check=True,
        )
        assert piped.stdout == (tmp_path / name).read_bytes()
        assert "\u202egnihton".encode() in piped.stdout


def test_cli_1001_json_on_a_screen_hides_nothing_and_has_the_same_value(tmp_path: Path) -> None:
    """CLI-1001"""
    filled(tmp_path / "home", FORGING).home.close()
    with on_screen("task", "show", "t1", "--json", home=tmp_path / "home") as screen:
        shown = screen.rest().replace("\r\n", "\n")
    assert not set(shown) & (set(HIDDEN) - {"\n"}), shown
    assert msgspec.json.decode(shown)["title"] == FORGING


@pytest.mark.parametrize("text", ["a\napplied", "a\u2028applied\u200e", "a\r\n\x1b[2Kapplied\u202e"])
def test_cli_82_the_text_is_stored_as_it_is(tmp_path: Path, text: str) -> None:
    desk = filled(tmp_path / "home", text)
    assert desk.page.task.title == text
    desk.home.close()
    assert run_here("task", "show", "t1", "--json", home=desk.home.path).json["title"] == text
