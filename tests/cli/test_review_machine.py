"""A person reviews on several devices, with names taken only from what was printed: no verdict lands on anything else.

A state machine: 20 tasks, 100 proposals, three devices that meet now and then. Tasks are changed between a page and the
verdict, sets are finished and leave the list, other devices decide the same. After each verdict the test looks into the
stores: what has changed, and which proposals were decided.
"""

import random
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from tests.support.command_line import Result, run, run_here
from tests.support.examples import examples
from tests.support.proposals import propose
from tests.support.rounds import send

from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.journal import tasks
from lottisync.review.proposal_record import decisions

TASKS, PROPOSALS, PER_WAKE, PER_PAGE = 20, 100, 5, 7
HEADING = re.compile(r'For "(.*)" \S+ suggests')
ITEM = re.compile(r"(\w{4,}\.\d+)  (.+?)(?:  (.*))?")
DEVICES = st.sampled_from(("laptop", "phone", "tablet"))
VERBS = st.sampled_from((("confirm",), ("confirm",), ("reject", "--reason", "no"), ("defer",), ("undo",)))


class Shown(NamedTuple):
    """A proposal as it was printed: for which task, what, and how it would change it."""

    task: str
    summary: str
    change: str


class Look(NamedTuple):
    """What a device holds: task -> its estimate and its items, and each decision: task, summary."""

    tasks: dict[str, tuple[int | None, frozenset[str]]]
    decided: dict[str, tuple[str, str]]


class Reviewing(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.homes = {name: self.folder / name for name in ("laptop", "phone", "tablet")}
        self.shown: dict[str, dict[str, Shown]] = {name: {} for name in self.homes}
        self.wakes = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize(seed=st.integers(0, 1_000))
    def begin(self, seed: int) -> None:
        chance = random.Random(seed)
        for name, path in self.homes.items():
            TaskHome.create(path, name).close()
        home = TaskHome.open(self.homes["laptop"])
        with home.journal.transaction(clock.now(), HIGH) as tx:
            for number in range(TASKS):
                tasks.add_task(tx, f"t{number}", f"Task {number}", {"estimate": 5})
        for number in range(PROPOSALS // PER_WAKE):
            self._propose(home, f"t{number % TASKS}", chance)
        home.close()
        self._meet("laptop", "phone")
        self._meet("laptop", "tablet")

    def _propose(self, home: TaskHome, task: str, chance: random.Random) -> None:
        self.wakes += 1
        steps = [{"title": f"Step {self.wakes} {number}"} for number in range(PER_WAKE - 1)]
        propose(
            home,
            ("update_task_estimate", {"minutes": chance.randrange(10, 99)}),
            ("add_multiple_checklist_items", {"items": steps}),
            run=f"r{self.wakes}",
            task=task,
        )

    def _meet(self, one: str, other: str) -> None:
        homes = [TaskHome.open(self.homes[name]) for name in (one, other)]
        for store in ("journal", "agent"):
            first, second = (home.store(store) for home in homes)
            send(first, second, now=clock.now())
            send(second, first, now=clock.now())
        for home in homes:
            home.close()

    def _call(self, device: str, *words: str, real: bool = False) -> Result:
        caller: Any = run if real else run_here
        result: Result = caller("review", *words, "--language", "en", home=self.homes[device])
        self._read(device, result.out)
        return result

    def _read(self, device: str, printed: str) -> None:
        """Note what was printed under which name, as a person would."""
        task = ""
        for line in printed.splitlines():
            heading, item = HEADING.match(line), ITEM.fullmatch(line)
            if heading is not None:
                task = heading[1]
            elif item is not None and task:
                self.shown[device][item[1]] = Shown(task, item[2], item[3] or "")

    def _look(self, device: str) -> Look:
        home = TaskHome.open(self.homes[device])
        found, decided = {}, {}
        with home.journal.reading() as reader:
            pages = [tasks.page(reader, line.id) for line in tasks.all_tasks(reader)[0]]
        for page in pages:
            found[page.task.title] = (page.task.estimate, frozenset(item.title for item in page.items))
            for one in decisions(home.agent, page.task.id):
                decided[one.id] = (page.task.title, one.human_summary)
        home.close()
        return Look(found, decided)

    @rule(device=DEVICES, page=st.integers(1, 5))
    def lists(self, device: str, page: int) -> None:
        assert self._call(device, "--page", str(page), "--limit", str(PER_PAGE)).code == 0

    @rule(one=DEVICES, other=DEVICES)
    def meet(self, one: str, other: str) -> None:
        if one != other:
            self._meet(one, other)

    @rule(device=DEVICES, task=st.integers(0, TASKS - 1), minutes=st.integers(100, 200))
    def change_a_task(self, device: str, task: int, minutes: int) -> None:
        words = ("task", "estimate", f"t{task}", str(minutes))
        assert run_here(*words, home=self.homes[device]).code == 0

    @rule(device=DEVICES, task=st.integers(0, TASKS - 1), seed=st.integers(0, 1_000))
    def an_agent_wakes(self, device: str, task: int, seed: int) -> None:
        home = TaskHome.open(self.homes[device])
        self._propose(home, f"t{task}", random.Random(seed))
        home.close()

    @rule(device=DEVICES, picks=st.lists(st.tuples(VERBS, st.integers(0, 10_000)), min_size=4, max_size=12))
    def decide(self, device: str, picks: list[tuple[tuple[str, ...], int]]) -> None:
        """The first of them in a process of its own."""
        if not self.shown[device]:
            self.lists(device, 1)
        for number, (verb, picked) in enumerate(picks):
            names = sorted(self.shown[device])
            self._decide(device, names[picked % len(names)], verb, real=number == 0)

    def _decide(self, device: str, name: str, verb: tuple[str, ...], *, real: bool) -> None:
        seen, before = self.shown[device][name], self._look(device)
        result = self._call(device, verb[0], name, *verb[1:], real=real)
        assert result.code in (0, 1), result
        after = self._look(device)
        changed = {task for task in after.tasks if after.tasks[task] != before.tasks.get(task)}
        assert changed <= {seen.task}, (name, seen, changed)
        new = {decided for ident, decided in after.decided.items() if ident not in before.decided}
        assert new <= {(seen.task, seen.summary)}, (name, seen, new)
        if verb[0] in ("reject", "defer"):
            assert not changed
        if verb[0] == "confirm" and changed:
            self._check_effect(seen, before.tasks[seen.task], after.tasks[seen.task])

    def _check_effect(
        self, seen: Shown, before: tuple[int | None, frozenset[str]], after: tuple[int | None, frozenset[str]]
    ) -> None:
        """What was done is what was shown: the step, or from the value before to the value after."""
        if seen.summary.startswith("Add"):
            assert [*(after[1] - before[1])] == [seen.summary.split('"')[1]]
            assert after[0] == before[0]
        else:
            assert f"{before[0]} → {after[0]}" in seen.change
            assert after[1] == before[1]


@pytest.mark.deep
def test_rev_462_no_verdict_lands_on_anything_but_what_was_shown() -> None:
    """REV-462"""
    run_state_machine_as_test(
        Reviewing,
        settings=examples(2, stateful_step_count=30, suppress_health_check=list(HealthCheck)),
    )
