"""Two devices that can't see each other decide, and meet: no verdict is lost, one effect, contests are seen."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.review.reviewer import DAY, Reviewer, two_with_a_set
from tests.support.examples import examples

from lottisync.journal.toolbox import ACTIONS
from lottisync.review.inbox import Inbox

BATCH = {"items": [{"title": title} for title in ("Milk", "Eggs", "Salt", "Yeast")]}


def on_both(laptop: Reviewer, phone: Reviewer, tool: str, args: dict[str, Any]) -> list[str]:
    laptop.add_task(items=("Flour",))
    laptop.propose(tool, args)
    phone.pull(laptop)
    return [item.id for item in phone.waiting()]


def test_s2_10_proposed_here_confirmed_there(laptop: Reviewer, phone: Reviewer) -> None:
    """S2-10, S2-09, S2-12."""
    [ident] = on_both(laptop, phone, "update_task_estimate", {"minutes": 60})
    assert phone.verdicts.confirm(ident, phone.later()).result == "applied"
    laptop.pull(phone)
    assert laptop.page().task.estimate == 60
    assert laptop.waiting() == []
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "already"
    phone.pull(laptop)
    assert laptop.same_as(phone)


def test_rev31_verdicts_on_different_items_are_all_kept(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-31. The case in which a status inside the set loses one."""
    items = on_both(laptop, phone, "add_multiple_checklist_items", BATCH)
    laptop.verdicts.confirm(items[0], laptop.later())
    phone.verdicts.reject(items[3], phone.later(), "no need")
    laptop.meet(phone)
    [state] = laptop.states().values()
    assert [s.status for s in state.items.values()] == ["confirmed", "pending", "pending", "rejected"]
    assert laptop.states() == phone.states()
    assert laptop.same_as(phone)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("update_task_estimate", {"minutes": 60}),
        ("add_checklist_item", {"title": "Milk"}),
        ("update_checklist_item", {"id": "t1-i0", "isChecked": True, "reason": "The note of 22:30 says so"}),
        ("set_task_status", {"status": "BLOCKED", "reason": "no flour"}),
    ],
)
def test_rev54_confirmed_on_both_is_one_effect(
    laptop: Reviewer, phone: Reviewer, tool: str, args: dict[str, Any]
) -> None:
    """REV-54, S1-70: and it is not a contest."""
    [ident] = on_both(laptop, phone, tool, args)
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "applied"
    assert phone.verdicts.confirm(ident, phone.later(5000)).result == "applied"
    laptop.meet(phone)
    assert laptop.same_as(phone)
    assert laptop.titles() == phone.titles() == (["Flour", "Milk"] if tool == "add_checklist_item" else ["Flour"])
    [state] = laptop.states().values()
    assert (state.items[ident].status, state.items[ident].contested) == ("confirmed", False)
    shown = {"estimate", "title", "isChecked", "status", "statusReason", "checkedBy"}
    with laptop.journal.reading() as reader:
        for entity in reader.owned_by("t1"):
            found = {path for path in entity.conflicts() if path in shown or path.startswith("receipts/")}
            assert found == set()


def test_rev55_confirmed_and_rejected_is_contested_and_the_effect_stands(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-55."""
    [ident] = on_both(laptop, phone, "update_task_estimate", {"minutes": 60})
    laptop.verdicts.confirm(ident, laptop.later())
    phone.verdicts.reject(ident, phone.later(), "I know better")
    laptop.meet(phone)
    for device in (laptop, phone):
        assert device.page().task.estimate == 60
        [state] = device.states().values()
        assert (state.items[ident].status, state.items[ident].contested) == ("confirmed", True)
        [shown] = Inbox(device.journal, device.agents, ACTIONS).open_sets(device.now)
        assert (shown.items[0].contested, shown.items[0].reason, shown.waiting) == (True, "I know better", 0)


def test_rev55_two_edits_are_contested(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-55."""
    [ident] = on_both(laptop, phone, "update_task_estimate", {"minutes": 60})
    laptop.verdicts.confirm(ident, laptop.later(), edited_args={"minutes": 75})
    phone.verdicts.confirm(ident, phone.later(5000), edited_args={"minutes": 90})
    laptop.meet(phone)
    [state] = laptop.states().values()
    assert state.items[ident].contested
    task = laptop.journal.read("t1")
    assert task is not None
    assert (task.value("estimate"), task.conflicts()["estimate"]) == (90, [75])


def test_rev54_the_effect_that_came_before_the_decision(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-54. A round was cut off between the stores: the receipt answers, and the decision says what was done."""
    [ident] = on_both(laptop, phone, "add_checklist_item", {"title": "Milk"})
    phone.verdicts.confirm(ident, phone.later(), edited_args={"title": "Oat milk"})
    laptop.pull(phone, "journal")
    assert laptop.verdicts.reject(ident, laptop.later()).result == "already"
    assert laptop.verdicts.confirm(ident, laptop.later()).result == "already"
    assert laptop.titles() == ["Flour", "Oat milk"]
    laptop.meet(phone)
    [state] = laptop.states().values()
    assert (state.items[ident].status, state.items[ident].contested) == ("confirmed", False)
    assert len(laptop.decisions()) == 2


def test_rev33_a_verdict_beats_expiry_wherever_it_was_given(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-317."""
    [ident] = on_both(laptop, phone, "update_task_estimate", {"minutes": 60})
    phone.verdicts.confirm(ident, phone.later())
    laptop.later(9 * DAY)
    assert laptop.states()[ident.rpartition(".")[0]].status == "expired"
    laptop.pull(phone)
    assert laptop.states()[ident.rpartition(".")[0]].status == "resolved"


def test_rev11_two_wakes_for_one_trigger_propose_one_operation(laptop: Reviewer, phone: Reviewer) -> None:
    """REV-11. Two devices woke on it; one confirms its own, the other its own: one item is made."""
    laptop.add_task()
    phone.pull(laptop)
    laptop.propose("add_checklist_item", {"title": "Milk"})
    phone.propose("add_checklist_item", {"title": "Milk"})
    for device in (laptop, phone):
        [item] = device.waiting()
        assert device.verdicts.confirm(item.id, device.later()).result == "applied"
    laptop.meet(phone)
    assert laptop.same_as(phone)
    assert laptop.titles() == ["Milk"]
    assert laptop.waiting() == phone.waiting() == []


_steps = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["confirm", "edit", "reject", "defer", "type", "meet", "recover"]),
        st.integers(0, 3),
    ),
    max_size=14,
)


@examples(40, suppress_health_check=[HealthCheck.too_slow])
@given(_steps)
def test_rev54_rev55_whatever_two_devices_do(tmp_path_factory: pytest.TempPathFactory, steps: Any) -> None:
    """REV-54, REV-55: laws of any history. Equal state after meeting, one effect per operation, no edit overwritten
    that the decider had not seen, and every verdict in the projection."""
    folder = tmp_path_factory.mktemp("history")
    laptop, phone, ident = two_with_a_set(folder)
    typed = 0
    for who, what, which in steps:
        device, item = (laptop, phone)[who], f"{ident}.{which}"
        match what:
            case "confirm":
                device.verdicts.confirm(item, device.later())
            case "edit":
                edited: dict[str, Any] = {"minutes": 61 + who} if which == 0 else {"title": f"Edited {which} {who}"}
                device.verdicts.confirm(item, device.later(), edited_args=edited)
            case "reject":
                device.verdicts.reject(item, device.later())
            case "defer":
                device.verdicts.defer(item, device.now + DAY, device.later())
            case "type":
                typed += 1
                device.edit(estimate=600 + typed)
            case "meet":
                laptop.meet(phone)
            case _:
                assert device.verdicts.recover(device.later()) == []
    laptop.meet(phone)
    laptop.now = phone.now = max(laptop.now, phone.now)
    assert laptop.same_as(phone)
    assert laptop.states() == phone.states()
    states = laptop.states()[ident].items
    confirmed = {d.operation_id for d in laptop.decisions() if d.verdict == "confirmed"}
    assert len(laptop.titles()) == 1 + sum(
        any(d.item_id == f"{ident}.{n}" and d.verdict == "confirmed" for d in laptop.decisions()) for n in (2, 3)
    )
    task = laptop.journal.read("t1")
    assert task is not None
    receipts = {path.removeprefix("receipts/") for path in task.registers if path.startswith("receipts/")}
    assert receipts == {d.operation_id for d in laptop.decisions() if d.operation_id in confirmed and d.item_index < 2}
    for number in range(4):
        verdicts = {d.verdict for d in laptop.decisions() if d.item_id == f"{ident}.{number}"}
        if "confirmed" in verdicts:
            assert states[f"{ident}.{number}"].status == "confirmed"
        elif "rejected" in verdicts:
            assert states[f"{ident}.{number}"].status == "rejected"
    held = {task.value("estimate"), *task.conflicts().get("estimate", [])}
    assert not typed or max(held) > 600  # what was typed is there, or beside what is shown
    laptop.close()
    phone.close()
