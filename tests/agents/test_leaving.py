"""The person stays in charge of what leaves: the switch, what is never sent, what was sent, the budget of the day."""

import json
from collections.abc import Callable
from datetime import UTC, timedelta, timezone
from typing import Any

import pytest
from tests.support.counted import NOON
from tests.support.device import MINUTE, Device
from tests.support.scripted_model import Killed, ScriptedModel, call, say

from lottisync.agents import admission, context, run_log, sent, spending, switch
from lottisync.agents.admission import Here
from lottisync.agents.model import TokenUsage
from lottisync.agents.seen import MAX_LISTED, Seen, stored
from lottisync.causality.vector_clock import Dot, Host
from lottisync.entities.entity import HIGH
from lottisync.journal import names, never_sent, tasks
from lottisync.journal.types import Task
from lottisync.problem import Problem
from lottisync.store.instant import LAST
from lottisync.store.transaction import Transaction

SECRET = "Xylophone-4711"
DAY = 24 * 60


@pytest.fixture
def laura(laptop: Device) -> str:
    laptop.add_task()
    return laptop.add_agent()


def settle(device: Device, verb: Callable[[Transaction], object]) -> None:
    with device.agents.transaction(device.now(), HIGH) as tx:
        verb(tx)


def everything_sent(device: Device, agent_id: str) -> bytes:
    with device.agents.reading() as reader:
        kept = sent.requests(reader, agent_id)
        return b"".join(sent.body(reader, agent_id, each.id) or b"" for each in kept)


def refused(device: Device, agent_id: str, turn: str = "1") -> str:
    """The code with which a wake is refused; nothing may be asked."""
    with pytest.raises(Problem) as refusal:
        device.wake(agent_id, ScriptedModel(), turn=turn)
    return refusal.value.code


# -- the switch


def test_agent80_nothing_is_sent_while_agents_are_off_on_any_device(laptop: Device, phone: Device, laura: str) -> None:
    """AGENT-80, AGENT-86: turned off on the phone, and the laptop follows when it hears of it, without a failure."""
    phone.pull(laptop)
    settle(phone, lambda tx: switch.turn(tx, off=True))
    laptop.pull(phone)
    assert refused(laptop, laura) == "agents-off"
    assert everything_sent(laptop, laura) == b""
    assert laptop.state(laura).consecutive_failure_count == 0
    settle(phone, lambda tx: switch.turn(tx, off=False))
    laptop.pull(phone)
    assert laptop.wake(laura, ScriptedModel(say("Here."))).turns == 1


def test_agent80_a_wake_that_is_under_way_asks_nothing_more(laptop: Device, laura: str) -> None:
    def off(_: object) -> object:
        settle(laptop, lambda tx: switch.turn(tx, off=True))
        return say("", call("update_report", tldr="Half done."))

    model = ScriptedModel(off)  # type: ignore[arg-type]
    with pytest.raises(Problem, match="agents are off"):
        laptop.wake(laura, model)
    assert len(model.asked) == 1
    with laptop.agents.reading() as reader:
        assert [each.status for each in run_log.runs(reader, laura)] == ["skipped"]
    settle(laptop, lambda tx: switch.turn(tx, off=False))
    again = ScriptedModel(say("Done."))
    assert laptop.wake(laura, again).turns == 2, "the turn that was paid for counts"


# -- never sent


def marked(device: Device, ident: str, never: bool = True) -> None:
    device.do(lambda tx: never_sent.mark(tx, ident, never=never))


@pytest.mark.parametrize("kind", ["task", "label", "category"])
def test_agent81_the_agent_of_a_task_that_is_never_sent_sleeps(laptop: Device, kind: str) -> None:
    """AGENT-81, AGENT-86, JOUR-50"""
    laptop.add_task()
    ident = "t1"
    if kind == "label":
        laptop.do(lambda tx: names.label_task(tx, "t1", [names.find_or_make(tx, "label", "health")]))
        with laptop.journal.reading() as reader:
            ident = names.find_known(reader, "label", "health")
    if kind == "category":
        laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"categoryId": names.find_or_make(tx, "category", "family")}))
        with laptop.journal.reading() as reader:
            ident = names.find_known(reader, "category", "family")
    laura = laptop.add_agent()
    marked(laptop, ident)
    assert refused(laptop, laura) == "never-sent"
    assert laptop.state(laura).consecutive_failure_count == 0
    marked(laptop, ident, never=False)
    assert laptop.wake(laura, ScriptedModel(say("Here."))).turns == 1


def linked_secret(laptop: Device) -> None:
    laptop.add_task("t2", f"Call {SECRET}")
    laptop.do(lambda tx: tasks.add_note(tx, "n2", "t2", f"A note on {SECRET}"))
    laptop.do(lambda tx: tasks.set_link(tx, "t1", "blocks", "t2"))


def test_agent82_a_linked_task_that_is_never_sent_is_in_no_request(laptop: Device, laura: str) -> None:
    """AGENT-82: neither as a linked task, nor by a tool, nor as the title in a proposed link, nor in a decision."""
    linked_secret(laptop)
    laptop.add_task("t3", "Seen")
    proposed = ScriptedModel(
        say("", call("link_task", relation="fixes", targetTaskId="t2"), call("update_report", tldr="Linked.")), say()
    )
    laptop.wake(laura, proposed)
    assert SECRET.encode() in everything_sent(laptop, laura), "until it is marked it is sent"
    marked(laptop, "t2")
    laptop.do(lambda tx: tasks.add_note(tx, "n3", "t1", "What now?"))
    script = ScriptedModel(
        say(
            "",
            call("search_task", words=SECRET.split("-")[0]),
            call("link_task", relation="duplicates", targetTaskId="t2"),
            call("migrate_checklist_items", targetTaskId="t2", items=[{"id": "i1", "title": "x"}]),
        ),
        say(),
    )
    before = len(everything_sent(laptop, laura))
    laptop.wake(laura, script, turn="2")
    with laptop.agents.reading() as reader:
        newest = sent.requests(reader, laura)[:2]
        bodies = b"".join(sent.body(reader, laura, each.id) or b"" for each in newest)
    assert before > 0
    # The model's own words, which it sent back, are the one place where the word may stand: the search.
    answers = script.results()
    assert all(SECRET not in text for text in answers)
    assert SECRET.encode() not in bodies
    assert b"this task fixes" not in bodies, "the proposal that names it is left out as a whole"
    assert "Rejected: t2: not found" in answers


def test_agent123_what_was_said_of_a_task_is_not_sent_when_it_is_never_sent(laptop: Device, laura: str) -> None:
    """AGENT-123: not in report and notes, not by the agent of a third task, and not in what is written after them;
    what is written without them is sent, and all of it is again when the mark is taken off."""
    linked_secret(laptop)
    laptop.add_task("t3", "Beside")
    laptop.do(lambda tx: tasks.set_link(tx, "t3", "blocks", "t1"))
    otto = laptop.add_agent("t3", "Otto")
    words = (
        call("update_report", tldr=f"Waits for {SECRET}."),
        call("record_observations", observations=[f"{SECRET} is slow"]),
    )
    laptop.wake(laura, ScriptedModel(say("", *words), say()))
    laptop.wake(otto, ScriptedModel(say("", call("record_observations", observations=["Mind what t1 says"])), say()))
    assert SECRET.encode() in everything_sent(laptop, otto)
    marked(laptop, "t2")
    for agent_id in (laura, otto):
        before = len(bodies_of(laptop, agent_id))
        model = ScriptedModel(say("", call("record_observations", observations=["Written after"])), say("A new start."))
        laptop.wake(agent_id, model, turn="2")
        assert all(SECRET.encode() not in body for body in bodies_of(laptop, agent_id)[before:])
        assert b"Mind what t1 says" not in bodies_of(laptop, agent_id)[-1]
    laptop.wake(laura, ScriptedModel(say()), turn="3")
    body = bodies_of(laptop, laura)[-1]
    assert b"A new start." in body
    assert b"Written after" in body
    assert SECRET.encode() not in body
    marked(laptop, "t2", never=False)
    laptop.wake(laura, ScriptedModel(say()), turn="4")
    assert f"{SECRET} is slow".encode() in bodies_of(laptop, laura)[-1]


def bodies_of(device: Device, agent_id: str) -> list[bytes]:
    """What was sent, the oldest first."""
    with device.agents.reading() as reader:
        kept = reversed(sent.requests(reader, agent_id))
        return [sent.body(reader, agent_id, each.id) or b"" for each in kept]


def test_agent82_a_label_that_is_never_sent_is_not_offered(laptop: Device, laura: str) -> None:
    """AGENT-311"""
    laptop.do(lambda tx: names.find_or_make(tx, "label", SECRET))
    with laptop.journal.reading() as reader:
        ident = names.find_known(reader, "label", SECRET)
    marked(laptop, ident)
    laptop.wake(laura, ScriptedModel(say("Here.")))
    assert SECRET.encode() not in everything_sent(laptop, laura)


def test_agent83_what_was_sent_before_the_mark_is_not_sent_again(laptop: Device, laura: str) -> None:
    """AGENT-83: a wake under way stops, and the next try begins with a context without it."""
    linked_secret(laptop)

    def mark(_: object) -> object:
        marked(laptop, "t2")
        return say("", call("record_observations", observations=["One."]))

    model = ScriptedModel(mark)  # type: ignore[arg-type]
    with pytest.raises(Problem, match="never sent now"):
        laptop.wake(laura, model)
    assert len(model.asked) == 1
    count = len(everything_sent(laptop, laura))
    laptop.wake(laura, ScriptedModel(say("Here.")))
    assert SECRET.encode() not in everything_sent(laptop, laura)[: -count or None]
    assert laptop.state(laura).consecutive_failure_count == 0


def test_agent83_a_killed_wake_does_not_go_on_with_what_is_never_sent_now(laptop: Device, laura: str) -> None:
    linked_secret(laptop)
    with pytest.raises(Killed):
        laptop.wake(laura, ScriptedModel(say("", call("search_task")), Killed()))
    marked(laptop, "t2")
    again = ScriptedModel(say("Here."))
    laptop.wake(laura, again)
    assert all(SECRET not in getattr(message, "text", "") for message in again.asked[0])


def test_agent82_a_deleted_label_withholds_until_its_mark_is_taken_off(laptop: Device) -> None:
    laptop.add_task()
    laptop.do(lambda tx: names.label_task(tx, "t1", [names.find_or_make(tx, "label", "health")]))
    with laptop.journal.reading() as reader:
        ident = names.find_known(reader, "label", "health")
    marked(laptop, ident)
    laptop.do(lambda tx: tx.delete(ident))
    with laptop.journal.reading() as reader:
        assert never_sent.withheld_because(reader, tasks.read(reader, "t1", "task", Task)) is not None


# -- what was sent


def test_agent85_what_is_sent_is_kept_before_it_is_sent(laptop: Device, laura: str) -> None:
    """AGENT-85: also if the process is killed by the question."""
    model = ScriptedModel(Killed())
    with pytest.raises(Killed):
        laptop.wake(laura, model)
    kept = everything_sent(laptop, laura)
    assert json.loads(kept)[0][1]["text"] == model.asked[0][1].text


def test_agent85_the_last_requests_of_an_agent_are_kept_and_no_more(laptop: Device, laura: str) -> None:
    for number in range(sent.KEPT + 5):
        settle(laptop, lambda tx: sent.keep(tx, laura, "run", ScriptedModel().request([], [])))
        if number == 0:
            settle(laptop, lambda tx: sent.keep(tx, "other", "run", ScriptedModel().request([], [])))
    with laptop.agents.reading() as reader:
        assert len(sent.requests(reader, laura)) == sent.KEPT
        assert len(sent.requests(reader, "other")) == 1
        assert sent.body(reader, "other", sent.requests(reader, laura)[0].id) is None


# -- the budget of a day


def limited(device: Device, laura: str, own: int | None = None, together: int | None = None) -> None:
    settle(device, lambda tx: switch.limit(tx, together))
    settle(device, lambda tx: tx.put(laura, "agent", {"config/tokensADay": own}))


@pytest.mark.parametrize("own", [True, False])
def test_agent84_an_agent_pauses_when_its_budget_is_used_and_goes_on_the_next_day(
    laptop: Device, laura: str, own: bool
) -> None:
    """AGENT-84, AGENT-312"""
    limited(laptop, laura, 100 if own else None, None if own else 100)
    laptop.wake(laura, ScriptedModel(say("Here.", usage=TokenUsage(90, 10))))
    with laptop.journal.reading() as journal, laptop.agents.reading() as reader:
        why = admission.withheld(
            journal, reader, laptop.agent(laura), laptop.state(laura), Here(laptop.id, laptop.time)
        )
    assert why is not None
    assert why.code == "budget"
    assert why.until == spending.day_of(laptop.time).end
    assert "paused: budget" in why.message
    assert refused(laptop, laura, "2") == "budget"
    laptop.pass_minutes(DAY)
    assert laptop.wake(laura, ScriptedModel(say("Here.")), turn="2").turns == 1


def test_agent84_a_wake_stops_in_its_middle_and_goes_on_without_paying_twice(laptop: Device, laura: str) -> None:
    """AGENT-84, AGENT-314"""
    limited(laptop, laura, 100)
    model = ScriptedModel(say("", call("record_observations", observations=["One."]), usage=TokenUsage(90, 10)))
    with pytest.raises(Problem, match="paused: budget"):
        laptop.wake(laura, model)
    limited(laptop, laura, 1_000)
    again = ScriptedModel(say("Done."))
    assert laptop.wake(laura, again).observation_count == 1
    assert len(again.asked) == 1


def test_agent84_turns_that_a_server_does_not_count_are_estimated(laptop: Device, laura: str) -> None:
    """AGENT-313"""
    turn = say("Here.")
    laptop.wake(laura, ScriptedModel(type(turn)(turn.text, turn.tool_calls, turn.finish_reason, None)))
    with laptop.agents.reading() as reader:
        assert spending.used(reader, spending.day_of(laptop.time), laura) > 1_000


def test_agent84_the_devices_share_one_budget(laptop: Device, phone: Device, laura: str) -> None:
    laptop.wake(laura, ScriptedModel(say("Here.", usage=TokenUsage(90, 10))))
    phone.pull(laptop)
    with phone.agents.reading() as reader:
        assert spending.used(reader, spending.day_of(phone.time)) == 100
        assert spending.used(reader, spending.day_of(phone.time + DAY * MINUTE)) == 0


def test_agent84_a_day_begins_and_ends_at_midnight() -> None:
    day = spending.day_of(NOON)
    assert day.begin <= NOON < day.end
    assert spending.day_of(day.end - 1) == day
    assert spending.day_of(day.end).begin == day.end


@pytest.mark.parametrize("zone", [None, UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))])
@pytest.mark.parametrize("now", [0, LAST, 2**48 - 1])
def test_ent_570_a_day_at_the_limits_of_a_clock(now: int, zone: timezone | None) -> None:
    """ENT-570: it begins before it ends, and the prompt says so."""
    day = spending.day_of(now, zone)
    assert 0 <= day.begin < day.end <= LAST
    assert context.moment(now, zone).partition(", ")[2][:4] in ("1969", "1970", "9999")


def test_agent89_thousands_of_writes_beyond_the_knowledge_fit_into_their_document(laptop: Device, laura: str) -> None:
    """AGENT-89: a round that was cut off; what is not listed counts as not seen."""
    dots = frozenset(Dot(Host("0" * 32), number) for number in range(2, 5_002))
    watermark = Seen({}, dots)
    listed = watermark.listed()
    assert len(listed) == MAX_LISTED
    settle(laptop, lambda tx: tx.put(f"{laura}-x", "agentState", {"slots": {"processedBeyond": listed}}))
    assert stored({}, listed).beyond < dots


@pytest.mark.parametrize("odd", [[None, 1, "x"], [[None]], [["x", "y"]], [[[], 1]], [{"a": 1}], {"a": 1}, "x", 7])
def test_agent_1061_what_another_program_left_in_a_watermark_ends_no_wake(laptop: Device, laura: str, odd: Any) -> None:
    """AGENT-1061, STORE-100, REL-D12: `agent wake` ended in a TypeError, each time."""
    assert laptop.wake(laura, ScriptedModel(say()), turn="1").turns == 1
    with laptop.agents.reading() as reader:
        [state] = [document.id for document in reader.documents("agentState")]
    settle(laptop, lambda tx: tx.put(state, "agentState", {"slots/processedBeyond": odd}))
    assert laptop.wake(laura, ScriptedModel(say()), turn="2").turns == 1
    assert stored({}, odd).beyond == frozenset()
