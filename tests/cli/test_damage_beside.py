"""What the search for damaged cells (tests/deep) has found: one damaged row stopped what stands beside it."""

import shutil
from pathlib import Path

import apsw
import pytest
from tests.support.beside import opened
from tests.support.command_line import run_here

from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.journal import tasks
from lottisync.review.change import ChangeItem, ChangeSet
from lottisync.review.ledger import fields
from lottisync.review.proposal import item_id
from lottisync.store.instant import iso

NO_TEXT = "cast(x'ff00' as text)"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two tasks, two agents, and a proposal of each agent for its task."""
    folder = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=folder).code == 0
    with opened(folder) as device:
        for name in ("a", "b"):
            with device.journal.transaction(clock.now(), HIGH) as tx:
                tasks.add_task(tx, f"task-{name}", f"Milk {name}")
            with device.agent.transaction(clock.now(), HIGH) as tx:
                tx.put(f"agent-{name}", "agent", {"displayName": name, "kind": "task"})
                item = ChangeItem(item_id(f"set-{name}", 0), "set_task_title", {"title": "Tea"}, "Tea", "", name)
                proposed = ChangeSet(
                    f"set-{name}", f"agent-{name}", f"task-{name}", "t", name, [item], created_at=iso(clock.now())
                )
                tx.put(f"set-{name}", "changeSet", fields(proposed))
    return folder


def damage(home: Path, store: str, change: str, ident: str) -> None:
    with apsw.Connection(str(home / f"{store}.sqlite")) as connection:
        connection.execute(f"update {store}_entities set {change} where id = ?", (ident,))
        assert connection.changes() == 1
    connection.close()


@pytest.mark.parametrize(
    ("store", "change", "ident"),
    [
        ("journal", "clock = '{'", "task-a"),
        ("journal", f"type = {NO_TEXT}", "task-a"),
        ("agent", "stamps = ''", "agent-a"),
        ("agent", f"type = {NO_TEXT}", "agent-a"),
    ],
)
def test_store_102_a_damaged_task_or_agent_hides_no_proposal(home: Path, store: str, change: str, ident: str) -> None:
    """STORE-102, STORE-29, REL-D7: `review` answered with the damage alone."""
    damage(home, store, change, ident)
    done = run_here("review", "--json", home=home)
    assert done.code == 0, done
    assert {one["id"] for one in done.json["sets"]} == {"set-a", "set-b"}


def test_store_103_a_copied_home_with_a_damaged_id_can_be_written_to(home: Path, tmp_path: Path) -> None:
    """STORE-103, REL-D7: the notice that a home was copied looks at the last rows for the time; every write failed."""
    damage(home, "journal", f"id = {NO_TEXT}", "task-b")
    shutil.copytree(home, tmp_path / "copied")
    done = run_here("task", "add", "Bread", home=tmp_path / "copied")
    assert done.code == 0, done
    assert "Bread" in run_here("task", "list", home=tmp_path / "copied").out


def test_jour_660_a_damaged_item_of_a_task_is_named_beside_it(home: Path) -> None:
    """JOUR-660: `task show` answered with the damage alone."""
    assert run_here("task", "item", "add", "task-a", "Bottles", home=home).code == 0
    with opened(home) as device, device.journal.reading() as reader:
        (item,) = tasks.page(reader, "task-a").items
    damage(home, "journal", "serialized = '{'", item.id)
    done = run_here("task", "show", "task-a", home=home)
    assert done.code == 0, done
    assert "Milk a" in done.out
    assert item.id in done.err
    assert "lottisync verify" in done.err
