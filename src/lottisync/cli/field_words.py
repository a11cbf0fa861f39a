"""What people call fields of all stores, what these hold, and what they belong to: for `history` and `conflicts`."""

from collections.abc import Mapping
from typing import Any

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
from lottisync.store.instant import holds_instant, iso

MILLISECONDS = "at_ms"
"""The register of a signed record with the time of the signature."""
SETS = ("labels", "suppressedLabels", "relations")
"""Fields of which each member has a register of its own."""
TICKS = ("isChecked", "isArchived")
WRITERS: Mapping[Writer, str] = {"user": marked("user"), "agent": marked("agent")}


def called(home: TaskHome) -> dict[str, str]:
    """What the labels and the categories are called, by id."""
    with home.journal.reading() as reader:
        return {**label_names.of_all(reader, "category"), **label_names.of_all(reader, "label")}


def field_name(path: str, labels: Mapping[str, str]) -> str:
    """What people call a register. A plain field has its own name: `conflicts keep` takes it."""
    match split(path):
        case "labels", str(label):
            return say("label {label}", label=labels.get(label, label))
        case "suppressedLabels", str(label):
            return say("rejected label {label}", label=labels.get(label, label))
        case "receipts", str():
            return say("confirmed proposal")
        case "deletedAt", None:
            return say("deleted")
        case _:
            return path


def held(path: str, value: Any, called: Mapping[str, str]) -> str:
    """What a register held, for people: a deletion is a word, and not its clocks; a receipt is its result; a category
    its name; a member of a set was added or taken off."""
    if split(path)[0] in SETS:
        return _membership(value)
    if value is not None and path in TICKS:
        return words.value(path, value)
    if path == "status" and isinstance(value, str):
        return words.value(path, value)
    if path == "categoryId" and isinstance(value, str):
        return called.get(value, value)
    if split(path)[0] == "receipts" and isinstance(value, dict):
        return _brief(value.get("result"))
    return say("deleted") if path == DELETED_AT and value is not None else _plain(path, value)


def value_said(path: str, value: Any) -> str:
    """One of the values of a conflict, for people."""
    if path == DELETED_AT:
        return say("edited") if value is None else say("deleted")
    if split(path)[0] in SETS:
        return _membership(value)
    if value is None or path == "status" or path in TICKS or holds_instant(path):
        return words.value(path, value)
    return _plain(path, value)


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
    """The same, not cut."""
    values = (entity.value(path) for path in ("title", "displayName", "name", "text"))
    return next((value for value in values if isinstance(value, str) and value), entity.type)


def writer(precedence: int) -> Writer:
    return "user" if precedence else "agent"
