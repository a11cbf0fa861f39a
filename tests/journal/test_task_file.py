"""Task lists as a file: import adds, and never takes a person's change back."""

import copy
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.rounds import send
from tests.support.stores import NOON, digest_of, dump, every_version, new_store

from lottisync.entities.entity import HIGH, is_deleted
from lottisync.entities.schema import derived_id
from lottisync.journal import task_file, tasks
from lottisync.journal.task_file import Added
from lottisync.journal.types import Entry
from lottisync.language import speaking, translated
from lottisync.problem import Problem
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

LIST: dict[str, Any] = {
    "format": "lottisync-tasks/1",
    "labels": [{"key": "house", "name": " The  house ", "color": "#123456"}],
    "tasks": [
        {
            "key": "boiler",
            "title": "Boiler",
            "createdAt": "2026-02-28T23:00:00+01:00",
            "status": "BLOCKED",
            "statusReason": "no fitter",
            "priority": "P1",
            "due": "2026-03-31",
            "estimate": 30,
            "language": "de",
            "labels": ["house"],
            "checklist": [
                {"key": "call", "title": "Call", "checked": True, "checkedAt": "2026-03-01T08:00:00Z"},
                {"key": "pay", "title": "Pay", "checked": True},
                {"key": "sleep", "title": "Sleep"},
            ],
            "notes": [{"key": "n", "at": "2026-03-02T08:00:00Z", "text": "x", "minutes": 5}],
        },
        {"key": "plain", "title": "Plain", "createdAt": "2026-01-01T00:00:00Z"},
    ],
}
BOILER = task_file.task_id("boiler")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return new_store(tmp_path)


def load(store: Store, content: dict[str, Any] = LIST, now: int = NOON) -> Added:
    file = task_file.parse(json.dumps(content).encode(), "list.json")
    with store.transaction(now, HIGH) as tx:
        return task_file.add(tx, file)


def do(store: Store, verb: Callable[[Transaction], Any]) -> None:
    with store.transaction(NOON, HIGH) as tx:
        verb(tx)


def boiler(store: Store) -> tasks.TaskPage:
    with store.reading() as reader:
        return tasks.page(reader, BOILER)


def test_everything_in_the_file_is_there(store: Store) -> None:
    """JOUR-9"""
    assert load(store) == Added(tasks=2, items=3, notes=1, labels=1, kept=0)
    page = boiler(store)
    task = page.task
    assert (task.title, task.status, task.status_reason, task.priority) == ("Boiler", "BLOCKED", "no fitter", "P1")
    assert (task.due, task.estimate, task.language_code) == ("2026-03-31", 30, "de")
    assert task.created_at == "2026-02-28T22:00:00.000Z"
    assert [label.name for label in page.labels] == ["The house"]
    assert [(e.text, e.minutes, e.at) for e in page.entries] == [("x", 5, "2026-03-02T08:00:00.000Z")]
    assert [(i.title, i.is_checked, i.checked_by, i.checked_at) for i in page.items] == [
        ("Call", True, "user", "2026-03-01T08:00:00.000Z"),
        ("Pay", True, "user", task.created_at),
        ("Sleep", False, "user", None),
    ]


def test_importing_twice_changes_nothing(store: Store) -> None:
    """JOUR-9"""
    load(store)
    before = dump(store)
    assert load(store, now=NOON + 9_000) == Added(kept=7)
    assert dump(store) == before


def test_importing_on_two_devices_makes_nothing_twice(tmp_path: Path) -> None:
    """JOUR-9: ids derive from the keys."""
    one, two = new_store(tmp_path, 1), new_store(tmp_path, 2)
    load(one)
    load(two)
    send(one, two)
    send(two, one)
    assert [version.id for version in every_version(one)] == [version.id for version in every_version(two)]
    assert digest_of(one) == digest_of(two)
    assert len(boiler(one).items) == 3


def test_an_import_keeps_what_the_person_has_changed_since(store: Store) -> None:
    """JOUR-10"""
    load(store)
    call, pay = (task_file.item_id("boiler", key) for key in ("call", "pay"))
    do(store, lambda tx: tasks.edit_task(tx, BOILER, {"title": "Mine"}))
    do(store, lambda tx: tasks.check_item(tx, call, checked=False))
    do(store, lambda tx: tx.delete(pay))
    before = dump(store)
    load(store)
    assert dump(store) == before
    assert boiler(store).task.title == "Mine"


def test_an_import_adds_what_is_new_in_the_file(store: Store) -> None:
    """JOUR-9"""
    load(store)
    longer = copy.deepcopy(LIST)
    longer["tasks"][0]["checklist"].append({"key": "new", "title": "New"})
    longer["tasks"][1]["notes"] = [{"key": "n", "at": "2026-03-02T08:00:00Z", "text": "x"}]
    assert load(store, longer) == Added(items=1, notes=1, kept=7)
    assert [i.title for i in boiler(store).items] == ["Call", "Pay", "Sleep", "New"]


@pytest.mark.parametrize("gone", [BOILER, derived_id("checklist", BOILER)])
def test_an_import_adds_nothing_to_what_was_deleted(store: Store, gone: str) -> None:
    """JOUR-17"""
    load(store)
    do(store, lambda tx: tx.delete(gone))
    longer = copy.deepcopy(LIST)
    longer["tasks"][0]["checklist"].append({"key": "new", "title": "New"})
    if gone == BOILER:
        longer["tasks"][0]["notes"].append({"key": "new", "at": "2026-03-02T08:00:00Z", "text": "x"})
    before = dump(store)
    added = load(store, longer)
    assert (added.tasks, added.items, added.notes) == (0, 0, 0)
    assert dump(store) == before
    entity = store.read(gone)
    assert entity is not None
    assert is_deleted(entity)


def test_progress_counts_all_that_the_file_describes(store: Store) -> None:
    """JOUR-19: an entity that is there already counts, too."""
    file = task_file.parse(json.dumps(LIST).encode(), "list.json")
    assert task_file.size(file) == 7
    for _ in range(2):
        done: list[int] = []
        do(store, partial(task_file.add, file=file, progress=done.append))
        assert sum(done) == 7
    do(store, lambda tx: tx.delete(BOILER))
    done = []
    do(store, lambda tx: task_file.add(tx, file, done.append))
    assert sum(done) == 7


def many(count: int) -> dict[str, Any]:
    """A file of that many tasks, each with two items, a note and a time."""
    task = LIST["tasks"][0]
    notes = [*task["notes"], {"key": "m", "at": "2026-03-02T08:00:00Z", "text": "y"}]
    tasks = [task | {"key": f"t{n}", "checklist": task["checklist"][:2], "notes": notes} for n in range(count)]
    return LIST | {"tasks": tasks}


def test_many_are_written_together(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a label goes alone: whether it is here is asked by its name."""
    apart: list[str] = []
    put = Transaction.put

    def counted(tx: Transaction, entity_id: str, type_name: str, *rest: Any, **more: Any) -> Any:
        apart.append(type_name)
        return put(tx, entity_id, type_name, *rest, **more)

    monkeypatch.setattr(Transaction, "put", counted)
    assert load(store, many(300)) == Added(tasks=300, items=600, notes=600, labels=1)
    assert apart == ["label"]
    assert load(store, many(300)) == Added(kept=1501)


def test_an_imported_note_knows_the_items_of_its_task(store: Store) -> None:
    """S0-02: so it comes after them."""
    load(store, many(40))
    with store.reading() as reader:
        entries = [document.view(Entry) for document in reader.documents("entry")]
        assert len(entries) == 80
        for entry in entries:
            items = reader.by_type("checklistItem", owner=entry.task_id)
            assert len(items) == 2
            assert all(counter <= entry.knowledge[host] for item in items for host, counter in item.clock.items())


def test_what_the_file_names_twice_by_its_id_is_added_once(store: Store) -> None:
    """JOUR-9: the second record finds what the first one made."""
    again = copy.deepcopy(LIST)
    boiler_, plain = again["tasks"]
    boiler_["id"] = plain["id"] = "one"
    boiler_["checklist"][0]["id"] = boiler_["checklist"][1]["id"] = "item"
    plain["checklist"] = [{"key": "also", "title": "Also"}]
    plain["notes"] = [{"key": "n", "at": "2026-03-02T08:00:00Z", "text": "x"}]
    assert load(store, again) == Added(tasks=1, items=3, notes=2, labels=1, kept=2)
    with store.reading() as reader:
        page = tasks.page(reader, "one")
    assert page.task.title == "Boiler"
    assert {item.title for item in page.items} == {"Call", "Sleep", "Also"}


@pytest.mark.parametrize("where", ["here", "in the file"])
def test_an_id_of_something_else_is_not_a_task(store: Store, where: str) -> None:
    """Nothing is added to it, and the file is refused."""
    odd = copy.deepcopy(LIST)
    odd["tasks"][1]["id"] = "item"
    odd["tasks"][1]["notes"] = [{"key": "n", "at": "2026-03-02T08:00:00Z", "text": "x"}]
    if where == "here":
        do(store, lambda tx: tx.put("item", "checklistItem", {"title": "x"}))
    else:
        odd["tasks"][0]["checklist"][0]["id"] = "item"
    before = dump(store)
    with pytest.raises(Problem, match="there is no task item"):
        load(store, odd)
    assert dump(store) == before


def test_an_item_with_the_id_of_its_checklist_is_refused(store: Store) -> None:
    """Neither takes the place of the other."""
    odd = copy.deepcopy(LIST)
    odd["tasks"][0]["checklist"][0]["id"] = derived_id("checklist", BOILER)
    before = dump(store)
    with pytest.raises(Problem, match="is a checklist, not a checklistItem"):
        load(store, odd)
    assert dump(store) == before


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    content = copy.deepcopy(LIST)
    change(content)
    return json.dumps(content).encode()


def task_with(**fields: Any) -> bytes:
    return changed(lambda content: content["tasks"][0].update(fields))


def item_with(**fields: Any) -> bytes:
    return changed(lambda content: content["tasks"][0]["checklist"][0].update(fields))


def note_with(**fields: Any) -> bytes:
    return changed(lambda content: content["tasks"][0]["notes"][0].update(fields))


DAMAGED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "its end is missing"),
    "no JSON": (b"Dear diary", "line 1: this is no JSON"),
    "cut off": (json.dumps(LIST).encode()[:-10], "its end is missing"),
    "not UTF-8": (json.dumps(LIST).encode().replace(b"Plain", b"\xff\xfe"), "not UTF-8"),
    "too deep": (b"[" * 100_000, "bad-file"),
    "a list": (b"[]", "object"),
    "no format": (changed(lambda c: c.pop("format")), "format"),
    "another format": (changed(lambda c: c.update(format="lottisync-tasks/2")), "lottisync-tasks/2"),
    "no tasks": (changed(lambda c: c.pop("tasks")), "tasks"),
    "a field too many": (changed(lambda c: c.update(extra=1)), "extra"),
    "a task's field too many": (task_with(colour="red"), "colour"),
    "a task without a title": (changed(lambda c: c["tasks"][0].pop("title")), "title"),
    "a title of spaces": (task_with(title="  "), "task 'boiler': a title has"),
    "a title too long": (task_with(title="x" * 401), "title"),
    "a key with a space": (task_with(key="a b"), "key"),
    "a key too long": (task_with(key="k" * 65), "key"),
    "a key with a line break": (task_with(key="k\n"), "key"),
    "a task key twice": (changed(lambda c: c["tasks"].append(c["tasks"][0])), "task key 'boiler' is used twice"),
    "an item key twice": (
        changed(lambda c: c["tasks"][0]["checklist"].append({"key": "call", "title": "x"})),
        "item key 'call' is used twice",
    ),
    "a note key twice": (
        changed(lambda c: c["tasks"][0]["notes"].append(c["tasks"][0]["notes"][0])),
        "note key 'n' is used twice",
    ),
    "a label key twice": (changed(lambda c: c["labels"].append(c["labels"][0])), "label key 'house' is used twice"),
    "a label that is nowhere": (task_with(labels=["garden"]), "'garden' that the file does not define"),
    "a label without a name": (changed(lambda c: c["labels"][0].update(name=" ")), "label 'house'"),
    "a status nobody knows": (task_with(status="LATER"), "LATER"),
    "a status without its reason": (task_with(statusReason=None), "BLOCKED needs a reason"),
    "a priority nobody knows": (task_with(priority="P9"), "P9"),
    "a day that does not exist": (task_with(due="2026-02-30"), "due"),
    "minutes below 1": (task_with(estimate=0), "estimate"),
    "minutes over a day": (note_with(minutes=1441), "minutes"),
    "a language that is not a code": (task_with(language="klingon"), "language"),
    "a time without its offset": (task_with(createdAt="2026-02-28T22:00:00"), "2026-02-28T22:00:00"),
    "a text instead of a time": (item_with(checkedAt="noon"), "'noon' is not a time"),
    "a time before 1970": (note_with(at="0001-01-01T00:00:00+14:00"), "0001-01-01"),
    "a time after 9999": (note_with(at="9999-12-31T23:59:59-12:00"), "9999-12-31"),
    "an item without a title": (item_with(title=""), "title"),
    "a tick that is not a boolean": (item_with(checked="yes"), "checked"),
    "a note of spaces": (note_with(text=" \n"), "a note has"),
}


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("no format", "ist keine Datei im Format lottisync-tasks/1: das Feld format fehlt"),
        ("a task without a title", "ist keine Datei im Format lottisync-tasks/1: tasks[0]: das Feld title fehlt"),
        ("a field too many", "ist keine Datei im Format lottisync-tasks/1: es gibt kein Feld extra"),
        (
            "minutes below 1",
            "ist keine Datei im Format lottisync-tasks/1: tasks[0].estimate: diesen Wert kennt das Format nicht "
            "(Expected `int` >= 1)",
        ),
        ("not UTF-8", "ist keine Datei im Format lottisync-tasks/1: das ist kein UTF-8"),
    ],
)
def test_cli_440_what_is_wrong_with_a_file_is_said_in_the_readers_language(damage: str, said: str) -> None:
    """CLI-440: it was said in the words of the decoder."""
    with pytest.raises(Problem) as caught:
        task_file.parse(DAMAGED[damage][0], "list.json")
    with speaking("de"):
        assert translated(caught.value) == f"list.json {said}. Nichts wurde importiert"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("a task key twice", "list.json: der Schlüssel 'boiler' (Aufgabe)"),
        ("an item key twice", "list.json: Aufgabe 'boiler': der Schlüssel 'call' (Punkt einer Checkliste)"),
        ("a note key twice", "list.json: Aufgabe 'boiler': der Schlüssel 'n' (Notiz)"),
        ("a label key twice", "list.json: der Schlüssel 'house' (Label)"),
    ],
)
def test_cli_440_whose_key_is_used_twice_is_said_in_the_readers_language(damage: str, said: str) -> None:
    """CLI-440"""
    with pytest.raises(Problem) as caught:
        task_file.parse(DAMAGED[damage][0], "list.json")
    with speaking("de"):
        assert translated(caught.value) == f"{said} kommt zweimal vor. Nichts wurde importiert"


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_is_refused_whole(damage: str) -> None:
    """JOUR-11, JOUR-302: before anything is written, naming what is wrong."""
    raw, word = DAMAGED[damage]
    with pytest.raises(Problem) as caught:
        task_file.parse(raw, "list.json")
    assert caught.value.code == "bad-file"
    assert caught.value.message.startswith("list.json")
    assert word == "bad-file" or word in caught.value.message
    assert caught.value.message.endswith("Nothing was imported")


def test_a_file_that_is_too_large_is_not_even_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """JOUR-11, JOUR-302"""
    monkeypatch.setattr(task_file, "MAX_BYTES", 100)
    with pytest.raises(Problem, match="may have 100"):
        task_file.parse(json.dumps(LIST).encode(), "list.json")


def test_an_import_that_fails_half_way_leaves_nothing(store: Store) -> None:
    """JOUR-18, STORE-4: it is one transaction."""
    before = dump(store)

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), store.transaction(NOON, HIGH) as tx:
        task_file.add(tx, task_file.parse(json.dumps(LIST).encode(), "list.json"), stop)
    assert dump(store) == before


@pytest.mark.parametrize(("raw", "line"), [(b'{\n"format": "lottisync-tasks/1",\n!}', 3), (b'{\n"format":\n', 3)])
def test_jour_302_json_that_is_broken_is_named_by_its_line(raw: bytes, line: int) -> None:
    """JOUR-302"""
    with pytest.raises(Problem, match=f"line {line}: "):
        task_file.parse(raw, "list.json")
