"""Whatever happens in whatever order: in the end the agent has read what a person wrote; nothing else wakes it."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.test_orchestrator import Daemon
from tests.support.device import MINUTE, Device
from tests.support.examples import examples
from tests.support.scripted_model import Killed, ScriptedModel, call, say

from lottisync.agents import context, lifecycle, subscription
from lottisync.agents.model import ModelError
from lottisync.causality.vector_clock import Dot
from lottisync.entities.entity import HIGH, LOW
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.journal.toolbox import ACTIONS
from lottisync.problem import Problem
from lottisync.review.change import ChangeSet
from lottisync.review.verdict import Verdicts

PEOPLE = ("note", "estimate", "tick", "arrives")
"""What is news to the agent."""
NOBODY = ("language", "rank", "confirm", "elsewhere")
TROUBLE = ("restart", "feed again", "fails", "killed", "look")


class History:
    """A device with an agent, another device, and what happened to them."""

    def __init__(self, folder: Path) -> None:
        self.device, self.other = Device(folder / "laptop", 1), Device(folder / "phone", 2)
        self.device.add_task()
        self.device.do(lambda tx: tasks.add_item(tx, "i1", "t1", "Buy a chain"))
        self.device.add_task("t2", "Cook")
        self.agent = self.device.add_agent()
        self.daemon = Daemon(self.device)
        proposing = say("", call("update_task_estimate", minutes=55), call("set_task_title", title="Mend it"))
        self.daemon.settle(ScriptedModel(proposing, say()))
        self.other.pull(self.device)
        self.number = 0

    def close(self) -> None:
        self.device.close()
        self.other.close()

    def happen(self, event: str) -> None:
        device, self.number = self.device, self.number + 1
        self.other.time = device.time
        match event:
            case "note":
                device.do(lambda tx: tasks.add_note(tx, f"n{self.number}", "t1", "Hm"))
            case "estimate":
                device.do(lambda tx: tasks.edit_task(tx, "t1", {"estimate": self.number}))
            case "tick":
                device.do(lambda tx: tx.put("i1", "checklistItem", {"isChecked": self.number % 2 == 0}))
            case "arrives":
                self.other.do(lambda tx: tasks.add_note(tx, f"p{self.number}", "t1", "From the phone"))
                device.pull(self.other)
            case "language":
                fields = {"languageCode": "fr", "languageSource": "agent"}
                device.do(lambda tx: tx.put("t1", "task", fields, precedence=LOW))
            case "rank":
                device.do(lambda tx: tx.put("i1", "checklistItem", {"rank": f"z{self.number}"}))
            case "elsewhere":
                device.do(lambda tx: tasks.add_note(tx, f"e{self.number}", "t2", "Salt"))
            case "confirm":
                verdicts = Verdicts(device.journal, device.agents, ACTIONS, device_id=device.id, new_id=device.new_id)
                for made in (view(entity, ChangeSet) for entity in device.in_agents("changeSet")):
                    try:
                        verdicts.confirm(made.items[self.number % 2].id, device.now())
                    except Problem:  # decided already, or stale: the person gets an error, and nothing is written
                        continue
            case "restart":
                self.daemon = Daemon(device)
            case "feed again":
                with device.journal.transaction(device.now(), HIGH) as tx:
                    tx.execute("update cursors set feed = 0")
            case "fails":
                self._try(ScriptedModel(ModelError("model-timed-out", "silence")))
            case "killed":
                self._try(ScriptedModel(say("", call("update_task_priority", priority="P1")), Killed()))
            case _:
                self.daemon.look()

    def _try(self, model: ScriptedModel) -> None:
        self.device.time += 2 * MINUTE
        for start in self.daemon.look().start:
            try:
                self.daemon.wake(start, model)
            except (Problem, Killed):
                continue

    def forgive(self) -> None:
        """A person resumes the agent if it gave up."""
        if self.device.agent(self.agent).lifecycle == lifecycle.DORMANT:
            with self.device.agents.transaction(self.device.now(), HIGH) as tx:
                lifecycle.resume(tx, self.agent)

    def news(self) -> int:
        """The writes within reach of the agent's subscriptions that it has not seen."""
        seen = context.processed(self.device.state(self.agent))
        found: set[Dot] = set()
        with self.device.journal.reading() as reader:
            for change in reader.changes(0, 10_000):
                entity = reader.entity(change.id)
                assert entity is not None
                where = subscription.match_ids(reader, entity)
                for each in subscription.of_agent(self.device.agent(self.agent)).values():
                    found |= subscription.matching(each, entity, where, seen, lambda operation: True)
        return len(found)


histories = st.lists(st.sampled_from(PEOPLE + NOBODY + TROUBLE), max_size=14)


@examples(25)
@given(histories)
def test_nothing_is_lost_and_nothing_wakes_for_nothing(events: list[str]) -> None:
    """AGENT-24, AGENT-304, AGENT-27, AGENT-305, AGENT-31, AGENT-32, S3-40, S3-54"""
    lived(events)


@pytest.mark.deep
@examples(80)
@given(histories)
def test_nothing_is_lost_in_many_histories(events: list[str]) -> None:
    lived(events)


def lived(events: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder))
        for event in events:
            history.happen(event)
        history.forgive()
        waits = history.news() > 0
        was_killed = any(run_is_open(history))
        wakes = settled(history)
        assert history.news() == 0
        assert wakes == (1 if waits or was_killed else 0) or (was_killed and waits and wakes == 2)
        history.daemon = Daemon(history.device)
        assert settled(history) == 0
        history.close()


def run_is_open(history: History) -> list[bool]:
    with history.device.agents.reading() as reader:
        return [status == "started" for (status,) in reader.local("select status from wake_run_log")]


def settled(history: History) -> int:
    """Let it run until nothing more happens; how many wakes that took."""
    wakes = 0
    while True:
        plan = history.daemon.look()
        for start in plan.start:
            history.daemon.wake(start, ScriptedModel(say("Fine."), say("Fine.")))
            wakes += 1
        if not plan.start and plan.next_look is None:
            return wakes
        if plan.next_look is not None and not plan.start:
            history.device.time = max(history.device.time, plan.next_look)
