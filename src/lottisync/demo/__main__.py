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
    parser.add_argument("--pictures", type=Path, help="also draw the main scenes, as SVG files in this folder")
    given = parser.parse_args()
    console = Console(record=given.pictures is not None, highlight=False, width=112 if given.pictures else None)
    folder: Path = given.folder
    if folder.exists() and not (folder / MARK).exists() and any(folder.iterdir()):
        console.print(Text(f"{folder} is not empty and was not made by the demo. Choose another with --folder", "red"))
        return 2
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / MARK).touch()
    stage = Stage(console, given.pictures)
    try:
        tell(folder.resolve(), stage)
        stage.end()
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
        "Both inboxes in a browser, each served by its own daemon:",
        *(f"  {shown} {verb.format(folder / name)}" for name in ("laptop", "phone") for verb in OPEN_INBOX),
    )
    return 0


LOOK_AROUND = (
    ("task list --all", "phone"),
    ("status", "laptop"),
    ("review --all", "phone"),
    ("agent list", "laptop"),
)

OPEN_INBOX = ("daemon --home {} &", "open --home {}")

if __name__ == "__main__":
    sys.exit(main())
