"""The arguments of tools: frozen pydantic models, one for each tool (docs/specs/10-review.md, section 2).

What a model sends is untrusted. Validation brings it to one normal form: `"60"` and `60.0` are 60, priorities are upper
case, titles have single spaces. Equal proposals are then equal bytes. A class of arguments has no docstring where its
schema is shown to a model, since pydantic would put that into the schema.
"""

import math
import os
from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, StringConstraints
from pydantic.alias_generators import to_camel

from lottisync.journal.task_values import MAX_TITLE, checked_day, checked_priority, checked_title
from lottisync.journal.types import PRIORITIES
from lottisync.problem import Problem, Sentence
from lottisync.review.policy import Policy
from lottisync.shown import quoted
from lottisync.store.transaction import Transaction

MAX_BATCH = 20
MAX_REASON = 2_000
MAX_SUMMARY = 500
MAX_EVIDENCE = 20
MAX_ID = 128

# No program that is installed beside this one hooks into the arguments, and the search for one takes a while.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

INCOMPLETE = "incomplete"
"""The key of the validation context that says that words may be missing: the arguments come from a receipt."""
EDITED = "edited"
"""The key of the validation context for the arguments as they were proposed, if a person has edited them."""

T = TypeVar("T")


def rule(check: Callable[[T], T]) -> Callable[[T], T]:
    """A check of the journal, as pydantic calls it."""

    def apply(value: T) -> T:
        try:
            return check(value)
        except Problem as problem:
            raise ValueError(problem.sentence) from None

    return apply


def whole_number(value: Any) -> Any:
    """'60' and 60.0 are 60 (S4-19); a truth value is not a number."""
    if isinstance(value, bool):
        raise ValueError(Sentence("minutes are a number"))
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise ValueError(Sentence("minutes are a number; got {quoted}", quoted=quoted(value))) from None
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(Sentence("minutes are a finite number; got {value}", value=value))
        return round(value)
    return value


class Arguments(BaseModel):
    """Typed arguments: camelCase outside, no unknown ones, and frozen."""

    # Built when it is used first: a command reads proposals of a few tools, and building all takes a fifth of its time.
    model_config = ConfigDict(
        defer_build=True,
        alias_generator=to_camel,
        validate_by_name=False,
        validate_by_alias=True,
        extra="forbid",
        frozen=True,
    )

    def arguments(self) -> dict[str, Any]:
        """The arguments in the form in which they are stored."""
        return self.model_dump(by_alias=True, exclude_none=True)


class Call(Arguments):
    """The arguments of one tool, with what a model is told about the tool. Tools that are not `offered` are
    understood, and not shown: the singular forms of batches."""

    tool: ClassVar[str]
    purpose: ClassVar[str]
    offered: ClassVar[bool] = True
    aliases: ClassVar[tuple[str, ...]] = ()
    when: ClassVar[str] = ""
    """When to call it, for the agent's prompt."""
    elements: ClassVar[str | None] = None
    """The argument that is a list. An element of it that is malformed is left out, and the others are taken."""

    _left_out: int = PrivateAttr(0)
    _faults: tuple[str, ...] = PrivateAttr(())

    def without(self, count: int, faults: Iterable[str]) -> Self:
        """This call, which knows how many elements were left out of it, and what is wrong with them."""
        self._left_out, self._faults = count, tuple(faults)
        return self

    def answered(self, text: str) -> str:
        """The answer to the model, with the elements that were malformed (REV-90)."""
        if not self._left_out:
            return text
        faults = "\n".join(f"- {fault}" for fault in self._faults)
        return f"{text}\n{self._left_out} malformed item(s) skipped. Correct them and send only them again:\n{faults}"


class ImmediateCall(Call):
    """A call that is carried out at once, without a verdict (REV-6): what it writes changes nothing that a person works
    with."""

    def at_once(self, tx: Transaction, task_id: str, policy: Policy | None = None) -> str:
        """Do it in a transaction of the journal, with the agent's precedence; returns the answer for the model. With
        `policy` the agent must be allowed in the task's category."""
        raise NotImplementedError


TitleText = Annotated[str, AfterValidator(rule(checked_title)), Field(json_schema_extra={"maxLength": MAX_TITLE})]
Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ID)]
EntityIdText = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")]
"""An id that becomes a part of another one, or of a register's path."""
ReasonText = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_REASON)]
DueDate = Annotated[str, AfterValidator(rule(checked_day))]
Priority = Annotated[str, AfterValidator(rule(checked_priority)), Field(json_schema_extra={"enum": list(PRIORITIES)})]
Evidence = Annotated[list[Id], Field(max_length=MAX_EVIDENCE)]
