"""What verdicts on one device need, and one act of the person (docs/specs/10-review.md, section 5).

An act is one verdict of the person on one item or on several. It reads the ledger of a task once, and adds its own
decisions to it. So deciding on n items reads each proposal once, and not n times.

Like `verdict`, this is for a person's side only.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from lottisync.problem import Problem, Sentence
from lottisync.review import record
from lottisync.review.action import Actions
from lottisync.review.change import ChangeDecision
from lottisync.review.decision import Twin
from lottisync.review.item_view import item_view, lens_of
from lottisync.review.ledger import Ledger, Placed, one_set
from lottisync.review.outcome import Outcome
from lottisync.review.policy import Policy, Sovereignty, policy_of
from lottisync.store.reader import Reader
from lottisync.store.store import Store
from lottisync.store.transaction import Transaction

DECIDED = {
    "confirmed": Sentence("it was confirmed already"),
    "rejected": Sentence("it was rejected already"),
    "retracted": Sentence("the agent has taken it back already"),
    "undone": Sentence("it was undone already"),
    "superseded": Sentence("the agent has put another proposal in its place"),
    "contested": Sentence("devices decided differently on it: keep it or undo it"),
}
"""Shown status -> the answer to a verdict on an item that is already decided."""


Shown = Mapping[str, str]
"""Item -> the digest of the view that the person was shown (`ItemView.shown`)."""
UNSEEN: Shown = {}
"""For a verdict without digests: nothing is compared."""


class Desk(NamedTuple):
    """`device` is the device's id, `new_id` makes decision ids from the time in ms, `sovereignty` is the least
    that this device requires."""

    journal: Store
    agent_store: Store
    actions: Actions
    device: str
    new_id: Callable[[int], str]
    sovereignty: Sovereignty = "reason"

    def policy(self, agents: Reader, agent_id: str) -> Policy:
        return policy_of(agents, agent_id, self.sovereignty)


class Ledgers:
    """The ledgers of the tasks that are asked for. Each is read once, from one reader of the agent store."""

    def __init__(self, reader: Reader, now: int) -> None:
        self._reader, self._now = reader, now
        self._read: dict[str, Ledger] = {}

    def of_task(self, task_id: str) -> Ledger:
        if task_id not in self._read:
            self._read[task_id] = Ledger.read(self._reader, self._now, task_id)
        return self._read[task_id]

    def of(self, item_id: str) -> Ledger:
        """The ledger of the task that an item is about; `Problem` for an unknown id."""
        return self.of_task(one_set(self._reader, item_id).task_id)

    def add(self, task_id: str, decisions: Iterable[ChangeDecision]) -> None:
        """Add new decisions to the ledger of a task, if it was read."""
        if task_id in self._read:
            for decision in decisions:
                self._read[task_id].add(decision)

    def has(self, item_id: str) -> bool:
        """True if there is such an item, also in a set that was removed."""
        try:
            return any(item.id == item_id for item in one_set(self._reader, item_id).items)
        except Problem:
            return False

    def find(self, item_id: str, *, even_removed: bool = False) -> Placed:
        """An item with its state; `Problem` if there is none. `even_removed` finds it also in a set that was tombstoned
        meanwhile."""
        held = one_set(self._reader, item_id)
        ledger = self.of_task(held.task_id)
        if even_removed and held.id not in ledger.states:
            ledger = Ledger([*ledger.sets, held], ledger.decisions, self._now, ledger.unread)
        return ledger.find(item_id)


class ReviewTransaction:
    """One act in one transaction of the agent store, at the time `now` (ms). `shown` are the digests of the views that
    the person was shown, by item."""

    def __init__(self, desk: Desk, tx: Transaction, now: int, shown: Shown = UNSEEN) -> None:
        self.desk, self.tx, self.now = desk, tx, now
        self._shown = shown
        self.ledgers = Ledgers(tx, now)

    def undecidable(self, placed: Placed) -> Outcome | None:
        """The refusal of an item on which a damaged decision may have been made; else None."""
        reason = self.ledgers.of_task(placed.set.task_id).undecidable(placed)
        return Outcome(placed.item.id, "failed", reason) if reason is not None else None

    def not_as_shown(self, placed: Placed) -> Outcome | None:
        """The refusal of an item that has changed since it was shown, with the present view (REV-64); else None."""
        shown = self._shown.get(placed.item.id)
        if shown is None:
            return None
        ledger, desk = self.ledgers.of_task(placed.set.task_id), self.desk
        lens = lens_of(self.tx, ledger, desk.actions, sovereignty=desk.sovereignty, named=[placed.set.id])
        with desk.journal.reading() as journal:
            view = item_view(journal, placed, lens)
        if view.shown == shown:
            return None
        message = Sentence("it is not as it was shown: look at it again, then decide")
        return Outcome(placed.item.id, "stale", message, stale=view.stale_fields, view=view)

    def no_longer_open(self, placed: Placed) -> Outcome | None:
        """The refusal of an item that the person cannot decide on any more as it was shown; else None."""
        if (refused := self.undecidable(placed)) is not None:
            return refused
        return already(placed) if placed.state.decided else self.not_as_shown(placed)

    def new_id(self) -> str:
        return self.desk.new_id(self.now)

    def write(self, placed: Placed, decision: ChangeDecision, along: Iterable[Twin]) -> None:
        """Write a decision, and the same on its twins, and add them to the ledger."""
        self.ledgers.add(placed.set.task_id, record.write(self.tx, decision, list(along)))


def already(placed: Placed) -> Outcome:
    return Outcome(placed.item.id, "already", DECIDED[placed.state.shown_status], placed.state.heads[-1].id)


def failed(item_id: str, problem: Exception) -> Outcome:
    """The outcome of an item that failed. Others go on."""
    if isinstance(problem, Problem):
        return Outcome(item_id, "failed", problem.sentence)
    why = f"{type(problem).__name__}: {problem}"
    return Outcome(item_id, "failed", Sentence("it failed unexpectedly ({why})", why=why))
