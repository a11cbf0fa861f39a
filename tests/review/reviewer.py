"""One device of a person who reviews: two stores in a folder, a clock wound by hand, counted ids, and the
verbs of a wake, of the person, and of a round with another device."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support import rounds
from tests.support.counted import CountedDevice
from tests.support.proposals import Wake, wake_on

from lottisync.daemon.stores import AGENT_STORE
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal import tasks
from lottisync.journal.toolbox import ACTIONS
from lottisync.journal.types import JOURNAL, ChecklistItem
from lottisync.review.builder import Builder
from lottisync.review.change import ChangeDecision, ChangeItem
from lottisync.review.completion import Sagas
from lottisync.review.inbox import Inbox
from lottisync.review.item_view import ItemView
from lottisync.review.ledger import Ledger
from lottisync.review.projection import SetState
from lottisync.review.proposal_record import decisions
from lottisync.review.retraction import open_proposals
from lottisync.review.verdict import Verdicts
from lottisync.store.transaction import Transaction

START = 1_772_316_000_000  # 2026-02-28T22:00:00Z
SECOND, DAY = 1_000, 86_400_000
LAURA = "laura"


class Reviewer(CountedDevice):
    def __init__(self, folder: Path, number: int = 1, now: int = START) -> None:
        self.now = now
        super().__init__(folder, number, (JOURNAL, AGENT_STORE), lambda: self.now)
        self.journal, self.agents = self.stores.values()
        self.verdicts = self._verdicts()

    def _verdicts(self, sagas: type[Sagas] = Sagas) -> Verdicts:
        return Verdicts(self.journal, self.agents, ACTIONS, device_id=self.id, new_id=self.new_id, sagas=sagas)

    def restarted(self, sagas: type[Sagas] = Sagas) -> Verdicts:
        """Close both files and open them again, as the next start of the process does."""
        self.close()
        self.journal, self.agents = self.stores.values()
        self.verdicts = self._verdicts(sagas)
        return self.verdicts

    # -- the person at work

    def later(self, millis: int = SECOND) -> int:
        self.now += millis
        return self.now

    def do(self, work: Callable[[Transaction], object], precedence: int = HIGH) -> None:
        with self.journal.transaction(self.later(), precedence) as tx:
            work(tx)

    def add_task(self, task_id: str = "t1", title: str = "Bake bread", items: tuple[str, ...] = ()) -> None:
        self.do(lambda tx: tasks.add_task(tx, task_id, title))
        for number, item in enumerate(items):
            self.do(lambda tx, n=number, i=item: tasks.add_item(tx, f"{task_id}-i{n}", task_id, i))  # type: ignore[misc]

    def edit(self, task_id: str = "t1", **fields: Any) -> None:
        self.do(lambda tx: tasks.edit_task(tx, task_id, fields))

    def note(self, entry_id: str, text: str = "not done yet", task_id: str = "t1", author: str = "user") -> None:
        self.do(
            lambda tx: tasks.add_note(tx, entry_id, task_id, text, author=author), HIGH if author == "user" else LOW
        )

    def tick(self, item_id: str, checked: bool = True) -> None:
        self.do(lambda tx: tasks.check_item(tx, item_id, checked))

    def agent_tick(self, item_id: str, checked: bool = True) -> None:
        """An item that an agent set: what the direct path of a program leaves."""
        fields = {"isChecked": checked, "checkedBy": "agent", "checkedAt": None}
        self.do(lambda tx: tx.put(item_id, "checklistItem", fields), LOW)

    def page(self, task_id: str = "t1") -> tasks.TaskPage:
        with self.journal.reading() as reader:
            return tasks.page(reader, task_id)

    def item(self, item_id: str = "t1-i0") -> ChecklistItem:
        with self.journal.reading() as reader:
            return tasks.read(reader, item_id, "checklistItem", ChecklistItem)

    def titles(self, task_id: str = "t1") -> list[str]:
        return [item.title for item in self.page(task_id).items]

    # -- the agent at work

    def builder(self, run: str = "run1", task_id: str = "t1", agent: str = LAURA) -> Wake:
        """A wake whose context is read now."""
        waiting = open_proposals(self.agents, ACTIONS, self.now, agent_id=agent, task_id=task_id)
        return wake_on(
            self.journal,
            self.agents,
            run=run,
            task=task_id,
            agent=agent,
            thread=f"thread-{run}",
            waiting=[one.id for one in waiting],
        )

    def built(self, builder: Builder) -> list[str]:
        with self.agents.transaction(self.later(), LOW) as tx:
            return builder.build(tx, tx.now)

    def propose(
        self, tool: str, args: Mapping[str, Any], run: str = "run1", task_id: str = "t1", agent: str = LAURA
    ) -> str:
        """A wake that makes one call; returns the answer to it."""
        builder = self.builder(run, task_id, agent)
        answer = builder.queue(tool, dict(args), self.now)
        self.built(builder)
        return answer

    # -- looking

    def waiting(self, task_id: str | None = None) -> list[ItemView]:
        return [
            item
            for shown in Inbox(self.journal, self.agents, ACTIONS).open_sets(self.now, task_id)
            for item in shown.items
            if item.status == "pending" and not item.expired
        ]

    def states(self) -> dict[str, SetState]:
        with self.agents.reading() as reader:
            return Ledger.read(reader, self.now).states

    def proposal(self, item_id: str) -> ChangeItem:
        """The item as it was proposed."""
        with self.agents.reading() as reader:
            return Ledger.read(reader, self.now).find(item_id).item

    def decisions(self, task_id: str = "t1") -> list[ChangeDecision]:
        return decisions(self.agents, task_id)

    # -- meeting another device

    def pull(self, other: "Reviewer", *stores: str) -> None:
        """A whole round from the other device, in the order in which rounds deliver; or of some `stores` only."""
        self.now = max(self.now, other.now)
        rounds.pull(self, other, self.now, stores or None)

    def meet(self, other: "Reviewer") -> None:
        self.pull(other)
        other.pull(self)

    def same_as(self, other: "Reviewer") -> bool:
        with self.journal.reading() as a, other.journal.reading() as b:
            journals = a.digest() == b.digest()
        with self.agents.reading() as a, other.agents.reading() as b:
            return journals and a.digest() == b.digest()


def proposed_on_both(laptop: Reviewer, phone: Reviewer) -> ItemView:
    """An item that agents on two devices proposed apart. They have met, and it is shown once."""
    laptop.add_task()
    phone.pull(laptop)
    laptop.propose("add_checklist_item", {"title": "Milk"}, run="on-laptop")
    phone.propose("add_checklist_item", {"title": "Milk"}, run="on-phone")
    laptop.meet(phone)
    [shown] = laptop.waiting()
    return shown


def two_with_a_set(folder: Path) -> tuple[Reviewer, Reviewer, str]:
    """Two devices with the same proposals, a change set of four items, and its id."""
    laptop, phone = Reviewer(folder / "laptop", 1), Reviewer(folder / "phone", 2)
    laptop.add_task(items=("Flour",))
    builder = laptop.builder()
    builder.queue("update_task_estimate", {"minutes": 60}, laptop.now)
    builder.queue("set_task_title", {"title": "Rye bread"}, laptop.now)
    builder.queue("add_multiple_checklist_items", {"items": [{"title": "Milk"}, {"title": "Salt"}]}, laptop.now)
    [ident] = laptop.built(builder)
    phone.pull(laptop)
    return laptop, phone, ident
