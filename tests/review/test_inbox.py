"""What is shown, and in what order."""

import pytest
from tests.review.reviewer import DAY, LAURA, Reviewer

from lottisync.entities.entity import HIGH, Entity
from lottisync.journal.toolbox import ACTIONS
from lottisync.review import history, index
from lottisync.review.action import FieldChange
from lottisync.review.change import ChangeSet
from lottisync.review.inbox import Inbox
from lottisync.review.ledger import change_set
from lottisync.review.proposal_record import proposal_records


def named(device: Reviewer, name: str = "Laura") -> None:
    with device.agents.transaction(device.later(), HIGH) as tx:
        tx.put(LAURA, "agent", {"agentId": LAURA, "displayName": name})


def test_s1_34_a_set_names_its_agent_its_task_and_how_much_waits(laptop: Reviewer) -> None:
    """S1-34."""
    named(laptop)
    laptop.add_task(items=("Flour",))
    builder = laptop.builder()
    builder.queue("update_task_estimate", {"minutes": 60}, laptop.now)
    builder.queue("update_checklist_item", {"id": "t1-i0", "title": "Rye"}, laptop.now)
    builder.queue("add_checklist_item", {"title": "Salt"}, laptop.now)
    [ident] = laptop.built(builder)
    [shown] = Inbox(laptop.journal, laptop.agents, ACTIONS).open_sets(laptop.now)
    assert (shown.id, shown.agent_name, shown.task_title, shown.status, shown.waiting) == (
        ident,
        "Laura",
        "Bake bread",
        "pending",
        3,
    )
    assert [(item.summary, item.changes) for item in shown.items] == [
        ("Set estimate to 60 minutes", [FieldChange("estimate", None, 60)]),
        ('Rename "Flour" to "Rye"', [FieldChange("title", "Flour", "Rye")]),
        ('Add: "Salt"', [FieldChange("checklistItem", None, "Salt")]),
    ]


def test_an_agent_that_is_unknown_here_is_called_one_in_the_readers_language(laptop: Reviewer) -> None:
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    inbox = Inbox(laptop.journal, laptop.agents, ACTIONS, language="es")
    [shown] = inbox.open_sets(laptop.now)
    assert (shown.agent_name, shown.items[0].agent_name, inbox.names([LAURA])) == (
        "agente",
        "agente",
        {LAURA: "agente"},
    )
    [record] = proposal_records(laptop.journal, laptop.agents, ACTIONS, laptop.now, language="ro")
    assert record.agent_name == "agent"
    named(laptop, "Agente")
    assert inbox.names([LAURA]) == {LAURA: "Agente"}


def test_s1_42_before_is_what_is_there_now(laptop: Reviewer) -> None:
    """S1-42."""
    laptop.add_task()
    laptop.edit(status="OPEN")
    laptop.propose("set_task_status", {"status": "GROOMED"})
    laptop.edit(status="IN PROGRESS")
    [item] = laptop.waiting()
    assert item.changes == [FieldChange("status", "IN PROGRESS", "GROOMED")]
    assert item.stale
    assert [(field.was, field.now) for field in item.stale_fields] == [("OPEN", "IN PROGRESS")]


def test_s1_45_sets_stay_until_every_item_is_decided_and_decided_items_stay_in_place(laptop: Reviewer) -> None:
    """S1-45."""
    laptop.add_task()
    laptop.add_task("t2")
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]})
    laptop.propose("set_task_title", {"title": "Other"}, run="r2", task_id="t2")
    milk, eggs, _ = laptop.waiting()
    laptop.verdicts.confirm(milk.id, laptop.later())
    [shown] = Inbox(laptop.journal, laptop.agents, ACTIONS).open_sets(laptop.now, "t1")
    assert shown.status == "partiallyResolved"
    assert [(item.id, item.status) for item in shown.items] == [(milk.id, "confirmed"), (eggs.id, "pending")]
    laptop.verdicts.reject(eggs.id, laptop.later())
    assert Inbox(laptop.journal, laptop.agents, ACTIONS).open_sets(laptop.now, "t1") == []
    assert len(Inbox(laptop.journal, laptop.agents, ACTIONS).open_sets(laptop.now)) == 1


def test_s1_54_expired_sets_are_out_of_sight(laptop: Reviewer) -> None:
    """S1-54, REV-119."""
    laptop.add_task()
    laptop.propose("set_task_title", {"title": "Rye"})
    laptop.later(8 * DAY)
    assert Inbox(laptop.journal, laptop.agents, ACTIONS).open_sets(laptop.now) == []
    [shown] = Inbox(laptop.journal, laptop.agents, ACTIONS).unsettled_sets(laptop.now)
    assert (shown.status, shown.items[0].expired) == ("expired", True)


def test_rev60_satisfied_by_a_value_that_came_by_sync(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-60."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    phone.edit(estimate=60)
    laptop.pull(phone)
    [item] = laptop.waiting()
    assert (item.satisfied, item.stale) == (True, False)


def test_rev60_a_proposal_whose_task_is_not_here_has_an_error(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-60."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    laptop.journal.close()
    phone.add_task("t9")
    laptop.journal = phone.journal
    [item] = laptop.waiting()
    assert item.failure == "task t1: not found"
    assert item.summary == "Set estimate to 60 minutes"


def test_decisions_are_listed_oldest_first(laptop: Reviewer) -> None:
    """S1-03, S1-26: each names agent, tool and task; an agent sees those on its own proposals."""
    laptop.add_task()
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]})
    milk, eggs = laptop.waiting()
    laptop.verdicts.reject(eggs.id, laptop.later())
    laptop.verdicts.confirm(milk.id, laptop.later())
    assert [(d.item_id, d.human_summary) for d in laptop.decisions()] == [
        (eggs.id, 'Add: "Eggs"'),
        (milk.id, 'Add: "Milk"'),
    ]
    assert laptop.decisions("t2") == []
    assert {(d.agent_id, d.tool_name, d.task_id) for d in laptop.decisions()} == {(LAURA, "add_checklist_item", "t1")}
    by_agent = {
        who: history.recent_decisions(laptop.agents, ACTIONS, laptop.now, agent_id=who, task_id="t1")
        for who in (LAURA, "otto")
    }
    assert "Milk" in by_agent[LAURA]
    assert "Milk" not in by_agent["otto"]


def test_rev_460_the_pages_show_together_what_waits(laptop: Reviewer) -> None:
    """REV-460: in order, also of sets that were made at one moment, and each of several equal proposals once."""
    for number in range(4):
        laptop.add_task(f"t{number}", f"Task {number}")
    for number in (3, 1, 0, 2):
        laptop.now -= 1_000  # all at one moment
        titles = [{"title": title} for title in ("Milk", "Eggs", f"Salt {number}")]
        laptop.propose("add_multiple_checklist_items", {"items": titles}, run=f"r{number}", task_id=f"t{number}")
    laptop.propose("update_task_estimate", {"minutes": 60}, run="again", task_id="t1")
    inbox = Inbox(laptop.journal, laptop.agents, ACTIONS)
    whole = inbox.open_sets(laptop.now)
    for limit in (1, 2, 3, 50):
        paged, skip, more = [], 0, True
        while more:
            page, more = inbox.page(laptop.now, skip=skip, limit=limit)
            assert len(page) <= limit
            paged += page
            skip += limit
        assert paged == whole
    assert inbox.page(laptop.now, "t1", limit=1) == ([one for one in whole if one.task_id == "t1"][:1], True)
    assert inbox.page(laptop.now, skip=100, limit=1) == ([], False)


def test_rev_461_a_page_reads_its_own_sets(laptop: Reviewer, monkeypatch: pytest.MonkeyPatch) -> None:
    """REV-461"""
    for number in range(12):
        laptop.add_task(f"t{number}", f"Task {number}")
        laptop.propose("update_task_estimate", {"minutes": 60}, run=f"r{number}", task_id=f"t{number}")
    inbox = Inbox(laptop.journal, laptop.agents, ACTIONS)
    inbox.page(laptop.now, limit=1)  # computes the index
    read: list[str] = []

    def counted(entity: Entity) -> ChangeSet:
        read.append(entity.id)
        return change_set(entity)

    monkeypatch.setattr(index, "change_set", counted)
    page, more = inbox.page(laptop.now, skip=4, limit=2)
    assert (len(page), more) == (2, True)
    assert set(read) == {one.id for one in page}
