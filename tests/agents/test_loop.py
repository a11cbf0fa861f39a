"""The whole loop on three devices, in whatever order: change, wake, proposal, verdict elsewhere, effect, next wake.

Time is one virtual clock; devices meet when the history says so; the agent moves; wakes are killed, daemons restart.
When all have met, and the agent has woken once more:

- the devices hold the same, to the digest, and nothing that they hold is broken;
- no verdict is lost: the agent has read of every operation that a person decided on;
- no operation has two effects: the field has what the last of those in force gave it, or what a person typed;
- what a person wrote is within the agent's watermark, and nobody wakes any more.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.agents.test_orchestrator import Daemon
from tests.support.device import MINUTE, Device
from tests.support.examples import examples
from tests.support.scripted_model import Killed, ScriptedModel, call, say

from lottisync.agents import lifecycle, run_log
from lottisync.agents.model import Message, ToolMessage, Turn
from lottisync.entities.entity import HIGH
from lottisync.entities.view import view
from lottisync.journal import tasks
from lottisync.journal.toolbox import ACTIONS
from lottisync.review.change import ChangeSet
from lottisync.review.ledger import Ledger
from lottisync.review.verdict import Verdicts
from lottisync.store.check import broken_invariants

DEVICES = 3
devices = st.integers(0, DEVICES - 1)


class Loop(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lottisync-loop-"))
        self.devices = [Device(self.folder / str(number), number + 1) for number in range(DEVICES)]
        self.daemons = [Daemon(device) for device in self.devices]
        self.now = self.devices[0].time
        self.counted = 0
        self.decided: dict[str, str] = {}
        self.prompted = ""
        first = self.at(0)
        first.add_task()
        self.agent = first.add_agent()
        self.wake_who_is_due(0)
        for other in (1, 2):
            self.at(other).pull(first)

    def teardown(self) -> None:
        if not hasattr(self, "devices"):
            return
        try:
            self.laws()
        finally:
            for device in self.devices:
                device.close()
            shutil.rmtree(self.folder)

    def at(self, number: int) -> Device:
        """The device, its clock set to the one time there is."""
        device = self.devices[number]
        self.now = max([self.now, *(each.time for each in self.devices)]) + MINUTE
        device.time = self.now
        return device

    # -- what may happen

    @rule(number=devices)
    def a_person_writes(self, number: int) -> None:
        self.counted += 1
        name = f"n{self.counted}"
        self.at(number).do(lambda tx: tasks.add_note(tx, name, "t1", "It creaks"))

    @rule(number=devices, minutes=st.sampled_from([20, 40]))
    def a_person_types_an_estimate(self, number: int, minutes: int) -> None:
        self.at(number).do(lambda tx: tasks.edit_task(tx, "t1", {"estimate": minutes}))

    @rule(one=devices, other=devices)
    def two_meet(self, one: int, other: int) -> None:
        if one != other:
            self.at(one).pull(self.devices[other])
            self.at(other).pull(self.devices[one])

    @rule(number=devices, other=devices)
    def it_goes_once_around(self, number: int, other: int) -> None:
        """A change, a wake where the agent is, and another device that hears of it."""
        self.a_person_writes(number)
        self.wake_who_is_due(number)
        self.two_meet(number, other)

    @rule(number=devices, killed=st.booleans())
    def the_daemon_looks(self, number: int, killed: bool) -> None:
        self.wake_who_is_due(number, killed)

    @rule(number=devices)
    def a_daemon_starts_again(self, number: int) -> None:
        self.daemons[number] = Daemon(self.devices[number])

    @rule(number=devices, home=devices)
    def the_agent_moves(self, number: int, home: int) -> None:
        device = self.at(number)
        with device.agents.transaction(device.now(), HIGH) as tx:
            lifecycle.move(tx, self.agent, self.devices[home].id)

    @rule(number=devices, confirmed=st.booleans(), which=st.integers(0, 5))
    def a_person_decides(self, number: int, confirmed: bool, which: int) -> None:
        device = self.at(number)
        with device.agents.reading() as reader:
            waiting = [placed.item for placed in Ledger.read(reader, device.now()).placed() if placed.state.open]
        if not waiting:
            return
        item = waiting[which % len(waiting)]
        verdicts = Verdicts(device.journal, device.agents, ACTIONS, device_id=device.id, new_id=device.new_id)
        given = (
            verdicts.confirm(item.id, device.now())
            if confirmed
            else verdicts.reject(item.id, device.now(), reason="Not so")
        )
        if given.result in ("applied", "no-op", "rejected"):
            self.decided[item.operation_id] = given.result

    # -- the agent

    def wake_who_is_due(self, number: int, killed: bool = False) -> int:
        self.at(number)
        daemon = self.daemons[number]
        daemon.look()
        self.at(number)  # past batch and cool-down
        starts = daemon.look().start
        for start in starts:
            script = ScriptedModel(self.proposing, Killed() if killed else self.ending, self.ending)
            try:
                daemon.wake(start, script)
            except Killed:
                continue
            self.prompted = str(script.asked[0][1])
        return len(starts)

    def proposing(self, messages: Sequence[Message]) -> Turn:
        """Another estimate every time, and one title again and again."""
        if isinstance(messages[-1], ToolMessage):
            return say("Bye.")
        return say(
            "",
            call("update_task_estimate", minutes=60 + len(self.decided)),
            call("set_task_title", title="Mend the bicycle"),
        )

    def ending(self, messages: Sequence[Message]) -> Turn:
        return say("Bye.")

    # -- what holds in the end

    def laws(self) -> None:
        self.meet_all()
        # The last word on where it lives, and something to wake for.
        self.the_agent_moves(0, 0)
        self.a_person_writes(0)
        while self.wake_who_is_due(0):
            pass
        self.meet_all()
        assert len({self.digests(device) for device in self.devices}) == 1
        for device in self.devices:
            for store in (device.journal, device.agents):
                with store.reading() as reader:
                    assert broken_invariants(reader) == []
        operations = {
            item.operation_id: item
            for entity in self.devices[0].in_agents("changeSet")
            for item in view(entity, ChangeSet).items
        }
        assert self.decided.keys() <= operations.keys()
        for operation in self.decided:
            assert operations[operation].tool_name in self.prompted
        self.each_effect_is_there_once(set(operations))
        for number in range(DEVICES):
            assert self.wake_who_is_due(number) == 0
            with self.devices[number].agents.reading() as reader:
                statuses = {run.status for run in run_log.runs(reader, self.agent)}
            assert statuses <= {"completed", "skipped", "failed"}

    def each_effect_is_there_once(self, operations: set[str]) -> None:
        with self.devices[0].journal.reading() as reader:
            task = reader.entity("t1")
        assert task is not None
        receipts = {path.partition("/")[2] for path in task.registers if path.startswith("receipts/")}
        assert receipts <= operations
        assert {ident for ident, result in self.decided.items() if result == "applied"} <= receipts

    def meet_all(self) -> None:
        first, *others = range(DEVICES)
        for other in others:
            self.at(first).pull(self.devices[other])
        for other in others:
            self.at(other).pull(self.devices[first])

    def digests(self, device: Device) -> tuple[bytes, bytes]:
        with device.journal.reading() as journal, device.agents.reading() as agents:
            return journal.digest(), agents.digest()


Loop.TestCase.settings = examples(8, stateful_step_count=14, suppress_health_check=list(HealthCheck))


class TestLoop(Loop.TestCase):  # type: ignore[misc, valid-type]
    """AGENT-2, AGENT-4, AGENT-24, AGENT-32, AGENT-33, S3-05, S3-37, S3-40, S3-87, C-16, C-17."""


class Deeper(Loop):
    """The same, for longer."""


Deeper.TestCase.settings = examples(20, stateful_step_count=30, suppress_health_check=list(HealthCheck))


@pytest.mark.deep
class TestLoopForLong(Deeper.TestCase):  # type: ignore[misc, valid-type]
    pass
