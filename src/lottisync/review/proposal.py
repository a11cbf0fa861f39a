"""The names of a proposal (docs/specs/10-review.md, section 3).

Two names, both SHA-256 in hexadecimal over canonical JSON:

    digest       [tool, arguments]                what would change: equal proposals have equal digests
    operation    [run key, task, action]          which effect this is: twins, which two devices made on
                 action = SHA-256 [tool, arguments, targets]    one trigger, share it, and so does a repeat

Prose is in neither: the same change with another reason is the same proposal, and a person's edit before
confirming does not make another operation.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from lottisync.causality.digest import sha256
from lottisync.entities import canonical
from lottisync.entities.schema import derived_id

CITATIONS = frozenset({"evidenceEntryIds"})
"""Arguments that cite what a change rests on, by ids."""
PROSE = frozenset({"humanSummary", "reason", "confidence"}) | CITATIONS
"""Arguments that explain a change and are not part of it."""


def effective(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without prose."""
    return {key: value for key, value in args.items() if key not in PROSE}


def prose(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that explain the change."""
    return {key: value for key, value in args.items() if key in PROSE}


def digest(tool: str, args: Mapping[str, Any]) -> str:
    return _sha256([tool, effective(args)])


def likeness(tool: str, args: Mapping[str, Any], titles: Collection[str]) -> str:
    """The digest by which proposals are alike for a person: capitals and white space in the arguments `titles` do not
    count."""
    return digest(tool, {key: plain(value) if key in titles else value for key, value in args.items()})


def plain(text: Any) -> Any:
    """A text without its capitals, and with one space for any white space."""
    return " ".join(text.split()).casefold() if isinstance(text, str) else text


def operation_id(run_key: str, task_id: str, tool: str, args: Mapping[str, Any], targets: Iterable[str]) -> str:
    """`args` as they were proposed, `targets` the ids of the entities that exist and would change."""
    return _sha256([run_key, task_id, _sha256([tool, effective(args), sorted(targets)])])


def undo_operation(operation: str) -> str:
    """The operation that undoes another one. It has the same name on every device."""
    return _sha256(["undo", operation])


def _sha256(value: Any) -> str:
    return sha256(canonical.encode(value)).hex()


def set_id(agent_id: str, run_key: str, host: str, ordinal: int) -> str:
    """The id of a run's `ordinal`-th set. `host` is the agent store's: if two devices wake on one trigger, each
    writes a set of its own. Under one id their items would be siblings of one register, and only one
    device's items would be shown."""
    return derived_id("changeSet", agent_id, run_key, host, str(ordinal))


def item_id(set_id: str, ordinal: int) -> str:
    """An item's id names its set, so that an item is found without a search."""
    return f"{set_id}.{ordinal}"


def set_of(item_id: str) -> str:
    return item_id.rpartition(".")[0]


def created_id(operation: str, type_name: str) -> str:
    """The id of the entity that an operation creates, so that two devices that confirm it create one entity."""
    return derived_id(type_name, operation)


def unreadable(tool: str, args: Mapping[str, Any], written: str | None) -> str:
    """The summary of a proposal that this version cannot read: the model's own sentence, or else the call."""
    return written or f"{tool}({', '.join(sorted(effective(args)))})"
