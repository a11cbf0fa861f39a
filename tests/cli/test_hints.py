"""Which command helps with a problem."""

import ast
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lottisync.cli.hints import EVENT_HINTS, HINTS, event_text, with_hint
from lottisync.cli.main import COMMANDS, lottisync
from lottisync.problem import Problem

SOURCE = Path(__file__).parent.parent.parent / "src" / "lottisync"


def test_every_hint_that_is_given_is_known_and_no_other() -> None:
    """CLI-3: what a library says is completed by the command line alone."""
    text = "".join(file.read_text() for file in SOURCE.rglob("*.py"))
    given = set(re.findall(r'\bhint="([a-z-]+)"', text))
    for chosen in re.findall(r"\b_HINTS = \{(.*?)\}", text):
        given |= set(re.findall(r': "([a-z-]+)"', chosen))
    assert given == set(HINTS)


@pytest.mark.parametrize("sentence", [*HINTS.values(), *EVENT_HINTS.values()])
def test_every_hint_names_a_command_that_there_is(sentence: str) -> None:
    for words in re.findall(r"lottisync ((?:[a-z]+ ?)+)", sentence):
        shown = CliRunner().invoke(lottisync, [*words.split()[:1], "--help"])
        assert shown.exit_code == 0, words


@pytest.mark.parametrize("sentence", [*HINTS.values(), *EVENT_HINTS.values()])
def test_cli_430_a_hint_names_what_its_command_needs(sentence: str) -> None:
    """CLI-430"""
    for call in re.findall(r"lottisync ([^;:,]+)", sentence):
        words = call.split()
        command: click.Command = lottisync
        while words and isinstance(command, click.Group):
            named = command.get_command(click.Context(command), words[0])
            if named is None:
                break
            command, words = named, words[1:]
        needed = [each.name for each in command.params if isinstance(each, click.Argument) and each.required]
        assert len(words) >= len(needed), (sentence, needed)


def test_only_the_command_line_names_its_commands() -> None:
    """CLI-3: a program that is built on the libraries has other commands and options, or none. The demo plays a person
    who types, and a web page stands beside the command line; both may name them. The scripted model is a program of
    its own."""
    named = re.compile(rf"lottisync ({'|'.join(COMMANDS)})\b|(?<![\w-])--[a-z]")
    found = [
        (str(file.relative_to(SOURCE)), text)
        for file in SOURCE.rglob("*.py")
        if file.relative_to(SOURCE).parts[0] not in ("cli", "demo", "web", "scripted_model")
        for text in strings(file)
        if named.search(text)
    ]
    assert found == []


def strings(file: Path) -> list[str]:
    """The strings of a file, without its docstrings."""
    tree = ast.parse(file.read_text())
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    ]


def test_an_event_names_the_command_that_helps() -> None:
    assert event_text("damaged", "t1 is not what was stored") == "t1 is not what was stored. See: lottisync check"
    assert event_text("started", "laptop listens") == "laptop listens"


def test_a_hint_follows_the_sentence_with_its_values() -> None:
    problem = Problem("no", "{entity_id} has others", hint="conflict", entity_id="t1")
    assert (problem.message, problem.template) == ("t1 has others", "{entity_id} has others")
    assert with_hint(problem) == "t1 has others. See: lottisync conflicts show t1"
    assert with_hint(Problem("no", "a {brace} stays")) == "a {brace} stays"


CODES = re.compile(r'\bhint="([a-z-]+)"')


def test_cli_180_no_hint_leads_back_to_itself() -> None:
    """CLI-180: from the hints in the code of each command."""
    leads = {
        code: {words.split()[0] for words in re.findall(r"lottisync ((?:[a-z]+ ?)+)", sentence)}
        for code, sentence in HINTS.items()
    }
    edges: dict[str, set[str]] = {}
    for command, (target, _) in COMMANDS.items():
        file = SOURCE.parent / f"{target.partition(':')[0].replace('.', '/')}.py"
        given = set(CODES.findall(file.read_text()))
        edges[command] = {named for code in given for named in leads[code]} - {command}
    assert circles(edges) == []


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Every way that comes back to where it began."""
    found = []

    def follow(path: list[str]) -> None:
        for after in sorted(edges.get(path[-1], ())):
            if after == path[0]:
                found.append([*path, after])
            elif after not in path:
                follow([*path, after])

    for command in sorted(edges):
        follow([command])
    return found


def test_a_circle_of_hints_is_found() -> None:
    assert circles({"check": {"status"}, "status": {"check"}, "task": {"check"}}) == [
        ["check", "status", "check"],
        ["status", "check", "status"],
    ]
