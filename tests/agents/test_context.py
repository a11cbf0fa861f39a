from tests.support.device import Device
from tests.support.rounds import send
from tests.support.scripted_model import ScriptedModel, call, say

from lottisync.agents import context, memory
from lottisync.agents.context import Context
from lottisync.entities.entity import HIGH, LOW
from lottisync.entities.schema import link_id
from lottisync.journal import tasks, time_entry
from lottisync.store.instant import iso


def read(device: Device, agent_id: str) -> Context:
    return context.read(device.journal, device.agents, agent_id, device.now())


def spent(now: int, minutes: int) -> time_entry.Span:
    return time_entry.checked_span(iso(now), iso(now + minutes * 60_000))


def woken(device: Device) -> str:
    """A task with two items and a note, and an agent that has been awake once."""
    device.add_task()
    device.do(lambda tx: tasks.add_item(tx, "i1", "t1", "Buy a chain"))
    device.do(lambda tx: tasks.add_item(tx, "i2", "t1", "Oil it"))
    device.do(lambda tx: tasks.add_note(tx, "e1", "t1", "The chain is rusty"))
    ident = device.add_agent()
    device.wake(ident, ScriptedModel(say("Nothing to do.")))
    return ident


def test_the_task_as_the_model_sees_it(laptop: Device) -> None:
    """S0-34, S3-62, S3-66"""
    laptop.do(lambda tx: tx.put("l1", "label", {"name": "garage"}))
    laptop.do(lambda tx: tx.put("l2", "label", {"name": "errand"}))
    laptop.do(lambda tx: tx.put("l3", "label", {"name": "unwanted"}))
    laptop.add_task()
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"estimate": 90, "labels": {"l1": True}}))
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"suppressedLabels": {"l3": True}}))
    laptop.do(lambda tx: tasks.add_item(tx, "i1", "t1", "Buy a chain"))
    laptop.do(lambda tx: tasks.check_item(tx, "i1", checked=True))
    laptop.do(lambda tx: time_entry.add(tx, "e1", "t1", "Took the wheel off", spent(tx.now, 25)))
    made = read(laptop, laptop.add_agent()).task
    item = made["checklists"][0]["items"][0]
    assert item | {"checkedAt": ""} == {
        "id": "i1",
        "title": "Buy a chain",
        "isChecked": True,
        "checkedBy": "user",
        "checkedAt": "",
    }
    assert item["checkedAt"].startswith("2025-12-01T12:0")
    [entry] = made["logEntries"]
    assert (entry["id"], entry["author"], entry["minutes"]) == ("e1", "user", 25)
    assert entry["at"].startswith("2025-12-01T12:0")
    assert (made["estimate"], made["minutesSpent"]) == (90, 25)
    assert made["labels"] == [{"id": "l1", "name": "garage"}]
    assert made["labelsToChooseFrom"] == [{"id": "l2", "name": "errand"}]
    assert "suppressedLabels" not in made
    assert "receipts" not in made


def test_what_does_not_fit_is_said_to_be_missing(laptop: Device) -> None:
    """AGENT-13"""
    laptop.add_task()
    with laptop.journal.transaction(laptop.now(), HIGH) as tx:
        for number in range(50):
            at = f"2025-01-01T00:00:{number:02d}.000Z"
            tasks.add_note(tx, f"e{number:02d}", "t1", "x" * 4_007, at=at)
    made = read(laptop, laptop.add_agent())
    shown = made.task["logEntries"]
    assert 3 <= len(shown) < 50
    assert (made.left_out["log"], shown[-1]["id"]) == (50 - len(shown), "e49")
    assert shown[0]["text"].endswith("x… (7 more characters)")


def test_a_first_wake_has_no_delta(laptop: Device) -> None:
    """S3-68"""
    laptop.add_task()
    made = read(laptop, laptop.add_agent())
    assert made.is_first
    assert (made.delta, made.report, made.memory.notes) == ([], None, [])


def test_a_task_that_was_left_alone_has_an_empty_delta(laptop: Device) -> None:
    """AGENT-11"""
    ident = woken(laptop)
    laptop.do(lambda tx: tasks.add_task(tx, "t2", "Another task"))
    laptop.do(lambda tx: tasks.add_item(tx, "i9", "t2", "Not for this agent"))
    made = read(laptop, ident)
    assert not made.is_first
    assert made.delta == []


def test_the_delta_is_what_was_written_since_and_nothing_else(laptop: Device) -> None:
    """AGENT-11, S3-05, S3-48, S3-86"""
    ident = woken(laptop)
    laptop.do(lambda tx: tasks.check_item(tx, "i1", checked=True))
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"due": "2025-12-24"}))
    laptop.do(lambda tx: tasks.add_item(tx, "i3", "t1", "Test the brakes"))
    laptop.do(lambda tx: tx.delete("e1"))
    made = read(laptop, ident).delta
    assert [(each["type"], each["id"], each["change"], each["by"]) for each in made] == [
        ("task", "t1", "edited", ["user"]),
        ("checklistItem", "i1", "edited", ["user"]),
        ("entry", "e1", "deleted", ["user"]),
        ("checklistItem", "i3", "added", ["user"]),
    ]
    assert made[0]["fields"] == {"due": "2025-12-24"}
    assert made[1]["fields"].keys() == {"isChecked", "checkedBy", "checkedAt", "checkReason"}
    assert made[1]["fields"]["isChecked"] is True
    assert made[2]["title"] == "The chain is rusty"
    assert made[3]["fields"]["title"] == "Test the brakes"


def test_what_arrives_by_sync_with_an_old_date_is_new(laptop: Device, phone: Device) -> None:
    """AGENT-11: a wall clock would miss this."""
    laptop.add_task()
    phone.pull(laptop)
    phone.time -= 7 * 24 * 60 * 60_000
    phone.do(lambda tx: tasks.add_note(tx, "e7", "t1", "Written offline, a week ago by that clock"))
    ident = laptop.add_agent()
    laptop.wake(ident, ScriptedModel(say()))
    assert read(laptop, ident).delta == []
    laptop.pull(phone)
    assert [each["id"] for each in read(laptop, ident).delta] == ["e7"]


def test_what_came_in_a_round_that_was_cut_off_is_listed_once(laptop: Device, phone: Device) -> None:
    """AGENT-10, AGENT-11: such writes are beyond the knowledge, before and after."""
    laptop.add_task()
    phone.pull(laptop)
    phone.do(lambda tx: tasks.add_note(tx, "e1", "t1", "From the phone"))
    ident = laptop.add_agent()
    laptop.wake(ident, ScriptedModel(say()))
    assert send(phone.journal, laptop.journal, now=laptop.now(), batches=1) == ["e1"]
    assert [each["id"] for each in read(laptop, ident).delta] == ["e1"]
    laptop.wake(ident, ScriptedModel(say()), turn="2")
    assert read(laptop, ident).delta == []
    laptop.pull(phone)
    assert read(laptop, ident).delta == []


def test_the_delta_says_whose_writes_they_are(laptop: Device) -> None:
    ident = woken(laptop)
    laptop.do(lambda tx: tx.put("i2", "checklistItem", {"title": "Oil the chain"}, precedence=LOW))
    laptop.do(lambda tx: tasks.check_item(tx, "i2", checked=True))
    [change] = read(laptop, ident).delta
    assert change["by"] == ["user", "agent"]


def test_the_newest_notes_are_always_there_and_older_ones_as_far_as_they_fit(laptop: Device) -> None:
    """AGENT-13, S3-43, S3-44"""
    ident = woken(laptop)
    for wave in range(2):
        notes = [f"{wave}-{number:02d} " + "n" * 1_500 for number in range(20)]
        laptop.wake(
            ident, ScriptedModel(say("", call("record_observations", observations=notes)), say()), turn=f"n{wave}"
        )
    made = read(laptop, ident)
    assert len(made.memory.notes) == memory.HOT_OBSERVATIONS
    assert made.memory.left_out == 20
    assert made.memory.notes[0].startswith("1-00")
    assert made.memory.notes[-1].startswith("1-19")
    assert len(made.memory.notes[0]) == 1_505  # whole, not the preview in the message


def test_short_notes_all_fit(laptop: Device) -> None:
    """AGENT-13, S3-44"""
    ident = woken(laptop)
    for wave in range(3):
        notes = [f"{wave}-{number:02d}" for number in range(20)]
        laptop.wake(
            ident, ScriptedModel(say("", call("record_observations", observations=notes)), say()), turn=f"n{wave}"
        )
    made = read(laptop, ident)
    assert made.memory.notes == [f"{wave}-{number:02d}" for wave in range(3) for number in range(20)]
    assert made.memory.left_out == 0


def test_linked_tasks_with_what_their_agents_say_unless_the_agent_may_not_see_them(laptop: Device) -> None:
    """AGENT-7, S3-63"""
    laptop.add_task()
    with laptop.journal.transaction(laptop.now(), HIGH) as tx:
        for other, category in (("t2", None), ("t3", "secret")):
            tasks.add_task(tx, other, f"Task {other}", {"categoryId": category})
            tx.put(link_id("entryLink", "t1", other), "entryLink", {"fromId": "t1", "toId": other})
    other_agent = laptop.add_agent("t2", "Other")
    laptop.wake(other_agent, ScriptedModel(say("", call("update_report", tldr="Half done.")), say()))
    [linked] = read(laptop, laptop.add_agent()).linked
    assert linked == {
        "id": "t2",
        "title": "Task t2",
        "status": "OPEN",
        "direction": "linkedTo",
        "summary": "Half done.",
    }
    [back] = read(laptop, other_agent).linked
    assert (back["id"], back["direction"], back["summary"]) == ("t1", "linkedFrom", None)
