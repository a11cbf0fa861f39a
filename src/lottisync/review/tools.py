"""The tools of the task agent: one source for what the model reads and what we accept
(docs/specs/10-review.md, section 2).

A tool's name, description, JSON schema, validation and class stand here and nowhere else, so they
cannot drift apart. The class decides what happens to a call:

    local       stays in the agent's own records (its report, its observations)
    immediate   changes the task at once (the language), or takes own proposals back when the wake ends
    deferred    becomes a proposal; a person decides

What a model sends is untrusted text. It may be fenced, encoded twice, or cut off; what can be read
without guessing is read, and anything else is answered with a sentence that says what was wrong, so
that the model can correct itself. Arguments are kept in their normal form: `"60"` and `60.0` are 60,
priorities are upper case, titles have single spaces. Equal proposals are then equal bytes.
"""

import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from lottisync.journal.tasks import (
    MAX_MINUTES,
    MAX_TITLE,
    checked_day,
    checked_language,
    checked_minutes,
    checked_priority,
    checked_status,
    checked_title,
)
from lottisync.journal.types import INVERSES, PRIORITIES, RELATIONS
from lottisync.problem import Problem

MAX_BATCH = 20
MAX_ARGUMENTS = 100_000
"""Characters of one call. Twenty items with titles and reasons take less than half."""
MAX_REASON = 2_000
MAX_SUMMARY = 500
MAX_OBSERVATION = 2_000
MAX_EVIDENCE = 20
MAX_ID = 128
MAX_RETRACTION = 500
MAX_LABELS = 3
"""Labels that one wake may propose; a task that is given more is not sorted by them."""

CONFIDENCES = ("very_high", "high", "medium", "low")
"""How sure a model says it is, the surest first."""

PROPOSED_STATUSES = ("OPEN", "GROOMED", "IN PROGRESS", "BLOCKED", "ON HOLD")
"""What a model may propose. DONE and REJECTED are the user's own to say."""

T = TypeVar("T")


class ParsedCall(NamedTuple):
    """An accepted call: the tool under its one name, and its arguments in normal form."""

    tool: str
    args: dict[str, Any]


class BadCall(NamedTuple):
    """A call that was not accepted. `text` is the tool result: why not, and what the model can do;
    `fault` is the first half alone, for a person whose edit is not accepted."""

    text: str
    fault: str = ""


# -- argument models


def _rule(check: Callable[[T], T]) -> Callable[[T], T]:
    def apply(value: T) -> T:
        try:
            return check(value)
        except Problem as problem:
            raise ValueError(problem.message) from None

    return apply


def _whole_number(value: Any) -> Any:
    """'60' and 60.0 are 60 (S4-19); a truth value is no number."""
    if isinstance(value, bool):
        raise ValueError("minutes are a number")
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise ValueError(f"minutes are a number; got {value!r}") from None
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"minutes are a finite number; got {value}")
        return round(value)
    return value


def _proposable(status: str) -> str:
    known = checked_status(status, "-")["status"]
    if known not in PROPOSED_STATUSES:
        raise Problem("bad-value", f"only the user sets {known}; propose one of {', '.join(PROPOSED_STATUSES)}")
    return str(known)


def _confidence(value: Any) -> Any:
    """Whatever is no known word is `medium`: not a reason to drop a label, and none to prefer it."""
    return value if value in CONFIDENCES else "medium"


def _relation(text: str) -> str:
    relation = "_".join(text.lower().replace("-", " ").replace("_", " ").split())
    if relation not in (*RELATIONS, *INVERSES):
        raise Problem("bad-value", f"a relation is one of {', '.join((*RELATIONS, *INVERSES))}; got {text!r}")
    return relation


class Arguments(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=False, validate_by_alias=True, extra="forbid")


Title = Annotated[str, AfterValidator(_rule(checked_title)), Field(json_schema_extra={"maxLength": MAX_TITLE})]
Id = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_ID)]
EntityId = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$")]
"""An id that becomes a part of another one, or of a register's path."""
Reason = Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_REASON)]
Relation = Annotated[str, AfterValidator(_rule(_relation)), Field(json_schema_extra={"enum": [*RELATIONS, *INVERSES]})]
DueDate = Annotated[str, AfterValidator(_rule(checked_day))]
Priority = Annotated[str, AfterValidator(_rule(checked_priority)), Field(json_schema_extra={"enum": list(PRIORITIES)})]
Evidence = Annotated[list[Id], Field(max_length=MAX_EVIDENCE)]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_OBSERVATION)]


class Proposed(Arguments):
    human_summary: Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_SUMMARY)] | None = Field(
        default=None,
        description='A plain sentence for the user: what this change does, e.g. "Set estimate to 2 hours".',
    )


class SetTaskTitle(Proposed):
    title: Title = Field(description="The new title.")


class UpdateTaskEstimate(Proposed):
    minutes: Annotated[
        int,
        BeforeValidator(_whole_number),
        AfterValidator(_rule(checked_minutes)),
        Field(json_schema_extra={"minimum": 1, "maximum": MAX_MINUTES}),
    ] = Field(description="The whole effort in minutes.")


class UpdateTaskDueDate(Proposed):
    due_date: DueDate = Field(description="The day, as YYYY-MM-DD.")


class UpdateTaskPriority(Proposed):
    priority: Priority = Field(description="P0 is the most urgent, P3 the least.")


class SetTaskStatus(Proposed):
    status: Annotated[
        str, AfterValidator(_rule(_proposable)), Field(json_schema_extra={"enum": list(PROPOSED_STATUSES)})
    ] = Field(description="The new status. Only the user sets DONE and REJECTED.")
    reason: Reason | None = Field(default=None, description="Required for BLOCKED and ON HOLD: what it waits for.")

    @model_validator(mode="after")
    def _explained(self) -> "SetTaskStatus":
        try:
            checked_status(self.status, self.reason)
        except Problem as problem:
            raise ValueError(problem.message) from None
        return self


class SetTaskLanguage(Arguments):
    language_code: Annotated[str, AfterValidator(_rule(checked_language))] = Field(
        description="The language that the task is written in, as a code like en or de."
    )
    confidence: Literal["high", "medium", "low"] | None = Field(default=None, description="How sure you are.")


class AddChecklistItem(Proposed):
    title: Title = Field(description="What is to be done.")


class NewItem(Arguments):
    title: Title = Field(description="What is to be done.")


class AddMultipleChecklistItems(Proposed):
    items: list[NewItem] = Field(min_length=1, max_length=MAX_BATCH, description="The items to add, in order.")


class ItemChange(Arguments):
    id: Id = Field(description="The id of the checklist item.")
    is_checked: bool | None = Field(
        default=None,
        description="New checked status. For items last set by the user, you must also provide a reason citing "
        "post-dated evidence. Without a reason, the isChecked change will be rejected for user-set items.",
    )
    title: Title | None = Field(default=None, description="The corrected title.")
    reason: Reason | None = Field(
        default=None,
        description="Required when changing isChecked on a user-set item. Must cite specific evidence (e.g., a "
        "recording or note) that postdates the user's last toggle. The system will reject isChecked changes on "
        "user-set items without a reason.",
    )
    evidence_entry_ids: Evidence | None = Field(
        default=None, description="The ids of the log entries that the reason cites; the user must have written them."
    )

    @model_validator(mode="after")
    def _says_something(self) -> "ItemChange":
        if self.is_checked is None and self.title is None:
            raise ValueError("an update changes isChecked, title, or both")
        return self


class UpdateChecklistItem(ItemChange, Proposed):
    pass


class UpdateChecklistItems(Proposed):
    items: list[ItemChange] = Field(min_length=1, max_length=MAX_BATCH, description="The items to change.")


class Completion(Arguments):
    id: Id = Field(description="The id of the checklist item.")
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_REASON)] = Field(
        description="Why it looks done: what was written, and when."
    )
    evidence_entry_ids: Evidence | None = Field(
        default=None, description="The ids of the log entries that the reason cites; the user must have written them."
    )


class SuggestChecklistCompletion(Proposed):
    items: list[Completion] = Field(min_length=1, max_length=MAX_BATCH, description="The items that look done.")


class LabelChoice(Arguments):
    id: EntityId = Field(description="The id of the label, out of those you may choose from.")
    confidence: Annotated[Literal["very_high", "high", "medium", "low"], BeforeValidator(_confidence)] = Field(
        default="medium", description="How sure you are that it fits. Labels with low confidence are not proposed."
    )


class AssignTaskLabel(LabelChoice, Proposed):
    pass


class AssignTaskLabels(Proposed):
    labels: list[LabelChoice] = Field(
        min_length=1, max_length=MAX_BATCH, description=f"The labels that fit best; at most {MAX_LABELS} are proposed."
    )


class CreateFollowUpTask(Proposed):
    title: Title = Field(description="What is to be done in the new task.")
    due_date: DueDate | None = Field(default=None, description="The day, as YYYY-MM-DD.")
    priority: Priority | None = Field(default=None, description="P0 is the most urgent, P3 the least. P2 if left out.")
    description: Annotated[str, StringConstraints(strip_whitespace=True, max_length=MAX_REASON)] | None = Field(
        default=None, description="What whoever does it has to know."
    )
    relation: Relation | None = Field(
        default=None, description="How this task stands to the new one; it is proposed as a link of its own."
    )


class LinkTask(Proposed):
    relation: Relation = Field(description="How this task stands to the other: this task <relation> the other.")
    target_task_id: EntityId = Field(
        description="The id of the other task; a follow-up task's is told when it is proposed."
    )


class Retraction(Arguments):
    id: Id = Field(description="The id of the proposal.")
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_RETRACTION)] = Field(
        description="Why the user need not decide on it any more."
    )


class RetractSuggestions(Arguments):
    proposals: list[Retraction] = Field(
        min_length=1, max_length=MAX_BATCH, description="Your own proposals that still wait for the user."
    )


class ChecklistProgress(Arguments):
    total: int = Field(ge=0)
    completed: int = Field(ge=0)


class UpdateReport(Arguments):
    """The report of seed 003, section 5.6, without `lastUpdated`, which we stamp."""

    tldr: Line = Field(description="Where the task stands, in two or three sentences.")
    title: Line | None = None
    goal: Line | None = None
    status: Line | None = None
    priority: Line | None = None
    estimate: Line | None = None
    due_date: Line | None = None
    achieved: Annotated[list[Line], Field(max_length=50)] = Field(default=[], description="What has been done.")
    remaining: Annotated[list[Line], Field(max_length=50)] = Field(default=[], description="What is still to do.")
    learnings: Annotated[list[Line], Field(max_length=50)] = Field(default=[], description="What was learnt.")
    checklist_progress: ChecklistProgress | None = None
    last_updated: str | None = Field(default=None, exclude=True, json_schema_extra={"deprecated": True})


class RecordObservations(Arguments):
    observations: list[Line] = Field(
        min_length=1, max_length=MAX_BATCH, description="Private notes worth remembering in later wakes."
    )


# -- the registry


class Tool(NamedTuple):
    """`offered` tools are shown to the model; the singular forms of batches are understood, but not offered."""

    name: str
    kind: Literal["local", "immediate", "deferred"]
    arguments: type[Arguments]
    description: str
    offered: bool = True


_SOVEREIGNTY = (
    "You can mark items as done/undone or correct titles. When an item was last toggled by the user, you must "
    "provide a reason citing evidence from AFTER the user's action to change its checked state. Title updates "
    "are always allowed."
)
_TOOLS = (
    Tool("set_task_title", "deferred", SetTaskTitle, "Propose a new title for the task."),
    Tool("update_task_estimate", "deferred", UpdateTaskEstimate, "Propose a time estimate for the task."),
    Tool("update_task_due_date", "deferred", UpdateTaskDueDate, "Propose a due date for the task."),
    Tool("update_task_priority", "deferred", UpdateTaskPriority, "Propose a priority for the task."),
    Tool(
        "set_task_status",
        "deferred",
        SetTaskStatus,
        "Propose a status for the task. BLOCKED and ON HOLD need a reason. Only the user sets DONE and REJECTED.",
    ),
    Tool(
        "set_task_language",
        "immediate",
        SetTaskLanguage,
        "Record the language that the task is written in. A language that the user chose is never changed.",
    ),
    Tool(
        "add_multiple_checklist_items",
        "deferred",
        AddMultipleChecklistItems,
        "Propose new checklist items; the user decides on each of them.",
    ),
    Tool(
        "update_checklist_items",
        "deferred",
        UpdateChecklistItems,
        f"Update one or more existing checklist items. {_SOVEREIGNTY}",
    ),
    Tool(
        "suggest_checklist_completion",
        "deferred",
        SuggestChecklistCompletion,
        "Suggest that checklist items are done, on the evidence of what was written. The user decides on each.",
    ),
    Tool(
        "assign_task_labels",
        "deferred",
        AssignTaskLabels,
        f"Propose labels for the task, at most {MAX_LABELS}, out of those you may choose from.",
    ),
    Tool(
        "create_follow_up_task",
        "deferred",
        CreateFollowUpTask,
        "Propose a new task for what goes beyond this one. The answer names the id that it will have, for link_task.",
    ),
    Tool("link_task", "deferred", LinkTask, "Propose a link from this task to another."),
    Tool(
        "retract_suggestions",
        "immediate",
        RetractSuggestions,
        "Take back proposals of your own that the user has not decided on and that no longer make sense.",
        offered=False,
    ),
    Tool("assign_task_label", "deferred", AssignTaskLabel, "Propose one label for the task.", offered=False),
    Tool("add_checklist_item", "deferred", AddChecklistItem, "Propose one new checklist item.", offered=False),
    Tool(
        "update_checklist_item",
        "deferred",
        UpdateChecklistItem,
        f"Update one existing checklist item. {_SOVEREIGNTY}",
        offered=False,
    ),
    Tool("update_report", "local", UpdateReport, "Write your report on the task; it replaces the earlier one."),
    Tool("record_observations", "local", RecordObservations, "Keep private notes for your later wakes."),
)
TOOLS = {tool.name: tool for tool in _TOOLS}
DEFERRED = frozenset(tool.name for tool in _TOOLS if tool.kind == "deferred")
IMMEDIATE = frozenset(tool.name for tool in _TOOLS if tool.kind == "immediate")
LOCAL = frozenset(tool.name for tool in _TOOLS if tool.kind == "local")
EXPLODED = {
    "add_multiple_checklist_items": ("items", "add_checklist_item"),
    "update_checklist_items": ("items", "update_checklist_item"),
    "suggest_checklist_completion": ("items", "update_checklist_item"),
    "assign_task_labels": ("labels", "assign_task_label"),
}
"""Batch tools: the array that is split, and the tool that each of its elements becomes (S1-21)."""
ALIASES = {
    "set_task_estimate": "update_task_estimate",
    "set_task_due_date": "update_task_due_date",
    "set_task_priority": "update_task_priority",
    "update_task_title": "set_task_title",
    "update_task_status": "set_task_status",
    "update_task_language": "set_task_language",
    "assign_labels": "assign_task_labels",
    "add_checklist_items": "add_multiple_checklist_items",
    "create_followup_task": "create_follow_up_task",
}


def definitions(*, retracting: bool = False) -> list[dict[str, Any]]:
    """`name`, `description` and `parameters` (a JSON schema) of every tool that a model is offered; with
    `retracting` also the one that takes proposals back, for whoever passes such calls to `Builder.queue`."""
    return [
        {"name": tool.name, "description": tool.description, "parameters": schema(tool.name)}
        for tool in _TOOLS
        if tool.offered or (retracting and tool.name == "retract_suggestions")
    ]


@cache
def schema(name: str) -> dict[str, Any]:
    """A tool's JSON schema without references, titles and nulls, which small servers don't understand."""
    raw = TOOLS[name].arguments.model_json_schema()
    plain = _plain(raw, raw.get("$defs", {}))
    assert isinstance(plain, dict)
    plain["properties"].pop("lastUpdated", None)
    return plain


def _plain(node: Any, shared: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_plain(part, shared) for part in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        referred = shared[node["$ref"].rpartition("/")[2]]
        return _plain({**referred, **{key: value for key, value in node.items() if key != "$ref"}}, shared)
    if "anyOf" in node:
        [only] = [part for part in node["anyOf"] if part != {"type": "null"}]
        return _plain({**only, **{k: v for k, v in node.items() if k not in ("anyOf", "default")}}, shared)
    kept = {key: value for key, value in node.items() if key not in ("$defs", "default")}
    if isinstance(kept.get("title"), str):
        del kept["title"]
    return {key: _plain(value, shared) for key, value in kept.items()}


# -- calls


def parse_call(name: str, arguments_text: str) -> ParsedCall | BadCall:
    """A call as a model sent it: the tool's name and the text of its arguments."""
    if len(arguments_text) > MAX_ARGUMENTS:
        return BadCall(f"{name[:80]}: the arguments have {len(arguments_text)} characters; {MAX_ARGUMENTS} are taken.")
    args = _recovered(arguments_text)
    if args is None:
        return BadCall(f"{name[:80]}: the arguments are not a JSON object. Send the call again with complete JSON.")
    return checked_call(name, args)


def checked_call(name: str, args: dict[str, Any]) -> ParsedCall | BadCall:
    """The call in its normal form; what is in normal form already stays as it is."""
    tool = TOOLS.get(ALIASES.get(name, name))
    if tool is None:
        offered = ", ".join(tool.name for tool in _TOOLS if tool.offered)
        return BadCall(f"There is no tool {name[:80]!r}. The tools are: {offered}.")
    try:
        parsed = tool.arguments.model_validate(_decoded_parts(args, schema(tool.name)))
    except ValidationError as error:
        fault = _explained(error)
        return BadCall(f"{tool.name} was not accepted: {fault}. Correct the arguments and call it again.", fault)
    return ParsedCall(tool.name, parsed.model_dump(by_alias=True, exclude_none=True))


def exploded(call: ParsedCall) -> list[ParsedCall]:
    """A batch as one call for each element, everything else as itself (S1-25)."""
    if call.tool not in EXPLODED:
        return [call]
    array, singular = EXPLODED[call.tool]
    more = {"isChecked": True} if call.tool == "suggest_checklist_completion" else {}
    return [ParsedCall(singular, {**element, **more}) for element in call.args[array]]


_FENCED = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


def _recovered(text: str) -> dict[str, Any] | None:
    """The object that a model meant: bare, encoded twice, fenced, or within other text."""
    if not text.strip():
        return {}
    for candidate in _candidates(text):
        value = _json(candidate)
        if isinstance(value, str):
            value = _json(value)
        if isinstance(value, dict):
            return value
    return None


def _candidates(text: str) -> Iterator[str]:
    yield text
    yield from _FENCED.findall(text)
    yield text[text.find("{") : text.rfind("}") + 1]


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def _decoded_parts(args: dict[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    """Arrays and objects that came as text of their own, decoded."""
    parts = dict(args)
    for key, value in args.items():
        expected = described["properties"].get(key, {})
        if expected.get("type") not in ("array", "object"):
            continue
        parts[key] = value = _json(value) or value if isinstance(value, str) else value
        if isinstance(value, list) and expected.get("items", {}).get("type") == "object":
            parts[key] = [(_json(part) or part) if isinstance(part, str) else part for part in value]
    return parts


def _explained(error: ValidationError) -> str:
    """Every fault in one line: where, what, and for short values which value."""
    faults = []
    for fault in error.errors(include_url=False):
        place = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            message = "there is no such argument"
        faults.append(f"{place}: {message}" if place else message)
    return "; ".join(faults)
