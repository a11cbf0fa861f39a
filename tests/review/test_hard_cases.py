"""Verdicts where something is in the way: sets that have not arrived or were removed, words that cross, ids and
times that are not valid, and rows of other hands."""

from typing import Any

import msgspec
import pytest
from tests.review.reviewer import DAY, LAURA, START, Reviewer

from lottisync.entities.entity import HIGH, is_deleted
from lottisync.entities.view import view
from lottisync.journal.toolbox import ACTIONS
from lottisync.problem import Problem
from lottisync.review import retraction, saga
from lottisync.review.change import ChangeSet
from lottisync.review.completion import Sagas
from lottisync.review.inbox import Inbox
from lottisync.review.ledger import fields
from lottisync.review.proposal_record import proposal_records
from lottisync.review.retraction import Staged
from lottisync.review.verdict import Verdicts

FOLLOW_UP = {"title": "Buy flour", "relation": "has_follow_up"}


class Killed(BaseException):
    """The process ends here."""


class DiesBeforeTheEffect(Sagas):
    def take_effect(self, *_: Any) -> Any:
        raise Killed


def one(device: Reviewer, tool: str, args: dict[str, Any], run: str = "run1") -> str:
    before = {item.id for item in device.waiting()}
    device.propose(tool, args, run)
    [new] = {item.id for item in device.waiting()} - before
    return new


def follow_up(device: Reviewer) -> tuple[str, str]:
    """A task that is proposed, and the link that waits for it."""
    device.add_task()
    device.propose("create_follow_up_task", FOLLOW_UP)
    made, link = device.waiting()
    assert link.depends_on == [made.id]
    return made.id, link.id


def status(device: Reviewer, item: str) -> str:
    return device.states()[item.rpartition(".")[0]].items[item].status


def retract(device: Reviewer, item: str) -> None:
    """The agent takes it back, as the end of its wake does."""
    with device.agents.transaction(device.later(), HIGH) as tx:
        assert retraction.carry_out(tx, LAURA, "t1", [Staged(item, "pointless by now")], tx.now) == 1


def rewritten(device: Reviewer, ident: str, **changes: Any) -> None:
    """A set as a hand or a newer program left it."""
    entity = device.agents.read(ident)
    assert entity is not None
    changed = msgspec.structs.replace(view(entity, ChangeSet), **changes)
    with device.agents.transaction(device.later(), HIGH) as tx:
        tx.put(ident, "changeSet", fields(changed))


# -- what builds on something else


def test_rev103_an_item_that_builds_on_a_set_that_is_not_here_hides_nothing(laptop: Reviewer) -> None:
    """REV-103, REV-313, REV-107: a round was cut off between two sets of one wake."""
    laptop.add_task()
    waits = one(laptop, "update_task_estimate", {"minutes": 60})
    other = one(laptop, "set_task_title", {"title": "Rye"}, "r2")
    entity = laptop.agents.read(waits.rpartition(".")[0])
    assert entity is not None
    [item] = view(entity, ChangeSet).items
    rewritten(laptop, entity.id, items=[msgspec.structs.replace(item, depends_on=["elsewhere.0"])])
    shown = {item.id: item for item in laptop.waiting()}
    assert (shown[waits].depends_on, shown[other].depends_on) == (["elsewhere.0"], [])
    outcome = laptop.verdicts.confirm(waits, laptop.later())
    assert (outcome.result, "builds on another item" in outcome.message) == ("failed", True)
    assert laptop.verdicts.confirm(other, laptop.later()).result == "applied"
    assert laptop.verdicts.reject(waits, laptop.later()).result == "rejected"
    assert len(proposal_records(laptop.journal, laptop.agents, ACTIONS, laptop.now)) == 2


def test_rev108_what_fell_with_a_rejection_comes_back_with_it(laptop: Reviewer) -> None:
    """REV-108, REV-314, REV-114: and takes effect in the end."""
    made, link = follow_up(laptop)
    laptop.verdicts.reject(made, laptop.later())
    assert (status(laptop, made), status(laptop, link)) == ("rejected", "rejected")
    assert laptop.verdicts.undo(made, laptop.later()).result == "undone"
    assert (status(laptop, made), status(laptop, link)) == ("pending", "pending")
    outcomes = laptop.verdicts.confirm_all(made.rpartition(".")[0], laptop.later())
    assert [outcome.result for outcome in outcomes] == ["applied", "applied"]
    with laptop.journal.reading() as reader:
        assert len(reader.links_from("t1") + reader.links_to("t1")) == 1


def test_rev115_what_was_rejected_before_stays_rejected(laptop: Reviewer) -> None:
    """REV-115: only decisions that were made together are taken back together."""
    made, link = follow_up(laptop)
    laptop.verdicts.reject(link, laptop.later())
    laptop.verdicts.reject(made, laptop.later())
    laptop.verdicts.undo(made, laptop.later())
    assert (status(laptop, made), status(laptop, link)) == ("pending", "rejected")


def test_rev108_a_chain_falls_as_a_whole(laptop: Reviewer) -> None:
    """REV-108: also if it leads back to itself, which this program never writes."""
    laptop.add_task()
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": title} for title in "ABC"]})
    [ident] = laptop.states()
    entity = laptop.agents.read(ident)
    assert entity is not None
    items = [
        msgspec.structs.replace(item, depends_on=[f"{ident}.{(n - 1) % 3}"])
        for n, item in enumerate(view(entity, ChangeSet).items)
    ]
    rewritten(laptop, ident, items=items)
    laptop.verdicts.reject(f"{ident}.0", laptop.later())
    assert [status(laptop, f"{ident}.{n}") for n in range(3)] == ["rejected"] * 3
    assert len(laptop.decisions()) == 3


# -- sets that are gone, and rows of other hands


def test_rev503_a_verdict_is_finished_though_its_set_was_removed_meanwhile(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-503: another device tidied up while this one was off. The start is not stopped, the word stands."""
    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    with pytest.raises(Killed):
        laptop.restarted(DiesBeforeTheEffect).confirm(ident, laptop.later())
    with phone.agents.transaction(phone.later(), HIGH) as tx:
        tx.delete(ident.rpartition(".")[0])
    laptop.pull(phone)
    assert [outcome.result for outcome in laptop.restarted().recover(laptop.later())] == ["applied"]
    assert laptop.page().task.estimate == 60
    assert [decision.verdict for decision in laptop.decisions()] == ["confirmed"]


def test_rev111_a_saga_whose_item_is_not_here_stops_no_start(laptop: Reviewer) -> None:
    """REV-111, REV-315: the others are played."""
    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    with pytest.raises(Killed):
        laptop.restarted(DiesBeforeTheEffect).confirm(ident, laptop.later())
    with laptop.agents.transaction(laptop.now, HIGH) as tx:
        tx.execute(
            "insert into saga_log select 'x', run_key, phase, status, tool_name, last_error, '2000', "
            "updated_at, replace(request, ?, 'gone.0') from saga_log",
            (ident,),
        )
    outcomes = laptop.restarted().recover(laptop.later())
    assert [(outcome.item, outcome.result) for outcome in outcomes] == [("gone.0", "failed"), (ident, "applied")]


def test_rev53_a_saga_that_another_process_closed_writes_no_decision(laptop: Reviewer) -> None:
    """REV-53: its row is gone, or is somebody's newer word."""
    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    device = laptop

    class Overtaken(Sagas):
        def settle(self, *args: Any) -> Any:
            with device.agents.transaction(device.later(), HIGH) as tx:
                saga.forget(tx, device.proposal(ident).operation_id)
            return super().settle(*args)

    assert laptop.restarted(Overtaken).confirm(ident, laptop.later()).result == "already"
    assert laptop.decisions() == []
    assert laptop.restarted().confirm(ident, laptop.later()).result == "already"
    assert [decision.verdict for decision in laptop.decisions()] == ["confirmed"]


def test_rev104_an_item_under_the_id_of_another_place_is_not_valid(laptop: Reviewer) -> None:
    """REV-104: as an equal proposal it would keep the decision on a good item from being written."""
    laptop.add_task()
    good = one(laptop, "update_task_estimate", {"minutes": 60})
    other = one(laptop, "set_task_title", {"title": "Rye"}, "r2")
    equal = msgspec.structs.replace(laptop.proposal(good), id="nowhere.7", operation_id="f" * 64)
    rewritten(laptop, other.rpartition(".")[0], items=[laptop.proposal(other), equal])
    assert sorted(item.id for item in laptop.waiting()) == sorted((good, other))
    assert laptop.verdicts.confirm(good, laptop.later()).result == "applied"
    assert laptop.verdicts.recover(laptop.later()) == []
    assert len(laptop.decisions()) == 1


# -- words that cross


def test_rev77_a_retraction_does_not_hide_that_the_person_put_it_off(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-77: the agent took it back on one device while the person put it off on another."""
    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    phone.verdicts.defer(ident, phone.now + 2 * DAY, phone.later())
    retract(laptop, ident)
    laptop.meet(phone)
    for device in (laptop, phone):
        assert status(device, ident) == "deferred"
        device.later(3 * DAY)
        assert [item.id for item in device.waiting()] == [ident]
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "applied"


def test_rev77_a_retraction_that_has_seen_that_it_was_put_off_counts(laptop: Reviewer) -> None:
    """REV-75, REV-77."""
    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    laptop.verdicts.defer(ident, laptop.now + 2 * DAY, laptop.later())
    retract(laptop, ident)
    assert status(laptop, ident) == "retracted"
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "already"


def test_rev118_a_contested_item_that_was_decided_with_another_can_be_settled(
    laptop: Reviewer, phone: Reviewer
) -> None:
    """REV-118: it has no effect of its own that could arrive."""
    laptop.add_task()
    older = one(laptop, "update_task_estimate", {"minutes": 60})
    phone.pull(laptop)
    with phone.agents.transaction(phone.later(), HIGH) as tx:
        # As another agent proposes that had not seen it.
        entity = tx.entity(older.rpartition(".")[0])
        assert entity is not None
        held = view(entity, ChangeSet)
        item = msgspec.structs.replace(held.items[0], id="s2.0", operation_id="e" * 64)
        tx.put("s2", "changeSet", fields(msgspec.structs.replace(held, id="s2", items=[item])))
    laptop.pull(phone)
    laptop.verdicts.confirm(older, laptop.later())
    phone.verdicts.reject("s2.0", phone.later())
    laptop.meet(phone)
    contested = [item for item, state in laptop.states()["s2"].items.items() if state.contested]
    assert contested == ["s2.0"]
    assert laptop.verdicts.keep("s2.0", laptop.later()).result == "kept"
    [state] = laptop.states()["s2"].items.values()
    assert (state.status, state.contested) == ("confirmed", False)
    assert laptop.page().task.estimate == 60


def test_rev47_two_processes_at_once_decide_one_item_once(laptop: Reviewer) -> None:
    """REV-47, REV-53: one says no while the other is between its two files."""
    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    device, results = laptop, []

    class Interrupted(Sagas):
        def finish(self, begun: Any, now: int) -> Any:
            if begun:
                other = Verdicts(device.journal, device.agents, ACTIONS, device_id=device.id, new_id=device.new_id)
                results.append(other.reject(ident, device.later()).result)
            return super().finish(begun, now)

    assert laptop.restarted(Interrupted).confirm(ident, laptop.later()).result == "already"
    assert results == ["already"]
    assert [decision.verdict for decision in laptop.decisions()] == ["confirmed"]
    assert laptop.page().task.estimate == 60


def test_rev50_every_verb_finishes_first_what_was_begun(laptop: Reviewer) -> None:
    """REV-50: an undo that died is finished by the next word, whatever that is."""

    class DiesBeforeItIsTakenBack(Sagas):
        def take_back(self, *_: Any) -> Any:
            raise Killed

    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    laptop.verdicts.confirm(ident, laptop.later())
    with pytest.raises(Killed):
        laptop.restarted(DiesBeforeItIsTakenBack).undo(ident, laptop.later())
    assert laptop.restarted().confirm(ident, laptop.later()).result == "already"
    assert laptop.page().task.estimate is None
    assert [decision.verdict for decision in laptop.decisions()] == ["confirmed", "retracted"]


def test_rev53_what_began_between_a_look_and_the_transaction_is_finished(laptop: Reviewer) -> None:
    """REV-47, REV-53: asked again in the transaction, for confirm, reject and undo."""

    class LooksTooEarly(Sagas):
        def finish_begun(self, *_: Any) -> dict[str, Any]:
            return {}

    laptop.add_task()
    first, second = (one(laptop, "add_checklist_item", {"title": title}, title) for title in ("Milk", "Eggs"))
    for ident in (first, second):
        with pytest.raises(Killed):
            laptop.restarted(DiesBeforeTheEffect).confirm(ident, laptop.later())
    late = laptop.restarted(LooksTooEarly)
    assert late.confirm(first, laptop.later()).result == "applied"
    assert late.reject(second, laptop.later()).result == "already"
    assert late.undo(second, laptop.later()).result == "applied"
    assert laptop.titles() == ["Milk", "Eggs"]


def test_rev56_undo_where_the_task_was_deleted_since(laptop: Reviewer) -> None:
    """REV-56: nothing is written over a deletion, and the verdict is taken back all the same."""
    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    laptop.verdicts.confirm(ident, laptop.later())
    laptop.do(lambda tx: tx.delete("t1"))
    outcome = laptop.verdicts.undo(ident, laptop.later())
    assert (outcome.result, outcome.message) == ("undone", "there was nothing to write back")
    task = laptop.journal.read("t1")
    assert task is not None
    assert is_deleted(task)


def test_rev103_what_a_newer_version_confirmed_is_not_undone_by_this_one(laptop: Reviewer) -> None:
    """REV-103, REV-56."""
    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    laptop.verdicts.confirm(ident, laptop.later())
    item = msgspec.structs.replace(laptop.proposal(ident), tool_name="paint_task")
    rewritten(laptop, ident.rpartition(".")[0], items=[item])
    outcome = laptop.verdicts.undo(ident, laptop.later())
    assert (outcome.result, "does not know the tool" in outcome.message) == ("failed", True)
    assert [decision.verdict for decision in laptop.decisions()] == ["confirmed"]


def test_rev56_undo_after_a_third_device_has_written(laptop: Reviewer, phone: Reviewer, tmp_path: Any) -> None:
    """REV-56: confirmed here, changed there, undone on one that has seen both."""
    tablet = Reviewer(tmp_path / "tablet", 3)
    laptop.add_task()
    laptop.edit(estimate=30)
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    laptop.verdicts.confirm(ident, laptop.later())
    phone.pull(laptop)
    phone.edit(estimate=45)
    tablet.pull(phone)
    outcome = tablet.verdicts.undo(ident, tablet.later())
    assert (outcome.result, [(f.was, f.now) for f in outcome.stale]) == ("stale", [(60, 45)])
    assert tablet.verdicts.undo(ident, tablet.later()).result == "stale"
    laptop.meet(tablet)
    assert laptop.page().task.estimate == tablet.page().task.estimate == 45
    tablet.close()


# -- time


def test_rev109_confirm_all_takes_what_waits_and_not_what_has_expired(laptop: Reviewer) -> None:
    """REV-109, S1-54: one was put off and is back, the other has expired and can still be decided."""
    laptop.add_task()
    laptop.propose("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Eggs"}]})
    milk, eggs = laptop.waiting()
    laptop.verdicts.defer(milk.id, laptop.now + 6 * DAY, laptop.later())
    laptop.later(8 * DAY)
    ident = milk.id.rpartition(".")[0]
    assert [outcome.item for outcome in laptop.verdicts.confirm_all(ident, laptop.later())] == [milk.id]
    assert laptop.titles() == ["Milk"]
    assert laptop.verdicts.dismiss(ident, laptop.later()) == []
    assert laptop.verdicts.confirm(eggs.id, laptop.later()).result == "applied"


def test_rev33_what_expires_while_it_is_being_confirmed_is_confirmed(laptop: Reviewer) -> None:
    """REV-317: the process died on the seventh day and was started again on the ninth."""
    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    laptop.later(6 * DAY)
    with pytest.raises(Killed):
        laptop.restarted(DiesBeforeTheEffect).confirm(ident, laptop.later())
    laptop.later(3 * DAY)
    assert [outcome.result for outcome in laptop.restarted().recover(laptop.now)] == ["applied"]
    assert status(laptop, ident) == "confirmed"


@pytest.mark.parametrize("until", [START - DAY, 2**53, 2**63])
def test_rev34_a_time_that_cannot_be_is_refused(laptop: Reviewer, until: int) -> None:
    """REV-34: past, or past the last year that can be written down; nothing is changed."""
    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    with pytest.raises(Problem, match="can be deferred"):
        laptop.verdicts.defer(ident, until, laptop.later())
    assert laptop.decisions() == []
    assert [item.id for item in laptop.waiting()] == [ident]


# -- what is said


@pytest.mark.parametrize("reason", ["half \ud800 a character", "x" * 1001])
def test_s1_37_a_reason_that_cannot_be_kept_changes_nothing(laptop: Reviewer, reason: str) -> None:
    """S1-37: for reject and dismiss alike."""
    made, link = follow_up(laptop)
    for say in (
        lambda: laptop.verdicts.reject(made, laptop.later(), reason),
        lambda: laptop.verdicts.dismiss(made.rpartition(".")[0], laptop.later(), reason),
    ):
        with pytest.raises(Problem):
            say()
        assert (status(laptop, made), status(laptop, link)) == ("pending", "pending")
    assert laptop.decisions() == []


@pytest.mark.parametrize("minutes", [0, -1, 1441, 2**70, "\ud800", "x" * 200_000, None, [60], {"a": 1}, float("inf")])
def test_rev46_an_edit_that_is_not_valid_leaves_the_item_as_it_was(laptop: Reviewer, minutes: Any) -> None:
    """REV-46, REV-49."""
    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60})
    outcome = laptop.verdicts.confirm(ident, laptop.later(), edited_args={"minutes": minutes})
    assert outcome.result == "failed"
    assert outcome.message
    assert laptop.decisions() == []
    assert laptop.verdicts.recover(laptop.later()) == []
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "applied"


NO_IDS = ["", ".", "x", "x.0", "{set}", "{set}.99", "{set}.-1", "{set}.00", "\ud800.0", "x" * 9999]


@pytest.mark.parametrize("ident", NO_IDS)
@pytest.mark.parametrize("verb", ["confirm", "reject", "undo", "keep", "dismiss", "confirm_all", "confirm_selected"])
def test_rev47_ids_that_are_not_valid(laptop: Reviewer, verb: str, ident: str) -> None:
    """REV-47: a clear word, and nothing changes."""
    laptop.add_task()
    item = one(laptop, "update_task_estimate", {"minutes": 60})
    asked = ident.replace("{set}", item.rpartition(".")[0])
    if verb in ("dismiss", "confirm_all") and ident == "{set}":
        return
    with pytest.raises(Problem, match="there is no proposal"):
        getattr(laptop.verdicts, verb)([item, asked] if verb == "confirm_selected" else asked, laptop.later())
    assert laptop.decisions() == []
    with pytest.raises(Problem, match="there is no proposal"):
        Inbox(laptop.journal, laptop.agents, ACTIONS).item(asked, laptop.now)


def test_s1_65_a_set_without_items_and_one_that_was_rejected_whole(laptop: Reviewer) -> None:
    """S1-65: neither is shown; what was rejected whole is resolved."""
    laptop.add_task()
    ident = one(laptop, "update_task_estimate", {"minutes": 60}).rpartition(".")[0]
    laptop.verdicts.dismiss(ident, laptop.later())
    empty = ChangeSet("empty", LAURA, "t1", created_at="2026-02-28T22:00:00.000Z")
    with laptop.agents.transaction(laptop.later(), HIGH) as tx:
        tx.put("empty", "changeSet", fields(empty))
    assert laptop.states()[ident].status == "resolved"
    assert Inbox(laptop.journal, laptop.agents, ACTIONS).unsettled_sets(laptop.now) == []
    assert laptop.verdicts.confirm_all("empty", laptop.later()) == []
