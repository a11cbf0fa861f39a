"""What a person reads comes from the catalogue; examples, completion, and options anywhere (11-command-line.md)."""

import ast
import importlib
import io
import json
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import anyio
import click
import pytest
from tests.support.command_line import run_here, run_line
from tools.catalogue import SOURCE, TRANSLATED, collected, commands

from lottisync.cli.help_pages import SPEAKING, prepare
from lottisync.cli.main import COMMANDS, lottisync, main
from lottisync.cli.options import default_path, language_of_call
from lottisync.language import speaking, translated
from lottisync.problem import Sentence
from lottisync.relay.event import Differs, PassedOver, Split, WentBack, words
from lottisync.relay.header import Name
from lottisync.sync.handshake import why

SHOWS = {"line", "heading", "warn", "text", "confirm", "waiting", "fact"}
"""Methods of `Terminal` that show their first argument to a person."""


def shown_literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Literal text that reaches a person without the catalogue: an argument of `SHOWS` with two words or more."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in SHOWS
            and node.args
        ):
            yield from ((node.lineno, text) for text in _unsaid(node.args[0]))


def _unsaid(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr():
            yield "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        case ast.IfExp():
            yield from (*_unsaid(node.body), *_unsaid(node.orelse))
        case _:
            return


def test_cli_440_what_is_shown_comes_from_the_catalogue() -> None:
    """CLI-440: a command that one types is the same in every language."""
    messages = collected()
    for file in sorted((SOURCE / "cli").glob("*.py")):
        for line, text in shown_literals(ast.parse(file.read_text(encoding="utf-8"))):
            words = re.findall(r"[A-Za-z]{2,}", text.partition("lottisync ")[0])
            assert text in messages or len(words) < 2, (file.name, line, text)


def test_cli_440_a_sentence_that_is_not_looked_up_is_found() -> None:
    """CLI-440: the search above finds what it is there for."""
    source = 'terminal.line(f"{name} is not here")\nterminal.warn("Nothing was done" if x else say("Done"))\n'
    assert [text for _, text in shown_literals(ast.parse(source))] == [" is not here", "Nothing was done"]


def test_cli_440_a_sentence_that_stands_in_a_constant_is_in_the_catalogue() -> None:
    """CLI-440: a constant that an error or an answer is made of is marked, or nothing collects it."""
    known, missing = set(collected()), []
    for file, called in named_by_calls():
        held = getattr(
            importlib.import_module(".".join(file.relative_to(SOURCE.parent).with_suffix("").parts)), called, ""
        )
        if isinstance(held, str) and " " in held and held not in known:
            missing.append(f"{file.name}: {called}")
    assert missing == []


def named_by_calls() -> Iterator[tuple[Path, str]]:
    """The constants that the makers of sentences are called with, also through a function of the module that has its
    template from a caller."""
    makers = {"say", "Sentence", "Problem", "Usage", "Fault", "Outcome", "_refused"}
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in makers:
                yield from ((file, one.id) for one in node.args if isinstance(one, ast.Name) and one.id.isupper())


def test_cli_440_no_module_of_click_is_forgotten() -> None:
    """CLI-440: those that say something to a person look it up in our catalogue."""
    prepare()
    with speaking("de"):
        for module in SPEAKING:
            if hasattr(module, "_"):
                assert module._("Options") == "Optionen", module.__name__


@pytest.mark.parametrize("language", TRANSLATED)
def test_cli_440_every_help_page_is_written_in_the_language(language: str) -> None:
    """CLI-440: without a traceback, and with what the page says of `--help`."""
    prepare()
    with speaking(language):
        for path, command in commands(lottisync):
            page = command.get_help(click.Context(command, info_name=path))
            assert "Show this message" not in page, path
            assert "Print JSON" not in page, path


@pytest.mark.parametrize("language", TRANSLATED)
def test_cli_440_a_walk_in_each_language(tmp_path: Path, language: str) -> None:
    """CLI-440, CLI-443: nothing fails, no field is left open, and `--json` says the same as in English."""
    home = tmp_path / "home"
    calls = (
        *(("init", "--name", "laptop"), ("task", "add", "Milk", "--item", "oat", "--due", "2026-12-01")),
        *(("task", "list"), ("task", "show", "Milk"), ("task", "done", "Milk"), ("task", "done", "Milk")),
        *(("undo",), ("undo", "--list"), ("status",), ("devices",), ("review",), ("conflicts",), ("config", "list")),
        *(("agent", "create", "Milk"), ("agent", "show", "Milk"), ("agent", "list"), ("check",), ("search", "oat")),
    )
    for call in calls:
        done = run_here(*call, "--language", language, home=home)
        assert (done.code, done.err) == (0, ""), call
        assert not re.search(r"\{[a-z_]+\}", done.out), call
    wrong = run_here("task", "show", "bread", "--language", language, home=home)
    assert wrong.code == 1
    assert "there is no" not in wrong.err
    english = run_here("task", "show", "bread", "--json", home=home).out
    assert run_here("task", "show", "bread", "--json", "--language", language, home=home).out == english


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (("devices", "address", "desk", "1::zz::1"), "eine IPv6-Adresse steht in eckigen Klammern"),
        (("devices", "address", "desk", "300.0.0.1:1"), "ist keine IPv4-Adresse"),
        (("pair", "lottisync://invite/1?x=1"), "sie hat device, secret und until je einmal"),
    ],
)
def test_cli_440_a_reason_within_a_sentence_is_in_the_language_too(
    tmp_path: Path, call: tuple[str, ...], reason: str
) -> None:
    run_here("init", "--name", "desk", home=tmp_path / "home")
    said = run_here(*call, "--language", "de", home=tmp_path / "home")
    assert reason in said.err


def test_cli_442_a_home_holds_its_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-442: the variable counts before it, and the option before both."""
    home = tmp_path / "home"
    run_here("init", "--name", "laptop", home=home)
    run_here("config", "set", "language", "de", home=home)
    assert "keine" not in run_here("config", "set", "language", "xx", home=home).out
    monkeypatch.delenv("LOTTISYNC_LANGUAGE")
    monkeypatch.setenv("LC_ALL", "C")
    assert run_here("conflicts", home=home).out == "Kein Konflikt.\n"
    monkeypatch.setenv("LOTTISYNC_LANGUAGE", "es")
    assert run_here("conflicts", home=home).out == "Ningún conflicto.\n"
    assert run_here("conflicts", "--language", "fr", home=home).out == "Aucun conflit.\n"


def test_where_a_home_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """STORE-14: what was given, else the environment, else the platform's place."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LOTTISYNC_HOME", "~/env")
    assert default_path("~/given") == tmp_path / "given"
    assert default_path(None) == tmp_path / "env"
    monkeypatch.delenv("LOTTISYNC_HOME")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert default_path(None).name == "lottisync"
    assert tmp_path in default_path(None).parents
    monkeypatch.setenv("LOTTISYNC_HOME", "~no-such-user/home")
    assert default_path(None) == Path.cwd() / "~no-such-user/home"


def test_cli_442_help_and_errors_of_a_call_are_in_the_language_of_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-442: both are said before a command is read; `--home` may stand anywhere, and the last one counts."""
    home = tmp_path / "home"
    run_here("init", "--name", "laptop", home=home)
    run_here("config", "set", "language", "de", home=home)
    monkeypatch.delenv("LOTTISYNC_LANGUAGE")
    monkeypatch.setenv("LC_ALL", "C")
    assert "Meintest du" in run_here("task", "shwo", home=home).err
    assert "Zeigt" in run_line("--home", str(home), "status", "--help").out
    assert language_of_call(["--home", "elsewhere", "task", f"--home={home}", "shwo"]) == "de"
    assert language_of_call(["--home"]) == language_of_call([]) == "en"
    assert language_of_call(["--home", str(home), "task", "shwo", "--json"]) == "en"


def test_cli_446_every_help_page_has_an_example() -> None:
    """CLI-446."""
    for path, command in commands(lottisync):
        if isinstance(command, click.Group) and not command.invoke_without_command:
            continue
        lines = [line.strip() for line in (command.help or "").split("\n")]
        assert any(re.search(rf"(^|[ (]){path}\b", line) for line in lines), path


def test_cli_43_home_and_json_stand_anywhere(tmp_path: Path) -> None:
    """CLI-43: before the command's name, behind it, and at the end."""
    home = tmp_path / "home"
    run_here("init", "--name", "laptop", home=home)
    options = ("--json", "--home", str(home))
    for call in (
        ("task", "list"),
        ("status",),
        ("devices",),
        ("review", "list"),
        ("agent", "list"),
        ("config", "list"),
    ):
        said = set()
        for place in range(len(call) + 1):
            out = io.StringIO()
            with redirect_stdout(out), pytest.raises(SystemExit) as ended:
                main([*call[:place], *options, *call[place:]])
            assert ended.value.code == 0, (call, place)
            said.add(out.getvalue())
        assert len(said) == 1, call


def completed(line: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What bash is offered at the end of a line."""
    call = line.split(" ")
    monkeypatch.setenv("_LOTTISYNC_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(call) - 1))
    out = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(out, write_through=True)), pytest.raises(SystemExit):
        main([])
    monkeypatch.delenv("_LOTTISYNC_COMPLETE")
    return [each.partition(",")[2] for each in out.getvalue().decode().split()]


def test_cli_445_a_shell_completes_commands_ids_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-445, CLI-1010."""
    home = tmp_path / "home"
    run_here("init", "--name", "laptop", home=home)
    task = run_here("task", "add", "Milk", "--json", home=home).json["id"]
    monkeypatch.setenv("LOTTISYNC_HOME", str(home))
    assert completed("lottisync dev", monkeypatch) == ["devices"]
    assert completed("lottisync con", monkeypatch) == ["conflicts", "config"]
    assert "--watch" in completed("lottisync task list --w", monkeypatch) + completed(
        "lottisync status --w", monkeypatch
    )
    assert completed("lottisync task done ", monkeypatch) == [task[-8:]]
    assert completed("lottisync devices rename ", monkeypatch) == ["laptop"]
    monkeypatch.setenv("LOTTISYNC_HOME", str(tmp_path / "nowhere"))
    assert completed("lottisync task done ", monkeypatch) == []
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_cli_445_each_shell_has_its_script(tmp_path: Path, shell: str) -> None:
    """CLI-445."""
    assert "_LOTTISYNC_COMPLETE" in run_here("completion", shell, home=tmp_path).out
    assert "completion" in COMMANDS


@pytest.mark.parametrize("language", TRANSLATED)
def test_cli_683_what_happens_at_a_relay_and_why_a_device_is_away_is_said_in_the_readers_language(
    language: str,
) -> None:
    """CLI-683: both came from below, as finished English text."""
    name = Name(bytes(16), "log", 3)
    events = (
        PassedOver(name, Sentence("it is cut off")),
        WentBack("phone", 2, 5),
        Differs("phone", "journal"),
        Split("journal"),
    )
    sentences = [said[1] for event in events if (said := words(event)) is not None]
    assert len(sentences) == 4
    away = [
        why(error, "192.0.2.1", "phone").text
        for error in (TimeoutError(), ConnectionRefusedError(), anyio.EndOfStream())
    ]
    for english in (*sentences, *away):
        with speaking(language):
            assert translated(english) != english
    for values in ("3", "log", "it is cut off"):
        with speaking(language):
            assert values in translated(sentences[0])


def test_cli_864_a_task_says_all_that_belongs_to_it_in_the_readers_language(tmp_path: Path) -> None:
    """CLI-864: its links and its category stood nowhere, and its status was English."""
    home = tmp_path / "home"
    for call in (
        *(("init", "--name", "laptop"), ("task", "add", "Repair the bicycle"), ("task", "add", "Call the plumber")),
        *(("task", "category", "bicycle", "Home"), ("task", "status", "bicycle", "in progress")),
    ):
        run_here(*call, home=home)
    linked = run_here("task", "link", "bicycle", "blocks", "plumb", home=home).out
    assert linked.endswith("blocks 'Call the plumber'\n")
    assert "blocks 'Call the plumber': Repair the bicycle" in run_here("undo", "--list", home=home).out
    page = run_here("task", "show", "bicycle", "--language", "de", home=home).out
    assert page.splitlines()[1] == "in Arbeit  P2  Home"
    assert "Verknüpfte Aufgaben\n  blockiert 'Call the plumber'  [" in page
    assert "is blocked by 'Repair the bicycle'" in run_here("task", "show", "plumber", home=home).out
    plumber = json.loads(run_here("task", "show", "plumber", "--json", home=home).out)
    [link] = plumber["links"]
    assert (link["relation"], link["taskTitle"]) == ("is_blocked_by", "Repair the bicycle")
    assert "in Arbeit" in run_here("task", "list", "--language", "de", home=home).out
    assert "aktiv" in run_here("devices", "--language", "de", home=home).out
    run_here("agent", "create", "bicycle", home=home)
    assert run_here("agent", "show", "bicycle", "--language", "de", home=home).out.startswith("Laura  angelegt\n")
