"""What can go wrong, in one form: a code, a sentence, and the values in it.

A `Problem` is what a person can act on. Its `code` is for programs. Its sentence is kept as a template and the values
that go into it, so that one catalogue can translate all of them: the template is the message's id. Where a command of
the application would help, `hint` names it by a word; the command line alone knows which command that is.

When a `Problem` is raised, nothing was changed. Any other exception that reaches a person is a bug of ours.
"""

from typing import NewType, Self

Marked = NewType("Marked", object)
"""The template of a sentence in a table (`lottisync.language.marked`). For the type checker it is not a `str`, so
nothing that shows a text takes it: it has to be said first, or become a `Sentence` or a `Problem`."""


class Sentence(str):
    """A sentence in English that keeps its template and its values, so that a catalogue can say it in another language
    (`lottisync.language.translated`).

    `template` holds `{name}` for each of the `arguments`, in the language of `str.format`. Without arguments it is the
    sentence itself, letter by letter. A value may be a sentence in turn; of an error the words are kept."""

    template: str
    arguments: dict[str, object]

    def __new__(cls, template: str | Marked, /, **arguments: object) -> Self:
        kept = {name: _kept(value) for name, value in arguments.items()}
        made = super().__new__(cls, str(template).format(**kept) if kept else str(template))
        made.template = str(template)
        made.arguments = kept
        return made


def _kept(value: object) -> object:
    """A value that a sentence may keep. An error holds all that its callers had in hand, by its traceback; a sentence
    may be kept for as long as a program runs."""
    if isinstance(value, Problem | Invalid):
        return value.sentence
    return str(value) if isinstance(value, BaseException) else value


def counted(one: str | Marked, many: str | Marked, count: int, /, **arguments: object) -> Sentence:
    """A sentence with a number in it, which it names `{count:,}`. It keeps the number as such, so that each language
    can take its own form for it (`lottisync.language.several` says one at once)."""
    return Sentence(one if count == 1 else many, count=count, **arguments)


class StoredSentence(Sentence):
    """One that was stored, perhaps by another device or another version: its values need not be those that its
    translation here has places for. It is said in English then."""


class Fault(Sentence):
    """Something that is not as it should be in what was looked at. Nothing failed, so it is said and not raised; its
    `code` is for programs, like that of a `Problem`."""

    code: str

    def __new__(cls, code: str, template: str | Marked, /, **arguments: object) -> Self:
        made = super().__new__(cls, template, **arguments)
        made.code = code
        return made


class Problem(Exception):
    """An error that a person can act on. Its sentence is `Sentence(template, **arguments)`."""

    exit_code = 1

    def __init__(self, code: str, template: str | Marked, /, *, hint: str = "", **arguments: object) -> None:
        self.sentence = Sentence(template, **arguments)
        """The sentence with its template and its values, without the hint."""
        super().__init__(str(self.sentence))
        self.code = code
        self.hint = hint

    @property
    def template(self) -> str:
        return self.sentence.template

    @property
    def arguments(self) -> dict[str, object]:
        return self.sentence.arguments

    @property
    def message(self) -> str:
        """The sentence in English, without the hint."""
        return str(self.args[0])


class Usage(Problem):
    """The call itself was wrong: exit code 2."""

    exit_code = 2


class Invalid(ValueError):
    """What was given, or came, is not what it has to be; `sentence` says why. Code that catches it ignores it, or makes
    a `Problem` with it as a value."""

    def __init__(self, template: str | Marked, /, **arguments: object) -> None:
        self.sentence = Sentence(template, **arguments)
        super().__init__(str(self.sentence))


class LocalError(RuntimeError):
    """Our own code tried what it may not: a bug of ours, of which nothing has been stored or said."""
