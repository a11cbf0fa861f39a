"""The reader's language (docs/specs/10-review.md, REV-14).

A summary is rendered where it is read, from the tool and its arguments. So a proposal that was made on a
German laptop reads French on a French phone; a sentence that was stored would stay English on every
device for ever. The catalogues are gettext's, `locale/<language>/LC_MESSAGES/review.po`, with their
compiled `.mo` beside them; those of the actions are `journal/locale/<language>/LC_MESSAGES/actions.po`. English is
the text in the code. After an edit:

    pybabel compile --domain review --directory src/lottisync/review/locale
    pybabel compile --domain actions --directory src/lottisync/journal/locale

and a test says if that was forgotten, or if a sentence lacks its translation.
"""

import gettext
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

LANGUAGES = ("en", "de", "es", "fr", "ro")
DOMAIN = "review"
CATALOGUES = Path(__file__).parent / "locale"


class Catalogue(NamedTuple):
    """Sentences that belong together, in every language: `folder/<language>/LC_MESSAGES/<domain>.mo`."""

    folder: Path
    domain: str

    def words(self, language: str) -> gettext.NullTranslations:
        """The sentences in one of `LANGUAGES`; in any other, English."""
        return _opened(self, language if language in LANGUAGES else "en")

    def say(self, text: str, language: str, **values: Any) -> str:
        """A sentence with its fields."""
        return self.words(language).gettext(text).format(**values)


@cache
def _opened(catalogue: Catalogue, language: str) -> gettext.NullTranslations:
    if language == "en":
        return gettext.NullTranslations()
    return gettext.translation(catalogue.domain, catalogue.folder, [language])


REVIEW = Catalogue(CATALOGUES, DOMAIN)
"""The sentences of the engine and of the command line."""


def words(language: str) -> gettext.NullTranslations:
    """The engine's sentences in a language."""
    return REVIEW.words(language)


def chosen(given: str | None, environment: Mapping[str, str]) -> str:
    """The language that was asked for, or that of the environment; English if it is none of ours. Variables
    count in the order in which gettext asks them."""
    for text in (given, *(environment.get(name) for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))):
        for wish in (text or "").split(":"):
            language = wish.replace("-", "_").partition(".")[0].partition("_")[0].lower()
            if language in LANGUAGES:
                return language
            if language in ("c", "posix"):
                return "en"
    return "en"


def marked(text: str) -> str:
    """A sentence that stands in a table and is looked up where it is shown; catalogues are collected by this name."""
    return text
