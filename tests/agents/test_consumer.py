"""The program in docs/consumer.md does what the page says."""

import subprocess
import sys
from pathlib import Path

from tests.support.child import ROOT
from tests.support.command_line import run_here

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
    for title, heard in (("Mop", ["urgent: Sweep", "urgent: Mop"]), ("Dust", ["urgent: Polish", "urgent: Dust"])):
        with subprocess.Popen([sys.executable, file, home], cwd=ROOT, stdout=subprocess.PIPE, text=True) as consumer:
            assert consumer.stdout is not None
            line = consumer.stdout.readline().strip()
            if line == last:
                line = consumer.stdout.readline().strip()
            assert line == heard[0]
            add("Not urgent", "p3")
            add(title)
            last = consumer.stdout.readline().strip()
            assert last == heard[1]
            consumer.kill()
        add("Polish")
