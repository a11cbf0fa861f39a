"""A process that dies within a confirmation: after the next start it is all there, or nothing is.

The three transactions leave two gaps. A death *within* a transaction is one before it, by SQLite's word; the
stores' own crash tests hold that."""

from typing import Any

import pytest
from tests.review.reviewer import Reviewer

from lottisync.journal.toolbox import ACTIONS
from lottisync.review.completion import Sagas
from lottisync.review.effect import receipt_path
from lottisync.review.verdict import Verdicts


class Killed(BaseException):
    """The process ends here: no code of this program catches it."""


class DiesBeforeTheEffect(Sagas):
    def take_effect(self, *_: Any) -> Any:
        raise Killed


class DiesBeforeTheDecision(Sagas):
    def settle(self, *_: Any) -> Any:
        raise Killed


GAPS = [DiesBeforeTheEffect, DiesBeforeTheDecision]
CALLS = [
    ("update_task_estimate", {"minutes": 60}),
    ("add_checklist_item", {"title": "Milk"}),
    ("update_checklist_item", {"id": "t1-i0", "isChecked": True, "reason": "The note of 22:30 says so"}),
]


def dead(device: Reviewer, tool: str, args: dict[str, Any], kind: type[Sagas], **how: Any) -> str:
    """A confirmation in which the process dies; the item's id. The next process has not recovered yet."""
    device.add_task(items=("Flour",))
    device.propose(tool, args)
    [item] = device.waiting()
    with pytest.raises(Killed):
        device.restarted(kind).confirm(item.id, device.later(), **how)
    device.restarted()
    return item.id


def effects(device: Reviewer) -> int:
    """How many writes the journal holds that carry a receipt."""
    with device.journal.reading() as reader:
        entities = reader.owned_by("t1")
    return sum(len(writes) for e in entities for path, writes in e.registers.items() if path.startswith("receipts/"))


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize(("tool", "args"), CALLS)
def test_rev50_what_was_begun_is_finished_once(
    laptop: Reviewer, gap: type[Sagas], tool: str, args: dict[str, Any]
) -> None:
    """REV-50, REV-504, S3-93: and a second start finds nothing more to do."""
    ident = dead(laptop, tool, args, gap)
    assert laptop.decisions() == []
    [outcome] = laptop.verdicts.recover(laptop.later())
    assert (outcome.item, outcome.result) == (ident, "applied" if gap is DiesBeforeTheEffect else "already")
    assert effects(laptop) == 1
    [decision] = laptop.decisions()
    assert (decision.verdict, decision.result) == ("confirmed", "applied")
    assert laptop.restarted().recover(laptop.later()) == []
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "already"
    assert effects(laptop) == 1
    assert len(laptop.decisions()) == 1


@pytest.mark.parametrize("gap", GAPS)
def test_rev50_a_tap_before_the_recovery_finishes_what_was_said_first(laptop: Reviewer, gap: type[Sagas]) -> None:
    """REV-50."""
    ident = dead(laptop, "update_task_estimate", {"minutes": 60}, gap, edited_args={"minutes": 75})
    laptop.verdicts.confirm(ident, laptop.later(), edited_args={"minutes": 90})
    assert laptop.page().task.estimate == 75
    assert [d.args for d in laptop.decisions()] == [{"minutes": 75}]
    assert laptop.verdicts.recover(laptop.later()) == []


@pytest.mark.parametrize("gap", GAPS)
def test_rev50_a_rejection_comes_too_late_for_what_was_begun(laptop: Reviewer, gap: type[Sagas]) -> None:
    """REV-50."""
    ident = dead(laptop, "update_task_estimate", {"minutes": 60}, gap)
    assert laptop.verdicts.reject(ident, laptop.later()).result == "already"
    laptop.verdicts.recover(laptop.later())
    assert [d.verdict for d in laptop.decisions()] == ["confirmed"]


def test_rev51_recovery_does_not_overwrite_what_was_synced_since(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-51."""
    ident = dead(laptop, "update_task_estimate", {"minutes": 60}, DiesBeforeTheEffect)
    phone.pull(laptop)
    phone.edit(estimate=90)
    laptop.pull(phone)
    [outcome] = laptop.verdicts.recover(laptop.later())
    assert outcome.result == "stale"
    assert laptop.page().task.estimate == 90
    assert laptop.decisions() == []
    assert laptop.verdicts.recover(laptop.later()) == []
    assert [item.id for item in laptop.waiting() if item.stale] == [ident]


def test_rev51_what_was_confirmed_over_the_present_is_compared_with_that_present(
    laptop: Reviewer, phone: Reviewer
) -> None:
    """REV-51."""
    laptop.add_task("t0")
    laptop.add_task(items=("Flour",))
    laptop.edit(estimate=10)
    laptop.propose("update_task_estimate", {"minutes": 60})
    laptop.edit(estimate=20)
    [item] = laptop.waiting()
    with pytest.raises(Killed):
        laptop.restarted(DiesBeforeTheEffect).confirm(item.id, laptop.later(), against="current")
    laptop.restarted()
    phone.pull(laptop)
    phone.edit(estimate=30)
    laptop.pull(phone)
    assert [outcome.result for outcome in laptop.verdicts.recover(laptop.later())] == ["stale"]
    assert laptop.page().task.estimate == 30


def test_rev504_an_effect_that_was_edited_since_is_not_repeated(laptop: Reviewer) -> None:
    """REV-504: its receipt is here, though its value is not."""
    ident = dead(laptop, "update_task_estimate", {"minutes": 60}, DiesBeforeTheDecision)
    laptop.edit(estimate=90)
    assert [outcome.result for outcome in laptop.verdicts.recover(laptop.later())] == ["already"]
    assert laptop.page().task.estimate == 90
    assert laptop.states()[ident.rpartition(".")[0]].items[ident].status == "confirmed"


def test_rev52_a_verdict_that_came_meanwhile_was_not_seen(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-52. The decision lists what the person knew when they tapped, not what recovery knows: it is contested."""
    ident = dead(laptop, "update_task_estimate", {"minutes": 60}, DiesBeforeTheDecision)
    phone.pull(laptop, "agent")  # the proposal, and not yet the effect
    assert phone.verdicts.reject(ident, phone.later()).result == "rejected"
    laptop.pull(phone)
    laptop.verdicts.recover(laptop.later())
    state = laptop.states()[ident.rpartition(".")[0]].items[ident]
    assert (state.status, state.contested) == ("confirmed", True)


def test_rev53_two_processes_that_finish_one_saga_write_one_decision(laptop: Reviewer) -> None:
    """REV-53."""
    laptop.add_task()
    laptop.propose("update_task_estimate", {"minutes": 60})
    [item] = laptop.waiting()
    device = laptop

    class Overtaken(Sagas):
        def settle(self, *args: Any) -> Any:
            other = Verdicts(device.journal, device.agents, ACTIONS, device_id=device.id, new_id=device.new_id)
            assert [outcome.result for outcome in other.recover(device.later())] == ["already"]
            return super().settle(*args)

    assert laptop.restarted(Overtaken).confirm(item.id, laptop.later()).result == "already"
    assert len(laptop.decisions()) == 1
    assert effects(laptop) == 1


def test_rev40_effect_and_receipt_never_come_apart(laptop: Reviewer) -> None:
    """REV-40. In the entity's own version, so that no round can carry one without the other."""
    dead(laptop, "add_checklist_item", {"title": "Milk"}, DiesBeforeTheDecision)
    created = next(item for item in laptop.page().items if item.title == "Milk")
    entity = laptop.journal.read(created.id)
    assert entity is not None
    [operation] = created.receipts
    assert entity.dots(receipt_path(operation)) == entity.dots("title")
