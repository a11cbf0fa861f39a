"""What identifies a proposal, and how it is said (docs/specs/10-review.md, section 3).

Two names, both SHA-256 in hexadecimal over canonical JSON:

    digest       [tool, arguments]                what would change: equal proposals have equal digests
    operation    [run key, task, action]          which effect this is: twins, which two devices made on
                 action = SHA-256 [tool, arguments, targets]    one trigger, share it, and so does a repeat

Prose is in neither: a model that words its reason anew has not proposed anything new, and a person's
edit before confirming does not make another operation.
"""

from collections.abc import Iterable, Mapping
from gettext import NullTranslations
from typing import Any

from lottisync.causality.digest import sha256
from lottisync.entities import canonical
from lottisync.entities.schema import derived_id
from lottisync.review.language import marked, words

PROSE = frozenset({"humanSummary", "reason", "evidenceEntryIds", "confidence"})
"""Arguments that explain a change and are not the change."""


def effective(args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without prose."""
    return {key: value for key, value in args.items() if key not in PROSE}


def digest(tool: str, args: Mapping[str, Any]) -> str:
    return _sha256([tool, effective(args)])


def operation_id(run_key: str, task_id: str, tool: str, args: Mapping[str, Any], targets: Iterable[str]) -> str:
    """`args` as they were proposed, `targets` the ids of the entities that exist and would change."""
    return _sha256([run_key, task_id, _sha256([tool, effective(args), sorted(targets)])])


def undo_operation(operation: str) -> str:
    """The operation that takes another one back; every device that undoes it names the same."""
    return _sha256(["undo", operation])


def _sha256(value: Any) -> str:
    return sha256(canonical.encode(value)).hex()


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


def summary(
    tool: str,
    args: Mapping[str, Any],
    *,
    item_title: str | None = None,
    written: str | None = None,
    language: str = "en",
) -> str:
    """What a person reads. Rendered from the arguments, so that it can't say anything else than what
    happens; `written` (the model's own sentence) is only for tools that this version doesn't know."""
    said = words(language)
    match tool, args:
        case "set_task_title", {"title": title}:
            return said.gettext('Set title to "{title}"').format(title=title)
        case "update_task_estimate", {"minutes": int(count)}:
            return said.ngettext("Set estimate to {count} minute", "Set estimate to {count} minutes", count).format(
                count=count
            )
        case "update_task_due_date", {"dueDate": day}:
            return said.gettext("Set due date to {day}").format(day=day)
        case "update_task_priority", {"priority": priority}:
            return said.gettext("Set priority to {priority}").format(priority=priority)
        case "set_task_status", {"status": status}:
            return said.gettext("Set status to {status}").format(status=status)
        case "set_task_language", {"languageCode": code}:
            return said.gettext('Set language to "{code}"').format(code=code)
        case "add_checklist_item", {"title": title}:
            return said.gettext('Add: "{title}"').format(title=title)
        case "update_checklist_item", {"id": str(item)}:
            name = f'"{item_title}"' if item_title else said.gettext("item {id}…").format(id=item[:8])
            return _item_summary(said, name, args)
        case "assign_task_label", {"id": str(label)}:
            return said.gettext('Assign label: "{name}"').format(name=item_title or label[:8] + "…")
        case "create_follow_up_task", {"title": title}:
            return said.gettext('Create follow-up task: "{title}"').format(title=title)
        case "link_task", {"relation": str(relation), "targetTaskId": str(target)} if relation in LINKED:
            name = f'"{item_title}"' if item_title else said.gettext("task {id}…").format(id=target[:8])
            return said.gettext(LINKED[relation]).format(name=name)
    return written or f"{tool}({', '.join(sorted(effective(args)))})"


LINKED: Mapping[str, str] = {
    "relates_to": marked("Link: this task relates to {name}"),
    "blocks": marked("Link: this task blocks {name}"),
    "is_blocked_by": marked("Link: this task is blocked by {name}"),
    "follows_up_on": marked("Link: this task follows up on {name}"),
    "has_follow_up": marked("Link: this task has the follow-up {name}"),
    "duplicates": marked("Link: this task duplicates {name}"),
    "is_duplicated_by": marked("Link: this task is duplicated by {name}"),
    "fixes": marked("Link: this task fixes {name}"),
    "is_fixed_by": marked("Link: this task is fixed by {name}"),
    "supersedes": marked("Link: this task supersedes {name}"),
    "is_superseded_by": marked("Link: this task is superseded by {name}"),
}


def _item_summary(said: NullTranslations, name: str, args: Mapping[str, Any]) -> str:
    title = args.get("title")
    match args.get("isChecked"), title:
        case None, _:
            text = said.gettext('Rename {name} to "{title}"')
        case True, None:
            text = said.gettext("Check off: {name}")
        case True, _:
            text = said.gettext('Check off: {name} and rename it to "{title}"')
        case _, None:
            text = said.gettext("Uncheck: {name}")
        case _:
            text = said.gettext('Uncheck: {name} and rename it to "{title}"')
    return text.format(name=name, title=title)
