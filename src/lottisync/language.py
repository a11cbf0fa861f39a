"""The reader's language: every sentence for a person comes from one catalogue (docs/specs/11-command-line.md).

English is the text in the code, and the id of a message. The other languages are in
`locale/<language>/LC_MESSAGES/lottisync.po`, sorted by the English text. These files are read as they are: nothing has
to be compiled, and in English nothing is read. `python -m tools.catalogue` collects the messages of the code into them.

A sentence is said where it is shown. What is stored, sent, logged or given to programs is English. So a proposal that
was made on a German laptop reads French on a French phone. Code below the product (stores, sync, devices) knows no
language: it raises a `Problem` or returns a `Sentence`, and both keep their template and their values.

The language is a variable of the context: the command line sets it once, the pages once for each request.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from lottisync.problem import Invalid, Marked, Problem, Sentence, StoredSentence

LANGUAGES = ("en", "de", "es", "fr", "ro")
PLURALS: Mapping[str, Callable[[int], int]] = {
    "en": lambda n: int(n != 1),
    "de": lambda n: int(n != 1),
    "es": lambda n: int(n != 1),
    "fr": lambda n: int(n > 1),
    "ro": lambda n: 0 if n == 1 else 1 if n == 0 or 0 < n % 100 < 20 else 2,
}
"""Which form of a message a number takes, as in `Plural-Forms` of the catalogue."""
THOUSANDS = {"en": ",", "de": ".", "es": ".", "fr": "\u00a0", "ro": "."}
"""What separates the thousands of a number."""
_LINE = re.compile(r'^(msgid|msgid_plural|msgstr)(?:\[\d\])? (".*"(?:\n".*")*)', re.MULTILINE)
_language: ContextVar[str] = ContextVar("language", default="en")


class Words(NamedTuple):
    """The messages of one language: the English text and its forms. A message with a plural is found under both its
    English forms."""

    language: str
    forms: Mapping[str, list[str]]

    def gettext(self, text: str) -> str:
        found = self.forms.get(text)
        return found[0] if found else text

    def ngettext(self, one: str, many: str, count: int) -> str:
        found = self.forms.get(one) or [one, many]
        return found[PLURALS[self.language if one in self.forms else "en"](count)]

    def form(self, text: str, values: Mapping[str, Any]) -> str:
        """The message that is filled with these values: of several forms, the one for their `count`."""
        found = self.forms.get(text, [text])
        if len(found) == 1 or "count" not in values:
            return found[0]
        count = values["count"]
        return found[PLURALS[self.language](count) if isinstance(count, int) else -1]


class Catalogue(NamedTuple):
    """Messages that belong together, in every language: `folder/<language>/LC_MESSAGES/<domain>.po`."""

    folder: Path
    domain: str

    def words(self, language: str) -> Words:
        """The messages in one of `LANGUAGES`; in any other, English."""
        return _read(self, language if language in LANGUAGES else "en")

    def say(self, text: str | Marked, language: str, /, **values: Any) -> str:
        """A sentence with its values."""
        return _filled(self.words(language).form(str(text), values), language, values)


@cache
def _read(catalogue: Catalogue, language: str) -> Words:
    if language == "en":
        return Words(language, {})
    file = catalogue.folder / language / "LC_MESSAGES" / f"{catalogue.domain}.po"
    return Words(language, parsed(file.read_text(encoding="utf-8")))


def parsed(text: str) -> dict[str, list[str]]:
    """The messages of a catalogue, each with its forms. One without a translation is left out."""
    found: dict[str, list[str]] = {}
    plurals: dict[str, str] = {}
    message = ""
    for keyword, quoted in _LINE.findall(text):
        value = "".join(msgspec.json.decode(line, type=str) for line in quoted.split("\n"))
        if keyword == "msgid":
            message = value
        elif keyword == "msgid_plural":
            plurals[value] = message
        elif keyword == "msgstr" and value and message:
            found.setdefault(message, []).append(value)
    return {**{many: found[one] for many, one in plurals.items() if one in found}, **found}


OURS = Catalogue(Path(__file__).parent / "locale", "lottisync")
NAMES = OURS.folder / "languages.json"
"""What languages are called, by the reader's language and by code: `python -m tools.language_names` writes it."""


# -- the language of this context


def spoken() -> str:
    """The reader's language, one of `LANGUAGES`."""
    return _language.get()


def speak(language: str) -> None:
    """Say everything in `language` from now on, in this context."""
    _language.set(language)


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """A context in which everything is said in `language`."""
    token = _language.set(language)
    try:
        yield
    finally:
        _language.reset(token)


def chosen(given: str | None, environment: Mapping[str, str], held: str | None = None) -> str:
    """The reader's language: the one that was `given`, that of LOTTISYNC_LANGUAGE, the one that the home's settings
    hold, or that of the system; English where we have no catalogue. The variables count in gettext's order."""
    system = (environment.get(name) for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))
    for text in (given, environment.get("LOTTISYNC_LANGUAGE"), held, *system):
        for wish in (text or "").split(":"):
            language = _known(wish)
            if language is not None:
                return language
    return "en"


def of_browser(header: str | None, held: str | None = None) -> str:
    """The language for a browser: what the home's settings hold, else the first wish of `Accept-Language` that we
    have."""
    wishes: list[tuple[float, str]] = []
    for part in (header or "").split(",")[:20]:
        name, _, weight = part.partition(";q=")
        language = _known(name.strip())
        if language is not None:
            wishes.append((-_weight(weight), language))
    return _known(held or "") or min(wishes, default=(0, "en"), key=lambda wish: wish[0])[1]


def _weight(text: str) -> float:
    try:
        return float(text or 1)
    except ValueError:
        return 0


def _known(wish: str) -> str | None:
    language = wish.replace("-", "_").partition(".")[0].partition("_")[0].lower()
    return "en" if language in ("c", "posix") else language if language in LANGUAGES else None


# -- what is said


def marked(text: str) -> Marked:
    """A sentence that is in a table and is looked up where it is shown. Messages are collected by this name."""
    return Marked(text)


def say(text: str | Marked, /, **values: Any) -> str:
    """A sentence in the reader's language, with its values."""
    return OURS.say(text, _language.get(), **values)


def several(one: str | Marked, many: str | Marked, count: int, /, **values: Any) -> str:
    """A sentence with a number in it, which it names `{count}`."""
    language = _language.get()
    text = OURS.words(language).ngettext(str(one), str(many), count)
    return _filled(text, language, {"count": number(count), **values})


def translated(sentence: str | Problem) -> str:
    """A `Problem` or a `Sentence` in the reader's language. Any other text is looked up as it is."""
    if isinstance(sentence, Problem):
        sentence = sentence.sentence
    if not isinstance(sentence, Sentence):
        return say(sentence)
    try:
        return say(sentence.template, **sentence.arguments)
    except (LookupError, ValueError):
        if not isinstance(sentence, StoredSentence):
            raise
        return str(sentence)


def number(count: int) -> str:
    """`12345` -> `12,345`."""
    return f"{count:,}".replace(",", THOUSANDS[_language.get()])


def language_name(code: str) -> str:
    """`de` -> `German`; what is not a code of a language stays as it is."""
    return _names()[_language.get()].get(code, code)


@cache
def _names() -> dict[str, dict[str, str]]:
    return msgspec.json.decode(NAMES.read_bytes(), type=dict[str, dict[str, str]])


def listed(texts: "list[str]") -> str:
    """`a, b and c`."""
    if len(texts) < 2:
        return "".join(texts)
    return say("{texts} and {last}", texts=", ".join(texts[:-1]), last=texts[-1])


def headed(heading: str, text: object = "") -> str:
    """`heading: text`, with the colon as the reader's language writes it."""
    return say("{heading}: {text}", heading=heading, text=text)


MONTHS = (
    *(marked("January"), marked("February"), marked("March"), marked("April"), marked("May"), marked("June")),
    *(marked("July"), marked("August"), marked("September"), marked("October"), marked("November"), marked("December")),
)


def long_day(day: date) -> str:
    """`1 December 2026`."""
    return say("{day} {month} {year}", day=day.day, month=say(MONTHS[day.month - 1]), year=day.year)


def _filled(text: str, language: str, values: Mapping[str, Any]) -> str:
    if not values:
        return text
    return text.format(**{name: _value(value) for name, value in values.items()})


def _value(value: Any) -> Any:
    if isinstance(value, Problem | Sentence):
        return translated(value)
    if isinstance(value, Invalid):
        return translated(value.sentence)
    return _Number(value) if type(value) is int else value


class _Number(int):
    """A number in a sentence: `{count:,}` has the thousands as the reader's language writes them."""

    def __format__(self, form: str) -> str:
        return number(int(self)) if form == "," else int(self).__format__(form)
