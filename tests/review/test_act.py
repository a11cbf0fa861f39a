"""What one act of the person costs, and that one item that fails keeps no other from being decided."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.review.reviewer import START, Reviewer
from tests.support import sqlite

from lottisync.entities.entity import LOW
from lottisync.journal.toolbox import ACTIONS
from lottisync.review import ledger, saga
from lottisync.review.completion import Sagas
from lottisync.review.inbox import Inbox
from lottisync.review.ledger import Ledger
from lottisync.store.instant import iso

TITLES = [f"Item {number}" for number in range(9)]


def propose(device: Reviewer, titles: list[str], run: str = "run1") -> str:
    """Proposed items in one set; its id."""
    device.propose("add_multiple_checklist_items", {"items": [{"title": title} for title in titles]}, run)
    return device.waiting()[-1].id.rpartition(".")[0]


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A number for each time that a ledger was read."""
    counted: list[int] = []

    class Counting(Ledger):
        @staticmethod
        def read(*args: Any, **more: Any) -> Ledger:
            counted.append(len(counted))
            return original(*args, **more)

    original = Ledger.read
    monkeypatch.setattr(ledger.Ledger, "read", Counting.read)
    return counted


def commits(device: Reviewer, act: Any) -> list[str]:
    """The transactions that `act` commits, by their stores."""
    made: list[str] = []

    def tracing(name: str) -> Callable[..., bool]:
        def trace(_: Any, sql: str, __: Any) -> bool:
            if sql == "commit":
                made.append(name)
            return True

        return trace

    sqlite.connection(device.journal).exec_trace = tracing("journal")
    sqlite.connection(device.agents).exec_trace = tracing("agents")
    act()
    for store in (device.journal, device.agents):
        sqlite.connection(store).exec_trace = None
    return made


@pytest.mark.parametrize("count", [1, 9])
def test_rev66_one_act_reads_the_ledger_once_and_commits_three_times(
    laptop: Reviewer, reads: list[int], count: int
) -> None:
    """REV-40, REV-66: the sagas' rows, the effects, the decisions, however many items there are."""
    laptop.add_task()
    change_set = propose(laptop, TITLES[:count])
    reads.clear()
    made = commits(laptop, lambda: laptop.verdicts.confirm_all(change_set, laptop.later()))
    assert laptop.titles() == TITLES[:count]
    assert len(reads) == 1
    assert made.count("journal") == 1
    assert made.count("agents") == 2


def test_rev59_a_dismissal_reads_the_ledger_once(laptop: Reviewer, reads: list[int]) -> None:
    """REV-59."""
    laptop.add_task()
    change_set = propose(laptop, TITLES)
    reads.clear()
    assert len(laptop.verdicts.dismiss(change_set, laptop.later())) == 9
    assert len(reads) == 1
    assert laptop.waiting() == []


def test_rev110_an_effect_that_fails_stops_no_other_of_its_act(laptop: Reviewer) -> None:
    """REV-127, REV-110, REV-49: what fails in the middle of a transaction leaves nothing of itself, and all of the
    others."""
    laptop.add_task()
    change_set = propose(laptop, TITLES[:3])

    class OneFails(Sagas):
        def take_effect(self, tx: Any, begun: Any) -> Any:
            done = super().take_effect(tx, begun)
            if begun.placed.item.args["title"] == "Item 1":
                raise ValueError("invalid order key")
            return done

    outcomes = laptop.restarted(OneFails).confirm_all(change_set, laptop.later())
    assert [outcome.result for outcome in outcomes] == ["applied", "failed", "applied"]
    assert "ValueError: invalid order key" in outcomes[1].message
    assert laptop.titles() == ["Item 0", "Item 2"]
    assert [(item.summary, item.failure) for item in laptop.waiting()] == [('Add: "Item 1"', outcomes[1].message)]
    assert laptop.restarted().recover(laptop.later()) == []
    assert laptop.verdicts.confirm(laptop.waiting()[0].id, laptop.later()).result == "applied"


def test_rev103_a_saga_that_cannot_be_played_is_reported_once_and_stops_nothing(laptop: Reviewer) -> None:
    """REV-313, REV-111, REV-315: a row that cannot be read beside one that can. The list, the verdicts and the next
    start go on."""
    laptop.add_task()

    class Killed(BaseException):
        pass

    class DiesBeforeTheEffect(Sagas):
        def take_effect(self, *_: Any) -> Any:
            raise Killed

    change_set = propose(laptop, TITLES[:2])
    with pytest.raises(Killed):
        laptop.restarted(DiesBeforeTheEffect).confirm_all(change_set, laptop.later())
    broken = laptop.proposal(f"{change_set}.0").operation_id
    with laptop.agents.transaction(laptop.later(), LOW) as tx:
        tx.execute("update saga_log set request = 'no JSON' where operation_id = ?", (broken,))
    outcomes = laptop.restarted().recover(laptop.later())
    assert [(one.item, one.result) for one in outcomes] == [(broken, "failed"), (f"{change_set}.1", "applied")]
    assert laptop.titles() == ["Item 1"]
    assert laptop.restarted().recover(laptop.later()) == []
    [item] = laptop.waiting()
    assert "cannot be read" in (item.failure or "")
    assert laptop.verdicts.confirm(item.id, laptop.later()).result == "applied"
    with laptop.agents.reading() as reader:
        assert saga.pending(reader) == []


def test_rev111_a_rank_of_another_program_bricks_nothing(laptop: Reviewer) -> None:
    """REV-49, REV-315, REL-D1: an item whose rank is not a fractional index, as another program may write it."""
    laptop.add_task(items=("Flour",))
    laptop.do(lambda tx: tx.put("t1-i0", "checklistItem", {"rank": "x"}))
    change_set = propose(laptop, ["Milk"])
    assert [one.result for one in laptop.verdicts.confirm_all(change_set, laptop.later())] == ["applied"]
    assert laptop.titles() == ["Milk", "Flour"]
    laptop.add_task("t2", items=("Eggs",))
    assert laptop.restarted().recover(laptop.later()) == []


def test_rev35_a_copied_digest_does_not_make_two_proposals_equal(laptop: Reviewer) -> None:
    """REV-10, REV-35, REV-318, REL-D14: an item with a copied digest hides no other item, and is not decided
    with them."""
    laptop.add_task()
    good = propose(laptop, ["Milk", "Eggs"])
    with laptop.agents.reading() as reader:
        change_set = reader.entity(good)
    assert change_set is not None
    forged = [{**item, "id": f"forged.{n}", "digest": "0" * 64} for n, item in enumerate(change_set.value("items"))]
    fields = {"agentId": "laura", "taskId": "t1", "runKey": "r9", "items": forged, "createdAt": iso(START)}
    for item in forged:
        item["operationId"] = f"op-{item['id']}"
        item["args"] = {"title": f"Forged {item['id']}"}
    with laptop.agents.transaction(laptop.later(), LOW) as tx:
        tx.put("forged", "changeSet", fields)
    assert laptop.verdicts.reject("forged.0", laptop.later()).result == "rejected"
    assert {item.id for item in laptop.waiting()} == {"forged.1", f"{good}.0", f"{good}.1"}


def see(device: Reviewer, item_id: str) -> str:
    """The digest of what the person is shown of an item now."""
    return Inbox(device.journal, device.agents, ACTIONS).item(item_id, device.now).shown


REASON = {"reason": "The note of 22:30 says that it is not done", "evidenceEntryIds": ["note"]}


@pytest.fixture
def shown(laptop: Reviewer) -> tuple[str, str]:
    """An item that cites a note, and the digest of what was shown of it."""
    laptop.add_task(items=("Flour",))
    laptop.tick("t1-i0")
    laptop.note("note", "The flour is missing")
    laptop.propose("update_checklist_item", {"id": "t1-i0", "isChecked": False, **REASON})
    [item] = laptop.waiting()
    assert [cited.text for cited in item.cited] == ["The flour is missing"]
    return item.id, item.shown


CHANGES: dict[str, Callable[[Reviewer], None]] = {
    "the target": lambda device: device.tick("t1-i0", checked=False),
    "the cited note": lambda device: device.do(lambda tx: tx.put("note", "entry", {"text": "All is here"})),
    "the task": lambda device: device.edit(title="Bake rye bread"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_rev64_what_was_shown_is_what_is_decided(laptop: Reviewer, shown: tuple[str, str], what: str) -> None:
    """REV-64: whatever of the page has changed since, nothing is done, and what is there now is shown."""
    ident, digest = shown
    CHANGES[what](laptop)
    for outcome in (
        laptop.verdicts.confirm(ident, laptop.later(), shown=digest),
        laptop.verdicts.reject_selected([ident], laptop.later(), shown={ident: digest})[0],
    ):
        assert outcome.result == "stale"
        assert "not as it was shown" in outcome.message
        assert outcome.view is not None
        assert outcome.view.shown == see(laptop, ident) != digest
    assert laptop.decisions() == []
    assert laptop.verdicts.reject_selected([ident], laptop.later(), shown={ident: see(laptop, ident)})[0].result == (
        "rejected"
    )


@pytest.mark.parametrize("what", CHANGES)
def test_rev64_a_verdict_that_was_shown_otherwise_is_not_taken_back_or_put_off(
    laptop: Reviewer, shown: tuple[str, str], what: str
) -> None:
    """REV-64: also for an undo and a deferral, compared in the transaction that writes."""
    ident, digest = shown
    laptop.verdicts.reject(ident, laptop.later())
    rejected = see(laptop, ident)
    CHANGES[what](laptop)
    assert laptop.verdicts.undo(ident, laptop.later(), shown=rejected).result == "stale"
    assert len(laptop.decisions()) == 1
    assert laptop.verdicts.undo(ident, laptop.later(), shown=see(laptop, ident)).result == "undone"
    tomorrow = laptop.now + 86_400_000
    [outcome] = laptop.verdicts.defer_selected([ident], tomorrow, laptop.later(), shown={ident: digest})
    assert outcome.result == "stale"


def test_rev64_neither_time_nor_a_neighbour_nor_the_language_changes_what_was_shown(
    laptop: Reviewer, shown: tuple[str, str]
) -> None:
    """REV-64."""
    ident, digest = shown
    laptop.do(lambda tx: tx.put("other", "checklistItem", {"taskId": "t1", "title": "Salt"}))
    propose(laptop, ["Milk"], "run2")
    laptop.later()
    assert see(laptop, ident) == digest
    german = Inbox(laptop.journal, laptop.agents, ACTIONS, language="de").item(ident, laptop.now)
    assert german.shown == digest
    assert laptop.verdicts.confirm(ident, laptop.later(), shown=digest).result == "applied"


@pytest.mark.parametrize("run", [f"run{number}" for number in range(6)])
def test_rev65_sets_of_one_wake_are_in_the_order_proposed(laptop: Reviewer, run: str) -> None:
    """REV-65: twenty steps are two sets of one moment. Their ids are hashes, and in half of all runs in the other
    order."""
    laptop.add_task()
    titles = [f"Step {number:02}" for number in range(20)]
    propose(laptop, titles, run)
    waiting = laptop.waiting()
    assert [item.args["title"] for item in waiting] == titles
    laptop.verdicts.confirm_selected(sorted(item.id for item in waiting), laptop.later())
    assert laptop.titles() == titles
