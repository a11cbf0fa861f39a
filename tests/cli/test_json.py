"""What commands say to programs is what docs/json.md shows: CLI-66, CLI-68."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.test_help import leaves
from tests.support.command_line import run_here
from tests.support.tour import Answers, Tour
from tools import json_page

from lottisync import wording
from lottisync.answers.form import VERSION, Error, FailedAnswer, Instant, encoded
from lottisync.cli.answers import ANSWERS
from lottisync.cli.main import lottisync

AT = re.compile(r"^(at|end|.+At|.+Since|until|clockSaid)$")


UTC_INSTANT = re.compile(r"\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Tour:
    made = Tour(tmp_path_factory.mktemp("tour"))
    made.whole()
    return made


@pytest.fixture(scope="module")
def answers(tour: Tour) -> Answers:
    return tour.answers


def test_cli_462_pages_say_times_as_the_clock_on_the_wall_does(tour: Tour) -> None:
    """CLI-462: no page shows an instant as programs write it. What was sent to a model is shown byte for byte."""
    shown = {command: page for command, page in tour.pages if not re.fullmatch(r"agent sent \S+ \d+", command)}
    assert len(shown) > 20
    assert {command: found[0] for command, page in shown.items() if (found := UTC_INSTANT.search(page))} == {}


def test_cli_66_every_command_has_an_answer_that_is_documented() -> None:
    """CLI-66: a new command has to say what it answers, and the page has to show it."""
    groups = {"daemon", "devices", "review", "conflicts"}  # they answer without a verb, too
    assert {" ".join(path) for path, _ in leaves(lottisync)} | groups == set(ANSWERS)
    assert json_page.main(["--check"]) == 0


def test_cli_66_every_command_answers_what_the_page_says(answers: Answers) -> None:
    """CLI-66: the members, their types, instants in one form, and each kind of answer that a command has."""
    seen = set()
    for command, given in answers.items():
        for answer in given:
            kind = json_page.kind_of(command, answer)
            msgspec.convert(answer, kind, dec_hook=wording.decoded)
            seen.add((command, kind))
    assert seen == {(command, kind) for command, kinds in ANSWERS.items() for kind in kinds}


def test_cli_605_home_and_json_may_stand_before_the_verb(answers: Answers, tmp_path: Path) -> None:
    """CLI-605: every command answers the same, wherever the two stand. (Behind it they stand for `answers`.)"""
    before = Tour(tmp_path, options_first=True).whole()
    assert {command: len(given) for command, given in before.items()} == {
        command: len(given) for command, given in answers.items()
    }
    for command, given in before.items():
        for answer in given:
            msgspec.convert(answer, json_page.kind_of(command, answer), dec_hook=wording.decoded)


def test_cli_66_the_examples_on_the_page_have_the_members_of_real_answers(answers: Answers) -> None:
    real = json_page.examples_of(answers, Path("/nowhere"), datetime(2026, 11, 22, tzinfo=UTC))
    shown = json_page.examples_on(json_page.PAGE.read_text())
    assert shown.keys() == real.keys()
    for key, answer in shown.items():
        assert list(answer) == list(real[key]), key
        kind = next(kind for kind in ANSWERS[key[0]] if kind.__name__ == key[1])
        msgspec.convert(answer, kind, dec_hook=wording.decoded)


@pytest.mark.parametrize("kind", json_page.structs().values(), ids=lambda kind: str(kind.__name__))
def test_cli_66_a_name_means_one_thing(kind: type[msgspec.Struct]) -> None:
    """An instant is called like one, and a device's id is not called `device`."""
    for field in json_page.fields(kind):
        assert re.fullmatch("[a-z][a-zA-Z]*", field.encode_name)
        assert field.encode_name != "device", "an id is deviceId, a name deviceName"
        if json_page.written(field.type) in ("instant", "instant or null"):
            assert AT.match(field.encode_name), field.encode_name
    assert kind.__doc__, "the page shows it"


def test_cli_68_the_version_comes_first_and_the_answer_is_one_line() -> None:
    line = encoded(FailedAnswer(Error("bad", "two\nlines")))
    assert line == b'{"lottisync":%d,"error":{"code":"bad","message":"two\\nlines"}}' % VERSION
    assert encoded(Nothing()) == b'{"lottisync":1}'


class Nothing(msgspec.Struct):
    """An answer that says no more than that it is done."""


def test_cli_68_an_error_is_an_answer_too(tmp_path: Path) -> None:
    done = run_here("status", "--json", home=tmp_path / "nothing")
    assert done.code == 1
    assert msgspec.json.decode(done.out, type=dict[str, Any])["lottisync"] == VERSION
    assert set(done.json["error"]) == {"code", "message"}


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("2026-02-28T22:00:00.000Z", True),
        ("2026-02-28T22:00:00Z", False),
        ("2026-02-28T22:00:00.000+00:00", False),
    ],
)
def test_cli_66_an_instant_has_one_form(text: str, good: bool) -> None:
    try:
        msgspec.convert(text, Instant)
        taken = True
    except msgspec.ValidationError:
        taken = False
    assert taken is good
