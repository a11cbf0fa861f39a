"""The reader's language (docs/specs/10-review.md, REV-14).

A summary is rendered where it is read, from the tool and its arguments. So a proposal that was made on a
German laptop reads French on a French phone; a sentence that was stored would stay English on every
device for ever. The catalogues are gettext's, `locale/<language>/LC_MESSAGES/review.po`, with their
compiled `.mo` beside them. English is the text in the code. After an edit:

    pybabel compile --domain review --directory src/lottisync/review/locale

and a test says if that was forgotten, or if a sentence lacks its translation.
"""

import gettext
from collections.abc import Mapping
from functools import cache
from pathlib import Path

LANGUAGES = ("en", "de", "es", "fr", "ro")
DOMAIN = "review"
CATALOGUES = Path(__file__).parent / "locale"


@cache
def words(language: str) -> gettext.NullTranslations:
    """The catalogue of one of `LANGUAGES`; of any other, English."""
    if language not in LANGUAGES or language == "en":
        return gettext.NullTranslations()
    return gettext.translation(DOMAIN, CATALOGUES, [language])


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
