"""The files are open to every SQLite tool: BACKUP-40."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.support.command_line import run_here
from tests.support.review_desk import Desk


def rows(file: Path, query: str) -> list[tuple[Any, ...]]:
    """What Python's own SQLite reads, without any code of this program."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def test_backup_40_views_show_what_is_live(tmp_path: Path) -> None:
    """BACKUP-40"""
    desk = Desk(tmp_path / "home")
    home = desk.home.path
    for call in (
        ("task", "add", "Buy milk", "--item", "bottles"),
        ("task", "category", "milk", "household"),
        ("task", "due", "milk", "2026-12-01"),
        ("task", "check", "bottles"),
        ("task", "note", "milk", "the shop has none"),
        ("task", "add", "Gone"),
        ("task", "delete", "Gone"),
    ):
        assert run_here(*call, home=home).code == 0
    journal, agent = home / "journal.sqlite", home / "agent.sqlite"
    assert rows(journal, "select title, status, due, category, estimate_minutes from tasks order by title") == [
        ("Bake bread", "OPEN", None, None, 30),
        ("Buy milk", "OPEN", "2026-12-01", "household", None),
    ]
    assert run_here("task", "repeat", "milk", "weekly", home=home).code == 0
    assert run_here("task", "remind", "milk", "2026-11-30T08:00:00Z", home=home).code == 0
    assert rows(journal, "select repeat, remind_at from tasks where title = 'Buy milk'") == [
        ("R/2026-12-01/P1W", "2026-11-30T08:00:00.000Z")
    ]
    assert rows(journal, "select title, is_checked, checked_by, is_archived from checklist_items order by title") == [
        ("Flour", 0, "user", 0),
        ("bottles", 1, "user", 0),
    ]
    assert rows(journal, "select text, author, t.title from notes n join tasks t on t.id = n.task_id") == [
        ("the shop has none", "user", "Buy milk")
    ]
    [item] = desk.propose("update_task_estimate", {"minutes": 45})[:1]
    run_here("review", home=home)
    run_here("review", "confirm", "--all", home=home)
    query = "select p.tool, p.summary, d.verdict, a.name from proposals p join decisions d on d.proposal_id = p.id"
    assert rows(agent, f"{query} join agents a on a.id = p.agent_id") == [
        ("update_task_estimate", "Set estimate to 45 minutes", "confirmed", "Laura")
    ]
    assert run_here("check", home=home).code == 0, item


def test_backup_40_a_view_of_an_earlier_program_gets_its_new_columns(tmp_path: Path) -> None:
    """BACKUP-40, CLI-196: what somebody else made under another name stays."""
    desk = Desk(tmp_path / "home")
    journal = desk.home.path / "journal.sqlite"
    desk.home.close()
    with closing(sqlite3.connect(journal)) as connection:
        connection.execute("drop view tasks")
        connection.execute("create view tasks as select id, serialized ->> '$.title' as title from journal_entities")
        connection.execute("create view mine as select 1 as one")
        connection.commit()
    assert run_here("task", "list", home=desk.home.path).code == 0
    assert rows(journal, "select title, remind_at, repeat from tasks") == [("Bake bread", None, None)]
    assert rows(journal, "select one from mine") == [(1,)]
