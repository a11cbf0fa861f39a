"""The main job through real processes: what `make demo` does, and what must be true afterwards.

The story checks every step itself and stops at the first that did not happen as described. So that a story
that checks nothing cannot pass, what it left behind is looked at here once more, from outside.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line import content

from lottisync.demo import script
from lottisync.demo.stage import SCENES
from lottisync.demo.story import CONTESTED, EDITED_MINUTES, REASON, TASK
from lottisync.journal.task_file import task_id

STEPS = (
    "Two devices, each with its own key, stores and daemon",
    "They find each other by mDNS and pair with a code that is typed",
    "A task list is imported on laptop, and is on phone",
    "An agent wakes for one task, reports, and proposes",
    "Phone shows them at once",
    "The person decides on phone: one edited, one rejected, the rest confirmed",
    "Effects and decisions arrive on laptop",
    "The next wake has learnt from the verdicts",
    "Phone goes offline. Both change one date, and both values are kept",
    "Both devices hold the same, and can prove it",
)


STORY_SECONDS = 600
"""Of a story of twelve seconds: this is a bound for a machine that does ten other things."""
pytestmark = pytest.mark.timeout(2 * STORY_SECONDS)


def run_demo(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if k not in ("OPENAI_API_KEY", "LOTTISYNC_MODEL_URL")}
    return subprocess.run(
        [sys.executable, "-m", "lottisync.demo", "--folder", str(folder), *arguments],
        env={**clean, "COLUMNS": "140", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=STORY_SECONDS,
    )


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("story") / "homes"
    pictures = Path(os.environ.get("PICTURES") or tmp_path_factory.mktemp("pictures"))
    done = run_demo(folder, "--pictures", str(pictures.absolute()))
    assert done.returncode == 0, done.stdout + done.stderr
    for name in SCENES:
        assert "http" not in (pictures / f"{name}.svg").read_text().replace("http://www.w3.org/2000/svg", "")
    return folder, done.stdout


def ask(folder: Path, device: str, *arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "lottisync", *arguments, "--json", "--home", str(folder / device)],
        capture_output=True,
        text=True,
        check=True,
    )
    return content(done.stdout)


def test_every_step_is_shown_in_order(story: tuple[Path, str]) -> None:
    """C-17, S1-62, S2-09, S2-10: proposed on one device, confirmed on another; two daemons bring it there."""
    places = [story[1].index(step) for step in STEPS]
    assert places == sorted(places)


def test_both_homes_hold_the_same(story: tuple[Path, str]) -> None:
    """C-15: change sets and decisions are replicated; the digests prove it."""
    stores = [ask(story[0], device, "status")["stores"] for device in ("laptop", "phone")]
    for name in ("space", "journal", "agent"):
        assert stores[0][name]["digest"] == stores[1][name]["digest"] != "0" * 64
        assert stores[0][name]["knowledge"] == stores[1][name]["knowledge"]


def test_what_was_written_apart_is_settled_and_both_values_are_in_the_history(story: tuple[Path, str]) -> None:
    [task] = ask(story[0], "laptop", "search", CONTESTED)
    writes = ask(story[0], "laptop", "history", task["id"])["writes"]
    assert ask(story[0], "laptop", "conflicts") == []
    assert [write["value"] for write in writes if write["path"] == "due"] == ["2026-12-18", "2026-12-21", "2026-12-21"]


def test_says_who_the_model_is_and_how_to_open_both_inboxes(story: tuple[Path, str]) -> None:
    assert "The model is scripted" in story[1]
    for device in ("laptop", "phone"):
        assert f"open --home {story[0] / device}" in story[1].replace("\n", "")


@pytest.mark.parametrize("device", ["laptop", "phone"])
def test_the_task_shows_the_verdicts(story: tuple[Path, str], device: str) -> None:
    task = ask(story[0], device, "task", "show", task_id(TASK))
    items = {item["title"]: item for checklist in task["checklists"] for item in checklist["items"]}
    assert (task["title"], task["estimate"], task["priority"]) == (script.NEW_TITLE, EDITED_MINUTES, "P2")
    assert set(script.NEW_ITEMS) < set(items)
    assert items["Find the manual"]["isChecked"]
    assert items["Find the manual"]["checkedBy"] == "user"


def test_the_decisions_are_on_the_device_that_proposed(story: tuple[Path, str]) -> None:
    decisions = ask(story[0], "laptop", "review", "log", task_id(TASK))
    verdicts = {decision["tool"]: (decision["verdict"], decision["reason"]) for decision in decisions}
    assert verdicts["update_task_priority"] == ("rejected", REASON)
    assert verdicts["update_task_estimate"][0] == "confirmed"
    assert len(decisions) == 7
    assert all(decision["deviceId"] == ask(story[0], "phone", "status")["id"] for decision in decisions)


def test_the_model_got_the_decisions_and_both_repeated_proposals_were_refused(story: tuple[Path, str]) -> None:
    """S1-55, S4-02: in the requests that the model's server recorded."""
    requests = [json.loads(line) for line in (story[0] / "requests.jsonl").read_text().splitlines()]
    last = requests[-1]["messages"]
    asked = next(message["content"] for message in last if message["role"] == "user")
    answers = [message["content"] for message in last if message["role"] == "tool"]
    assert REASON in asked
    assert any("rejected this already" in answer and REASON in answer for answer in answers)
    assert f"Skipped: estimate is already {EDITED_MINUTES} minutes." in answers


def test_the_report_needs_no_model(story: tuple[Path, str]) -> None:
    """S3-03: and it arrived on the device that never asked one."""
    report = ask(story[0], "phone", "agent", "report", task_id(TASK))["content"]
    assert report["title"] == script.NEW_TITLE
    assert report["checklistProgress"] == {"total": 7, "completed": 2}


def test_the_stranger_got_nothing(story: tuple[Path, str]) -> None:
    status = ask(story[0], "stranger", "status")
    assert status["stores"]["journal"]["entities"] == 0
    assert "does not know this device" in story[1].replace("\n", " ").replace("  ", " ")


def test_no_key_of_a_device_is_readable_by_others(story: tuple[Path, str]) -> None:
    assert (story[0] / "laptop" / "device.json").stat().st_mode & 0o077 == 0


@pytest.mark.deep
def test_a_demo_whose_model_is_not_there_says_so_and_fails(tmp_path: Path) -> None:
    done = run_demo(tmp_path / "homes", LOTTISYNC_MODEL_URL="http://127.0.0.1:9/v1")
    assert done.returncode == 1
    assert "The demo stopped" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_folder_that_is_not_the_demos_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    done = run_demo(tmp_path)
    assert done.returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
