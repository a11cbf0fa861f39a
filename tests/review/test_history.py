"""The prompt's section on what the user decided."""

from typing import Any

from tests.review.reviewer import DAY, LAURA, Reviewer

from lottisync.journal.toolbox import ACTIONS
from lottisync.review.history import CHARACTERS_PER_TOKEN, MAX_ENTRIES, MAX_TOKENS, recent_decisions


def recent(device: Reviewer, agent: str = LAURA) -> list[str]:
    text = recent_decisions(device.agents, ACTIONS, device.now, agent_id=agent, task_id="t1")
    assert len(text) <= MAX_TOKENS * CHARACTERS_PER_TOKEN
    return [line for line in text.splitlines() if line.startswith("- ")]


def test_s1_50_ticks_crosses_arguments_and_reasons(laptop: Reviewer) -> None:
    """REV-408, REV-409, S1-50, S1-51, S1-06, REV-353: also what the person changed."""
    laptop.add_task(items=("Flour",))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("set_task_title", {"title": "Rye bread"}),
        ("update_task_estimate", {"minutes": 120}),
        ("update_checklist_item", {"id": "t1-i0", "isChecked": True, "reason": "The note of 22:30 says so"}),
        ("update_task_priority", {"priority": "P0"}),
        ("add_checklist_item", {"title": "Salt"}),
    ]
    for number, (tool, args) in enumerate(calls):
        laptop.propose(tool, args, run=f"r{number}")
    title, estimate, tick, priority, _ = (item.id for item in laptop.waiting())
    laptop.verdicts.confirm(title, laptop.later())
    laptop.verdicts.reject(estimate, laptop.later(), 'I "know"\n- ✓ better')
    laptop.verdicts.confirm(tick, laptop.later())
    laptop.verdicts.confirm(priority, laptop.later(), edited_args={"priority": "P1"})
    assert recent(laptop) == [
        '- ✓ set_task_title("Rye bread") — confirmed',
        '- ✗ update_task_estimate(120 min) — rejected (reason: "I \\"know\\"\\n- ✓ better")',
        '- ✓ update_checklist_item(id: "t1-i0", isChecked: true) — confirmed',
        '- ✓ update_task_priority("P0") — confirmed, but the user changed it to update_task_priority("P1")',
    ]
    text = recent_decisions(laptop.agents, ACTIONS, laptop.now, agent_id=LAURA, task_id="t1")
    assert text.startswith("## Recent User Decisions\n")
    assert "Learn from rejections" in text
    assert recent(laptop, "tom") == []


def test_s1_55_expired_is_not_a_decision_and_deferred_is_not_one_yet(laptop: Reviewer) -> None:
    """S1-55, REV-407."""
    laptop.add_task()
    laptop.propose("set_task_title", {"title": "Rye bread"})
    laptop.propose("update_task_estimate", {"minutes": 120}, run="r2")
    laptop.verdicts.defer(laptop.waiting()[1].id, laptop.now + 20 * DAY, laptop.later())
    assert recent(laptop) == ["- … update_task_estimate(120 min) — deferred"]
    laptop.later(8 * DAY)
    assert recent(laptop) == [
        '- · set_task_title("Rye bread") — no decision (expired)',
        "- … update_task_estimate(120 min) — deferred",
    ]


def test_s1_52_twenty_entries_the_newest(laptop: Reviewer) -> None:
    """S1-52, REV-70."""
    laptop.add_task()
    for number in range(25):
        laptop.propose("add_checklist_item", {"title": f"Step {number}"}, run=f"r{number}")
        laptop.verdicts.reject(laptop.waiting()[0].id, laptop.later())
    lines = recent(laptop)
    assert len(lines) == MAX_ENTRIES
    assert (lines[0], lines[-1]) == (
        '- ✗ add_checklist_item("Step 5") — rejected',
        '- ✗ add_checklist_item("Step 24") — rejected',
    )


def test_s1_52_five_hundred_tokens_the_newest(laptop: Reviewer) -> None:
    """S1-52, REV-70."""
    laptop.add_task()
    for number in range(12):
        laptop.propose("add_checklist_item", {"title": f"{number} {'x' * 390}"}, run=f"r{number}")
        laptop.verdicts.reject(laptop.waiting()[0].id, laptop.later(), "y" * 900)
    lines = recent(laptop)
    assert 3 < len(lines) < 12
    assert lines[-1].startswith('- ✗ add_checklist_item("11 xxx')


def test_nothing_decided_nothing_said(laptop: Reviewer) -> None:
    laptop.add_task()
    laptop.propose("set_task_title", {"title": "Rye bread"})
    assert recent_decisions(laptop.agents, ACTIONS, laptop.now, agent_id=LAURA) == ""
