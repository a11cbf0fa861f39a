"""What identifies a proposal, and how it is said (docs/specs/10-review.md, section 3).

Two names, both SHA-256 in hexadecimal over canonical JSON:

    digest       [tool, arguments]                what would change: equal proposals have equal digests
    operation    [run key, task, action]          which effect this is: twins, which two devices made on
                 action = SHA-256 [tool, arguments, targets]    one trigger, share it, and so does a repeat

Prose is in neither: a model that words its reason anew has not proposed anything new, and a person's
edit before confirming does not make another operation.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from lottisync.entities import canonical
from lottisync.entities.schema import derived_id

PROSE = frozenset({"humanSummary", "reason", "evidenceEntryIds"})
"""Arguments that explain a change and are not the change."""


def effective(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without prose."""
    return {key: value for key, value in args.items() if key not in PROSE}


def digest(tool: str, args: Mapping[str, Any]) -> str:
    return _sha256([tool, effective(args)])


def operation_id(run_key: str, task_id: str, tool: str, args: Mapping[str, Any], targets: Iterable[str]) -> str:
    """`args` as they were proposed, `targets` the ids of the entities that exist and would change."""
    return _sha256([run_key, task_id, _sha256([tool, effective(args), sorted(targets)])])


def _sha256(value: Any) -> str:
    return hashlib.sha256(canonical.encode(value)).hexdigest()


def set_id(agent_id: str, run_key: str, host: str, ordinal: int) -> str:
    """The id of a run's `ordinal`-th set. `host` is the agent store's: two devices that wake on one
    trigger each write a set of their own. Under one id their items would meet in one register, and
    one device's items would be shown and the other's not."""
    return derived_id("changeSet", agent_id, run_key, host, str(ordinal))


def item_id(set_id: str, ordinal: int) -> str:
    """An item's id names its set, so that an item is found without a search."""
    return f"{set_id}.{ordinal}"


def set_of(item_id: str) -> str:
    return item_id.rpartition(".")[0]


def created_id(operation: str, type_name: str) -> str:
    """The id of what an operation creates: two devices that confirm it create one entity."""
    return derived_id(type_name, operation)


def minutes(count: int) -> str:
    return f"{count} minute" if count == 1 else f"{count} minutes"


def summary(tool: str, args: Mapping[str, Any], *, item_title: str | None = None, written: str | None = None) -> str:
    """What a person reads. Rendered from the arguments, so that it can't say anything else than what
    happens; `written` (the model's own sentence) is only for tools that this version doesn't know."""
    match tool, args:
        case "set_task_title", {"title": title}:
            return f'Set title to "{title}"'
        case "update_task_estimate", {"minutes": int(count)}:
            return f"Set estimate to {minutes(count)}"
        case "update_task_due_date", {"dueDate": day}:
            return f"Set due date to {day}"
        case "update_task_priority", {"priority": priority}:
            return f"Set priority to {priority}"
        case "set_task_status", {"status": status}:
            return f"Set status to {status}"
        case "set_task_language", {"languageCode": code}:
            return f'Set language to "{code}"'
        case "add_checklist_item", {"title": title}:
            return f'Add: "{title}"'
        case "update_checklist_item", {"id": str(item)}:
            return _item_summary(item, args, item_title)
    return written or f"{tool}({', '.join(sorted(effective(args)))})"


def _item_summary(item: str, args: Mapping[str, Any], title: str | None) -> str:
    name = f'"{title}"' if title else f"item {item[:8]}…"
    new_title = args.get("title")
    match args.get("isChecked"):
        case None:
            return f'Rename {name} to "{new_title}"'
        case True:
            said = f"Check off: {name}"
        case _:
            said = f"Uncheck: {name}"
    return said if new_title is None else f'{said} and rename it to "{new_title}"'
