"""Tasks out as Markdown and CSV, and in again."""

import csv
import io
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.stores import NOON, dump, new_store

from lottisync.entities.entity import HIGH
from lottisync.journal import names, task_csv, task_file, task_markdown, task_rows, task_values, tasks, time_entry
from lottisync.journal.task_file import Added, TaskFile
from lottisync.journal.task_rows import FileRow, file_of
from lottisync.language import speaking, translated
from lottisync.problem import Problem
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

FORMATS = ("markdown", "csv")


def written(rows: list[FileRow], form: str) -> bytes:
    lines = task_markdown.lines(rows) if form == "markdown" else task_csv.lines(rows)
    return b"".join(line + b"\n" for line in lines)


def read(raw: bytes, form: str, now: int = NOON) -> TaskFile:
    return task_markdown.read(raw, "it", now).tasks if form == "markdown" else task_csv.read(raw, "it", now)


def rows_of(store: Store) -> list[FileRow]:
    with store.reading() as reader:
        return list(task_rows.rows(reader, tasks.all_tasks(reader)[0]))


def load(store: Store, file: TaskFile) -> Added:
    with store.transaction(NOON, HIGH) as tx:
        return task_file.add(tx, file)


def filled(store: Store) -> Store:
    def write(tx: Transaction) -> None:
        label = names.find_or_make(tx, "label", "a; b `c`")
        category = names.find_or_make(tx, "category", "Home")
        fields = {"labels": {label: True}, "categoryId": category, "due": "2026-12-01", "estimate": 90}
        tasks.add_task(tx, "t1", "=1+1 *and* `code`", {**fields, **task_values.checked_status("BLOCKED", "no `key`")})
        tasks.add_item(tx, "i1", "t1", "-5 apples")
        tasks.add_item(tx, "i2", "t1", "- [ ] not a task")
        tasks.check_item(tx, "i2", checked=True)
        tasks.add_note(tx, "n1", "t1", '> quoted\n\n*2026* <!-- note -->\n# heading, "and" more')
        time_entry.add(tx, "n2", "t1", "walked", time_entry.Span("2026-03-01T10:00:00Z", "2026-03-01T10:25:00Z"))
        tasks.add_task(tx, "t2", "Done one", task_values.checked_status("DONE", None))

    with store.transaction(NOON, HIGH) as tx:
        write(tx)
    return store


@pytest.mark.parametrize("form", FORMATS)
def test_jour_460_what_is_written_is_read_again_elsewhere(tmp_path: Path, form: str) -> None:
    """JOUR-460"""
    source, target = filled(new_store(tmp_path)), new_store(tmp_path, 2)
    raw = written(rows_of(source), form)
    assert load(target, read(raw, form)) == Added(tasks=2, items=2, notes=2, labels=1, kept=0)
    assert rows_of(target) == rows_of(source)


@pytest.mark.parametrize("form", FORMATS)
def test_jour_461_where_it_came_from_it_adds_nothing(tmp_path: Path, form: str) -> None:
    """JOUR-461: not even where something was renamed or deleted since."""
    store = filled(new_store(tmp_path))
    raw = written(rows_of(store), form)
    with store.transaction(NOON, HIGH) as tx:
        tasks.rename_item(tx, "i1", "Six apples")
        tasks.remove_item(tx, "i2")
        tasks.delete_task(tx, "t2")
    before = dump(store)
    added = load(store, read(raw, form))
    assert (added.tasks, added.items, added.notes, added.labels) == (0, 0, 0, 0)
    assert dump(store) == before


@pytest.mark.parametrize("form", FORMATS)
def test_jour_461_a_file_of_another_program_adds_nothing_the_second_time(tmp_path: Path, form: str) -> None:
    """JOUR-461"""
    raw = {
        "markdown": b"# Shopping\n\n* [ ] Milk\n  * [x] look\n  * [ ] look\n* [x] Milk\n  > sour\n",
        "csv": b"title;type;status\nMilk;;open\nlook;item;done\nlook;item;\nMilk;;DONE\nsour;note;\n",
    }[form]
    store = new_store(tmp_path)
    assert load(store, read(raw, form)) == Added(tasks=2, items=2, notes=1)
    assert sorted((row.kind, row.text, row.status) for row in rows_of(store)) == [
        ("item", "look", "DONE"),
        ("item", "look", "OPEN"),
        ("note", "sour", ""),
        ("task", "Milk", "DONE"),
        ("task", "Milk", "OPEN"),
    ]
    assert load(store, read(raw, form, NOON + 1)).kept == 5


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(hours=-8))])
@pytest.mark.parametrize("form", FORMATS)
def test_cli_862_instants_are_written_by_the_clock_and_come_back_equal(
    tmp_path: Path, form: str, zone: timezone
) -> None:
    """CLI-862: they were in UTC; a file that is read on a device in another zone means the same instants."""
    source, target = filled(new_store(tmp_path)), new_store(tmp_path, 2)
    with source.transaction(NOON, HIGH) as tx:
        tasks.edit_task(tx, "t1", {"remindAt": "2026-03-01T23:30:00.000Z"})
        tasks.edit_task(tx, "t2", {"remindAt": "9999-12-31T23:59:59.999Z"})
    lines = (task_markdown if form == "markdown" else task_csv).lines(rows_of(source), zone)
    raw = b"".join(line + b"\n" for line in lines)
    local = datetime(2026, 3, 1, 23, 30, tzinfo=UTC).astimezone(zone)
    assert (local.isoformat(" ", "minutes") if form == "markdown" else local.isoformat()).encode() in raw
    load(target, read(raw, form))
    assert rows_of(target) == rows_of(source)


def test_cli_862_a_person_reads_their_own_time(tmp_path: Path) -> None:
    """CLI-862: above a note stands what the clock on the wall said."""
    zone = timezone(timedelta(hours=2))
    raw = b"\n".join(task_markdown.lines(rows_of(filled(new_store(tmp_path))), zone))
    assert b"> *2026-03-01 12:00, 25 min* <!-- time at=2026-03-01T12:00:00+02:00 minutes=25 " in raw


def test_cli_868_cells_that_a_line_of_csv_leaves_out_are_empty() -> None:
    """CLI-868: a line that ended before its text was a traceback."""
    assert [task.title for task in task_csv.read(b"priority,text,due\nP1,Milk\n", "x.csv", NOON).tasks] == ["Milk"]
    with pytest.raises(Problem, match=r"x\.csv: line 3: "):
        task_csv.read(b"type,text\ntask,Milk\ntask\n", "x.csv", NOON)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
ODD = st.text(st.sampled_from(list(" \n\t\"',;`\\*_<>!-=+@#[]x.&~|:0P1")), min_size=1, max_size=40)
TITLE = st.one_of(TEXT, ODD).map(lambda text: " ".join(text.split())).filter(bool)
NOTE = st.one_of(TEXT, ODD).map(lambda text: text.replace("\r\n", "\n").replace("\r", "\n").strip()).filter(bool)
AT = st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1)).map(
    lambda at: at.replace(microsecond=0).isoformat() + ".000Z"
)
MINUTES = st.integers(1, 1440).map(str)


@st.composite
def _rows(draw: st.DrawFn) -> list[FileRow]:
    found: list[FileRow] = []
    for number in range(draw(st.integers(1, 3))):
        status = draw(st.sampled_from(["OPEN", "GROOMED", "BLOCKED", "DONE", "REJECTED"]))
        reason = draw(TITLE if status == "BLOCKED" else st.one_of(st.just(""), TITLE))
        labels = draw(st.lists(TITLE, max_size=2, unique_by=str.casefold))
        found.append(
            FileRow(
                kind="task",
                text=draw(TITLE),
                status=status,
                reason=reason,
                priority=draw(st.sampled_from(["P0", "P2"])),
                due=draw(st.sampled_from(["", "2026-12-01"])),
                remind=draw(st.one_of(st.just(""), AT)),
                repeat=draw(st.sampled_from(["", "R/2026-12-01/P2W"])),
                minutes=draw(st.one_of(st.just(""), MINUTES)),
                labels=tuple(labels),
                category=draw(st.one_of(st.just(""), TITLE)),
                language=draw(st.sampled_from(["", "de"])),
                at=draw(AT),
                id=f"t{number}",
            )
        )
        for other in range(draw(st.integers(0, 3))):
            ident = f"t{number}-{other}"
            kind = draw(st.sampled_from(["item", "note", "time"]))
            if kind == "item":
                ticked = draw(st.booleans())
                status, at = ("DONE", draw(AT)) if ticked else ("OPEN", "")
                found.append(FileRow(kind="item", text=draw(TITLE), status=status, at=at, id=ident))
            else:
                minutes = draw(MINUTES) if kind == "time" else ""
                found.append(FileRow(kind=kind, text=draw(NOTE), at=draw(AT), minutes=minutes, id=ident))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("form", FORMATS)
@given(rows=_rows())
@examples(60)
def test_jour_460_any_text_survives(form: str, rows: list[FileRow]) -> None:
    """JOUR-460: newlines, quotes, formulas, Markdown in titles, labels, reasons and notes."""
    assert read(written(rows, form), form) == file_of(rows, "it", NOON)


@given(rows=_rows())
@examples(30)
def test_jour_462_no_cell_is_a_formula(rows: list[FileRow]) -> None:
    """JOUR-462"""
    for cells in csv.reader(io.StringIO(written(rows, "csv").decode(), newline="")):
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in cells)


@pytest.mark.parametrize("form", FORMATS)
@given(raw=st.one_of(st.binary(max_size=80), ODD.map(str.encode)))
@examples(60)
def test_jour_463_any_file_is_read_or_refused(form: str, raw: bytes) -> None:
    """JOUR-463"""
    with suppress(Problem):
        read(raw, form)


@pytest.mark.parametrize(
    ("form", "raw", "line", "what"),
    [
        ("markdown", "# Tasks\n\n- [ ] a\n- [ ] \n", 4, "a title has"),
        ("markdown", "- [ ] a `due 2026-13-01`\n", 1, "a due date is"),
        ("markdown", "- [ ] a <!-- task id=a/b -->\n", 1, "id"),
        ("markdown", "- [ ] a\n  > *x* <!-- time id=x -->\n  > walked\n", 2, "minutes"),
        ("csv", 'title\na\n"b\n', 3, "a quotation mark is opened and not closed"),
        ("csv", 'title,due\n"a"b,\n', 2, "a cell goes on behind the quotation mark that closes it"),
        ("csv", f"title\n{'a' * 131_073}\n", 2, "a cell has more than 131,072 characters"),
        ("csv", "title,prio\na,1\n", 1, "'prio' is not a column"),
        ("csv", "text,type\na,item\n", 2, "before the first task"),
        ("csv", 'text,minutes\n"a\nb",\nc,ten\n', 4, "minutes"),
        ("csv", "text,id\na,1\nb,1\n", 3, "used twice"),
        ("csv", "text,type,due\na,,\nb,item,2026-12-01\n", 3, "has no due"),
        ("csv", "text\na,b\n", 2, "2 cells"),
    ],
)
def test_jour_463_the_line_of_an_error_is_named(form: str, raw: str, line: int, what: str) -> None:
    """JOUR-463"""
    with pytest.raises(Problem) as refused:
        read(raw.encode(), form)
    assert f"line {line}: " in refused.value.message
    assert what in refused.value.message


def test_jour_464_lines_that_are_left_out_are_listed() -> None:
    """JOUR-464"""
    raw = b"# Mine\nprose\n\n- [ ] a\n    - plain\n```\n- [ ] b\n```\n- [ ] c `odd` <b>\n"
    document = task_markdown.read(raw, "it", NOON)
    assert [task.title for task in document.tasks.tasks] == ["a", "c `odd` <b>"]
    assert document.left_out == [2, 5, 7]


def test_a_running_timer_and_values_that_no_verb_writes_are_left_out(tmp_path: Path) -> None:
    store = new_store(tmp_path)
    odd: dict[str, Any] = {"title": "", "status": "GONE", "estimate": -4, "due": "soon", "createdAt": "never"}
    with store.transaction(NOON, HIGH) as tx:
        tx.put("t1", "task", odd)
        time_entry.start(tx, "n1", "t1", "runs", "2026-03-01T10:00:00Z")
    [row] = rows_of(store)
    assert row == FileRow(kind="task", text=task_rows.UNTITLED, status="OPEN", priority="P2", id="t1")
    assert all(read(written([row], form), form).tasks for form in FORMATS)


def test_cli_440_what_is_wrong_with_a_line_is_said_in_the_readers_language() -> None:
    """CLI-440: the reason stood in English within a German sentence."""
    with pytest.raises(Problem) as refused:
        task_csv.read(b"titel\nMilk\n", "a.csv", 0)
    with speaking("de"):
        assert translated(refused.value).startswith("a.csv: Zeile 1: 'titel' ist keine Spalte; es gibt type, ")
    with pytest.raises(Problem) as refused:
        task_csv.read(b"title,due\nMilk,2026-99-99\n", "a.csv", 0)
    with speaking("de"):
        assert translated(refused.value).startswith("a.csv: Zeile 2: eine Fälligkeit ist ein Tag wie")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'title\n"Milk\n', "Zeile 2: ein Anführungszeichen wird nicht geschlossen"),
        (b'title,due\n"Milk"x,\n', "Zeile 2: eine Zelle geht hinter ihrem schließenden Anführungszeichen weiter"),
        (b"title\n" + b"a" * 131_073, "Zeile 2: eine Zelle hat mehr als 131.072 Zeichen"),
        (b"title,type\nMilk,odd\n", "Zeile 2: ein Typ ist einer von task, item, note, time; da steht 'odd'"),
    ],
)
def test_cli_440_what_is_wrong_with_csv_is_said_in_the_readers_language(raw: bytes, said: str) -> None:
    """CLI-440: the words of the reader of CSV are English alone."""
    with pytest.raises(Problem) as refused:
        task_csv.read(raw, "a.csv", 0)
    with speaking("de"):
        assert translated(refused.value) == f"a.csv: {said}. Nichts wurde importiert"


def test_cli_440_an_unknown_fault_of_csv_keeps_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-440: another version of Python may know more of them."""

    def broken(line: str) -> list[str]:
        raise csv.Error("odd")

    monkeypatch.setattr(csv, "reader", lambda lines, **_: map(broken, lines))
    with pytest.raises(Problem, match=r"line 1: it is no CSV \(odd\)"):
        task_csv.read(b"title\n", "a.csv", 0)
