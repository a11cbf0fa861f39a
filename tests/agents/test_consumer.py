"""The change feed serves the agents' runtime and any other program alike; the one in docs/consumer.md, too."""

import contextlib
import select
import subprocess
import sys
from pathlib import Path

from tests.support.child import ROOT
from tests.support.command_line import run_here
from tests.support.device import Device
from tests.support.scripted_model import ScriptedModel, say

from lottisync.agents.orchestrator import CONSUMER, Orchestrator
from lottisync.store.doorbell import Bell
from lottisync.store.feed import Feed

PAGE = ROOT / "docs" / "consumer.md"


def test_the_consumer_of_the_page(tmp_path: Path) -> None:
    """AGENT-27, S3-51: every urgent task, also what came while it was not running; after a kill at most the last
    one again."""
    program = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    assert sum(bool(line.strip()) for line in program.splitlines()) <= 20
    file = tmp_path / "consumer.py"
    file.write_text(program)
    home = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=home).code == 0

    def add(title: str, priority: str = "p0") -> None:
        assert run_here("task", "add", title, "--priority", priority, home=home).code == 0

    add("Sweep")
    last = ""
    for title, lines in (("Mop", ["urgent: Sweep", "urgent: Mop"]), ("Dust", ["urgent: Polish", "urgent: Dust"])):
        with subprocess.Popen([sys.executable, file, home], cwd=ROOT, stdout=subprocess.PIPE, text=True) as consumer:
            assert consumer.stdout is not None
            line = consumer.stdout.readline().strip()
            if line == last:
                line = consumer.stdout.readline().strip()
            assert line == lines[0]
            add("Not urgent", "p3")
            add(title)
            last = consumer.stdout.readline().strip()
            assert last == lines[1]
            consumer.kill()
        add("Polish")


def test_the_agents_are_one_consumer_of_the_store_among_others(laptop: Device) -> None:
    """C-16, S3-51: each has a cursor of its own; what one has dealt with, the other still finds."""
    laptop.add_task()
    laptop.add_agent()
    other = Feed(laptop.journal, "urgent-tasks")
    Orchestrator(laptop.journal, laptop.agents, laptop.id).hear(laptop.now())
    with laptop.journal.reading() as reader:
        assert reader.cursor(CONSUMER) > reader.cursor("urgent-tasks") == 0
    [change] = [change for change in other.take() if change.type == "task"]
    other.done(change, laptop.now())
    laptop.do(lambda tx: tx.put("t1", "task", {"title": "Mend the bicycle"}))
    assert [change.id for change in Feed(laptop.journal, CONSUMER).take()] == ["t1"]
    assert [change.id for change in other.take()] == ["t1"]


def test_a_program_that_shows_a_report_gets_the_next_one(laptop: Device) -> None:
    """S3-74: the bell rings when a wake ends, and the feed has what is new: the head that a page shows, and nothing
    that it has shown before."""
    laptop.add_task()
    ident = laptop.add_agent()
    view, bell = Feed(laptop.agents, "page"), Bell(laptop.agents.file.parent / "bells", "page")
    with contextlib.closing(bell):
        view.done(view.take()[-1], laptop.now())
        bell.clear()
        assert select.select([bell], [], [], 0)[0] == []
        laptop.wake(ident, ScriptedModel(say("All is well.")))
        assert select.select([bell], [], [], 5)[0] == [bell]
        assert {"agentReport", "agentReportHead", "agentState"} <= {change.type for change in view.take()}
