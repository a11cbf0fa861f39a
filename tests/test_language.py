"""One catalogue for every sentence that a person reads (docs/specs/11-command-line.md, section 8)."""

import ast
import re
from itertools import pairwise
from string import Formatter
from typing import Any, get_type_hints

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.plurals import get_plural
from tools import catalogue, language_names
from tools.catalogue import TRANSLATED, collected

from lottisync import language
from lottisync.language import (
    LANGUAGES,
    NAMES,
    OURS,
    PLURALS,
    chosen,
    headed,
    language_name,
    marked,
    number,
    of_browser,
    parsed,
    say,
    several,
    speaking,
    spoken,
    translated,
)
from lottisync.problem import Marked, Problem, Sentence

PERCENT = re.compile(r"%\(\w+\)s")


@pytest.fixture(scope="module")
def held() -> dict[str, Catalog]:
    return {language: catalogue.read(language) for language in TRANSLATED}


@pytest.fixture(scope="module")
def said_by_the_code() -> set[str]:
    return set(collected())


def messages(catalog: Catalog) -> list[Message]:
    return [message for message in catalog if message.id]


def forms(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string or ())


def singular(message: Message) -> str:
    return message.id if isinstance(message.id, str) else message.id[0]


def english(message: Message) -> tuple[str, ...]:
    return (message.id,) if isinstance(message.id, str) else tuple(message.id)


def fields(text: str) -> set[str]:
    """The values that a message names; a text without values may have any braces."""
    try:
        return {name for _, name, _, _ in Formatter().parse(text) if name} | set(PERCENT.findall(text))
    except ValueError:
        return set()


def test_a_marked_text_is_none_for_the_type_checker() -> None:
    """What shows a text takes no `Marked`, and `say`, `Sentence` and `Problem` do: so `make check` finds a sentence of
    a table that reaches a person in English. One was on four pages."""
    assert get_type_hints(marked)["return"] is Marked
    assert vars(Marked)["__supertype__"] is object


@pytest.mark.parametrize("name", TRANSLATED)
def test_cli_441_a_catalogue_has_every_message_and_no_other(
    held: dict[str, Catalog], said_by_the_code: set[str], name: str
) -> None:
    """CLI-441: after an edit, `python -m tools.catalogue` says what is missing."""
    found = {singular(message) for message in messages(held[name])}
    assert found == said_by_the_code, "run: python -m tools.catalogue"


@pytest.mark.parametrize("name", TRANSLATED)
def test_cli_441_every_message_is_translated(held: dict[str, Catalog], name: str) -> None:
    """CLI-441, S1-63: each form, none marked as uncertain."""
    for message in messages(held[name]):
        assert not message.fuzzy
        assert all(text.strip() for text in forms(message)), singular(message)


@pytest.mark.parametrize("name", TRANSLATED)
def test_cli_441_a_translation_has_the_same_values(held: dict[str, Catalog], name: str) -> None:
    """CLI-441: so no value is lost, and none is missing when it is said."""
    for message in messages(held[name]):
        sources = [message.id] if isinstance(message.id, str) else list(message.id)
        wanted = [fields(source) for source in sources]
        allowed = [*wanted, *(each - {"count"} for each in wanted if len(wanted) > 1)]
        for text in filter(None, forms(message)):
            assert fields(text) in allowed, text


@pytest.mark.parametrize("name", TRANSLATED)
def test_cli_441_every_message_can_be_said(held: dict[str, Catalog], name: str) -> None:
    """CLI-441: with a value for each field."""
    for message in messages(held[name]):
        sources = [message.id] if isinstance(message.id, str) else list(message.id)
        values: dict[str, Any] = dict.fromkeys(set().union(*map(fields, sources)), 7)
        for text in filter(None, forms(message)) if values and "%(" not in sources[0] else ():
            assert text.format(**values)


@pytest.mark.parametrize("name", LANGUAGES)
def test_cli_441_the_plural_forms_are_those_of_the_language(name: str) -> None:
    """CLI-441: as Babel knows them, and as the catalogue says of itself."""
    rule = get_plural(name)
    for count in (*range(125), 1_000, 1_001, 1_000_000):
        assert PLURALS[name](count) == _babel_form(rule.plural_expr, count), count
    if name != "en":
        text = catalogue.file_of(name).read_text(encoding="utf-8")
        assert f"Plural-Forms: nplurals={rule.num_plurals}; " in text


def _babel_form(expression: str, n: int) -> int:
    """What gettext computes from a plural expression, which is C."""
    from gettext import c2py

    return int(c2py(expression)(n))


@pytest.mark.parametrize("name", TRANSLATED)
def test_cli_441_the_catalogue_is_read_as_babel_reads_it(held: dict[str, Catalog], name: str) -> None:
    """CLI-441: our reader takes the form of the format that our tool writes."""
    ours = parsed(catalogue.file_of(name).read_text(encoding="utf-8"))
    theirs = {text: forms(one) for one in messages(held[name]) if any(forms(one)) for text in english(one)}
    assert ours == theirs


def test_french_has_a_space_before_its_colons(held: dict[str, Catalog]) -> None:
    """And before `;`, `!` and `?`: a plain one, as in all of it."""
    close = [
        text
        for message in messages(held["fr"])
        for text in forms(message)
        if re.search(r"[^\s:;!?][:;!?](?=\s|$)", re.sub(r"\{\w+![rs]\}", "{}", text))
    ]
    assert close == []


APART_FROM_PEOPLE = {"task_form.py", "relays.py", "gate.py"}
"""Who writes a form for an editor, a line of a configuration, and a header: there the colon is a sign of a format."""


def test_a_colon_between_two_texts_is_the_catalogues() -> None:
    """`New task: Buy milk` is `Nouvelle tâche : Buy milk`; `headed` says so, and an f-string does not."""
    strays = [
        f"{file.name}:{node.lineno}"
        for package in ("cli", "web")
        for file in (catalogue.SOURCE / package).rglob("*.py")
        if file.name not in APART_FROM_PEOPLE
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.JoinedStr)
        for before, after in pairwise(node.values)
        if isinstance(before, ast.FormattedValue) and isinstance(after, ast.Constant)
        if re.match("[:;!?] ", str(after.value))
    ]
    assert strays == []
    with speaking("fr"):
        assert headed(say("New task"), "Lait") == "Nouvelle tâche : Lait"


@pytest.mark.parametrize("other", ["démon", "associ", "stockages"])
def test_a_thing_has_one_word_in_french(held: dict[str, Catalog], other: str) -> None:
    """A store is `magasin`, a daemon `daemon`, and to pair `appairer`."""
    assert [text for message in messages(held["fr"]) for text in forms(message) if other in text.lower()] == []


@pytest.mark.parametrize("name", TRANSLATED)
def test_cli_441_the_catalogue_is_sorted(held: dict[str, Catalog], name: str) -> None:
    """CLI-441: two branches that add messages merge line by line."""
    found = [singular(message) for message in messages(held[name])]
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("given", "environment", "held_by_home", "expected"),
    [
        ("fr", {"LOTTISYNC_LANGUAGE": "de"}, "es", "fr"),
        (None, {"LOTTISYNC_LANGUAGE": "de", "LC_ALL": "es_ES"}, "ro", "de"),
        (None, {"LC_ALL": "es_ES"}, "ro", "ro"),
        (None, {"LANG": "de_DE.UTF-8"}, None, "de"),
        (None, {"LANG": "de_DE.UTF-8", "LC_ALL": "ro_RO"}, None, "ro"),
        (None, {"LANGUAGE": "pl:es", "LANG": "de"}, None, "es"),
        (None, {"LC_ALL": "C.UTF-8", "LANG": "de"}, None, "en"),
        (None, {"LANG": "ja_JP.UTF-8"}, None, "en"),
        (None, {}, None, "en"),
        ("pt-BR", {}, None, "en"),
    ],
)
def test_cli_442_the_language_is_chosen_in_order(
    given: str | None, environment: dict[str, str], held_by_home: str | None, expected: str
) -> None:
    """CLI-442."""
    assert chosen(given, environment, held_by_home) == expected


@pytest.mark.parametrize(
    ("header", "held_by_home", "expected"),
    [
        ("fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", None, "fr"),
        ("pl, de;q=0.4, es;q=0.6", None, "es"),
        ("de;q=x, ro", None, "ro"),
        ("ja", None, "en"),
        (None, None, "en"),
        ("fr", "ro", "ro"),
    ],
)
def test_cli_442_a_browser_is_answered_as_it_asks(header: str | None, held_by_home: str | None, expected: str) -> None:
    """CLI-442."""
    assert of_browser(header, held_by_home) == expected


def test_cli_440_a_problem_is_said_with_all_that_is_in_it() -> None:
    """CLI-440: a sentence within a sentence is translated, too; a title with braces stays as it is."""
    inner = Sentence("Nothing waits for you.")
    problem = Problem("code", "why: {reason}", reason=inner)
    with speaking("de"):
        assert translated(problem) == "Grund: Nichts wartet auf dich."
        assert say("why: {reason}", reason="{x} %s") == "Grund: {x} %s"
        assert translated(Sentence("a {text} without braces")) == "a {text} without braces"
    assert str(problem) == "why: Nothing waits for you."


def test_cli_440_a_number_is_written_as_in_the_language() -> None:
    """CLI-440."""
    one, many = 'For "{task}" {agent} suggests {count} change', 'For "{task}" {agent} suggests {count} changes'
    said = {}
    for name in LANGUAGES:
        with speaking(name):
            assert number(999) == "999"
            said[name] = several(one, many, 12_345, task="T", agent="A").replace("\u00a0", "_")
    assert "12,345" in said["en"]
    assert "12.345" in said["de"]
    assert "12_345" in said["fr"]


def test_cli_443_what_no_catalogue_has_is_english() -> None:
    """CLI-443: code that sets no language speaks English; so does a text that is not there."""
    assert spoken() == "en"
    with speaking("de"):
        assert say("no such message") == "no such message"
        assert several("one thing", "{count} things", 3) == "3 things"
    assert spoken() == "en"
    assert OURS.words("xx").gettext("none") == "none"


def test_cli_444_english_reads_no_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-444."""
    monkeypatch.setattr(language, "parsed", None)
    assert OURS.say("Nothing waits for you.", "en") == "Nothing waits for you."


def test_web_1501_languages_are_called_as_babel_calls_them() -> None:
    """WEB-1501: every language that a task may be in has a name in every language of the catalogue."""
    assert NAMES.read_text(encoding="utf-8") == language_names.text(), "run: python -m tools.language_names"


@pytest.mark.parametrize(("reader", "name"), [("en", "English"), ("de", "Englisch"), ("fr", "anglais")])
def test_web_1501_a_language_has_a_name_in_the_readers_language(reader: str, name: str) -> None:
    """WEB-1501: what is not a code stays as it is."""
    with speaking(reader):
        assert language_name("en") == name
        assert language_name("klingon") == "klingon"


FORMAL = {
    "de": r"\b(Ihnen|Ihre[mnrs])\b|\w+en Sie\b",
    "es": r"(?i)\b(usted(es)?|de sus dispositivos|actualice|actualícela|haga|ponga|empareje|cópiela)\b|; empiece\b",
    "fr": r"(?i)\b(vous|votre|vos)\b|\b(?!assez|chez)\w{2,}ez\b|\bfaites(-en|-le| de| lancer)\b",
    "ro": r"(?i)\bdumneavoastră\b|\b(actualizați|copiați|decideți|faceți|începeți|lăsați|verificați)\b",
}
"""How a language speaks to somebody whom one does not know well."""


@pytest.mark.parametrize("name", FORMAL)
def test_a_person_is_spoken_to_in_one_form(held: dict[str, Catalog], name: str) -> None:
    """Some sentences said `vous` and `Ihrer` among those that say `tu` and `dein`."""
    wrong = re.compile(FORMAL[name])
    assert [text for message in messages(held[name]) for text in forms(message) if wrong.search(text)] == []


DAYS_WITH_A_TIME = r" \{(until|iso|instant|joined_at|checked_at|seen|here|ours|theirs)\}"


@pytest.mark.parametrize(
    ("name", "before_an_hour"),
    [
        ("de", r"\bum"),
        ("es", r"\ba las|\b(?:son|eran entonces|aquí) las"),
        ("fr", r"\bà|\bjusqu.à|\bil (?:est|était alors)"),
    ],
)
def test_cli_1501_before_a_day_with_a_time_stands_the_word_for_a_day(
    held: dict[str, Catalog], name: str, before_an_hour: str
) -> None:
    """CLI-1501: German said "um 2026-11-26 14:00", with the word for an hour. A time of day alone is a `{clock}`."""
    wrong = re.compile(f"(?:{before_an_hour}){DAYS_WITH_A_TIME}")
    assert [text for message in messages(held[name]) for text in forms(message) if wrong.search(text)] == []
