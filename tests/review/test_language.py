"""Five languages: catalogues that are complete and compiled, and summaries in the reader's."""

from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_file
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from tests.review.reviewer import Reviewer

import lottisync
from lottisync.journal.actions.link_task import SENTENCES
from lottisync.journal.language import ACTIONS as ACTION_SENTENCES
from lottisync.journal.task_action import TaskAction
from lottisync.journal.toolbox import ACTIONS
from lottisync.journal.types import INVERSES, RELATIONS
from lottisync.review.inbox import Inbox
from lottisync.review.language import LANGUAGES, REVIEW, Catalogue, chosen, words

SOURCE = Path(lottisync.__file__).parent
TRANSLATED = [language for language in LANGUAGES if language != "en"]
KEYWORDS = {"gettext": None, "ngettext": (1, 2), "marked": None, "_say": None}


SENTENCES_OF = {
    REVIEW: (*sorted((SOURCE / "review").glob("*.py")), SOURCE / "cli" / "reviews.py"),
    ACTION_SENTENCES: tuple(sorted((SOURCE / "journal").rglob("*.py"))),
}
"""Each catalogue with the files whose sentences are in it."""
each_catalogue = pytest.mark.parametrize("catalogue", SENTENCES_OF, ids=lambda one: one.domain)


def held(catalogue: Catalogue, language: str) -> Catalog:
    with (catalogue.folder / language / "LC_MESSAGES" / f"{catalogue.domain}.po").open("rb") as file:
        return read_po(file, locale=language)


def said(catalogue: Catalogue) -> set[str]:
    """Every sentence in the code that is looked up in a catalogue, its singular."""
    found: set[str] = set()
    for file in SENTENCES_OF[catalogue]:
        for _, message, _, _ in extract_from_file("python", file, keywords=KEYWORDS):
            found.add(message[0] if isinstance(message, tuple) else message)
    return found


def summary(tool: str, args: dict[str, Any], name: str | None = None, language: str = "en") -> str:
    action = ACTIONS.tools[tool].model_construct(**args)
    assert isinstance(action, TaskAction)
    return action.summary(name, language)


def texts(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string or ())


def singular(message: Message) -> str:
    return message.id if isinstance(message.id, str) else message.id[0]


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@each_catalogue
@pytest.mark.parametrize("language", TRANSLATED)
def test_rev14_every_sentence_is_translated_and_no_other(catalogue: Catalogue, language: str) -> None:
    """REV-14, S1-63: with the same fields, none fuzzy, none left over."""
    messages = [message for message in held(catalogue, language) if message.id]
    assert {singular(message) for message in messages} == said(catalogue)
    for message in messages:
        source = singular(message)
        assert not message.fuzzy
        for text in texts(message):
            assert text.strip(), source
            assert fields(text) == fields(source), source


@each_catalogue
@pytest.mark.parametrize("language", TRANSLATED)
def test_rev14_the_compiled_catalogue_is_that_of_the_source(catalogue: Catalogue, language: str) -> None:
    """REV-14, REV-146."""
    with (catalogue.folder / language / "LC_MESSAGES" / f"{catalogue.domain}.mo").open("rb") as file:
        compiled = {singular(m): texts(m) for m in read_mo(file) if m.id}
    assert compiled == {singular(m): texts(m) for m in held(catalogue, language) if m.id}


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", ["0 minutes", "1 minute", "2 minutes", "20 minutes"]),
        ("de", ["0 Minuten", "1 Minute", "2 Minuten", "20 Minuten"]),
        ("es", ["0 minutos", "1 minuto", "2 minutos", "20 minutos"]),
        ("fr", ["0 minute", "1 minute", "2 minutes", "20 minutes"]),
        ("ro", ["0 minute", "1 minut", "2 minute", "20 de minute"]),
    ],
)
def test_rev14_plural_forms(language: str, forms: list[str]) -> None:
    """REV-14: Romanian has three, and French counts nothing as one."""
    for count, form in zip((0, 1, 2, 20), forms, strict=True):
        assert form in f"{summary('update_task_estimate', {'minutes': count}, language=language)} "


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", 'Check off: "Flour"'),
        ("de", 'Abhaken: "Flour"'),
        ("es", 'Marcar: "Flour"'),
        ("fr", 'Cocher : "Flour"'),
        ("ro", 'Bifează: "Flour"'),
        ("xx", 'Check off: "Flour"'),
    ],
)
def test_rev14_a_proposal_reads_in_the_language_of_whoever_looks(
    laptop: Reviewer, phone: Reviewer, language: str, sentence: str
) -> None:
    """REV-14, S1-63: not in that of the device that made it."""
    laptop.add_task(items=("Flour",))
    laptop.propose("suggest_checklist_completion", {"items": [{"id": "t1-i0", "reason": "The note of 22:30 says so"}]})
    phone.pull(laptop)
    [one] = Inbox(phone.journal, phone.agents, ACTIONS, language=language).open_sets(phone.now)
    assert one.items[0].summary == sentence


def test_rev14_braces_in_a_title_are_a_title() -> None:
    """REV-14: what a model or a person wrote is never taken for a field."""
    for language in LANGUAGES:
        assert "{minutes} {0}" in summary("set_task_title", {"title": "{minutes} {0}"}, language=language)


def test_rev146_every_relation_can_be_said() -> None:
    """REV-146."""
    assert set(SENTENCES) == {*RELATIONS, *INVERSES}
    for language in TRANSLATED:
        links = [summary("link_task", {"relation": r, "target_task_id": "t2"}, "X", language) for r in SENTENCES]
        assert len(set(links)) == len(SENTENCES)


@pytest.mark.parametrize(
    ("given", "environment", "language"),
    [
        ("fr", {"LANG": "de_DE.UTF-8"}, "fr"),
        (None, {"LANG": "de_DE.UTF-8"}, "de"),
        (None, {"LANG": "de_DE.UTF-8", "LC_ALL": "ro_RO"}, "ro"),
        (None, {"LANGUAGE": "pl:es", "LANG": "de"}, "es"),
        (None, {"LC_ALL": "C.UTF-8", "LANG": "de"}, "en"),
        (None, {"LANG": "ja_JP.UTF-8"}, "en"),
        (None, {}, "en"),
        ("pt-BR", {}, "en"),
    ],
)
def test_rev14_the_language_is_chosen_as_gettext_does(
    given: str | None, environment: dict[str, Any], language: str
) -> None:
    """REV-14."""
    assert chosen(given, environment) == language
    assert words("xx").gettext("none") == "none"
