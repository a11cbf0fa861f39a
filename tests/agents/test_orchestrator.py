"""From a change to a wake, over real stores, with a scripted model and a clock that is wound by hand."""

import itertools
from functools import partial

import anyio
import apsw
import pytest
from tests.support.device import MINUTE, Device
from tests.support.scripted_model import Killed, ScriptedModel, call, say

from lottisync.agents import admission, lifecycle, queue, run_log
from lottisync.agents.admission import Here
from lottisync.agents.model import ModelError
from lottisync.agents.orchestrator import Orchestrator
from lottisync.agents.run_key import subscription
from lottisync.agents.schedule import BATCH, COOL_DOWN, MAX_FAILURES, Start, WakePlan
from lottisync.agents.wake import WakeResult, wake
from lottisync.causality.vector_clock import Dot
from lottisync.entities.entity import HIGH, LOW
from lottisync.entities.schema import link_id
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.journal.toolbox import ACTIONS
from lottisync.problem import Problem
from lottisync.review.change import ChangeSet
from lottisync.review.verdict import Verdicts
from lottisync.store.instant import iso
from lottisync.store.transaction import Transaction


class Daemon:
    """What the runtime does, step by step: hears, looks, wakes one after the other."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.orchestrator = Orchestrator(device.journal, device.agents, device.id)

    def look(self) -> WakePlan:
        self.orchestrator.hear(self.device.now())
        return self.orchestrator.look(self.device.now(), ())

    def wake(self, start: Start, model: ScriptedModel) -> WakeResult:
        device = self.device
        go = partial(
            wake,
            device.journal,
            device.agents,
            model,
            start.trigger,
            agent_id=start.agent_id,
            device=device.id,
            now=device.now,
            new_id=device.new_id,
        )
        return anyio.run(go)

    def after(self, millis: int) -> list[Start]:
        """Who wakes when that much time has passed after a look."""
        self.look()
        self.device.time += millis
        return self.look().start

    def settle(self, *models: ScriptedModel) -> list[str]:
        """Let time pass until nobody wakes any more; the reasons of the wakes. One model for each."""
        script, reasons = list(models), []
        while True:
            plan = self.look()
            for start in plan.start:
                assert script, f"nobody expected a wake for {start.trigger.reason_id}"
                self.wake(start, script.pop(0))
                reasons.append(f"{start.trigger.reason} {start.trigger.reason_id}")
            if not plan.start and plan.next_look is None:
                assert not script, f"{len(script)} more wakes were expected"
                return reasons
            if not plan.start and plan.next_look is not None:
                self.device.time = max(self.device.time, plan.next_look)


def quiet(count: int = 1) -> list[ScriptedModel]:
    return [ScriptedModel(say("Nothing to do.")) for _ in range(count)]


def waiting(device: Device, agent_id: str) -> dict[str, frozenset[Dot]]:
    with device.agents.reading() as reader:
        return {each.subscription_id: each.dots for each in queue.waiting(reader, agent_id)}


@pytest.fixture
def laura(laptop: Device) -> str:
    laptop.add_task()
    laptop.do(lambda tx: tasks.add_item(tx, "i1", "t1", "Buy a chain"))
    return laptop.add_agent()


@pytest.fixture
def daemon(laptop: Device, laura: str) -> Daemon:
    """A daemon whose agent has had its first wake, long ago."""
    made = Daemon(laptop)
    assert made.settle(*quiet()) == ["userInitiated created"]
    laptop.pass_minutes(10)
    return made


# -- what wakes


def test_a_new_agent_wakes_once_by_itself_with_everything(laptop: Device, laura: str) -> None:
    """AGENT-25, S3-81: that it was made is the cause, so it is the same run on every device."""
    daemon = Daemon(laptop)
    [start] = daemon.look().start
    again = Daemon(laptop).look().start
    assert again == [start]
    model = ScriptedModel(say())
    daemon.wake(start, model)
    assert "This is your first wake" in str(model.asked[0][1])
    assert daemon.settle() == []


def test_a_persons_change_wakes_the_agent_and_names_the_wake(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-23, AGENT-304, S3-05, S3-48, S3-51"""
    dots: list[Dot] = []
    laptop.do(lambda tx: dots.append(tasks.edit_task(tx, "t1", {"estimate": 90})))
    assert daemon.look().start == []
    [start] = daemon.after(BATCH)
    assert start.trigger == subscription(laura, "task", dots)
    model = ScriptedModel(say())
    daemon.wake(start, model)
    assert '"estimate": 90' in str(model.asked[0][1])
    assert daemon.settle() == []


@pytest.mark.parametrize(
    "what", ["item", "tick", "entry", "title", "deleted item", "label", "item added later", "link"]
)
def test_all_of_the_task_is_subscribed_to(laptop: Device, laura: str, daemon: Daemon, what: str) -> None:
    """AGENT-23, S3-01, S3-53"""

    def change(tx: Transaction) -> None:
        match what:
            case "item":
                tasks.add_item(tx, "i2", "t1", "Oil it")
            case "tick":
                tasks.check_item(tx, "i1", checked=True)
            case "entry":
                tasks.add_note(tx, "n1", "t1", "It creaks")
            case "title":
                tasks.edit_task(tx, "t1", {"title": "Mend the bicycle"})
            case "deleted item":
                tx.delete("i1")
            case "label":
                tx.put("t1", "task", {"labels": {"bug": True}})
            case "item added later":
                tasks.add_item(tx, "i3", "t1", "Ride")
            case "link":
                link(tx, "t1", "t2")

    if what == "item added later":
        laptop.do(change)
        daemon.settle(*quiet())
        laptop.do(lambda tx: tasks.rename_item(tx, "i3", "Ride it"))
    else:
        laptop.do(change)
    assert daemon.settle(*quiet()) == ["subscription task"]


def link(tx: Transaction, from_id: str, to_id: str) -> None:
    fields = {"fromId": from_id, "toId": to_id, "createdAt": iso(tx.now)}
    tx.put(link_id("entryLink", from_id, to_id), "entryLink", fields)


def test_a_task_that_was_linked_later_wakes_by_what_matters_of_it(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-23, S3-53"""
    laptop.add_task("t2", "Buy a pump")
    laptop.do(lambda tx: link(tx, "t2", "t1"))
    assert daemon.settle(*quiet()) == ["subscription linked"]  # the link itself waited, too: one wake for both
    laptop.do(lambda tx: tasks.edit_task(tx, "t2", {"status": "DONE"}))
    assert daemon.settle(*quiet()) == ["subscription linked"]
    laptop.do(lambda tx: tasks.edit_task(tx, "t2", {"estimate": 5}))
    assert daemon.settle() == []


def test_a_linked_task_that_the_agent_may_not_see_does_not_wake_it(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-7"""
    laptop.do(lambda tx: tasks.add_task(tx, "t2", "Diary"))
    laptop.do(lambda tx: tasks.edit_task(tx, "t2", {"categoryId": "private"}))
    laptop.do(lambda tx: link(tx, "t2", "t1"))
    daemon.settle(*quiet())  # the link is the task's own
    laptop.do(lambda tx: tasks.edit_task(tx, "t2", {"title": "Dear diary"}))
    assert daemon.settle() == []


def test_a_change_outside_of_the_task_wakes_no_agent(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-23: nor does what no reader of a task would notice."""
    laptop.add_task("t2", "Cook")
    laptop.do(lambda tx: tx.put("bug", "label", {"name": "bug"}))
    laptop.do(lambda tx: tx.put("i1", "checklistItem", {"rank": "zz"}))
    assert daemon.settle() == []


def test_a_change_that_arrives_by_sync_wakes_the_agent_at_home_only(
    laptop: Device, phone: Device, laura: str, daemon: Daemon
) -> None:
    """AGENT-304, AGENT-33"""
    phone.pull(laptop)
    phone.do(lambda tx: tasks.edit_task(tx, "t1", {"due": "2025-12-24"}))
    assert Daemon(phone).settle() == []
    assert waiting(phone, laura) == {}
    laptop.pull(phone)
    assert daemon.settle(*quiet()) == ["subscription task"]


def test_subscriptions_are_data_that_outlive_the_process(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-34, AGENT-54, S3-52: a subscription that another program wrote counts; one that is not valid is
    passed over."""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        broken = {"types": "all of them"}
        only_due = {"types": ["task"], "ids": ["t2"], "fields": ["due"]}
        tx.put(laura, "agent", {"subscriptions/mine": only_due, "subscriptions/broken": broken})
    laptop.add_task("t2", "Cook")
    fresh = Daemon(laptop)
    assert fresh.settle() == []
    laptop.do(lambda tx: tasks.edit_task(tx, "t2", {"title": "Cook soup"}))
    assert fresh.settle() == []
    laptop.do(lambda tx: tasks.edit_task(tx, "t2", {"due": "2025-12-24"}))
    assert fresh.settle(*quiet()) == ["subscription mine"]


def test_a_timer_wakes_once_at_its_time_in_any_daemon(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-26, S3-36"""
    at = laptop.time + 90 * MINUTE
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        lifecycle.set_timer(tx, laura, "tuesday", iso(at))
    assert daemon.look() == WakePlan([], at)
    fresh = Daemon(laptop)
    assert fresh.settle(*quiet()) == ["timer tuesday"]
    assert laptop.time >= at
    assert Daemon(laptop).settle() == []


def test_a_timer_that_is_nonsense_is_passed_over(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-26, AGENT-51"""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.put(laura, "agent", {"timers": {"a": "soon", "b": 5, "c|d": iso(laptop.time)}})
        with pytest.raises(Problem, match="a timer's name has neither"):
            lifecycle.set_timer(tx, laura, "a|b", iso(laptop.time))
    assert daemon.settle() == []


# -- what does not: suppression by provenance


def test_an_agents_own_writes_wake_no_agent_and_the_users_in_the_same_millisecond_do(
    laptop: Device, laura: str, daemon: Daemon
) -> None:
    """AGENT-24, AGENT-304, S3-54, S3-55"""
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"title": "Repair the bicycle, soon"}))

    def language_and_a_note(messages: object) -> object:
        now = laptop.now()
        with laptop.journal.transaction(now, HIGH) as tx:
            tx.put("t1", "task", {"languageCode": "fr", "languageSource": "agent"}, precedence=LOW)
        with laptop.journal.transaction(now, HIGH) as tx:
            tasks.add_note(tx, "n1", "t1", "Said in the same millisecond")
        return say()

    [start] = daemon.after(BATCH)
    daemon.wake(start, ScriptedModel(language_and_a_note))  # type: ignore[arg-type]
    daemon.look()
    [dots] = waiting(laptop, laura).values()
    assert len(dots) == 1  # the note, not the language
    assert daemon.settle(*quiet()) == ["subscription task"]


def test_the_effect_of_its_own_proposal_does_not_wake_it_an_edit_beside_it_does(
    laptop: Device, laura: str, daemon: Daemon
) -> None:
    """AGENT-24, AGENT-304, S3-54, S3-87: the next wake reads the decision."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "This takes two hours"))
    proposing = say(
        "", call("update_task_estimate", minutes=120), call("add_multiple_checklist_items", items=[{"title": "Oil"}])
    )
    daemon.settle(ScriptedModel(proposing, say()))
    [made] = [view(entity, ChangeSet) for entity in laptop.in_agents("changeSet")]
    laptop.pass_minutes(5)
    verdicts = Verdicts(laptop.journal, laptop.agents, ACTIONS, device_id=laptop.id, new_id=laptop.new_id)
    for item in made.items:
        verdicts.confirm(item.id, laptop.now())
    assert laptop.task().task.estimate == 120
    assert daemon.settle() == []
    laptop.do(lambda tx: tasks.edit_task(tx, "t1", {"estimate": 150}))
    model = ScriptedModel(say())
    assert daemon.settle(model) == ["subscription task"]
    assert "## Recent User Decisions" in str(model.asked[0][1])


def test_an_undo_wakes_it(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-24, AGENT-304: the person has changed their mind, and the field."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "This takes two hours"))
    daemon.settle(ScriptedModel(say("", call("update_task_estimate", minutes=120)), say()))
    [made] = [view(entity, ChangeSet) for entity in laptop.in_agents("changeSet")]
    verdicts = Verdicts(laptop.journal, laptop.agents, ACTIONS, device_id=laptop.id, new_id=laptop.new_id)
    verdicts.confirm(made.items[0].id, laptop.now())
    assert daemon.settle() == []
    verdicts.undo(made.items[0].id, laptop.now())
    assert laptop.task().task.estimate is None
    assert daemon.settle(*quiet()) == ["subscription task"]


def test_the_effect_of_another_agents_proposal_is_news(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-24, AGENT-304: provenance is asked for by agent, not by kind of write."""
    laptop.add_task("t2", "Buy a pump")
    laptop.do(lambda tx: link(tx, "t2", "t1"))
    daemon.settle(*quiet())
    other = laptop.add_agent("t2", "Otto")
    daemon.settle(ScriptedModel(say("", call("set_task_status", status="BLOCKED", reason="No pump")), say()))
    [made] = [view(entity, ChangeSet) for entity in laptop.in_agents("changeSet")]
    assert made.agent_id == other
    verdicts = Verdicts(laptop.journal, laptop.agents, ACTIONS, device_id=laptop.id, new_id=laptop.new_id)
    verdicts.confirm(made.items[0].id, laptop.now())
    assert laptop.task("t2").task.status == "BLOCKED"
    laptop.pass_minutes(5)
    daemon.look()
    assert waiting(laptop, laura).keys() == {"linked"}
    assert waiting(laptop, other) == {}


# -- the queue


def test_changes_that_wait_are_one_wake_with_all_of_them(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-27, S3-84, S3-89"""
    dots: list[Dot] = []
    for minutes in (10, 20, 30):
        with laptop.journal.transaction(laptop.now(), HIGH) as tx:
            dots.append(tasks.edit_task(tx, "t1", {"estimate": minutes}))
            dots.append(tasks.add_note(tx, f"n{minutes}", "t1", "Hm"))
        daemon.look()
    [start] = daemon.after(BATCH)
    assert start.trigger == subscription(laura, "task", dots)
    assert daemon.settle(*quiet()) == ["subscription task"]
    assert waiting(laptop, laura) == {}


def test_a_stream_of_changes_does_not_put_the_wake_off(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-27: the batch counts from the first change that waits."""
    due: set[int | None] = set()
    for number in range(3):
        with laptop.journal.transaction(laptop.now(), HIGH) as tx:
            tasks.add_note(tx, f"n{number}", "t1", "Hm")
        due.add(daemon.look().next_look)
        laptop.time += BATCH // 4
    assert len(due) == 1


def test_the_queue_is_written_before_the_cursor_is_moved(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-305"""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.execute("create trigger spoil before insert on wake_queue begin select raise(abort, 'spoilt'); end")
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "Do not lose this"))
    with pytest.raises(apsw.ConstraintError, match="spoilt"):
        daemon.look()
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.execute("drop trigger spoil")
    assert daemon.settle(*quiet()) == ["subscription task"]


def test_what_comes_while_the_agent_is_awake_waits_for_the_cool_down(
    laptop: Device, laura: str, daemon: Daemon
) -> None:
    """AGENT-10, AGENT-28"""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "First"))

    def meanwhile(messages: object) -> object:
        with laptop.journal.transaction(laptop.now(), HIGH) as tx:
            tasks.add_note(tx, "n2", "t1", "Second")
        return say()

    [start] = daemon.after(BATCH)
    daemon.wake(start, ScriptedModel(meanwhile))  # type: ignore[arg-type]
    ended = laptop.time
    plan = daemon.look()
    assert plan.start == []
    assert plan.next_look is not None
    assert ended + COOL_DOWN - 10 <= plan.next_look <= ended + COOL_DOWN
    model = ScriptedModel(say())
    assert daemon.settle(model) == ["subscription task"]
    assert "Second" in str(model.asked[0][1]).partition("<delta>")[2]


def test_a_feed_that_is_read_twice_wakes_once(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-305: a process killed between queueing and moving its cursor sees the changes again."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "Once"))
    daemon.look()
    before = waiting(laptop, laura)
    with laptop.journal.transaction(laptop.now(), HIGH) as tx:
        tx.execute("update cursors set feed = 0")
    assert Daemon(laptop).settle(*quiet()) == ["subscription task"]
    with laptop.journal.transaction(laptop.now(), HIGH) as tx:
        tx.execute("update cursors set feed = 0")
    assert before
    assert Daemon(laptop).settle() == []


def test_a_cursor_that_ran_ahead_is_made_up_for_at_the_start(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-33, AGENT-53: what the agent subscribes to is compared with its watermark."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "Never heard of"))
    with laptop.journal.transaction(laptop.now(), HIGH) as tx:
        tx.execute("update cursors set feed = 1000000")
    assert daemon.settle() == []
    assert Daemon(laptop).settle(*quiet()) == ["subscription task"]


# -- failure, limits, recovery


def test_failures_back_off_and_after_the_fifth_the_agent_sleeps_and_says_why(
    laptop: Device, laura: str, daemon: Daemon
) -> None:
    """AGENT-31, AGENT-52, S3-90"""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "Something"))
    tries: list[int] = []
    for _ in range(MAX_FAILURES):
        while not (plan := daemon.look()).start:
            assert plan.next_look is not None
            laptop.time = plan.next_look
        tries.append(laptop.time)
        with pytest.raises(Problem, match="gone home"):
            daemon.wake(plan.start[0], ScriptedModel(ModelError("model-unreachable", "the model has gone home")))
    waits = [round((b - a) / MINUTE) for a, b in itertools.pairwise(tries)]
    assert waits == [1, 4, 16, 60]
    assert daemon.look() == WakePlan([], None)
    assert laptop.agent(laura).lifecycle == "dormant"
    because = lifecycle.asleep_because(laptop.state(laura))
    assert because == "5 failures in a row, the last: the model has gone home"
    with pytest.raises(Problem, match="sleeps after 5 failures in a row"):
        laptop.wake(laura, ScriptedModel())
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        lifecycle.resume(tx, laura)
    assert lifecycle.asleep_because(laptop.state(laura)) is None
    assert daemon.settle(*quiet()) == ["subscription task"]
    assert laptop.state(laura).consecutive_failure_count == 0


def test_a_failed_wake_is_tried_again_under_its_key_and_pays_for_no_turn_twice(
    laptop: Device, laura: str, daemon: Daemon
) -> None:
    """AGENT-21, AGENT-31"""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "Two hours"))
    [start] = daemon.after(BATCH)
    first = ScriptedModel(say("", call("update_task_estimate", minutes=120)), ModelError("model-timed-out", "silence"))
    with pytest.raises(Problem):
        daemon.wake(start, first)
    laptop.pass_minutes(2)
    assert daemon.look().start == [start]
    daemon.wake(start, second := ScriptedModel(say()))
    assert len(second.asked) == 1
    assert len(laptop.in_agents("changeSet")) == 1


def test_the_wakes_of_an_hour_are_limited(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-29, S2-26"""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.put(laura, "agent", {"config/wakesAnHour": 2})
    begun: list[int] = []
    for number in range(5):
        with laptop.journal.transaction(laptop.now(), HIGH) as tx:
            tasks.add_note(tx, f"n{number}", "t1", "And another")
        daemon.settle(*quiet())
        begun.append(laptop.time)
    assert all(c - a >= 60 * MINUTE for a, c in zip(begun, begun[2:], strict=False))


def test_a_killed_wake_is_started_again_at_launch_under_its_key(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-32, S3-92"""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "Two hours"))
    [start] = daemon.after(BATCH)
    with pytest.raises(Killed):
        daemon.wake(start, ScriptedModel(say("", call("update_task_estimate", minutes=120)), Killed()))
    fresh = Daemon(laptop)
    assert fresh.look().start == [start]
    fresh.wake(start, model := ScriptedModel(say()))
    assert len(model.asked) == 1
    assert fresh.settle() == []
    assert len(laptop.in_agents("changeSet")) == 1


def test_a_killed_run_of_an_agent_that_is_gone_from_here_is_closed(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-32, S3-41"""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "Two hours"))
    [start] = daemon.after(BATCH)
    with pytest.raises(Killed):
        daemon.wake(start, ScriptedModel(Killed()))
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        lifecycle.move(tx, laura, "device-9")
    assert Daemon(laptop).settle() == []
    with laptop.agents.reading() as reader:
        run = run_log.find(reader, start.trigger.run_key)
    assert run is not None
    assert (run.status, run.error_message) == (
        "skipped",
        "it was killed, and the agent is not at home here any more",
    )


def test_a_wake_under_way_in_another_process_is_left_alone(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-8"""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "Two hours"))
    seen: list[WakePlan] = []

    def look_again(messages: object) -> object:
        seen.append(Daemon(laptop).look())
        return say()

    [start] = daemon.after(BATCH)
    daemon.wake(start, ScriptedModel(look_again))  # type: ignore[arg-type]
    assert seen == [WakePlan([], None)]


def test_a_paused_agent_keeps_what_waits_and_wakes_with_it_when_resumed(
    laptop: Device, laura: str, daemon: Daemon
) -> None:
    """AGENT-6, S3-79"""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        lifecycle.pause(tx, laura)
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "While it sleeps"))
    assert daemon.settle() == []
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        lifecycle.resume(tx, laura)
    assert daemon.settle(*quiet()) == ["subscription task"]


def test_a_destroyed_agent_is_not_queued(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-6, S3-72"""
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        lifecycle.destroy(tx, laura)
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "Anybody there?"))
    assert daemon.settle() == []
    assert waiting(laptop, laura) == {}


def test_an_agent_sleeps_with_its_task_and_comes_back_with_it(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-6, S3-88"""
    laptop.do(lambda tx: tx.delete("t1"))
    assert daemon.settle() == []
    assert laptop.agent(laura).lifecycle == "active"
    laptop.do(lambda tx: tx.undelete("t1"))
    assert daemon.settle(*quiet()) == ["subscription task"]


def test_an_agent_that_moves_goes_on_at_its_new_home_from_where_it_was(
    laptop: Device, phone: Device, laura: str, daemon: Daemon
) -> None:
    """AGENT-33, AGENT-53: what was written before it came is found, what it had seen is not sent again."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "Seen at the old home"))
    daemon.settle(*quiet())
    elsewhere = Daemon(phone)
    phone.pull(laptop)
    assert elsewhere.settle() == []
    laptop.do(lambda tx: tasks.add_note(tx, "n2", "t1", "Not seen by anybody"))
    phone.pull(laptop)
    assert elsewhere.settle() == []
    phone.time = laptop.time
    with phone.agents.transaction(phone.now(), HIGH) as tx:
        lifecycle.move(tx, laura, phone.id)
    model = ScriptedModel(say())
    assert elsewhere.settle(model) == ["subscription task"]
    opening = str(model.asked[0][1]).partition("<delta>")[2].partition("</delta>")[0]
    assert "Not seen by anybody" in opening
    assert "Seen at the old home" not in opening
    laptop.pull(phone)
    assert daemon.settle() == []


def test_two_homes_of_one_agent_wake_for_one_change_under_one_key(
    laptop: Device, phone: Device, laura: str, daemon: Daemon
) -> None:
    """AGENT-2, AGENT-4, S3-37"""
    phone.pull(laptop)
    with phone.agents.transaction(phone.now(), HIGH) as tx:
        lifecycle.move(tx, laura, phone.id)
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "Both see this"))
    phone.pull(laptop)
    keys = []
    for each in (daemon, Daemon(phone)):
        each.settle(*quiet())
        with each.device.agents.reading() as reader:
            keys.append(run_log.runs(reader, laura)[0].run_key)
    assert keys[0] == keys[1]


def test_the_whole_loop(laptop: Device, phone: Device, laura: str, daemon: Daemon) -> None:
    """S1-62, S3-05, S3-87: change -> wake -> proposal -> verdict on another device -> effect -> next wake learns."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "The shop says two hours, and it is urgent"))
    proposing = say("", call("update_task_estimate", minutes=120), call("update_task_priority", priority="P0"))
    reporting = say("", call("update_report", tldr="Two hours at the shop."))
    assert daemon.settle(ScriptedModel(proposing, reporting, say())) == ["subscription task"]
    phone.pull(laptop)
    phone.time = laptop.time + MINUTE
    [made] = [view(entity, ChangeSet) for entity in phone.in_agents("changeSet")]
    verdicts = Verdicts(phone.journal, phone.agents, ACTIONS, device_id=phone.id, new_id=phone.new_id)
    verdicts.confirm(made.items[0].id, phone.now())
    verdicts.reject(made.items[1].id, phone.now(), reason="Not urgent at all")
    laptop.pull(phone)
    laptop.time = phone.time
    assert laptop.task().task.estimate == 120
    assert daemon.settle() == []
    phone.do(lambda tx: tasks.add_note(tx, "n2", "t1", "Brought it there"))
    laptop.pull(phone)
    model = ScriptedModel(say("", call("update_task_priority", priority="P0")), say())
    assert daemon.settle(model) == ["subscription task"]
    opening = str(model.asked[0][1])
    assert "Not urgent at all" in opening
    assert "Two hours at the shop." in opening
    assert "Skipped" in model.results()[0]
    assert len(laptop.in_agents("changeSet")) == 1


# -- endpoints


def test_agent120_an_agent_whose_endpoint_is_not_here_waits_for_it(laptop: Device, daemon: Daemon, laura: str) -> None:
    """AGENT-120: it does not fail, however long, and wakes with what was written when the endpoint is there."""
    there: set[str] = set()
    daemon.orchestrator = Orchestrator(laptop.journal, laptop.agents, laptop.id, lambda: there)
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        tx.put(laura, "agent", {"config/endpoint": "home"})
    laptop.do(lambda tx: tasks.check_item(tx, "i1", checked=True))
    for _ in range(MAX_FAILURES + 1):
        assert daemon.after(60 * MINUTE) == []
    assert laptop.state(laura).consecutive_failure_count == 0
    here = Here(laptop.id, laptop.time, endpoints=there)
    waits = admission.without_endpoint(laptop.agent(laura), here, "Laura of 'Flat'")
    assert waits is not None
    assert "Laura of 'Flat' waits: this device has no endpoint 'home'. Write [endpoints.home]" in waits.message
    assert admission.without_endpoint(laptop.agent(laura), here._replace(device="another"), "Laura") is None
    there.add("home")
    assert daemon.settle(*quiet()) == ["subscription task"]


def test_jour_600_a_status_that_is_edited_to_done_sends_the_agent_to_sleep(
    laptop: Device, laura: str, daemon: Daemon
) -> None:
    """JOUR-600, JOUR-603, AGENT-59: until that verdict is undone."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "All steps are written"))
    daemon.settle(ScriptedModel(say("", call("set_task_status", status="GROOMED")), say("Bye.")))
    with laptop.agents.reading() as reader:
        [held] = reader.by_type("changeSet")
    item = view(held, ChangeSet).items[0].id
    verdicts = Verdicts(laptop.journal, laptop.agents, ACTIONS, device_id=laptop.id, new_id=laptop.new_id)
    assert verdicts.confirm(item, laptop.now(), edited_args={"status": "DONE"}).result == "applied"
    laptop.do(lambda tx: tasks.add_note(tx, "n2", "t1", "It is ridden"))
    laptop.pass_minutes(10)
    assert daemon.look().start == []
    assert verdicts.undo(item, laptop.now()).result == "undone"
    laptop.pass_minutes(10)
    assert [start.agent_id for start in daemon.look().start] == [laura]
