"""What people call fields of all stores, what these hold, and what they belong to: for `history` and `conflicts`."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from lottisync.answers.stores import Writer
from lottisync.cli.terminal import cut
from lottisync.cli.times import SECONDS, local, minutes
from lottisync.daemon.home import TaskHome
from lottisync.entities.entity import DELETED_AT, Entity
from lottisync.entities.path import split
from lottisync.journal import names as label_names
from lottisync.journal import repetition, words
from lottisync.language import marked, say, translated
from lottisync.problem import Marked
from lottisync.review.precedence import PERSON, is_persons
from lottisync.store.instant import holds_instant, iso
from lottisync.store.store import Store

MILLISECONDS = "at_ms"
"""The register of a signed record with the time of the signature."""
SETS = ("labels", "suppressedLabels", "relations")
"""Fields of which each member has a register of its own."""
TICKS = ("isChecked", "isArchived")
WriterOf = Callable[[str, int], Writer]
"""Field and precedence -> who is behind the write."""
WRITERS: Mapping[Writer, Marked] = {"user": marked("user"), "agent": marked("agent")}


def _called(home: TaskHome) -> dict[str, str]:
    """What the labels and the categories are called, by id."""
    with home.journal.reading() as reader:
        return {**label_names.of_all(reader, "category"), **label_names.of_all(reader, "label")}


class FieldWords(NamedTuple):
    """What people call the fields of one store."""

    labels: Mapping[str, str] | None
    """What labels and categories are called, by id; None for a store that this program does not know (`Home.knows`)."""

    def name(self, path: str) -> str:
        """What people call a register. A plain field has its own name: `conflicts keep` takes it."""
        if path == DELETED_AT:
            return say("deleted")
        if self.labels is None:
            return path
        match split(path):
            case "labels", str(label):
                return say("label {label}", label=self.labels.get(label, label))
            case "suppressedLabels", str(label):
                return say("rejected label {label}", label=self.labels.get(label, label))
            case "receipts", str():
                return say("confirmed proposal")
            case _:
                return path

    def heading(self, path: str) -> str:
        """What people call a register, with a word for a plain field as well."""
        if self.labels is None and path != DELETED_AT:
            return path
        return words.field(path if path in words.FIELDS else self.name(path))

    def held(self, path: str, value: Any) -> str:
        """What a register held, for people: a deletion is a word, and not its clocks; a receipt is its result; a
        category its name; a member of a set was added or taken off."""
        if path == DELETED_AT and value is not None:
            return say("deleted")
        if self.labels is None:
            return cut(words.stored(value), 60)
        if split(path)[0] in SETS:
            return _membership(value)
        if value is not None and path in TICKS:
            return words.value(path, value)
        if path == "status" and isinstance(value, str):
            return words.value(path, value)
        if path == "categoryId" and isinstance(value, str):
            return self.labels.get(value, value)
        if split(path)[0] == "receipts" and isinstance(value, dict):
            return _brief(value.get("result"))
        return _plain(path, value)

    def said(self, path: str, value: Any) -> str:
        """One of the values of a conflict, for people."""
        if path == DELETED_AT:
            return say("edited") if value is None else say("deleted")
        if self.labels is None:
            return cut(words.stored(value), 60)
        if split(path)[0] in SETS:
            return _membership(value)
        if value is None or path == "status" or path in TICKS or holds_instant(path):
            return words.value(path, value)
        return _plain(path, value)


def of_store(home: TaskHome, store: Store) -> FieldWords:
    """The words for the fields of a store of that home."""
    return FieldWords(_called(home) if home.knows(store) else None)


def writers_of(home: TaskHome, store: Store) -> WriterOf:
    """Who is behind a write to a field of a store of that home."""

    def writer(path: str, precedence: int) -> Writer:
        persons = is_persons(path, precedence) if store is home.journal else precedence >= PERSON
        return "user" if persons else "agent"

    return writer


def _membership(value: Any) -> str:
    return say("added") if value is True else say("taken off")


def _plain(path: str, value: Any) -> str:
    """What a register holds: an instant by this device's clock, a length of time in hours and minutes."""
    name = split(path)[0]
    if path in ("estimate", "minutes") and isinstance(value, int):
        return minutes(value)
    if path == "repeat" and isinstance(value, str) and (rule := repetition.rule_of(value)) is not None:
        return translated(repetition.how_often(rule))
    if isinstance(value, str) and holds_instant(name):
        return local(value, SECONDS)
    if isinstance(value, int) and name == MILLISECONDS:
        return local(iso(value), SECONDS)
    return _brief(value)


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else msgspec.json.encode(value).decode()
    return cut(text, 60)


def title(entity: Entity) -> str:
    """What a person knows an entity by: its title, name or text, else its type."""
    return _brief(whole_title(entity))


def whole_title(entity: Entity) -> str:
    """The title of an entity as `title` gives it, not cut."""
    values = (entity.value(path) for path in ("title", "displayName", "name", "text"))
    return next((value for value in values if isinstance(value, str) and value), entity.type)
