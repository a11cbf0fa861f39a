"""The names in answers: one name says one thing, and what is not there is null (docs/json.md, rules 4 and 5)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
import pytest
from msgspec import inspect
from tools import json_page

from lottisync.answers.form import FailedAnswer, Instant

Structs = Iterable[type[msgspec.Struct]]

SEVERAL_TYPES = {
    "value": "what is stored in a field can be anything; the value of a setting is a text, or true or false",
}
"""Names whose type differs, and why it has to."""

SAID_AS_IT_IS = {("Note", "text"), ("TimeRow", "text"), ("ChangedTime", "text")}
"""What a person has written, which is shown as it is stored, also if they have written nothing."""

A_CAUSE = {"because", "cause", "error", "why"}
"""Names that the page does not use for a text: it says `failure` or `reason` (rule 7)."""


def shape(kind: inspect.Type) -> str:
    """A type as the page writes it, null apart. Words of a list and ids are texts; objects are one type, because an
    array is named after what is in it: the tasks of a list and those that were changed are both `tasks`."""
    match kind:
        case inspect.Metadata(extra_json_schema={"title": "instant" | "day" as title}):
            return str(title)
        case inspect.Metadata():
            return shape(kind.type)
        case inspect.UnionType():
            return " or ".join(sorted({shape(each) for each in kind.types if not isinstance(each, inspect.NoneType)}))
        case inspect.StructType():
            return "object"
        case inspect.ListType():
            return f"array of {shape(kind.item_type)}"
        case inspect.DictType():
            return f"object: name → {shape(kind.value_type)}"
        case inspect.LiteralType():
            return "text"
        case _:
            return json_page.written(kind)


def types_of(structs: Structs) -> dict[str, dict[str, list[str]]]:
    """The name of a member -> the types that it has, each with the structs in which it has it."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for kind in structs:
        for field in json_page.fields(kind):
            found[field.encode_name][shape(field.type)].append(kind.__name__)
    return found


def with_several(structs: Structs) -> dict[str, dict[str, list[str]]]:
    return {name: dict(types) for name, types in types_of(structs).items() if len(types) > 1}


def empty_texts(kind: inspect.Type, value: Any, at: tuple[str, str] = ("", "")) -> Iterator[tuple[str, str]]:
    """The members that are an empty text, as (struct, member). What is `any value` is as somebody stored it."""
    match kind:
        case inspect.StructType():
            for field in kind.fields:
                yield from empty_texts(field.type, value[field.encode_name], (kind.cls.__name__, field.encode_name))
        case inspect.UnionType():
            for each in kind.types:
                if not isinstance(each, inspect.NoneType) and value is not None:
                    yield from empty_texts(each, value, at)
        case inspect.ListType():
            for each in value:
                yield from empty_texts(kind.item_type, each, at)
        case inspect.DictType():
            for each in value.values():
                yield from empty_texts(kind.value_type, each, at)
        case inspect.Metadata():
            yield from empty_texts(kind.type, value, at)
        case inspect.AnyType():
            return
        case _ if value == "":
            yield at


def everything() -> list[type[msgspec.Struct]]:
    return [*json_page.structs().values(), *json_page.structs([FailedAnswer]).values()]


def test_a_name_has_one_type_wherever_it_stands() -> None:
    """A program that reads `stale` as an array would be wrong where it is true or false."""
    assert with_several(everything()).keys() == SEVERAL_TYPES.keys(), with_several(everything())


def test_what_failed_and_what_caused_it_have_one_name_each() -> None:
    """`error` is the object of an error answer; a text is called otherwise."""
    found = types_of(everything())
    assert {name: found[name] for name in A_CAUSE & found.keys()} == {"error": {"object": ["FailedAnswer"]}}
    assert {(name, *found[name]) for name in ("failure", "reason")} == {("failure", "text"), ("reason", "text")}


def test_no_example_has_an_empty_text_for_what_is_not_there() -> None:
    examples = json_page.examples_on(json_page.PAGE.read_text())
    kinds = json_page.structs()
    found = {at for (_, name), answer in examples.items() for at in empty_texts(inspect.type_info(kinds[name]), answer)}
    assert found <= SAID_AS_IT_IS


def test_no_member_is_an_empty_text_unless_it_is_said_otherwise() -> None:
    """An example shows only what its call came to. What a struct says of itself holds for all of them."""
    found = [
        f"{kind.__name__}.{field.encode_name}"
        for kind in everything()
        for field in json_page.fields(kind)
        if field.default == ""
    ]
    assert found == []


class Flag(msgspec.Struct):
    stale: bool | None
    at: Instant


class Texts(msgspec.Struct):
    stale: list[str]
    at: Instant | None


class Words(msgspec.Struct):
    at: str


def empties(value: object) -> list[tuple[str, str]]:
    return [*empty_texts(inspect.type_info(Texts), value)]


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (lambda: with_several([Flag, Texts]), {"stale": {"true or false": ["Flag"], "array of text": ["Texts"]}}),
        (lambda: with_several([Flag, Words]), {"at": {"instant": ["Flag"], "text": ["Words"]}}),
        (lambda: empties({"stale": ["", "a"], "at": ""}), [("Texts", "stale"), ("Texts", "at")]),
        (lambda: empties({"stale": [], "at": None}), []),
    ],
)
def test_such_a_fault_is_found(fault: Callable[[], object], found: object) -> None:
    assert fault() == found
