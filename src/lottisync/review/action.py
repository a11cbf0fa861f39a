"""What the confirmation engine asks of a thing that can be proposed: the `Action` port (docs/specs/10-review.md,
section 5).

An action is one call of one tool, read once: its arguments are typed and frozen, and the same object goes from the
call of a model to the write in the journal. The engine knows no tool. It keeps proposals, asks the person and plays
sagas; what a proposal means, the action says:

    what it is          tool, arguments, target, values
    what is there       look, obstacle, current, redundant, objection
    what is shown       name, summary, changes
    what it does        writes, carry_out, on_rejection

An action is one class in one file (`lottisync.journal.actions`). Whoever builds the program gives the engine
`Actions`, the registry that reads what is stored. What it cannot read is `Unreadable`: it is shown and can be
rejected.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import msgspec

from lottisync.causality.vector_clock import Clock
from lottisync.entities.entity import Entity
from lottisync.review.terms import Terms
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction


class Grade(StrEnum):
    """What the cited evidence is worth against the write that a proposal would replace."""

    NONE = "none"
    FOLLOWS = "follows"
    UNKNOWN = "unknown"
    BEFORE = "before"
    UNFIT = "unfit"


class Sight(NamedTuple):
    """What the journal holds of a proposal's task and target at one moment. `beside` is what stands beside something
    that is created, `other` the entity that is to be joined, `grade` what the cited evidence is worth, `unfit` why a
    cited entry is no evidence at all."""

    task: Entity | None = None
    target: Entity | None = None
    beside: Sequence[Entity] = ()
    other: Entity | None = None
    grade: Grade = Grade.NONE
    unfit: str | None = None


class Change(msgspec.Struct, frozen=True, rename="camel"):
    """A field as it is shown: `before` is what is there now, `after` what is proposed."""

    path: str
    before: Any = None
    after: Any = None


class Cited(msgspec.Struct, frozen=True, rename="camel"):
    """What a proposal cites as its reason: the id, and the words as they are now."""

    id: str
    text: str = ""
    at: str = ""


class Deed(NamedTuple):
    """A confirmed action that is to be written: for whom (`agent_id`), as which operation, at which time (ms), over
    what is in `sight`. `writes` are the registers that would change; without any, the receipt alone is written."""

    task_id: str
    agent_id: str
    operation: str
    at: int
    sight: Sight
    writes: Mapping[str, Any]


class Unreadable(NamedTuple):
    """Why a stored proposal cannot be read by this version."""

    reason: str


class Action(Protocol):
    """One change that an agent may propose. See the module's docstring for the parts."""

    tool: ClassVar[str]
    companions: ClassVar[Mapping[str, tuple[str, ...]]]
    """Register -> the registers that are written together with it and never by themselves."""
    creates: ClassVar[str | None]
    """The type of what it creates; the new id is derived from the operation."""
    builds: ClassVar[bool]
    """Whether other proposals may build on what it creates: they wait for it, and form a group with it."""
    makes_target: ClassVar[bool]
    """Whether its write makes the target where there is none; undoing removes it again."""
    guarded: ClassVar[frozenset[str]]
    """The registers that `objection` speaks of."""
    marks_rejection: ClassVar[bool]
    """Whether its rejection is written to the journal (`on_rejection`)."""

    def arguments(self) -> dict[str, Any]:
        """The arguments as they are stored, in normal form: one proposal, one form."""

    def identity(self) -> dict[str, Any]:
        """The arguments that make it this proposal and no other; the others are details of it."""

    def target(self, task_id: str) -> str:
        """The id of the entity that would change; for a creation, the task's."""

    def values(self) -> dict[str, Any]:
        """Register of the target -> proposed value; empty for a creation."""

    def needs(self) -> str | None:
        """The id of an entity that another proposal may have to create first."""

    def created_name(self) -> str:
        """The name of what it creates; '' if it creates nothing."""

    def along(self, created: str) -> Sequence["Action"]:
        """What is proposed together with it, about the entity `created` that it will create."""

    def created_along(self, operation: str) -> Sequence[str]:
        """The ids of what is created beside the entity itself."""

    def is_about(self, entity_id: str) -> bool:
        """Whether it names that entity as its target."""

    def look(self, reader: Reader, task_id: str) -> Sight: ...

    def obstacle(self, sight: Sight, task_id: str, terms: Terms) -> str | None:
        """Why the target cannot be changed at all, or not by this agent."""

    def hindrance(self, sight: Sight, task_id: str, terms: Terms, others: Sequence["Action"]) -> str | None:
        """Why it is not to be proposed, beside the `others` of the same wake."""

    def current(self, sight: Sight) -> dict[str, Any]:
        """Register -> value that is there now, for each of `values`."""

    def redundant(self, sight: Sight) -> str | None:
        """The phrase that says that all of it is so already; None if it would change something."""

    def objection(self, sight: Sight, terms: Terms) -> str | None:
        """What the guard has against its guarded registers."""

    def unguarded(self) -> Self | None:
        """The action without what the guard withholds; None if nothing is left."""

    def order_unknown(self, sight: Sight) -> bool:
        """Whether what it cites was written beside what it replaces, and not after it."""

    def cited(self, reader: Reader) -> list[Cited]:
        """What it cites, as it reads now."""

    def evidence_after(self, reader: Reader, knowledge: Clock) -> bool:
        """Whether it cites something that the user wrote and that was written by somebody who knew `knowledge`."""

    def said_on(self, reader: Reader, task_id: str) -> Sequence[tuple[Entity, str]]:
        """Where a person says something about the task in words: entities, each with the register of the words."""

    def newer(self, path: str, value: Any) -> str:
        """How a register that was written since is said to the model."""

    def heading(self, sight: Sight) -> str:
        """The words before an answer about one element of a batch."""

    def name(self, sight: Sight) -> str | None:
        """The name of what it is about, for the summary."""

    def summary(self, name: str | None = None, language: str = "en") -> str:
        """The sentence for a person, in their language."""

    def changes(self, sight: Sight, name: str | None) -> list[Change]:
        """Field by field what is there now and what would be."""

    def writes(self, sight: Sight) -> dict[str, Any]:
        """The registers that would change; for a creation those of the new entity."""

    def holder(self, sight: Sight) -> Entity | None:
        """The entity that takes the receipt where nothing is left to create."""

    def carry_out(self, tx: Transaction, deed: Deed) -> None:
        """Write effect and receipt, as one write of the entity that has the receipt."""

    def on_rejection(self, tx: Transaction, task_id: str, *, rejected: bool) -> None:
        """Note in the journal that it was rejected, or that it is not any more."""


class Proposable(Protocol):
    """What a model may send in one call: an action, or several at once."""

    @property
    def is_batch(self) -> bool: ...

    @property
    def human_summary(self) -> str | None: ...

    def parts(self) -> Sequence[Action]:
        """The actions, in the order in which they are considered."""

    def at_once(self, tx: Transaction, part: Action, task_id: str, agent_id: str, terms: Terms) -> str | None:
        """Do a part without a verdict, where the person has allowed that; None where they are to be asked."""

    def may_act(self, terms: Terms) -> bool:
        """Whether `at_once` is to be tried."""


class Actions(Protocol):
    """The registry: what this version can read."""

    def read(self, tool: str, args: Mapping[str, Any], *, complete: bool = True) -> Action | Unreadable:
        """A proposal as it is stored. Without `complete` the words of it may be missing, as in a receipt."""
