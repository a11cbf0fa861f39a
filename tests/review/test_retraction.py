"""An agent takes its own proposals back."""

from typing import Any

from tests.review.reviewer import LAURA, Reviewer

from lottisync.agents.toolbox import TOOLBOX, RetractSuggestions
from lottisync.entities.entity import LOW
from lottisync.journal.toolbox import ACTIONS
from lottisync.review import history, retraction


def retract(device: Reviewer, *idents: str, agent: str = LAURA, run: str = "r2", **more: Any) -> str:
    builder = device.builder(run, agent=agent)
    proposals = [{"id": ident, "reason": "it is done by now"} for ident in idents]
    answer = builder.queue("retract_suggestions", {"proposals": proposals, **more}, device.now)
    device.built(builder)
    return answer


def test_rev75_an_agents_own_open_proposals(laptop: Reviewer) -> None:
    """REV-75, S1-20: with its reason and its precedence, and the person's list is shorter."""
    laptop.add_task()
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]})
    milk, eggs = laptop.waiting()
    listed = retraction.open_proposals(laptop.agents, ACTIONS, laptop.now, agent_id=LAURA)
    assert [(one.id, one.summary) for one in listed] == [(milk.id, 'Add: "Milk"'), (eggs.id, 'Add: "Eggs"')]
    assert retract(laptop, milk.id) == "Retracted 1 proposal(s)."
    assert [item.id for item in laptop.waiting()] == [eggs.id]
    [decision] = laptop.decisions()
    assert (decision.verdict, decision.actor, decision.reason) == ("retracted", "agent", "it is done by now")
    entity = laptop.agents.read(decision.id)
    assert entity is not None
    written = entity.winner("verdict")
    assert written is not None
    assert written.stamp.precedence == LOW
    assert '↶ add_checklist_item("Milk") — retracted' in history.recent_decisions(
        laptop.agents, ACTIONS, laptop.now, agent_id=LAURA
    )


def test_rev750_what_cannot_be_taken_back_is_named(laptop: Reviewer) -> None:
    """REV-75, REV-750: decided, another agent's, or nothing at all."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    laptop.propose("set_task_title", {"title": "Rye"}, run="t", agent="tom")
    mine, toms = laptop.waiting()
    laptop.verdicts.reject(mine.id, laptop.later())
    assert retract(laptop, mine.id, toms.id, "x.0") == (
        "Left 3 as they are:\n"
        f"- {mine.id}: not open, it is rejected\n"
        f"- {toms.id}: not found among your proposals\n"
        "- x.0: not found among your proposals"
    )
    assert [d.verdict for d in laptop.decisions()] == ["rejected"]
    assert "proposals" in retract(laptop)


def test_rev76_it_is_carried_out_when_the_wake_ends_and_once(laptop: Reviewer) -> None:
    """REV-76, REV-324: a wake that fails takes nothing back; one that is played again says it once."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    [item] = laptop.waiting()
    builder = laptop.builder("r2")
    proposals = [{"id": item.id, "reason": "done"}]
    builder.queue("retract_suggestions", {"proposals": proposals}, laptop.now)
    assert len(laptop.waiting()) == 1
    for _ in range(2):
        laptop.built(builder)
    assert len(laptop.decisions()) == 1
    assert laptop.verdicts.confirm(item.id, laptop.later()).result == "already"


def test_rev76_what_the_person_decided_meanwhile_stays(laptop: Reviewer) -> None:
    """REV-76."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    [item] = laptop.waiting()
    builder = laptop.builder("r2")
    builder.queue("retract_suggestions", {"proposals": [{"id": item.id, "reason": "done"}]}, laptop.now)
    laptop.verdicts.confirm(item.id, laptop.later())
    laptop.built(builder)
    assert [d.verdict for d in laptop.decisions()] == ["confirmed"]


def test_rev323_what_is_proposed_again_in_the_same_wake_stays(laptop: Reviewer) -> None:
    """REV-323"""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    [item] = laptop.waiting()
    builder = laptop.builder("r2")
    builder.queue("retract_suggestions", {"proposals": [{"id": item.id, "reason": "done"}]}, laptop.now)
    answer = builder.queue("update_task_estimate", {"minutes": 60}, laptop.now)
    assert "is not taken back" in answer
    laptop.built(builder)
    assert [one.id for one in laptop.waiting()] == [item.id]
    assert laptop.decisions() == []


def test_rev77_a_confirmation_elsewhere_wins_and_is_not_a_contest(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-77."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    [item] = phone.waiting()
    phone.verdicts.confirm(item.id, phone.later())
    retract(laptop, item.id)
    laptop.meet(phone)
    for device in (laptop, phone):
        [state] = device.states().values()
        assert (state.items[item.id].status, state.items[item.id].contested) == ("confirmed", False)


def test_rev75_the_person_can_have_it_back(laptop: Reviewer) -> None:
    """REV-75, REV-114: and the agent may retract it again."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    [item] = laptop.waiting()
    retract(laptop, item.id)
    assert laptop.verdicts.undo(item.id, laptop.later()).result == "undone"
    assert [one.id for one in laptop.waiting()] == [item.id]
    retract(laptop, item.id, run="r3")
    assert laptop.waiting() == []
    assert len(laptop.decisions()) == 3


def test_rev1_the_tool_is_offered_if_the_caller_routes_it() -> None:
    """REV-1, S1-20."""
    assert "retract_suggestions" not in {tool["name"] for tool in TOOLBOX.definitions()}
    assert "retract_suggestions" in {tool["name"] for tool in TOOLBOX.definitions(RetractSuggestions)}
