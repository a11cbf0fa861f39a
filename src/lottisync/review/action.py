"""What the confirmation engine asks of a thing that can be proposed: the `Action` port (docs/specs/10-review.md,
section 5).

An action is one call of one tool, read once: its arguments are typed and frozen, and this one object goes from the call
of a model to the write in the journal. The engine knows no tool. It keeps proposals, asks the person and runs sagas.
The action knows what a proposal means:

    identity            tool, arguments, target, values
    present state       read_target, planned, obstacle, current, redundant, objection
    display             name, summary, changes
    effect              writes, carry_out, on_rejection

An action is one class in one file (`lottisync.journal.actions`). The program gives the engine `Actions`, the
registry that reads stored proposals. A proposal that it cannot read is `Unreadable`: it is shown, and can be rejected.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import msgspec

from lottisync.causality.vector_clock import Clock
from lottisync.entities.entity import Entity
from lottisync.review.policy import Policy
from lottisync.store.instant import InstantText
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


class Grade(StrEnum):
    """How the cited evidence relates to the write that a proposal would replace."""

    NONE = "none"
    FOLLOWS = "follows"
    UNKNOWN = "unknown"
    BEFORE = "before"
    UNFIT = "unfit"


class TargetView(NamedTuple):
    """A proposal's task and target as the journal holds them at one moment. `beside` are the neighbours of something
    that is created, `other` is a second entity that it is about, `grade` the grade of the cited evidence, `unfit` the
    reason why a cited entry is not evidence at all."""

    task: Entity | None = None
    target: Entity | None = None
    beside: Sequence[Entity] = ()
    other: Entity | None = None
    grade: Grade = Grade.NONE
    unfit: str | None = None


class FieldChange(msgspec.Struct, frozen=True, rename="camel"):
    """A field as it is shown: `before` is the present value, `after` the proposed one."""

    path: str
    before: Any = None
    after: Any = None


class Cited(msgspec.Struct, frozen=True, rename="camel"):
    """An entry that a proposal cites as its reason: the id, its present text, and when it was written; null if the
    entry is not here."""

    id: str
    text: str | None
    at: InstantText | None


class EffectWrite(NamedTuple):
    """The write of a confirmed action: proposed by `agent_id`, as which operation, at which time (ms), over
    `target_view`. `writes` are the registers that change. If there are none, only the receipt is written."""

    task_id: str
    agent_id: str
    operation: str
    at: int
    target_view: TargetView
    writes: Mapping[str, Any]


class Unreadable(NamedTuple):
    """Why a stored proposal cannot be read by this version."""

    reason: str


class Action(Protocol):
    """One change that an agent may propose. See the module's docstring for the parts. It is one port: the engine knows
    nothing else of an action, so every question that it may ask of one is here.

    A `policy` carries the agent as it is stored. What the person allows it beyond the engine's own rules, the action
    reads there."""

    tool: ClassVar[str]
    companions: ClassVar[Mapping[str, tuple[str, ...]]]
    """Register -> the registers that are written with it, and never alone."""
    creates: ClassVar[str | None]
    """The type of the entity that it creates, if any. The new id is derived from the operation."""
    builds: ClassVar[bool]
    """True if other proposals may use the entity that it creates. They wait for it, and form a group with it."""
    makes_target: ClassVar[bool]
    """True if its write creates a missing target. Undoing removes it again."""
    guarded: ClassVar[frozenset[str]]
    """The registers that `objection` is about."""
    titles: ClassVar[frozenset[str]]
    """The arguments whose capitals and white space do not make another proposal."""
    unit: ClassVar[str]
    """The unit of the action's only value, as an agent reads it: `min`; '' if there is none."""
    subject: ClassVar[frozenset[str]]
    """The arguments that say which thing it is about. A person's edit leaves them as they were proposed."""
    marks_rejection: ClassVar[bool]
    """True if its rejection is written to the journal (`on_rejection`)."""

    def arguments(self) -> dict[str, Any]:
        """The arguments as they are stored, in normal form. Equal proposals have equal arguments."""

    def identity(self) -> dict[str, Any]:
        """The arguments by which two proposals are the same; all other arguments are details."""

    def target(self, task_id: str) -> str:
        """The id of the entity that would change; for a creation, the task's."""

    def values(self) -> dict[str, Any]:
        """Register of the target -> proposed value; empty for a creation."""

    def needs(self) -> str | None:
        """The id of an entity that must exist first; another proposal may create it."""

    def created_name(self) -> str:
        """The name of the entity that it creates; '' if it creates nothing."""

    def made_as(self) -> dict[str, Any]:
        """Register -> value of what it creates, for the registers that the person has agreed to: if the person changes
        one of them, the proposal was not right. Empty if it creates nothing."""

    def along(self, created: str) -> Sequence["Action"]:
        """The actions that are proposed with it, about the entity `created` that it will create."""

    def created_along(self, operation: str, task_id: str) -> Sequence[str]:
        """The ids of the further entities that it creates, or may create. What belongs to them goes with them."""

    def is_about(self, entity_id: str) -> bool:
        """True if that entity is its target."""

    def read_target(self, reader: Reader, task_id: str) -> TargetView: ...

    def planned(self, target_view: TargetView) -> TargetView:
        """The view if what it `needs` does not exist yet, and waits for the person, too: what stands in for it."""

    def obstacle(self, target_view: TargetView, task_id: str, policy: Policy) -> str | None:
        """Why the target cannot be changed at all, or not by this agent."""

    def hindrance(
        self, target_view: TargetView, task_id: str, policy: Policy, others: Sequence["Action"]
    ) -> str | None:
        """Why it must not be proposed, given the `others` of the same wake."""

    def current(self, target_view: TargetView) -> dict[str, Any]:
        """Register -> present value, for each register of `values`."""

    def redundant(self, target_view: TargetView) -> str | None:
        """The sentence that says that nothing would change; None if something would."""

    def objection(self, target_view: TargetView, policy: Policy) -> str | None:
        """Why the guard withholds its guarded registers; None if it does not."""

    def unguarded(self) -> Self | None:
        """The action without the withheld registers; None if nothing is left."""

    def order_unknown(self, target_view: TargetView) -> bool:
        """True if the cited entries are concurrent with the write that would be replaced, and not later."""

    def cited(self, reader: Reader) -> list[Cited]:
        """The entries that it cites, with their present text."""

    def evidence_after(self, reader: Reader, knowledge: Clock) -> bool:
        """True if it cites an entry by the user whose author knew all of `knowledge`."""

    def said_on(self, reader: Reader, task_id: str) -> Sequence[tuple[Entity, str]]:
        """Where a person says something about the task in words: entities, each with the register of the words."""

    def newer(self, path: str, value: Any) -> str:
        """The sentence for the model about a register that was written since."""

    def heading(self, target_view: TargetView) -> str:
        """The beginning of an answer about one element of a batch."""

    def name(self, target_view: TargetView) -> str | None:
        """The name of its target, for the summary."""

    def summary(self, name: str | None = None, language: str = "en") -> str:
        """The sentence for a person, in their language."""

    def changes(self, target_view: TargetView, name: str | None) -> list[FieldChange]:
        """For each field the present value and the proposed one."""

    def writes(self, target_view: TargetView) -> dict[str, Any]:
        """The registers that would change. For a creation: the registers of the new entity."""

    def holder(self, target_view: TargetView) -> Entity | None:
        """The entity that gets the receipt if nothing is left to create."""

    def carry_out(self, tx: Transaction, effect_write: EffectWrite) -> None:
        """Write the effect and the receipt, as one write of one entity."""

    def on_rejection(self, tx: Transaction, task_id: str, *, rejected: bool) -> None:
        """Write to the journal that it was rejected, or that it no longer is."""


class Proposable(Protocol):
    """The content of one call of a model: one action, or several."""

    @property
    def is_batch(self) -> bool: ...

    @property
    def human_summary(self) -> str | None: ...

    def parts(self) -> Sequence[Action]:
        """The actions, in the order in which they are considered."""

    def at_once(self, tx: Transaction, part: Action, task_id: str, agent_id: str, policy: Policy) -> str | None:
        """Carry out a part without a verdict, if the person has allowed that. None if the person must be asked."""

    def may_act(self, policy: Policy) -> bool:
        """True if `at_once` should be tried."""


class Actions(Protocol):
    """The registry of the actions that this version can read."""

    def read(
        self, tool: str, args: Mapping[str, Any], *, complete: bool = True, edits: Mapping[str, Any] | None = None
    ) -> Action | Unreadable:
        """Read a stored proposal. With `complete=False` its prose may be missing, as in a receipt. `edits` are the
        proposed arguments of which `args` are a person's edit: a person may say more than an agent may propose."""

    def subject(self, tool: str) -> frozenset[str]:
        """`Action.subject` of a tool; empty if this version does not know the tool."""

    def unit(self, tool: str) -> str:
        """`Action.unit` of a tool; '' if this version does not know the tool."""

    def name_of(self, entity: Entity) -> str | None:
        """What people call an entity that proposals are about, or that belongs to one; None if it has no name."""
