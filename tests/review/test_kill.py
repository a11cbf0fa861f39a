"""kill -9 before every SQL statement of confirm and undo: after the next start nothing, or everything.

The statements of a verdict are counted by running it; the gaps between its transactions are among them, since
each begins with one (`begin`)."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.review.reviewer import Reviewer
from tests.support import child as children

from lottisync.review.proposal import undo_operation
from lottisync.store.check import broken_invariants

Trial = Callable[[Path, str, str, int, int], str]
CALLS: dict[str, dict[str, Any]] = {
    "update_task_estimate": {"minutes": 60},
    "add_checklist_item": {"title": "Milk"},
    "assign_task_label": {"id": "bug"},
}
LEAST_STATEMENTS = 30
"""Of a verdict: fewer would mean that the trace does not see them."""


@pytest.fixture(scope="module")
def trial() -> Iterator[Trial]:
    with children.running("tests.review.dying") as process:

        def run(folder: Path, verb: str, item: str, now: int, statement: int) -> str:
            assert process.stdin is not None
            asked = {"folder": str(folder), "verb": verb, "item": item, "now": now, "statement": statement}
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            return children.said(process)

        yield run
        assert isinstance(process, subprocess.Popen)


def prepared(folder: Path, tool: str, *, confirmed: bool) -> tuple[str, int]:
    device = Reviewer(folder)
    device.write(lambda tx: tx.put("bug", "label", {"name": "bug"}))
    device.add_task()
    device.edit(estimate=30)
    device.propose(tool, CALLS[tool])
    [item] = device.waiting()
    if confirmed:
        assert device.verdicts.confirm(item.id, device.later()).result == "applied"
    device.close()
    return item.id, device.later()


def held(device: Reviewer) -> bool:
    """Whether what was proposed is what the task shows."""
    task = device.page().task
    return task.estimate == 60 or device.titles() == ["Milk"] or task.labels == {"bug": True}


def receipts(device: Reviewer, operation: str) -> int:
    """How many writes in the whole journal carry this operation's receipt."""
    with device.journal.reading() as reader:
        found = [reader.entity("t1"), *reader.owned_by("t1", deleted=True)]
    unique = {entity.id: entity for entity in found if entity is not None}
    return sum(len(entity.registers.get(f"receipts/{operation}", ())) for entity in unique.values())


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("verb", ["confirm", "undo"])
def test_rev50_killed_before_any_statement(tmp_path: Path, trial: Trial, tool: str, verb: str) -> None:
    """REV-50, REV-40, REV-56, S3-93, C-04: effects 0 or 1, a decision if and only if there is an effect, no saga left
    open, both stores sound; and whoever says it again after that gets it exactly once."""
    template = tmp_path / "template"
    item, now = prepared(template, tool, confirmed=verb == "undo")
    finished = {"nothing": 0, "everything": 0}
    statement = 0
    while True:
        statement += 1
        folder = tmp_path / str(statement)
        shutil.copytree(template, folder)
        told = trial(folder, verb, item, now, statement)
        if told == "done":
            break
        assert told == "killed"
        device = Reviewer.reopened(folder, now)
        device.verdicts.recover(device.later())
        before = ["confirmed"] if verb == "undo" else []
        verdicts = [d.verdict for d in device.decisions()]
        operation = device.proposal(item).operation_id
        effect = undo_operation(operation) if verb == "undo" else operation
        done = receipts(device, effect)
        assert done in (0, 1), statement
        assert len(verdicts) - len(before) == done, statement
        assert held(device) is ((verb == "confirm") == bool(done)), statement
        with device.agents.reading() as reader:
            assert reader.local("select 1 from saga_log where status = 'pending'") == []
            assert broken_invariants(reader) == []
        with device.journal.reading() as reader:
            assert broken_invariants(reader) == []
        finished["everything" if done else "nothing"] += 1
        again = getattr(device.verdicts, verb)(item, device.later())
        assert again.result in (("already",) if done else ("applied", "undone")), statement
        assert receipts(device, effect) == 1
        assert len(device.decisions()) == len(before) + 1
        device.close()
        shutil.rmtree(folder)
    assert statement > LEAST_STATEMENTS
    assert min(finished.values()) > 0
