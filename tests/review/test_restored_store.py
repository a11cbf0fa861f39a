"""One of a device's two files is put back from a backup, and the other is not.

A backup tool does that, or a person who copies "the file with the tasks"; and so does a disk that said it had synced
what it had not. Verdicts and effects lie in different files: what was decided must stay true, and be done once."""

import shutil
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.review.reviewer import Reviewer, two_with_a_set
from tests.review.test_recovery import effects
from tests.support.examples import examples

from lottisync.entities.entity import has_conflict
from lottisync.store import notice

ESTIMATE = ("update_task_estimate", {"minutes": 60})


def back_up(device: Reviewer, store: str) -> None:
    device.close()
    shutil.copy(device.folder / f"{store}.sqlite", device.folder / f"{store}.backup")
    device.restarted()


def restore(device: Reviewer, store: str) -> None:
    device.close()
    for file in device.folder.glob(f"{store}.sqlite-*"):
        file.unlink()
    shutil.copy(device.folder / f"{store}.backup", device.folder / f"{store}.sqlite")
    device.restarted()


def confirmed_and_lost(device: Reviewer) -> str:
    """An item that was confirmed before the journal alone was put back; its id."""
    device.add_task(items=("Flour",))
    back_up(device, "journal")
    ident = confirmed(device)
    restore(device, "journal")
    assert device.page().task.estimate is None
    return ident


def confirmed(device: Reviewer) -> str:
    device.propose(*ESTIMATE)
    [item] = device.waiting()
    assert device.verdicts.confirm(item.id, device.later()).result == "applied"
    return item.id


def status(device: Reviewer, ident: str) -> str:
    state = device.states()[ident.rpartition(".")[0]].items[ident]
    return "undone" if state.undone else "contested" if state.contested else str(state.status)


def recovered(device: Reviewer) -> list[str]:
    return [outcome.result for outcome in device.verdicts.recover(device.later())]


@pytest.mark.parametrize("call", [ESTIMATE, ("add_checklist_item", {"title": "Milk"})])
def test_rev61_an_effect_that_a_restored_journal_has_lost_is_played_again(
    laptop: Reviewer, call: tuple[str, dict[str, object]]
) -> None:
    """REV-121, REV-61, COPY-8: once, with the decision that there was, and under a new host."""
    laptop.add_task(items=("Flour",))
    back_up(laptop, "journal")
    host = _host(laptop)
    laptop.propose(*call)
    [item] = laptop.waiting()
    laptop.verdicts.confirm(item.id, laptop.later())
    after = laptop.page()
    restore(laptop, "journal")
    assert laptop.page() != after
    [before] = laptop.decisions()
    assert recovered(laptop) == ["applied"]
    assert [i.title for i in laptop.page().items] == [i.title for i in after.items]
    assert laptop.page().task.estimate == after.task.estimate
    assert effects(laptop) == 1
    assert [decision.id for decision in laptop.decisions()] == [before.id]
    assert recovered(laptop) == []
    assert _host(laptop) != host
    with laptop.journal.reading() as reader:
        assert [found.host for found in notice.read_notices(reader)] == [host]


def test_rev61_what_another_device_still_has_is_not_done_twice(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-61, REV-54: the effect comes back from the phone after it was played again here."""
    laptop.add_task(items=("Flour",))
    back_up(laptop, "journal")
    ident = confirmed(laptop)
    laptop.meet(phone)
    restore(laptop, "journal")
    assert recovered(laptop) == ["applied"]
    laptop.meet(phone)
    assert laptop.same_as(phone)
    for device in (laptop, phone):
        task = device.journal.read("t1")
        assert task is not None
        assert task.value("estimate") == 60
        assert not has_conflict(task)
        assert status(device, ident) == "confirmed"
        assert device.waiting() == []
        assert len(device.decisions()) == 1
    assert recovered(laptop) == recovered(phone) == []


def test_rev61_an_effect_that_came_back_by_itself_is_left(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-61: under whatever name; and then it is not looked for again."""
    laptop.add_task(items=("Flour",))
    back_up(laptop, "journal")
    confirmed(laptop)
    laptop.meet(phone)
    restore(laptop, "journal")
    laptop.edit(title="Call mum")  # under the number that the effect had
    laptop.meet(phone)
    assert effects(laptop) == 1
    changes = len(laptop.decisions())
    assert recovered(laptop) == recovered(laptop) == []
    assert effects(laptop) == 1
    assert len(laptop.decisions()) == changes
    assert (laptop.page().task.title, laptop.page().task.estimate) == ("Call mum", 60)
    assert laptop.same_as(phone)


def test_rev61_nothing_that_was_typed_since_is_overwritten(laptop: Reviewer) -> None:
    """REV-61, REV-51: it is said once; the person's later word stands."""
    ident = confirmed_and_lost(laptop)
    laptop.edit(estimate=90)
    assert recovered(laptop) == ["stale"]
    assert laptop.page().task.estimate == 90
    assert recovered(laptop) == []
    assert status(laptop, ident) == "confirmed"


def test_rev61_every_lost_effect_is_played_again_in_order(laptop: Reviewer) -> None:
    """REV-61: however many, and whatever was done before them."""
    laptop.add_task()
    for number in range(20):
        laptop.propose("add_checklist_item", {"title": f"Kept {number}"}, run=f"kept{number}")
    for item in laptop.waiting():
        laptop.verdicts.confirm(item.id, laptop.later())
    back_up(laptop, "journal")
    for number in range(20):
        laptop.propose("add_checklist_item", {"title": f"Lost {number}"}, run=f"lost{number}")
    for item in laptop.waiting():
        laptop.verdicts.confirm(item.id, laptop.later())
    titles = laptop.titles()
    restore(laptop, "journal")
    assert len(laptop.titles()) == 20
    assert recovered(laptop) == ["applied"] * 20
    assert laptop.titles() == titles


def test_rev61_what_was_undone_elsewhere_is_not_done_again(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-61."""
    laptop.add_task(items=("Flour",))
    back_up(laptop, "journal")
    ident = confirmed(laptop)
    laptop.meet(phone)
    assert phone.verdicts.undo(ident, phone.later()).result == "undone"
    laptop.pull(phone, "agent")
    restore(laptop, "journal")
    assert recovered(laptop) == []
    assert laptop.page().task.estimate is None
    laptop.meet(phone)
    assert laptop.same_as(phone)
    assert (laptop.page().task.estimate, status(laptop, ident)) == (None, "undone")


def test_rev120_what_its_task_has_yet_to_come_for_waits(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-120: the journal was put back to before the task was written."""
    back_up(laptop, "journal")
    laptop.add_task()
    laptop.meet(phone)
    confirmed(laptop)
    restore(laptop, "journal")
    assert recovered(laptop) == recovered(laptop) == []
    laptop.meet(phone)
    assert recovered(laptop) == ["applied"]
    assert laptop.page().task.estimate == 60
    assert recovered(laptop) == []


def test_rev61_a_lost_undo_is_played_again(laptop: Reviewer) -> None:
    """REV-61."""
    laptop.add_task()
    ident = confirmed(laptop)
    back_up(laptop, "journal")
    assert laptop.verdicts.undo(ident, laptop.later()).result == "undone"
    restore(laptop, "journal")
    assert laptop.page().task.estimate == 60
    assert recovered(laptop) == ["undone"]
    assert (laptop.page().task.estimate, status(laptop, ident)) == (None, "undone")
    assert recovered(laptop) == []


def test_rev62_an_effect_that_is_not_here_is_not_undone(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-62: a third device may be handed the decision without its effect; the effect would come, and stand."""
    laptop.add_task(items=("Flour",))
    laptop.meet(phone)
    back_up(laptop, "journal")
    ident = confirmed(laptop)
    restore(laptop, "journal")
    phone.pull(laptop)
    outcome = phone.verdicts.undo(ident, phone.later())
    assert (outcome.result, outcome.message) == ("failed", "its effect is not here; synchronise first")
    assert status(phone, ident) == "confirmed"
    assert recovered(laptop) == ["applied"]
    phone.pull(laptop)
    assert phone.verdicts.undo(ident, phone.later()).result == "undone"
    assert phone.page().task.estimate is None


def test_rev63_a_dot_with_another_meaning_does_not_hide_what_was_typed(laptop: Reviewer) -> None:
    """REV-63: the base of a proposal names a write of a journal that was put back, and has written since under the
    same number."""
    laptop.add_task()
    back_up(laptop, "journal")
    laptop.edit(title="Milk")
    laptop.propose("set_task_title", {"title": "Buy milk"})
    restore(laptop, "journal")
    laptop.edit(title="Call mum")
    [item] = laptop.waiting()
    assert item.stale
    outcome = laptop.verdicts.confirm(item.id, laptop.later())
    assert (outcome.result, [(field.was, field.now) for field in outcome.stale]) == ("stale", [("Milk", "Call mum")])
    assert laptop.page().task.title == "Call mum"


def test_a_verdict_that_the_agent_store_has_lost_can_be_given_again(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-47, REV-54: the effect is there and is not done twice, and what was said elsewhere comes back."""
    laptop.add_task()
    laptop.propose(*ESTIMATE)
    back_up(laptop, "agent")
    [item] = laptop.waiting()
    laptop.verdicts.confirm(item.id, laptop.later())
    restore(laptop, "agent")
    assert recovered(laptop) == []
    [again] = laptop.waiting()
    assert again.id == item.id
    laptop.verdicts.confirm(item.id, laptop.later())
    assert effects(laptop) == 1
    assert [decision.verdict for decision in laptop.decisions()] == ["confirmed"]
    laptop.meet(phone)
    assert laptop.same_as(phone)
    assert status(phone, item.id) == "confirmed"


_steps = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["confirm", "confirm", "reject", "type", "meet", "back up", "restore", "recover"]),
        st.integers(0, 3),
    ),
    max_size=14,
)


@examples(25, suppress_health_check=[HealthCheck.too_slow])
@given(_steps)
def test_rev61_whatever_is_restored_when(tmp_path_factory: pytest.TempPathFactory, steps: Any) -> None:
    """REV-61, REV-54: laws of any history in which journals are put back. Whatever was confirmed has its effect, once,
    unless it was said that something else stands there; and all devices hold the same."""
    folder = tmp_path_factory.mktemp("history")
    laptop, phone, ident = two_with_a_set(folder)
    for device in (laptop, phone):
        back_up(device, "journal")
    given_up: set[str] = set()
    for who, what, which in steps:
        device, item = (laptop, phone)[who], f"{ident}.{which}"
        match what:
            case "confirm":
                device.verdicts.confirm(item, device.later())
            case "reject":
                device.verdicts.reject(item, device.later())
            case "type":
                device.edit(estimate=600 + which)
            case "meet":
                meet(laptop, phone)
            case "back up":
                back_up(device, "journal")
            case "restore":
                restore(device, "journal")
            case _:
                given_up |= recovering(device)
    for _ in range(2):
        given_up |= recovering(laptop) | recovering(phone)
        meet(laptop, phone)
    assert recovering(laptop) == recovering(phone) == set()
    assert laptop.same_as(phone)
    assert laptop.states() == phone.states()
    confirmed = {d.item_id for d in laptop.decisions() if d.verdict == "confirmed"}
    with laptop.journal.reading() as reader:
        held = [path for e in reader.owned_by("t1") for path in e.registers if path.startswith("receipts/")]
    done = {f"{ident}.{n}" for n in range(4) if f"receipts/{laptop.proposal(f'{ident}.{n}').operation_id}" in held}
    assert done <= confirmed
    assert confirmed - done <= given_up
    assert len(held) == len(done)
    assert len(laptop.titles()) == 1 + len(done & {f"{ident}.2", f"{ident}.3"})
    laptop.close()
    phone.close()


def meet(a: Reviewer, b: Reviewer) -> None:
    """As two devices meet: what was put back is found by its chains, ahead of any round."""
    a.meet(b)


def recovering(device: Reviewer) -> set[str]:
    """The items of which a start says that their effect could not be played again."""
    outcomes = device.verdicts.recover(device.later())
    return {outcome.item for outcome in outcomes if outcome.result in ("stale", "failed")}


def _host(device: Reviewer) -> str:
    with device.journal.reading() as reader:
        return reader.host
