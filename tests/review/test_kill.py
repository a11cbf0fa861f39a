"""kill -9 before every SQL statement of every verdict: after the next start nothing, or everything.

The statements of a verdict are counted by running it; the gaps between its transactions are among them, since
each begins with one (`begin`)."""

import itertools
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.review.reviewer import DAY, SECOND, START, Reviewer
from tests.support import child as children

from lottisync.review import index
from lottisync.review.proposal import undo_operation
from lottisync.store.check import broken_invariants

pytestmark = pytest.mark.unmeasured  # measuring makes it half as slow again, and shows no more

Trial = Callable[..., str]
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

        def run(folder: Path, verb: str, item: str, now: int, statement: int, **more: Any) -> str:
            assert process.stdin is not None
            asked = {"folder": str(folder), "verb": verb, "item": item, "now": now, "statement": statement}
            asked["more"] = more
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            return children.said(process)

        yield run
        assert isinstance(process, subprocess.Popen)


def prepared(folder: Path, tool: str, *, confirmed: bool) -> tuple[str, int]:
    device = Reviewer(folder)
    device.do(lambda tx: tx.put("bug", "label", {"name": "bug"}))
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


def started_again(folder: Path, now: int) -> Reviewer:
    """The device after the next start of its process: no saga is open, both stores and the index are sound."""
    device = Reviewer(folder, now=now + SECOND)
    device.verdicts.recover(device.later())
    index.refresh(device.agents, device.now)
    with device.agents.reading() as reader:
        assert reader.local("select 1 from saga_log where status = 'pending'") == []
        assert broken_invariants(reader) == []
        assert list(index.faults(reader, device.now)) == []
    with device.journal.reading() as reader:
        assert broken_invariants(reader) == []
    return device


@pytest.mark.parametrize(
    "tool", [pytest.param(tool, marks=pytest.mark.deep) if at else tool for at, tool in enumerate(CALLS)]
)
@pytest.mark.parametrize("verb", ["confirm", "undo"])
def test_rev50_killed_before_any_statement(tmp_path: Path, trial: Trial, tool: str, verb: str) -> None:
    """REV-50, REV-504, REV-40, REV-56, S3-93, C-04: effects 0 or 1, a decision if and only if there is an effect, no
    saga left open, both stores sound; and a person who says it again after that gets it exactly once."""
    template = tmp_path / "template"
    item, now = prepared(template, tool, confirmed=verb == "undo")
    finished = {"nothing": 0, "everything": 0}
    statement = 0
    while True:
        statement += 1
        folder = tmp_path / str(statement)
        shutil.copytree(template, folder)
        ended = trial(folder, verb, item, now, statement)
        if ended == "done":
            break
        assert ended == "killed"
        device = started_again(folder, now)
        before = ["confirmed"] if verb == "undo" else []
        verdicts = [d.verdict for d in device.decisions()]
        operation = device.proposal(item).operation_id
        effect = undo_operation(operation) if verb == "undo" else operation
        done = receipts(device, effect)
        assert done in (0, 1), statement
        assert len(verdicts) - len(before) == done, statement
        assert held(device) is ((verb == "confirm") == bool(done)), statement
        finished["everything" if done else "nothing"] += 1
        again = getattr(device.verdicts, verb)(item, device.later())
        assert again.result in (("already",) if done else ("applied", "undone")), statement
        assert receipts(device, effect) == 1
        assert len(device.decisions()) == len(before) + 1
        device.close()
        shutil.rmtree(folder)
    assert statement > LEAST_STATEMENTS
    assert min(finished.values()) > 0


class Scene(NamedTuple):
    """What waits, what is said to it, and how much of it is done: `done(device)` is 0, or `whole` when all of it is."""

    verb: str
    more: dict[str, Any]
    prepare: Callable[[Path], tuple[str, int]]
    done: Callable[[Reviewer], int]
    again: tuple[str, ...]
    whole: int = 1


def waits(tool: str, args: dict[str, Any], *, whole_set: bool = False) -> Callable[[Path], tuple[str, int]]:
    def prepare(folder: Path) -> tuple[str, int]:
        device = Reviewer(folder)
        device.do(lambda tx: tx.put("bug", "label", {"name": "bug"}))
        device.add_task()
        device.edit(estimate=30)
        device.propose(tool, args)
        item = device.waiting()[0].id
        device.close()
        return item.rpartition(".")[0] if whole_set else item, device.later()

    return prepare


def edited_apart(folder: Path) -> tuple[str, int]:
    """Two devices have confirmed one item in different words, and have met: it is contested."""
    device, other = Reviewer(folder), Reviewer(folder.with_name("other"), 2)
    device.add_task()
    device.propose("update_task_estimate", {"minutes": 60})
    other.pull(device)
    [item] = device.waiting()
    device.verdicts.confirm(item.id, device.later(), edited_args={"minutes": 75})
    other.verdicts.confirm(item.id, other.later(), edited_args={"minutes": 90})
    device.pull(other)
    device.close()
    other.close()
    return item.id, device.later()


def rejections(device: Reviewer) -> int:
    return sum(decision.verdict == "rejected" for decision in device.decisions())


def rejected_label(device: Reviewer) -> int:
    """A decision, and the label suppressed on the task: the one with the other."""
    assert device.page().task.suppressed_labels == ({"bug": True} if rejections(device) else {})
    return rejections(device)


def rejected_with_what_builds_on_it(device: Reviewer) -> int:
    assert rejections(device) in (0, 2)
    return rejections(device) // 2


def edited(device: Reviewer) -> int:
    decisions = [(decision.args, decision.edited) for decision in device.decisions()]
    assert (device.page().task.estimate, decisions) in ((30, []), (75, [({"minutes": 75}, True)]))
    return len(decisions)


def kept(device: Reviewer) -> int:
    """A decision that has seen both, and one value in the register."""
    task = device.journal.read("t1")
    assert task is not None
    [state] = [item for one in device.states().values() for item in one.items.values()]
    settled = len(device.decisions()) == 3
    assert (state.contested, len(task.dots("estimate"))) == ((False, 1) if settled else (True, 2))
    return int(settled)


def made(device: Reviewer) -> int:
    """Each effect with its decision; no effect twice."""
    titles = device.titles()
    assert len(titles) == len(set(titles)) == len(device.decisions())
    return len(titles)


BATCH = {"items": [{"title": title} for title in ("Milk", "Eggs", "Salt")]}
FOLLOW_UP = {"title": "Buy flour", "relation": "has_follow_up"}
ESTIMATE = ("update_task_estimate", {"minutes": 60})
SCENES = {
    "reject": Scene("reject", {"reason": "no"}, waits(*ESTIMATE), rejections, ("already",)),
    "reject a label": Scene("reject", {}, waits("assign_task_label", {"id": "bug"}), rejected_label, ("already",)),
    "reject what others build on": Scene(
        "reject", {}, waits("create_follow_up_task", FOLLOW_UP), rejected_with_what_builds_on_it, ("already",)
    ),
    "defer": Scene(
        "defer",
        {"until": START + 9 * DAY},
        waits(*ESTIMATE),
        lambda device: len({decision.verdict for decision in device.decisions()}),
        ("deferred",),
    ),
    "edit": Scene("confirm", {"edited_args": {"minutes": 75}}, waits(*ESTIMATE), edited, ("already",)),
    "keep": Scene("keep", {}, edited_apart, kept, ("already",)),
    "confirm all": Scene("confirm_all", {}, waits("add_multiple_checklist_items", BATCH, whole_set=True), made, (), 3),
    "dismiss": Scene(
        "dismiss",
        {"reason": "no"},
        waits("add_multiple_checklist_items", BATCH, whole_set=True),
        lambda device: {0: 0, 3: 1}[rejections(device)],
        (),
    ),
}
LONG = ("confirm all", "dismiss", "reject a label", "reject what others build on")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.deep) if n in LONG else n for n in SCENES])
def test_rev50_killed_before_any_statement_of_the_other_verdicts(tmp_path: Path, trial: Trial, name: str) -> None:
    """REV-50, REV-144, REV-108, REV-58, REV-59: all of what was said or nothing of it, and saying it again finishes it
    without doing anything twice."""
    scene = SCENES[name]
    item, now = scene.prepare(tmp_path / "template")
    found: set[int] = set()
    for statement in itertools.count(1):
        folder = tmp_path / str(statement)
        shutil.copytree(tmp_path / "template", folder)
        ended = trial(folder, scene.verb, item, now, statement, **scene.more)
        device = started_again(folder, now)
        done = scene.done(device)
        found.add(done)
        if ended == "killed":
            again = getattr(device.verdicts, scene.verb)(item, now=device.later(), **scene.more)
            if done and scene.again:
                assert again.result in scene.again, statement
            assert scene.done(device) == scene.whole, statement
        device.close()
        shutil.rmtree(folder)
        if ended == "done":
            break
        assert ended == "killed"
    assert done == scene.whole
    assert found == {0, scene.whole}, "a verdict on several items is one act: it stops nowhere in between"
