"""Labels, follow-up tasks, links, completions: proposed, confirmed, undone; on whose terms."""

from typing import Any

import pytest
from tests.review.reviewer import LAURA, Reviewer

from lottisync.entities.entity import HIGH, LOW, is_deleted
from lottisync.entities.schema import link_id
from lottisync.entities.view import view
from lottisync.journal.actions.set_task_language import SetTaskLanguage
from lottisync.journal.actions.update_checklist_item import UpdateChecklistItem, at_once
from lottisync.journal.types import EntryLink, link_ends
from lottisync.review.action import FieldChange
from lottisync.review.completion import Sagas
from lottisync.review.item_view import ItemView
from lottisync.review.policy import Policy, policy_of

REASON = "The note of 22:30 says it is done"


class Killed(BaseException):
    """The process ends here: no code of this program catches it."""


def label(device: Reviewer, *names: str) -> None:
    for name in names:
        device.do(lambda tx, n=name: tx.put(f"label-{n}", "label", {"name": n}))  # type: ignore[misc]


def policy(device: Reviewer, **fields: Any) -> None:
    """What the person has set for the agent."""
    with device.agents.transaction(device.later(), HIGH) as tx:
        tx.put(LAURA, "agent", {"agentId": LAURA, "displayName": "Laura", **fields})


def labels(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"labels": [{"id": f"label-{name}", "confidence": confidence} for name, confidence in pairs]}


# -- labels


def test_rev142_three_labels_the_surest_first_and_none_of_low_confidence(laptop: Reviewer) -> None:
    """REV-142, REV-305, S1-17."""
    label(laptop, "bug", "home", "work", "urgent", "later")
    laptop.add_task()
    answer = laptop.propose(
        "assign_task_labels",
        labels(("bug", "medium"), ("later", "low"), ("home", "high"), ("work", "??"), ("urgent", "very_high")),
    )
    assert answer == (
        "Proposal queued for user review (3 item(s) queued).\n"
        "Skipped 2 item(s):\n"
        '- label "work": 3 labels are proposed already\n'
        '- label "later": you are not sure enough of it'
    )
    assert [item.args["id"] for item in laptop.waiting()] == ["label-urgent", "label-home", "label-bug"]
    assert laptop.waiting()[0].summary == 'Assign label: "urgent"'
    assert laptop.waiting()[0].changes == [FieldChange("labels", None, "urgent")]


def test_rev7_a_label_is_one_register_with_the_users_precedence(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-7: two devices that add to the set at once both do; undone, it is off again."""
    label(laptop, "bug", "home")
    laptop.add_task()
    laptop.propose("assign_task_labels", labels(("bug", "high"), ("home", "high")))
    phone.pull(laptop)
    bug, home = laptop.waiting()
    assert laptop.verdicts.confirm(bug.id, laptop.later()).result == "applied"
    assert phone.verdicts.confirm(home.id, phone.later()).result == "applied"
    laptop.meet(phone)
    assert [one.name for one in laptop.page().labels] == ["bug", "home"]
    assert laptop.verdicts.undo(bug.id, laptop.later()).result == "undone"
    assert [one.name for one in laptop.page().labels] == ["home"]
    assert laptop.propose("assign_task_labels", labels(("home", "high")), run="r2") == (
        'Skipped 1 redundant update(s): label "home" is already assigned.'
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (labels(("none", "high")), "label label-none: not found"),
        ({"labels": [{"id": "t1", "confidence": "high"}]}, "label t1: not found"),
    ],
)
def test_rev142_a_label_that_is_not_one(laptop: Reviewer, args: dict[str, Any], said: str) -> None:
    """REV-142, REV-16."""
    laptop.add_task()
    assert said in laptop.propose("assign_task_labels", args)


def test_rev8_a_rejected_label_is_suppressed_until_the_rejection_is_undone(laptop: Reviewer) -> None:
    """REV-8."""
    label(laptop, "bug")
    laptop.add_task()
    laptop.propose("assign_task_labels", labels(("bug", "high")))
    [item] = laptop.waiting()
    laptop.verdicts.reject(item.id, laptop.later())
    assert laptop.page().task.suppressed_labels == {"label-bug": True}
    laptop.edit(title="Other")
    assert "the user does not want it on this task" in laptop.propose(
        "assign_task_labels", labels(("bug", "high")), run="r2"
    )
    laptop.verdicts.undo(item.id, laptop.later())
    assert laptop.page().task.suppressed_labels == {}
    assert laptop.verdicts.confirm(item.id, laptop.later()).result == "applied"
    assert laptop.verdicts.recover(laptop.later()) == []


def test_rev144_a_suppression_that_was_interrupted_is_carried_out_at_the_next_start(laptop: Reviewer) -> None:
    """REV-144, REV-50."""
    label(laptop, "bug")
    laptop.add_task()
    laptop.propose("assign_task_labels", labels(("bug", "high")))
    [item] = laptop.waiting()

    class DiesBeforeItIsNoted(Sagas):
        def mark(self, *_: Any) -> Any:
            raise Killed

    with pytest.raises(Killed):
        laptop.restarted(DiesBeforeItIsNoted).reject(item.id, laptop.later())
    assert laptop.page().task.suppressed_labels == {}
    laptop.restarted().recover(laptop.later())
    assert laptop.page().task.suppressed_labels == {"label-bug": True}


# -- follow-up tasks and links


def follow_up(laptop: Reviewer, **more: Any) -> list[ItemView]:
    laptop.add_task()
    laptop.edit(categoryId="kitchen")
    policy(laptop, allowedCategoryIds={"kitchen": True})
    laptop.propose("create_follow_up_task", {"title": "Clean the oven", "relation": "has_follow_up", **more})
    return laptop.waiting()


def made_task(laptop: Reviewer) -> str:
    with laptop.journal.reading() as reader:
        [task] = [entity for entity in reader.by_type("task") if entity.id != "t1"]
    return task.id


def test_rev48_a_follow_up_and_its_link_in_order(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-48, REV-41: the link waits for the task; its id was in the answer to the proposal."""
    create, link = follow_up(laptop, dueDate="2026-12-01", description="It smells.")
    assert (create.summary, link.summary) == (
        'Create follow-up task: "Clean the oven"',
        'Link: this task has the follow-up "Clean the oven"',
    )
    assert (link.depends_on, link.group_id, create.group_id) == ([create.id], create.group_id, create.group_id)
    assert link.failure is None
    assert laptop.verdicts.confirm(link.id, laptop.later()).message.endswith("confirm that first")
    phone.pull(laptop)
    results = [o.result for o in laptop.verdicts.confirm_all(create.id.rpartition(".")[0], laptop.later())]
    assert results == ["applied", "applied"]
    assert phone.verdicts.confirm(create.id, phone.later()).result == "applied"
    laptop.meet(phone)
    made = made_task(laptop)
    page = laptop.page(made)
    assert (page.task.title, page.task.due, page.task.category_id) == ("Clean the oven", "2026-12-01", "kitchen")
    assert [(entry.text, entry.author) for entry in page.entries] == [("It smells.", "agent")]
    with laptop.journal.reading() as reader:
        [stored] = [view(entity, EntryLink) for entity in reader.links_to("t1", "entryLink")]
    assert (stored.from_id, stored.relations) == (made, {"follows_up_on": True})
    assert laptop.same_as(phone)


def test_rev116_what_others_build_on_is_undone_after_them(laptop: Reviewer) -> None:
    """REV-116."""
    create, link = follow_up(laptop, description="It smells.")
    laptop.verdicts.confirm_all(create.id.rpartition(".")[0], laptop.later())
    made = made_task(laptop)
    assert "undo that first" in laptop.verdicts.undo(create.id, laptop.later()).message
    assert laptop.verdicts.undo(link.id, laptop.later()).result == "undone"
    assert laptop.verdicts.undo(create.id, laptop.later()).result == "undone"
    with laptop.journal.reading() as reader:
        assert reader.owned_by(made) == []
        assert reader.links_to("t1") == []


def test_rev113_a_follow_up_with_something_in_it_stays(laptop: Reviewer) -> None:
    """REV-113."""
    create, link = follow_up(laptop)
    laptop.verdicts.confirm(create.id, laptop.later())
    laptop.verdicts.reject(link.id, laptop.later())
    made = made_task(laptop)
    laptop.note("mine", "I did half of it", task_id=made)
    outcome = laptop.verdicts.undo(create.id, laptop.later())
    assert (outcome.result, [field.entity for field in outcome.stale]) == ("stale", ["mine"])
    assert laptop.page(made).task.title == "Clean the oven"


def test_rev108_what_builds_on_a_rejected_item_is_rejected_with_it(laptop: Reviewer) -> None:
    """REV-108."""
    create, _ = follow_up(laptop)
    laptop.verdicts.reject(create.id, laptop.later(), "no")
    assert [(d.verdict, d.reason) for d in laptop.decisions()] == [("rejected", "no")] * 2
    assert laptop.waiting() == []


def test_rev107_a_link_that_a_later_call_asks_for(laptop: Reviewer) -> None:
    """REV-107: the answer names the id, and a later wake may use it."""
    laptop.add_task()
    answer = laptop.propose("create_follow_up_task", {"title": "Clean the oven"})
    created = answer.rpartition(" ")[2].rstrip(".")
    assert laptop.propose("link_task", {"relation": "blocks", "targetTaskId": created}, run="r2").startswith("Proposal")
    create, link = laptop.waiting()
    assert (link.depends_on, link.summary) == ([create.id], 'Link: this task blocks "Clean the oven"')
    picked = laptop.verdicts.confirm_selected([link.id, create.id], laptop.later())
    assert [o.result for o in picked] == ["applied", "applied"]
    assert made_task(laptop) == created


@pytest.mark.parametrize(
    ("relation", "stored", "ends"),
    [
        ("blocks", "blocks", ("t1", "t2")),
        ("is_blocked_by", "blocks", ("t2", "t1")),
        ("relates to", "relates_to", ("t1", "t2")),
        ("has_follow_up", "follows_up_on", ("t2", "t1")),
    ],
)
def test_rev143_a_relation_is_stored_under_one_word(
    laptop: Reviewer, relation: str, stored: str, ends: tuple[str, str]
) -> None:
    """REV-143, S1-20: typed links with derived ids."""
    laptop.add_task()
    laptop.add_task("t2", "Buy flour")
    laptop.propose("link_task", {"relation": relation, "targetTaskId": "t2"})
    [item] = laptop.waiting()
    assert laptop.verdicts.confirm(item.id, laptop.later()).result == "applied"
    entity = laptop.journal.read(link_id("entryLink", *ends))
    assert entity is not None
    link = view(entity, EntryLink)
    assert (link.from_id, link.to_id, link.relations) == (*ends, {stored: True})
    assert laptop.propose("link_task", {"relation": relation, "targetTaskId": "t2"}, run="r2") == (
        'Skipped: "Buy flour" is already linked so.'
    )
    assert laptop.verdicts.undo(item.id, laptop.later()).result == "undone"
    entity = laptop.journal.read(link_id("entryLink", *ends))
    assert entity is not None
    assert is_deleted(entity)


def test_rev7_a_second_relation_shares_the_link_and_is_undone_alone(laptop: Reviewer) -> None:
    """REV-7, REV-56; and what was deleted comes back with the new relation only."""
    laptop.add_task()
    laptop.add_task("t2", "Buy flour")
    for number, relation in enumerate(("blocks", "duplicates")):
        laptop.propose("link_task", {"relation": relation, "targetTaskId": "t2"}, run=f"r{number}")
        [item] = laptop.waiting()
        laptop.verdicts.confirm(item.id, laptop.later())
    ident = link_id("entryLink", "t1", "t2")
    assert laptop.verdicts.undo(item.id, laptop.later()).result == "undone"
    entity = laptop.journal.read(ident)
    assert entity is not None
    assert view(entity, EntryLink).relations == {"blocks": True}
    laptop.do(lambda tx: tx.delete(ident))
    laptop.propose("link_task", {"relation": "fixes", "targetTaskId": "t2"}, run="r9")
    [item] = laptop.waiting()
    assert laptop.verdicts.confirm(item.id, laptop.later()).result == "applied"
    entity = laptop.journal.read(ident)
    assert entity is not None
    assert (is_deleted(entity), view(entity, EntryLink).relations) == (False, {"fixes": True})


def test_rev46_an_edit_does_not_turn_a_link_round(laptop: Reviewer) -> None:
    """REV-46."""
    laptop.add_task()
    laptop.add_task("t2", "Buy flour")
    laptop.propose("link_task", {"relation": "blocks", "targetTaskId": "t2"})
    [item] = laptop.waiting()
    turned = {"relation": "is_blocked_by", "targetTaskId": "t2"}
    assert "not what they are about" in laptop.verdicts.confirm(item.id, laptop.later(), edited_args=turned).message
    elsewhere = {"relation": "blocks", "targetTaskId": "t1"}
    assert "not what they are about" in laptop.verdicts.confirm(item.id, laptop.later(), edited_args=elsewhere).message
    other = {"relation": "fixes"}  # the other task stays as it was proposed
    assert laptop.verdicts.confirm(item.id, laptop.later(), edited_args=other, against="current").result == "applied"
    entity = laptop.journal.read(link_id("entryLink", "t1", "t2"))
    assert entity is not None
    assert view(entity, EntryLink).relations == {"fixes": True}


@pytest.mark.parametrize(("target", "said"), [("t9", "task t9: not found"), ("t1", "a task is not linked with itself")])
def test_rev16_a_link_that_leads_nowhere(laptop: Reviewer, target: str, said: str) -> None:
    """REV-16."""
    laptop.add_task()
    assert said in laptop.propose("link_task", {"relation": "blocks", "targetTaskId": target})
    assert link_ends("is_fixed_by", "a", "b") == ("fixes", "b", "a")


# -- on whose terms


def test_rev5_the_categories_are_asked_at_building_and_at_confirm(laptop: Reviewer) -> None:
    """REV-5, REV-501, S1-48: on every path; the allowance may have been withdrawn meanwhile."""
    laptop.add_task()
    laptop.edit(categoryId="kitchen")
    assert "not allowed in its category" in laptop.propose("update_task_estimate", {"minutes": 60})
    policy(laptop, allowedCategoryIds={"kitchen": True})
    assert "queued" in laptop.propose("update_task_estimate", {"minutes": 60})
    [item] = laptop.waiting()
    policy(laptop, allowedCategoryIds={"kitchen": False})
    assert laptop.waiting()[0].failure == "task t1: the agent is not allowed in its category"
    outcome = laptop.verdicts.confirm(item.id, laptop.later())
    assert (outcome.result, outcome.message) == ("failed", "task t1: the agent is not allowed in its category")
    assert laptop.page().task.estimate is None
    assert laptop.decisions() == []


@pytest.mark.parametrize("end", ["t1", "t2"])
def test_rev500_a_link_of_which_one_end_is_in_a_category_that_is_not_allowed(laptop: Reviewer, end: str) -> None:
    """REV-500: it does not matter which end."""
    laptop.add_task()
    laptop.add_task("t2", "Divorce")
    laptop.edit(end, categoryId="private")
    args = {"relation": "blocks", "targetTaskId": "t2"}
    assert f"task {end}: the agent is not allowed in its category" in laptop.propose("link_task", args)
    policy(laptop, allowedCategoryIds={"private": True})
    assert "queued" in laptop.propose("link_task", args, run="r2")


def test_rev502_the_language_too(laptop: Reviewer) -> None:
    """REV-502, REV-6."""
    laptop.add_task()
    laptop.edit(categoryId="kitchen")

    def said(allowed: Policy) -> str:
        with laptop.journal.transaction(laptop.later(), HIGH) as tx:
            return SetTaskLanguage.model_validate({"languageCode": "de"}).at_once(tx, "t1", allowed)

    assert said(Policy()) == "Skipped: you are not allowed in the task's category."
    assert laptop.page().task.language_code is None
    policy(laptop, allowedCategoryIds={"kitchen": True})
    with laptop.agents.reading() as reader:
        said(policy_of(reader, LAURA))
    assert laptop.page().task.language_code == "de"


# -- completions, and the direct path


def completion(device: Reviewer, *items: str) -> str:
    return device.propose("suggest_checklist_completion", {"items": [{"id": i, "reason": REASON} for i in items]})


def test_s0_49_a_completion_is_an_ordinary_proposal(laptop: Reviewer) -> None:
    """S0-49, REV-9."""
    laptop.add_task(items=("Flour",))
    assert completion(laptop, "t1-i0") == "Proposal queued for user review (1 item(s) queued)."
    assert laptop.item().is_checked is False
    [item] = laptop.waiting()
    assert (item.tool, item.summary) == ("update_checklist_item", 'Check off: "Flour"')


def test_s0_53_auto_check_where_the_person_opted_in_and_never_what_they_set(laptop: Reviewer) -> None:
    """S0-53, REV-9: off by default; what the agent set last is ticked at once, the user's item is proposed."""
    laptop.add_task(items=("Flour", "Yeast"))
    laptop.agent_tick("t1-i0", checked=False)
    assert "(1 item(s) queued)" in completion(laptop, "t1-i0")
    laptop.verdicts.reject(laptop.waiting()[0].id, laptop.later())
    laptop.agent_tick("t1-i0", checked=True)
    laptop.agent_tick("t1-i0", checked=False)
    policy(laptop, config={"autoCheck": True})
    answer = laptop.propose(
        "suggest_checklist_completion",
        {"items": [{"id": i, "reason": REASON} for i in ("t1-i0", "t1-i1")]},
        run="r2",
    )
    assert answer == "Proposal queued for user review (1 item(s) queued).\nUpdated: checked"
    assert (laptop.item("t1-i0").is_checked, laptop.item("t1-i0").checked_by) == (True, "agent")
    entity = laptop.journal.read("t1-i0")
    assert entity is not None
    ticked = entity.winner("isChecked")
    assert ticked is not None
    assert ticked.stamp.precedence == LOW
    assert laptop.item("t1-i1").is_checked is False
    assert [item.args["id"] for item in laptop.waiting()] == ["t1-i1"]


@pytest.mark.parametrize(
    ("by_user", "checked", "args", "said", "now_checked"),
    [
        (False, False, {"isChecked": True}, "Updated: checked", True),
        (False, True, {"isChecked": False}, "Updated: unchecked", False),
        (True, True, {"isChecked": False, "reason": REASON}, "Updated: unchecked (override reason logged)", False),
        (True, True, {"isChecked": False}, "Skipped: User set this item at", True),
        (True, True, {"isChecked": False, "title": "Rye"}, "Updated: title. User set this item at", True),
        (True, True, {"isChecked": True}, 'Skipped: "Flour" is already checked.', True),
    ],
)
def test_s0_08_the_direct_path(
    laptop: Reviewer, by_user: bool, checked: bool, args: dict[str, Any], said: str, now_checked: bool
) -> None:
    """S0-08, S0-17, S0-20, S0-36..S0-39, S0-45, S0-46, S2-04: for programs that act as the agent, with no builder."""
    laptop.add_task(items=("Flour",))
    if by_user:
        laptop.tick("t1-i0", checked)
    else:
        laptop.agent_tick("t1-i0", checked)
    with laptop.journal.transaction(laptop.later(), HIGH) as tx:
        answer = at_once(tx, LAURA, "t1", UpdateChecklistItem.model_validate({"id": "t1-i0", **args}), Policy())
    assert answer is not None
    assert answer.startswith(said)
    item = laptop.item()
    assert item.is_checked is now_checked
    if now_checked != checked:
        assert (item.checked_by, item.check_reason) == ("agent", args.get("reason"))
        assert item.checked_at is not None
        answer = laptop.propose("update_checklist_item", {"id": "t1-i0", "isChecked": checked})
        assert "queued" in answer  # S0-46: its own by now


def tick(item_id: str) -> UpdateChecklistItem:
    return UpdateChecklistItem.model_validate({"id": item_id, "isChecked": True})


def test_s0_13_the_direct_path_asks_where_the_item_belongs(laptop: Reviewer) -> None:
    """S0-12, S0-13."""
    laptop.add_task(items=("Flour",))
    laptop.add_task("t2")
    with laptop.journal.transaction(laptop.later(), HIGH) as tx:
        assert at_once(tx, LAURA, "t2", tick("t1-i0"), Policy()) == ("Skipped: checklist item: wrong task.")
        assert at_once(tx, LAURA, "t2", tick("t9"), Policy()) == ("Skipped: checklist item: not found.")


def test_s0_07_the_users_six_transitions(laptop: Reviewer) -> None:
    """S0-07, S0-28: the user may change it, no matter who set it last; then the item is the user's."""
    laptop.add_task(items=("Flour",))
    for by_agent, before, after in [(a, b, c) for a in (False, True) for b in (False, True) for c in (False, True)]:
        (laptop.agent_tick if by_agent else laptop.tick)("t1-i0", before)
        laptop.tick("t1-i0", after)
        item = laptop.item()
        assert item.is_checked is after
        if before != after:
            assert item.checked_by == "user"


def test_rev46_an_edit_does_not_propose_another_label(laptop: Reviewer) -> None:
    """REV-46: a label's target is the task, so it is the id alone that says what the proposal is about."""
    label(laptop, "bug", "home")
    laptop.add_task()
    laptop.propose("assign_task_labels", labels(("bug", "high")))
    [item] = laptop.waiting()
    other = laptop.verdicts.confirm(item.id, laptop.later(), edited_args={"id": "label-home"})
    assert (other.result, other.message) == ("failed", "an edit changes the arguments, not what they are about")
    assert laptop.page().labels == []
