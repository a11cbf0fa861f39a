"""The guides are true: every command in them is run, in order, and prints what the page shows.

A ```console block of docs/guide has commands and what they print. `laptop$` is a device, and `$` is the laptop; each
has a home of its own. A line of output that the page shows must be printed, in that order; `…` in it stands for
anything. A short name of a proposal, an invitation or an id on the page stands for the one that was printed in its
place, here and in later commands. A command that ends with `# fails` must fail.

What needs a machine of its own (another network, systemd, a browser) is run by another test, which `ELSEWHERE` names.

A picture has its command above it, `<!-- picture NAME.svg: laptop$ lottisync status -->`. It is drawn of what that
command prints there, into the folder that PICTURES names (`make pictures`).
"""

import io
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.console import Console
from rich.text import Text
from tests.support.command_line import run_here
from tests.support.daemons import Daemon, daemon

from lottisync.demo.stage import picture
from lottisync.scripted_model.script import ChatRequest, Reply, Say
from lottisync.scripted_model.server import ScriptedModelServer

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "guide"
OF_THE_RELAY = ("relay-at-home.md", "relay-server.md")
"""Guides whose commands need a server, and are run by tests/relay/test_relay_guides.py."""
GUIDES = sorted(guide for guide in FOLDER.glob("*.md") if guide.name not in OF_THE_RELAY)
PART = re.compile(r"^```console\n(.*?)^```$|^<!-- picture (\S+): (.*?) -->$", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```(\w*)$", re.MULTILINE)
COMMAND = re.compile(r"^(?:(\w+))?\$ (.+)$")
NAMES = (r"\b[0-9a-f]{4}\.\d\b", r"lottisync://[^\s']+", r"\b[0-9a-f]{8}\b")
"""What has another value each time: the name of a proposal, an invitation, the short form of an id."""
VARYING = re.compile("|".join(("…", *NAMES)))
WIDTH = 100
SOMEWHERE = "/home/mila/.local/share"
"""Where the homes of the pictures are."""
SETTINGS = 'listen = "127.0.0.1:0"\ndiscovery = false\nweb = "off"\n'
"""Of each home: its daemon listens on the loopback address alone."""

ELSEWHERE = {
    "pip install 'lottisync[app]'": "tests/test_packaging.py",
    "lottisync pair": "tests/net/test_pairing.py",
    "lottisync pair 123-456-789": "tests/demo/test_story.py",
    "lottisync open": "tests/cli/test_edges.py",
    "lottisync open --phone": "tests/web/test_on_the_network.py",
    "lottisync daemon --web 0.0.0.0:22443": "tests/web/test_on_the_network.py",
    "lottisync daemon --web 0.0.0.0:22443 --web-cert own.pem --web-key own-key.pem": "tests/web/test_authority.py",
    "lottisync devices browsers": "tests/web/test_on_the_network.py",
    "lottisync devices revoke-browser ID": "tests/web/test_on_the_network.py",
    "lottisync service install": "tests/cli/test_units.py",
    "lottisync leave": "tests/daemon/test_leaving.py",
    "lottisync logs --follow": "tests/daemon/test_log.py",
    "keyring set lottisync http://127.0.0.1:11434/v1": "tests/agents/test_openai_client.py",
}
"""Commands of the guides that another test runs, or that are not ours."""
OF_THE_MACHINE = "lottisync doctor"
"""Its exit code says whether this machine has a fault."""


class Typed(NamedTuple):
    """A command on the page: the device, what is typed there, and the lines that the page shows."""

    device: str
    words: str
    shown: list[str]
    picture: str = ""


def typed(text: str) -> Iterator[Typed]:
    """The commands of a page, in order."""
    for part in PART.finditer(text):
        if part[2]:
            device, words = _command(part[3])
            yield Typed(device, words, [], part[2])
            continue
        commands: list[Typed] = []
        for line in part[1].splitlines():
            if COMMAND.match(line):
                commands.append(Typed(*_command(line), []))
            else:
                assert commands, f"output without a command: {line}"
                commands[-1].shown.append(line)
        yield from commands


def _command(line: str) -> tuple[str, str]:
    found = COMMAND.match(line)
    assert found, line
    return found[1] or "laptop", found[2]


class Reader:
    """Somebody who types a guide from top to bottom."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self._stack = folder, stack
        self.meant: dict[str, str] = {}
        """What a name on the page stands for."""
        self._daemons: dict[str, Daemon] = {}

    def type(self, one: Typed) -> None:
        words = self._said(one.words)
        plain, _, comment = words.partition("  #")
        if plain in ELSEWHERE or words.startswith("export "):
            return
        if plain == "lottisync daemon &":
            self._daemons[one.device] = self._stack.enter_context(daemon(self.home(one.device)))
            return
        assert plain.startswith("lottisync "), f"nobody runs: {plain}"
        done = run_here(*shlex.split(plain)[1:], home=self.home(one.device))
        assert plain == OF_THE_MACHINE or (done.code != 0) == (comment.strip() == "fails"), (plain, done)
        if plain.startswith("lottisync init"):
            (self.home(one.device) / "config.toml").write_text(SETTINGS)
        self._compare(one, (done.out + done.err).splitlines())

    def home(self, device: str) -> Path:
        return self.folder / device

    def _said(self, words: str) -> str:
        """The command with what its names stand for."""
        return VARYING.sub(lambda found: self.meant.get(found[0], found[0]), words)

    def _compare(self, one: Typed, printed: list[str]) -> None:
        rest = iter(printed)
        for line in one.shown:
            assert any(self._fits(line, other) for other in rest), f"{one.words!r} did not print {line!r}: {printed}"

    def _fits(self, line: str, printed: str) -> bool:
        """Whether `line` of the page was printed; what its names stand for is remembered."""
        names = [name for name in VARYING.findall(line) if name != "…"]
        pattern, end = "", 0
        for found in VARYING.finditer(line):
            pattern += re.escape(line[end : found.start()])
            pattern += ".*?" if found[0] == "…" else f"({_kind(found[0])})"
            end = found.end()
        fitting = re.fullmatch(pattern + re.escape(line[end:]), printed.rstrip())
        if fitting is None or any(
            self.meant.get(name, own) != own for name, own in zip(names, fitting.groups(), strict=True)
        ):
            return False
        self.meant.update(zip(names, fitting.groups(), strict=True))
        return True

    def draw(self, one: Typed, folder: Path) -> None:
        words = self._said(one.words)
        done = run_here(*shlex.split(words)[1:], home=self.home(one.device))
        assert done.code == 0 or words == OF_THE_MACHINE, done
        printed = [line.rstrip() for line in done.out.replace(str(self.folder), SOMEWHERE).rstrip().splitlines()]
        width = max(60, *(len(line) for line in printed))
        console = Console(record=True, width=width, file=io.StringIO(), highlight=False)
        console.print(Text.assemble((f"{one.device}$ ", "bold green"), (words, "bold")))
        console.print(Text("\n".join(printed)))
        (folder / one.picture).write_text(picture(console, words))


def _kind(name: str) -> str:
    return next(pattern for pattern in NAMES if re.fullmatch(pattern, name))


def script(request: ChatRequest) -> Reply:
    """The agent of the guides: it proposes once, and has nothing more to say."""
    if request.number > 1:
        return Say(text="Done.")
    return Say(
        text="I looked at the task.",
        tool_calls=(
            ("update_task_estimate", {"minutes": 90}),
            ("add_multiple_checklist_items", {"items": [{"title": "Find the pump"}]}),
            ("update_report", {"tldr": "The tube is bought. The pump is still missing."}),
        ),
    )


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = Path(os.environ.get("PICTURES") or tmp_path / "pictures").absolute()
    folder.mkdir(exist_ok=True)
    return folder


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_every_command_of_the_guide_prints_what_the_page_shows(
    guide: Path, tmp_path: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in (("COLUMNS", str(WIDTH)), ("TZ", "UTC"), ("LC_ALL", "C.UTF-8"), ("LOTTISYNC_MODEL_KEY", "")):
        monkeypatch.setenv(name, value)
    with ExitStack() as stack:
        server = stack.enter_context(ScriptedModelServer(script))
        monkeypatch.setenv("LOTTISYNC_MODEL_URL", server.url)
        reader = Reader(tmp_path / "homes", stack)
        for one in typed(guide.read_text()):
            reader.draw(one, pictures) if one.picture else reader.type(one)


def test_every_command_of_the_guides_is_run_by_a_test() -> None:
    """Commands stand in ```console blocks; what other blocks may hold is not a command."""
    for guide in GUIDES:
        languages = FENCE.findall(guide.read_text())[::2]
        assert set(languages) <= {"console", "toml", "text"}, guide.name
    assert all((ROOT / test).is_file() for test in ELSEWHERE.values())
    assert all(name in (ROOT / "tests" / "relay" / "test_relay_guides.py").read_text() for name in OF_THE_RELAY)


def test_each_guide_has_a_picture_that_is_there_and_the_readme_links_it() -> None:
    readme = (ROOT / "README.md").read_text()
    for guide in GUIDES:
        found = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", guide.read_text())
        assert found, guide.name
        assert all((guide.parent / file).is_file() for file in found), (guide.name, found)
        assert f"docs/guide/{guide.name}" in readme, guide.name


def test_a_page_that_shows_what_is_not_printed_fails(tmp_path: Path) -> None:
    page = "```console\n$ lottisync init --name laptop\nlaptop is ready in …\n$ lottisync task list\nMilk\n```\n"
    with ExitStack() as stack:
        reader = Reader(tmp_path, stack)
        first, second = typed(page)
        reader.type(first)
        with pytest.raises(AssertionError, match="did not print 'Milk'"):
            reader.type(second)
