"""What the search for damaged cells (tests/deep) has found: one damaged row stopped what stands beside it."""

import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.support.beside import opened
from tests.support.command_line import run_here

from lottisync.agents import report, switch
from lottisync.agents.attention import request_id
from lottisync.agents.lifecycle import state_id
from lottisync.device import clock
from lottisync.entities.entity import HIGH, LOW
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


@pytest.mark.parametrize(
    ("store", "ident"),
    [
        ("journal", "task-a"),
        ("agent", "agent-a"),
        ("agent", state_id("agent-a")),
        ("agent", switch.IDENT),
        ("agent", "turn-a"),
        ("agent", request_id("agent-a")),
    ],
)
@pytest.mark.parametrize("change", ["stamps = ''", f"type = {NO_TEXT}", f"id = {NO_TEXT}", "serialized = '{'"])
def test_store_942_a_damaged_row_hides_no_list(home: Path, store: str, ident: str, change: str) -> None:
    """STORE-942, STORE-102: `status`, `agent list` and `review` answered with the damage alone, because they look at
    the task, the state and the turns of each agent."""
    with_agents(home)
    damage(home, store, change, ident)
    for command in ("status", "agent list", "review", "task list", "devices", "conflicts"):
        done = run_here(*command.split(), home=home)
        assert done.code == 0, (command, done)
        assert done.out
    assert "Laura of b" in run_here("status", home=home).out
    assert "Laura of b" in run_here("agent", "list", home=home).out
    assert run_here("doctor", home=home).out.count("is damaged") == 0


def test_store_942_what_is_left_out_is_named_with_the_command_that_helps(home: Path) -> None:
    """STORE-942"""
    with_agents(home)
    damage(home, "journal", "stamps = ''", "task-a")
    shown = run_here("status", home=home)
    assert "the stored task-a is damaged" in " ".join(shown.out.split())
    assert "lottisync verify" in shown.out
    [why] = run_here("status", "--json", home=home).json["leftOut"]
    assert "task-a" in why
    assert "task-a" in run_here("agent", "list", home=home).err


def with_agents(home: Path) -> None:
    """Both agents have a task, have asked for attention, and have made a turn today; they are limited, so that the
    turns are counted."""
    with opened(home) as device, device.agent.transaction(clock.now(), HIGH) as tx:
        switch.limit(tx, 1)
        for name in ("a", "b"):
            ident, now = f"agent-{name}", iso(clock.now())
            tx.put(ident, "agent", {"displayName": f"Laura of {name}", "lifecycle": "active"})
            tx.put(state_id(ident), "agentState", {"agentId": ident, "slots": {"activeTaskId": f"task-{name}"}})
            turn = {
                "agentId": ident,
                "kind": "thought",
                "createdAt": now,
                "metadata": {"promptTokens": 5, "runKey": name},
            }
            tx.put(f"turn-{name}", "agentMessage", turn)
            asked = {"agentId": ident, "taskId": f"task-{name}", "rationale": f"Look at {name}", "createdAt": now}
            tx.put(request_id(ident), "attentionRequest", asked)


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


@pytest.mark.parametrize("odd", ["\0", "x", "0001-01-01", "2026-12-01"])
def test_ent_1000_a_reminder_that_is_not_an_instant_hides_no_other(home: Path, odd: str) -> None:
    """ENT-1000, STORE-942: one such reminder of another program ended `status` with exit code 1."""
    with opened(home) as device, device.journal.transaction(clock.now(), HIGH) as tx:
        tx.put("task-a", "task", {"remindAt": odd})
        tx.put("task-b", "task", {"remindAt": "2020-01-01T00:00:00.000Z"})
    status = run_here("status", "--json", home=home)
    assert [one["taskId"] for one in status.json["reminders"]] == ["task-b"]
    assert run_here("status", home=home).code == 0


@pytest.mark.parametrize("odd", [5, "soon", {"a": 1}, [[[]]], "2026-12-01"])
def test_ent_1000_a_timer_that_is_not_an_instant_hides_no_other(home: Path, odd: Any) -> None:
    """ENT-1000: `agent show` ended in a TypeError."""
    with_agents(home)
    at = "2099-03-01T07:00:00.000Z"
    with opened(home) as device, device.agent.transaction(clock.now(), HIGH) as tx:
        tx.put("agent-a", "agent", {"timers/odd": odd, "timers/person": at})
        tx.link("agent_task", "agent-a", "task-a")
    assert run_here("agent", "show", "task-a", "--json", home=home).json["timers"] == {"person": at}
    shown = run_here("agent", "show", "task-a", home=home)
    assert (shown.code, shown.err) == (0, "")
    assert "person at 2099-03-01" in shown.out


@pytest.mark.parametrize("odd", [5, True, None, "x", {"a": 1}, [[[]]], [None, "x"], 2**53 - 1])
@pytest.mark.parametrize("name", ["learnings", "lastUpdated", "title", "tldr", "estimate", "checklistProgress"])
def test_ent_1001_what_does_not_fit_in_a_report_is_missing(home: Path, name: str, odd: Any) -> None:
    """ENT-1001, ENT-13: a report of another program ended `agent report` in a traceback."""
    content = {"title": "Milk", "tldr": "All is well", "goal": "Tea", "learnings": ["Late"], name: odd}
    with opened(home) as device, device.agent.transaction(clock.now(), LOW) as tx:
        report.put(tx, "agent-a", "r1", content, {})
        tx.link("agent_task", "agent-a", "task-a")
    for page in ("report", "show"):
        shown = run_here("agent", page, "task-a", home=home)
        assert (shown.code, shown.err) == (0, ""), shown
    assert "Tea" in run_here("agent", "report", "task-a", home=home).out
    assert run_here("agent", "report", "task-a", "--json", home=home).json["content"]["goal"] == "Tea"


@pytest.mark.parametrize("odd", [{}, {"runKey": None}, {"runKey": ["x"]}, {"runKey": "r", "promptTokens": "many"}])
def test_ent_1001_a_turn_without_its_run_hides_no_agent(home: Path, odd: dict[str, Any]) -> None:
    """ENT-1001: the costs of an agent are counted by run; a turn that names none ended `agent list` in a `KeyError`."""
    with_agents(home)
    with opened(home) as device, device.agent.transaction(clock.now(), HIGH) as tx:
        written = {"agentId": "agent-a", "kind": "thought", "createdAt": iso(clock.now())}
        tx.put("turn-odd", "agentMessage", {**written, "metadata": {"promptTokens": 5, **odd}})
        tx.link("agent_task", "agent-a", "task-a")
    for page in (("list",), ("show", "task-a"), ("log", "task-a")):
        shown = run_here("agent", *page, home=home)
        assert shown.code == 0, shown
    assert "Laura of b" in run_here("agent", "list", home=home).out


@pytest.mark.parametrize("held", ["cast(x'b0ff' as text)", "''", "'some day'"], ids=["no text", "nothing", "a word"])
def test_ent_1000_a_time_of_change_that_is_not_one_hides_no_deleted_task(home: Path, held: str) -> None:
    """ENT-1000, STORE-101, STORE-942: `task list` ended with an error, and the list of the deleted with a traceback."""
    assert run_here("task", "delete", "task-a", home=home).code == 0
    damage(home, "journal", f"updated_at = {held}", "task-a")
    assert run_here("task", "list", home=home).code == 0
    done = run_here("task", "list", "--deleted", "--json", home=home)
    assert done.code == 0, done
    [found] = done.json["tasks"]
    assert (found["id"], found["forgottenAt"]) == ("task-a", None)
    assert run_here("task", "list", "--deleted", home=home).code == 0


def test_store_946_a_damaged_label_or_linked_task_hides_no_task(home: Path) -> None:
    """STORE-946, JOUR-510, REL-D7: `task show` was refused for what is beside the task; what is left out is named."""
    assert run_here("task", "label", "add", "task-b", "errand", home=home).code == 0
    assert run_here("task", "link", "task-b", "blocks", "task-a", home=home).code == 0
    with opened(home) as device, device.journal.reading() as reader:
        [label] = [document.id for document in reader.documents("label")]
    for ident in (label, "task-a"):
        damage(home, "journal", "serialized = '{'", ident)
    done = run_here("task", "show", "task-b", home=home)
    assert done.code == 0, done
    assert "Milk b" in done.out
    assert "is damaged, and may be marked so" in " ".join(done.out.split())
    assert label in done.err
