"""What a daemon does before it listens."""

import subprocess
import sys
from pathlib import Path

from lottisync.daemon.home import TaskHome

CODE = """
import sys
from pathlib import Path
from lottisync.daemon import daemon
from lottisync.daemon.home import TaskHome

home = TaskHome.open(Path(sys.argv[1]))
daemon._recover(home, print)
home.close()
sys.exit("pydantic" in sys.modules)
"""


def test_no_tool_is_loaded_where_no_verdict_was_interrupted_and_no_model_is_there(tmp_path: Path) -> None:
    """The tools of agents, with what checks their arguments, take a third of a daemon's start to load."""
    TaskHome.create(tmp_path / "a", "a").close()
    subprocess.run([sys.executable, "-c", CODE, str(tmp_path / "a")], check=True)
