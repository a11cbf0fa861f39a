"""A sentence as it is stored: its template and its values, so that each reader has it in their own language.

What was said in one language on one device may be read in another, on another day: why a wake failed, why a device is
away. So a store keeps the words and not the text (docs/specs/11-command-line.md, section 8). `written` makes them of a
`Sentence` or a `Problem`, `sentence` makes a `Sentence` of them again. In a column of text they are JSON.

Any device may have written them. A template is followed only if it does no more than put its values in their slots;
otherwise it is shown unchanged.
"""

from string import Formatter
from typing import Any

import msgspec

from lottisync.problem import Problem, Sentence, StoredSentence

MAX_TEXT = 2_000
"""Characters of a template or a value that came of a store."""
MAX_SLOTS, MAX_DEPTH = 16, 4
"""Values in a template, and sentences within sentences."""
FORMATS = ("", "g", ",", "d", ".0f", ".1f", ".2f")


class Wording(msgspec.Struct, array_like=True, frozen=True):
    """A template, and the values for its slots."""

    template: str
    values: "dict[str, str | int | float | Wording]" = {}


def written(said: str | Problem) -> Wording:
    """The words of a sentence. A plain text is its own template."""
    if not isinstance(said, Problem | Sentence):
        return Wording(said)
    return Wording(said.template, {name: _value(value) for name, value in said.arguments.items()})


def _value(value: object) -> "str | int | float | Wording":
    if isinstance(value, Sentence):
        return written(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def sentence(words: Wording, depth: int = MAX_DEPTH) -> StoredSentence:
    """The sentence that was stored."""
    template = words.template[:MAX_TEXT]
    if not words.values or depth == 0 or not _is_plain(template, words.values):
        return StoredSentence(template)
    values: dict[str, object] = {}
    for name, value in words.values.items():
        values[name] = sentence(value, depth - 1) if isinstance(value, Wording) else _short(value)
    try:
        return StoredSentence(template, **values)
    except (ValueError, OverflowError):  # a text, or a number without end, where the template has a format of numbers
        return StoredSentence(template)


def _short(value: str | int | float) -> str | int | float:
    return value[:MAX_TEXT] if isinstance(value, str) else value


def _is_plain(template: str, values: "dict[str, str | int | float | Wording]") -> bool:
    """Whether a template only names values that there are."""
    try:
        slots = [(name, form, how) for _, name, form, how in Formatter().parse(template) if name is not None]
    except ValueError:
        return False
    return len(slots) <= MAX_SLOTS and all(
        name.isidentifier() and name in values and form in FORMATS and how in (None, "r") for name, form, how in slots
    )


def column(said: str | Problem) -> str:
    """The words of a sentence, for a column of text."""
    return msgspec.json.encode(written(said)).decode()


def of_column(text: str) -> Sentence:
    """The sentence that `column` wrote; any other text is a sentence without values."""
    try:
        return sentence(msgspec.json.decode(text, type=Wording))
    except msgspec.MsgspecError:
        return Sentence(text)


def encoded(value: object) -> object:
    """What a file holds in place of a sentence: an `enc_hook` of msgspec."""
    if isinstance(value, Sentence):
        return written(value)
    raise NotImplementedError


def decoded(kind: type, value: object) -> object:
    """The sentence that `encoded` put there: a `dec_hook` of msgspec."""
    found = of_field(value) if issubclass(kind, Sentence) else None
    if found is None:
        raise NotImplementedError
    return found


def plain(said: str | Problem) -> Any:
    """The words of a sentence, for a field of an entity."""
    return msgspec.to_builtins(written(said))


def of_field(value: object) -> Sentence | None:
    """The sentence of `plain`, or of a text; None for anything else."""
    if isinstance(value, str):
        return Sentence(value)
    try:
        return sentence(msgspec.convert(value, Wording))
    except msgspec.MsgspecError:
        return None
