"""A home with proposals, and `lottisync review` as a person types it."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.command_line import Result
from tests.support.proposals import wake_on

from lottisync.cli.main import lottisync
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal import tasks
from lottisync.journal.toolbox import ACTIONS
from lottisync.problem import Problem
from lottisync.review.completion import Sagas
from lottisync.review.retraction import open_proposals
from lottisync.review.verdict import Verdicts
from lottisync.store.transaction import Transaction

AGENT = "laura"
BATCH = {"items": [{"title": title} for title in ("Milk", "Eggs", "Salt")]}
NOTE = 'tasks.add_note(tx, "e1", "t1", "The flour is here")'


class Killed(BaseException):
    pass


class DiesBeforeTheEffect(Sagas):
    def take_effect(self, *_: Any) -> Any:
        raise Killed


class Desk:
    """A home, what its agent proposes, and the commands that a person types."""

    def __init__(self, path: Path) -> None:
        self.home = TaskHome.create(path, "laptop")
        with self.home.journal.transaction(clock.now(), HIGH) as tx:
            tasks.add_task(tx, "t1", "Bake bread", {"estimate": 30})
            tasks.add_item(tx, "i1", "t1", "Flour")
        with self.home.agent.transaction(clock.now(), HIGH) as tx:
            tx.put(AGENT, "agent", {"agentId": AGENT, "displayName": "Laura"})

    def propose(self, tool: str, args: dict[str, Any], run: str = "r1") -> list[str]:
        waiting = open_proposals(self.home.agent, ACTIONS, clock.now(), agent_id=AGENT)
        builder = wake_on(self.home.journal, self.home.agent, run=run, waiting=[one.id for one in waiting])
        answer = builder.queue(tool, args, clock.now())
        assert "queued" in answer, answer
        with self.home.agent.transaction(clock.now(), LOW) as tx:
            return builder.build(tx, clock.now())

    def dies_while_confirming(self, item: str) -> None:
        """A command that is killed when the verdict is written, and its effect is not."""
        stores = self.home.journal, self.home.agent
        dying = Verdicts(*stores, ACTIONS, device_id="laptop", new_id=clock.new_id, sagas=DiesBeforeTheEffect)
        with pytest.raises(Killed):
            dying.confirm(item, clock.now())

    def edit_journal(self, change: Callable[[Transaction], object]) -> None:
        with self.home.journal.transaction(clock.now(), HIGH) as tx:
            change(tx)

    def edit(self, **fields: Any) -> None:
        self.edit_journal(lambda tx: tasks.edit_task(tx, "t1", fields))

    @property
    def page(self) -> tasks.TaskPage:
        with self.home.journal.reading() as reader:
            return tasks.page(reader, "t1")

    def type(self, *words: str, keys: Sequence[str] = (), code: int = 0, language: str = "C") -> str:
        environment = {
            "LANG": language,
            "LC_ALL": "",
            "LANGUAGE": "",
            "LOTTISYNC_LANGUAGE": "",
            "NO_COLOR": "1",
            "COLUMNS": "160",
        }
        done = CliRunner(env=environment).invoke(
            lottisync, ["review", *words, "--home", str(self.home.path)], input="".join(f"{key}\n" for key in keys)
        )
        if isinstance(done.exception, Problem):
            assert done.exception.exit_code == code, done.exception
            return done.exception.message
        assert done.exit_code == code, (done.output, done.exception)
        return done.output

    def name(self, place: int = 0) -> str:
        """The name of an item that waits now."""
        names = [item["name"] for one in self.ask() for item in one["items"]]
        return str(names[place])

    def ask(self, *words: str, code: int = 0) -> Any:
        return Result(code, self.type(*words, "--json", code=code), "").content


def elsewhere(desk: Desk, statement: str) -> None:
    """Another process does something with the journal of this home; `tx` is its transaction."""
    script = f"""
import sys
from pathlib import Path
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.journal import tasks
home = TaskHome.open(Path(sys.argv[1]))
with home.journal.transaction(clock.now(), HIGH) as tx:
    {statement}
home.close()
"""
    subprocess.run([sys.executable, "-c", script, str(desk.home.path)], check=True)
