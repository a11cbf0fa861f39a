"""A wake in a process of its own that stops at a given step and waits there to be killed.

    python -m tests.agents.victim FOLDER AGENT DEVICE STEP

A step is every moment at which the wake asks for the time or for an id: the time before each transaction, ids in the
middle of them. So the steps lie between all of its transactions and within each, and in the last one they come after
report and change sets were written and before they are committed. The model is a script that keeps count of what
was paid for in the file `paid`.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
from tests.support.scripted_model import ScriptedModel, call, say

from lottisync.agents.model import Message, Turn
from lottisync.agents.run_key import user_initiated
from lottisync.agents.wake import wake
from lottisync.daemon.stores import STORES
from lottisync.device import clock
from lottisync.device.clock import Environment
from lottisync.device.device import Device
from lottisync.device.folder import StoreFolder
from lottisync.identity.device_key import DeviceKey


class Steps:
    """Time and ids, counted."""

    def __init__(self, last: int) -> None:
        self.taken, self.last = 0, last

    def now(self) -> int:
        self._step()
        return clock.now()

    def new_id(self, now: int) -> str:
        self._step()
        return clock.new_id(now)

    def _step(self) -> None:
        self.taken += 1
        if self.taken == self.last:
            print("ready", flush=True)
            sys.stdin.read()


def _no_key() -> DeviceKey:
    raise AssertionError("a wake signs nothing")


def script(paid: Path) -> ScriptedModel:
    """Proposes, notes and reports in its first turn, ends in its second."""

    def pay() -> None:
        with paid.open("a") as file:
            file.write("turn\n")

    def first(messages: Sequence[Message]) -> Turn:
        pay()
        return say(
            "",
            call("update_task_estimate", minutes=90),
            call("set_task_language", languageCode="fr", confidence="high"),
            call("record_observations", observations=["It creaks"]),
            call("update_report", tldr="Ninety minutes."),
        )

    def last(messages: Sequence[Message]) -> Turn:
        pay()
        return say("Bye.")

    # A wake that goes on from its record asks for what is not on it.
    def next_turn(messages: Sequence[Message]) -> Turn:
        return first(messages) if len(messages) == 2 else last(messages)

    return ScriptedModel(next_turn, next_turn)


def main(folder: Path, agent_id: str, device: str, step: int) -> None:
    steps = Steps(step)
    environment = Environment(steps.now, steps.new_id, clock.new_host, clock.new_seed)
    home = Device(StoreFolder(folder, STORES, clock.new_host), _no_key, environment)
    anyio.run(
        lambda: wake(
            home.store("journal"),
            home.store("agent"),
            script(folder / "paid"),
            user_initiated(agent_id, "session", "1"),
            agent_id=agent_id,
            device=device,
            now=home.environment.now,
            new_id=home.environment.new_id,
        )
    )
    print(f"done {steps.taken}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]))
