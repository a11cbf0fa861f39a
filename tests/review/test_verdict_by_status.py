"""Each verdict on an item of each status: what comes of it, and the word for it (REV-47)."""

from collections.abc import Callable

import pytest
from tests.review.reviewer import DAY, LAURA, Reviewer
from tests.review.test_recovery import DiesBeforeTheEffect, dead

from lottisync.entities.entity import HIGH
from lottisync.journal.toolbox import ACTIONS
from lottisync.review import retraction
from lottisync.review.inbox import Inbox
from lottisync.review.outcome import Outcome
from lottisync.review.retraction import Staged

Deciding = Callable[[Reviewer, Reviewer, str], object]
Verb = Callable[[Reviewer, str], Outcome]


def confirmed_and_undone(laptop: Reviewer, phone: Reviewer, item: str) -> None:
    laptop.verdicts.confirm(item, laptop.later())
    laptop.verdicts.undo(item, laptop.later())


def decided_apart(laptop: Reviewer, phone: Reviewer, item: str) -> None:
    phone.pull(laptop)
    laptop.verdicts.confirm(item, laptop.later())
    phone.verdicts.reject(item, phone.later())
    laptop.meet(phone)


def taken_back(laptop: Reviewer, phone: Reviewer, item: str) -> None:
    with laptop.agents.transaction(laptop.later(), HIGH) as tx:
        assert retraction.carry_out(tx, LAURA, "t1", [Staged(item, "pointless by now")], tx.now) == 1


STATUSES: dict[str, Deciding] = {
    "pending": lambda laptop, phone, item: None,
    "expired": lambda laptop, phone, item: laptop.later(8 * DAY),
    "deferred": lambda laptop, phone, item: laptop.verdicts.defer(item, laptop.now + DAY, laptop.later()),
    "confirmed": lambda laptop, phone, item: laptop.verdicts.confirm(item, laptop.later()),
    "rejected": lambda laptop, phone, item: laptop.verdicts.reject(item, laptop.later()),
    "retracted": taken_back,
    "undone": confirmed_and_undone,
    "contested": decided_apart,
}
VERBS: dict[str, Verb] = {
    "confirm": lambda device, item: device.verdicts.confirm(item, device.later()),
    "reject": lambda device, item: device.verdicts.reject(item, device.later()),
    "defer": lambda device, item: device.verdicts.defer(item, device.now + 2 * DAY, device.later()),
    "undo": lambda device, item: device.verdicts.undo(item, device.later()),
    "keep": lambda device, item: device.verdicts.keep(item, device.later()),
}
DECIDED = {"confirm", "reject", "defer"}
NOT_CONTESTED = "already: nothing about it is contested"
WAITS = {
    "confirm": "applied",
    "reject": "rejected",
    "defer": "deferred",
    "undo": "failed: nothing was decided on it",
    "keep": NOT_CONTESTED,
}


def answers(again: str, undo: str, keep: str = NOT_CONTESTED) -> dict[str, str]:
    """Of an item that was decided."""
    return {**dict.fromkeys(DECIDED, f"already: {again}"), "undo": undo, "keep": keep}


OPEN_AGAIN = "undone: it waits for you again"
ANSWERS = {
    "pending": WAITS,
    "expired": WAITS,
    "deferred": {**WAITS, "undo": OPEN_AGAIN},
    "confirmed": answers("it was confirmed already", "undone"),
    "rejected": answers("it was rejected already", OPEN_AGAIN),
    "retracted": answers("the agent has taken it back already", OPEN_AGAIN),
    "undone": answers("it was undone already", "already: it was undone already"),
    "contested": answers("devices decided differently on it: keep it or undo it", "undone", "kept"),
}
SHOWN_TO_THE_AGENT = {
    "confirmed": "it is confirmed",
    "rejected": "it is rejected",
    "retracted": "it is retracted",
    "undone": "it is undone",
    "contested": "it is contested",
    "expired": "it is expired",
}


@pytest.fixture
def item(laptop: Reviewer) -> str:
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    [waiting] = laptop.waiting()
    return waiting.id


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("verb", VERBS)
def test_rev47_each_verdict_on_each_status(
    laptop: Reviewer, phone: Reviewer, item: str, status: str, verb: str
) -> None:
    STATUSES[status](laptop, phone, item)
    state = laptop.states()[item.rpartition(".")[0]].items[item]
    assert state.shown_status == status
    outcome = VERBS[verb](laptop, item)
    assert f"{outcome.result}: {outcome.message}".removesuffix(": ") == ANSWERS[status][verb]


@pytest.mark.parametrize("status", STATUSES)
def test_rev75_the_answer_says_why_an_item_can_not_be_taken_back(
    laptop: Reviewer, phone: Reviewer, item: str, status: str
) -> None:
    STATUSES[status](laptop, phone, item)
    with laptop.agents.reading() as reader:
        staged, answer = retraction.considered(reader, LAURA, "t1", [Staged(item, "old")], laptop.now)
    assert bool(staged) == (status not in SHOWN_TO_THE_AGENT)
    if not staged:
        assert answer.endswith(f"- {item}: not open, {SHOWN_TO_THE_AGENT[status]}")


def test_rev75_the_answer_names_a_verdict_that_is_under_way(laptop: Reviewer) -> None:
    begun = dead(laptop, "update_task_estimate", {"minutes": 60}, DiesBeforeTheEffect)
    with laptop.agents.reading() as reader:
        _, answer = retraction.considered(reader, LAURA, "t1", [Staged(begun, "old")], laptop.now)
    assert answer.endswith(f"- {begun}: not open, the user is confirming it")


@pytest.mark.parametrize("status", STATUSES)
def test_rev80_the_view_tells_what_was_undone_from_what_the_agent_took_back(
    laptop: Reviewer, phone: Reviewer, item: str, status: str
) -> None:
    STATUSES[status](laptop, phone, item)
    shown = Inbox(laptop.journal, laptop.agents, ACTIONS).item(item, laptop.now)
    assert (shown.undone, shown.expired, shown.contested) == (
        status == "undone",
        status == "expired",
        status == "contested",
    )


def test_rev47_what_another_device_confirmed_is_not_rejected_before_its_decision_has_come(
    laptop: Reviewer, phone: Reviewer, item: str
) -> None:
    phone.pull(laptop)
    laptop.verdicts.confirm(item, laptop.later())
    phone.pull(laptop, "journal")
    outcome = phone.verdicts.reject(item, phone.later())
    assert outcome.result == "already"
    assert "another device" in outcome.message
