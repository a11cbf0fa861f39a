"""`python -m lottisync.demo`: what `make demo` runs."""

import argparse
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lottisync.demo.device import DemoFailed
from lottisync.demo.stage import Stage
from lottisync.demo.story import tell

MARK = ".lottisync-demo"
"""A folder without it is somebody else's, and is not emptied."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m lottisync.demo", description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=Path("demo-homes"), help="where the homes are created, after removing old ones"
    )
    parser.add_argument("--picture", type=Path, help="also write the output as an SVG file")
    given = parser.parse_args()
    console = Console(record=given.picture is not None, highlight=False, width=112 if given.picture else None)
    folder: Path = given.folder
    if folder.exists() and not (folder / MARK).exists() and any(folder.iterdir()):
        console.print(Text(f"{folder} is not empty and was not made by the demo. Choose another with --folder", "red"))
        return 2
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / MARK).touch()
    stage = Stage(console)
    try:
        tell(folder.resolve(), stage)
    except DemoFailed as failure:
        console.print(Text(f"The demo stopped: {failure}", "bold red"))
        return 1
    console.print()
    console.print(Text("Every step happened as described.", "bold green"))
    command = Path(sys.executable).with_name("lottisync")
    shown = command.relative_to(Path.cwd()) if command.is_relative_to(Path.cwd()) else command
    stage.say(
        "Both homes are left for you to look around in:",
        *(f"  {shown} {verb} --home {folder}/{name}" for verb, name in LOOK_AROUND),
    )
    if given.picture is not None:
        stage.save(given.picture, "make demo")
    return 0


LOOK_AROUND = (
    ("task list", "phone"),
    ("status", "laptop"),
    ("review --all", "phone"),
    ("agent list", "laptop"),
)

if __name__ == "__main__":
    sys.exit(main())
