"""A decision that the disk has damaged: REV-131, STORE-29, REL-D7."""

import apsw
import pytest
from tests.review.reviewer import Reviewer

from lottisync.journal.toolbox import ACTIONS
from lottisync.review import index
from lottisync.review.inbox import Inbox

COLUMNS = ("id", "serialized", "stamps", "clock")


def damage(device: Reviewer, column: str) -> None:
    """Bytes that are not text in one cell of the only decision."""
    with apsw.Connection(str(device.agents.file)) as connection:
        connection.execute(f"update agent_entities set {column} = cast(x'ff00' as text) where type = 'changeDecision'")
        assert connection.changes() == 1
    connection.close()


def two_tasks(device: Reviewer) -> tuple[str, str]:
    """One proposal for each of two tasks; their items."""
    for task_id in ("t1", "t2"):
        device.add_task(task_id)
        device.propose("update_task_estimate", {"minutes": 60}, run=f"run-{task_id}", task_id=task_id)
    first, second = (device.waiting(task_id)[0].id for task_id in ("t1", "t2"))
    return first, second


@pytest.mark.parametrize("rebuilt", [False, True])
@pytest.mark.parametrize("column", COLUMNS)
def test_rel_d7_what_a_damaged_decision_decided_is_not_open_again(laptop: Reviewer, column: str, rebuilt: bool) -> None:
    """REV-131, REV-320, REV-321, REV-322: also where the index is computed again from the damaged rows."""
    rejected, other = two_tasks(laptop)
    assert laptop.verdicts.reject(rejected, laptop.later()).result == "rejected"
    assert laptop.waiting("t1") == []
    damage(laptop, column)
    if rebuilt:
        index.rebuild(laptop.agents, laptop.later())
        [shown] = laptop.waiting("t1")
        assert shown.failure is not None
        assert "damaged" in shown.failure
    item = Inbox(laptop.journal, laptop.agents, ACTIONS).item(rejected, laptop.later())
    assert item.failure is not None
    assert "damaged" in item.failure
    for outcome in (
        laptop.verdicts.confirm(rejected, laptop.later()),
        laptop.verdicts.reject(rejected, laptop.later()),
        laptop.verdicts.undo(rejected, laptop.later()),
        laptop.verdicts.keep(rejected, laptop.later()),
    ):
        assert (outcome.result, outcome.message) == ("failed", item.failure)
    assert [one.id for one in laptop.waiting("t2")] == [other]
    assert laptop.verdicts.confirm(other, laptop.later()).result == "applied"
    assert laptop.page("t2").task.estimate == 60


@pytest.mark.parametrize("column", COLUMNS)
def test_rel_d7_a_damaged_proposal_hides_no_other(laptop: Reviewer, column: str) -> None:
    """STORE-70"""
    _, other = two_tasks(laptop)
    with apsw.Connection(str(laptop.agents.file)) as connection:
        connection.execute(
            f"update agent_entities set {column} = cast(x'ff00' as text) where type = 'changeSet' and subtype = 't1'"
        )
    connection.close()
    assert [one.id for one in laptop.waiting()] == [other]
    index.rebuild(laptop.agents, laptop.later())
    assert [one.id for one in laptop.waiting()] == [other]
    assert laptop.verdicts.confirm(other, laptop.later()).result == "applied"
    assert laptop.verdicts.recover(laptop.later()) == []


@pytest.mark.parametrize("rebuilt", [False, True])
@pytest.mark.parametrize("column", COLUMNS)
def test_rel_d7_a_damaged_decision_blocks_its_own_item_only(laptop: Reviewer, column: str, rebuilt: bool) -> None:
    """REV-131, REV-321, REV-322: one flipped bit, and the decision still names its item."""
    laptop.add_task("t1")
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]})
    milk, eggs = (one.id for one in laptop.waiting("t1"))
    assert laptop.verdicts.reject(milk, laptop.later(), "not today").result == "rejected"
    with apsw.Connection(str(laptop.agents.file)) as connection:
        ((cell,),) = connection.execute(
            f"select cast({column} as blob) from agent_entities where type = 'changeDecision'"
        )
        at = cell.index(b"not today") if column == "serialized" else len(cell) // 2
        broken = bytes([*cell[:at], cell[at] ^ 0x80, *cell[at + 1 :]])
        connection.execute(
            f"update agent_entities set {column} = cast(? as text) where type = 'changeDecision'", (broken,)
        )
    connection.close()
    if rebuilt:
        index.rebuild(laptop.agents, laptop.later())
    assert laptop.verdicts.confirm(milk, laptop.later()).result == "failed"
    assert laptop.verdicts.confirm(eggs, laptop.later()).result == "applied"
    assert [one.title for one in laptop.page("t1").items] == ["Eggs"]
