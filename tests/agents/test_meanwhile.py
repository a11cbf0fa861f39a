"""What happens to an agent, to its task and to the clock while a wake is under way or waits to be."""

from collections.abc import Callable, Sequence

import pytest
from tests.agents.test_orchestrator import Daemon, quiet, waiting
from tests.support.device import Device
from tests.support.scripted_model import ScriptedModel, Step, call, say

from lottisync.agents import context, lifecycle, queue, report, run_log
from lottisync.agents.context import Context
from lottisync.agents.model import Message, ModelError, Turn
from lottisync.agents.orchestrator import CONSUMER
from lottisync.agents.types import AgentMessage
from lottisync.entities.entity import HIGH
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.problem import Problem
from lottisync.review.builder import Builder
from lottisync.store.check import broken_invariants
from lottisync.store.feed import Feed

DAY = 86_400_000


@pytest.fixture
def laura(laptop: Device) -> str:
    laptop.add_task()
    return laptop.add_agent()


@pytest.fixture
def daemon(laptop: Device, laura: str) -> Daemon:
    made = Daemon(laptop)
    made.settle(*quiet())
    laptop.pass_minutes(10)
    return made


def meanwhile(act: Callable[[], object], turn: Turn) -> Step:
    """A turn during which somebody does something."""

    def answered(messages: Sequence[Message]) -> Turn:
        act()
        return turn

    return answered


def status(device: Device, agent_id: str) -> str:
    with device.agents.reading() as reader:
        return run_log.runs(reader, agent_id)[0].status


def pause(device: Device, agent_id: str) -> None:
    with device.agents.transaction(device.now(), HIGH) as tx:
        lifecycle.pause(tx, agent_id)


PROPOSING = say("", call("update_task_estimate", minutes=90), call("update_report", tldr="Ninety minutes."))


def test_an_agent_that_is_paused_while_it_is_awake_ends_what_it_began(laptop: Device, laura: str) -> None:
    """AGENT-5: what was paid for is kept, the person's word stands, and nothing wakes until it is resumed."""
    script = ScriptedModel(PROPOSING, meanwhile(lambda: pause(laptop, laura), say("Bye.")))
    assert len(laptop.wake(laura, script).change_set_ids) == 1
    assert (laptop.agent(laura).lifecycle, status(laptop, laura)) == ("dormant", "completed")
    with pytest.raises(Problem, match="dormant"):
        laptop.wake(laura, ScriptedModel(), turn="2")


def test_a_task_that_is_deleted_while_its_agent_is_awake_ends_the_wake_well(
    laptop: Device, laura: str, daemon: Daemon
) -> None:
    """AGENT-19, AGENT-32, S3-88: and when it is back the agent wakes for what happened since."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "It creaks"))
    gone = meanwhile(lambda: laptop.do(lambda tx: tx.delete("t1")), PROPOSING)
    reasons = daemon.settle(ScriptedModel(gone, say("Bye.")))
    assert reasons == ["subscription task"]
    assert status(laptop, laura) == "completed"
    assert daemon.settle() == []
    laptop.do(lambda tx: tx.undelete("t1"))
    assert daemon.settle(*quiet()) == ["subscription task"]
    with laptop.agents.reading() as reader:
        assert broken_invariants(reader) == []


def test_a_task_that_is_deleted_while_old_notes_are_condensed_is_refused(laptop: Device, laura: str) -> None:
    """AGENT-6, AGENT-32: there is no context any more; the run has an end all the same."""
    for turn in range(1, 7):
        notes = [f"{turn} {number} " + "x" * 900 for number in range(5)]
        noting = call("record_observations", observations=notes)
        laptop.wake(laura, ScriptedModel(say("", noting), say("Bye.")), turn=str(turn))
    gone = meanwhile(lambda: laptop.do(lambda tx: tx.delete("t1")), say("Much creaking."))
    with pytest.raises(Problem, match="t1"):
        laptop.wake(laura, ScriptedModel(gone), turn="7")
    assert status(laptop, laura) == "skipped"


def test_an_agent_that_moves_while_it_is_awake_is_one_on_both_devices(
    laptop: Device, phone: Device, laura: str, daemon: Daemon
) -> None:
    """AGENT-33: the old home ends what it began, the new one wakes for the same change; they meet in one report."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "It creaks"))
    phone.pull(laptop)
    phone.time = laptop.time

    def taken_over() -> None:
        with phone.agents.transaction(phone.now(), HIGH) as tx:
            lifecycle.move(tx, laura, phone.id)
        laptop.pull(phone)

    daemon.settle(ScriptedModel(meanwhile(taken_over, PROPOSING), say()))
    Daemon(phone).settle(ScriptedModel(PROPOSING, say()))
    laptop.pull(phone)
    phone.pull(laptop)
    heads = []
    for device in (laptop, phone):
        with device.agents.reading() as reader:
            latest = report.latest_report(reader, laura)
            assert latest is not None
            heads.append(latest.id)
            assert {run.status for run in run_log.runs(reader, laura)} <= {"completed"}
    assert heads[0] == heads[1]
    assert daemon.settle() == Daemon(phone).settle() == []


@pytest.mark.parametrize("back", [DAY, 400 * DAY])
def test_a_clock_that_is_set_back_holds_no_change(laptop: Device, laura: str, daemon: Daemon, back: int) -> None:
    """AGENT-304, AGENT-28: neither what was queued nor the last wake lies in a future that holds the agent."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "It creaks"))
    daemon.look()
    assert waiting(laptop, laura)
    laptop.time -= back
    assert len(daemon.after(100)) == 1


def test_a_clock_that_is_set_back_holds_no_backoff(laptop: Device, laura: str, daemon: Daemon) -> None:
    """AGENT-31"""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "It creaks"))
    [start] = daemon.after(100)
    with pytest.raises(Problem, match="nobody home"):
        daemon.wake(start, ScriptedModel(ModelError("model-unreachable", "nobody home")))
    laptop.time -= 400 * DAY
    assert len(daemon.after(100)) == 1


def test_a_run_is_closed_only_by_the_process_that_holds_the_agents_lock(
    laptop: Device, laura: str, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AGENT-8, AGENT-40, AGENT-58: somebody types `agent wake` in the instant in which an orphaned run is closed."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "It creaks"))
    [start] = daemon.after(100)
    with laptop.agents.transaction(laptop.now(), HIGH) as tx:
        run_log.begin(tx, run_log.enqueue(tx, start.trigger, laura, "thread"))
        lifecycle.move(tx, laura, "elsewhere")
    with run_log.single_flight(laptop.agents, laura, "Laura"):
        monkeypatch.setattr(run_log, "is_awake", lambda agents, agent_id: False)
        daemon.look()
        assert status(laptop, laura) == "started"
    daemon.look()
    assert status(laptop, laura) == "skipped"


def test_a_store_that_cannot_be_read_is_a_failure_and_not_tried_for_ever(
    laptop: Device, laura: str, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AGENT-21, AGENT-31: else it would be met again at every look."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "It creaks"))
    [start] = daemon.after(100)

    def damaged(*_: object) -> Context:
        raise Problem("damaged", "the journal is damaged")

    with monkeypatch.context() as patched:
        patched.setattr(context, "read", damaged)
        with pytest.raises(Problem, match="the journal is damaged"):
            daemon.wake(start, ScriptedModel())
    assert status(laptop, laura) == "failed"
    assert laptop.state(laura).consecutive_failure_count == 1
    assert daemon.after(100) == []


def test_a_wake_that_cannot_write_its_end_fails_with_its_record_whole(
    laptop: Device, laura: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AGENT-15, AGENT-18: the failure is noted behind what was kept, not behind what was rolled back."""

    def full(*_: object) -> list[str]:
        raise Problem("disk-full", "the disk is full")

    noting = say("", call("record_observations", observations=["It creaks"]))
    with monkeypatch.context() as patched:
        patched.setattr(Builder, "build", full)
        with pytest.raises(Problem, match="the disk is full"):
            laptop.wake(laura, ScriptedModel(noting, say("Bye.")))
    laptop.wake(laura, ScriptedModel())
    messages = [view(entity, AgentMessage) for entity in laptop.in_agents("agentMessage")]
    assert [each.kind for each in messages].count("observation") == 1
    ids = {each.id for each in messages}
    assert {each.prev_message_id for each in messages} - {None} < ids
    assert len({each.prev_message_id for each in messages}) == len(messages)


def test_an_agent_that_came_home_to_a_full_disk_is_caught_up_with_later(
    laptop: Device, laura: str, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AGENT-33, AGENT-41: the feed is past what it missed; only its watermark shows that."""
    laptop.do(lambda tx: tasks.add_note(tx, "n1", "t1", "It creaks"))
    Feed(laptop.journal, CONSUMER).done(Feed(laptop.journal, CONSUMER).take()[-1], laptop.now())
    restarted = Daemon(laptop)

    def full(*_: object) -> None:
        raise Problem("disk-full", "the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(queue, "add", full)
        with pytest.raises(Problem, match="the disk is full"):
            restarted.look()
    assert len(restarted.after(100)) == 1
