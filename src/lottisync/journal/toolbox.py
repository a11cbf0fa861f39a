"""The registry of tools: one source for the schemas that a model gets and for the check of its calls
(docs/specs/10-review.md, section 2, REV-1 to REV-4).

A tool's name, description, arguments and meaning are in one file (`lottisync.journal.actions`), so they cannot
contradict each other. The list here is the order in which a model sees them.

A model's call is untrusted text. It may be fenced, encoded twice, or cut off. If it can be read without guessing, it is
read. Otherwise the answer says what was wrong, so that the model can correct itself. The result is a frozen object, and
this object is proposed, stored and carried out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import Any, NamedTuple

import msgspec
from pydantic import ValidationError

from lottisync.entities.entity import Entity
from lottisync.journal.arguments import EDITED, INCOMPLETE, Call
from lottisync.journal.task_action import TaskAction
from lottisync.problem import Invalid, Sentence, counted
from lottisync.review.action import Unreadable
from lottisync.review.proposal import CITATIONS

MAX_ARGUMENTS = 100_000
"""Characters of one call. Twenty items with titles and reasons take less than half."""
TASK_TOOLS = (
    "set_task_title:SetTaskTitle",
    "update_task_estimate:UpdateTaskEstimate",
    "update_task_due_date:UpdateTaskDueDate",
    "update_task_priority:UpdateTaskPriority",
    "set_task_status:SetTaskStatus",
    "set_task_language:SetTaskLanguage",
    "add_multiple_checklist_items:AddMultipleChecklistItems",
    "update_checklist_items:UpdateChecklistItems",
    "suggest_checklist_completion:SuggestChecklistCompletion",
    "assign_task_labels:AssignTaskLabels",
    "create_follow_up_task:CreateFollowUpTask",
    "link_task:LinkTask",
    "migrate_checklist_items:MigrateChecklistItems",
    "create_time_entry:CreateTimeEntry",
    "update_time_entry:UpdateTimeEntry",
    "update_running_timer:UpdateRunningTimer",
    "assign_task_label:AssignTaskLabel",
    "add_checklist_item:AddChecklistItem",
    "update_checklist_item:UpdateChecklistItem",
    "migrate_checklist_item:MigrateChecklistItem",
)
"""MODULE:CLASS in `lottisync.journal.actions`, in the order in which they are shown to a model. A tool is called as its
module is. It is imported when it is asked for: a page shows proposals of few tools, and to load all takes long."""


class Tools(Mapping[str, type[Call]]):
    """Tools by their names, each loaded when it is asked for."""

    def __init__(self, tools: Sequence[str | type[Call]]) -> None:
        self._known = {tool.partition(":")[0] if isinstance(tool, str) else tool.tool: tool for tool in tools}

    def __getitem__(self, name: str) -> type[Call]:
        known = self._known[name]
        if isinstance(known, str):
            module, _, attribute = known.partition(":")
            known = getattr(import_module(f"lottisync.journal.actions.{module}"), attribute)
            self._known[name] = known
        return known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class BadCall(NamedTuple):
    """A call that was not accepted. `text` is the tool result: why not, and what the model can do;
    `fault` is the first half alone, for a person whose edit is not accepted."""

    text: str
    fault: str = ""


class Toolbox:
    """Some tools by their names, given as classes or as in `TASK_TOOLS`. It is also the engine's registry of actions
    (`lottisync.review.action.Actions`)."""

    def __init__(self, tools: Sequence[str | type[Call]]) -> None:
        self.tools = Tools(tools)

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Other names, and the tools that they mean."""
        return {alias: tool.tool for tool in self.tools.values() for alias in tool.aliases}

    def definitions(self, *also: type[Call]) -> list[dict[str, Any]]:
        """`name`, `description` and `parameters` (a JSON schema) of every tool that a model is offered, and of those in
        `also`."""
        return [
            {"name": tool.tool, "description": tool.purpose, "parameters": schema(tool)}
            for tool in self.tools.values()
            if tool.offered or tool in also
        ]

    def parse(self, name: str, arguments_text: str) -> Call | BadCall:
        """A call as a model sent it: the tool's name and the text of its arguments."""
        if len(arguments_text) > MAX_ARGUMENTS:
            length = len(arguments_text)
            return BadCall(f"{name[:80]}: the arguments have {length} characters; {MAX_ARGUMENTS} are taken.")
        args = _recovered(arguments_text)
        if args is None:
            return BadCall(f"{name[:80]}: the arguments are not a JSON object. Send the call again with complete JSON.")
        return self.checked(name, args)

    def checked(self, name: str, args: Mapping[str, Any]) -> Call | BadCall:
        """The call in its normal form."""
        tool = self.tools.get(self.aliases.get(name, name))
        if tool is None:
            offered = ", ".join(tool.tool for tool in self.tools.values() if tool.offered)
            return BadCall(f"There is no tool {name[:80]!r}. The tools are: {offered}.")
        decoded = _decoded_parts(dict(args), schema(tool))
        try:
            return tool.model_validate(decoded)
        except ValidationError as error:
            fault = _explained(error)
            sound = _without_malformed(tool, decoded, error)
            refused = BadCall(f"{tool.tool} was not accepted: {fault}. Correct the arguments and call it again.", fault)
            return refused if sound is None else sound

    def read(
        self, tool: str, args: Mapping[str, Any], *, complete: bool = True, edits: Mapping[str, Any] | None = None
    ) -> TaskAction | Unreadable:
        """A stored proposal. With `complete=False` its prose may be missing, as in a receipt. `edits` are the proposed
        arguments of which `args` are a person's edit."""
        kind = self._action(tool)
        if kind is None:
            return Unreadable(
                Sentence("this version does not know the tool {tool}; update it to confirm this", tool=tool)
            )
        try:
            return kind.model_validate(args, context={INCOMPLETE: not complete, EDITED: edits})
        except ValidationError as error:
            return Unreadable(_sentence(error))

    def subject(self, tool: str) -> frozenset[str]:
        kind = self._action(tool)
        return frozenset() if kind is None else kind.subject

    def unasked(self, tool: str) -> frozenset[str]:
        """The arguments that no person is asked to type: ids, of what the proposal is about, what it uses and cites."""
        kind = self._action(tool)
        return CITATIONS if kind is None else kind.subject | kind.by_id | CITATIONS

    def unit(self, tool: str) -> str:
        kind = self._action(tool)
        return "" if kind is None else kind.unit

    def name_of(self, entity: Entity) -> str | None:
        names = (entity.value("title"), entity.value("text"))
        return next((name for name in names if isinstance(name, str) and name), None)

    def _action(self, tool: str) -> type[TaskAction] | None:
        kind = self.tools.get(tool)
        return kind if kind is not None and issubclass(kind, TaskAction) else None


@cache
def schema(tool: type[Call]) -> dict[str, Any]:
    """A tool's JSON schema without references, titles and nulls, which small servers don't understand."""
    raw = tool.model_json_schema()
    plain = _plain(raw, raw.get("$defs", {}))
    assert isinstance(plain, dict)
    plain["properties"] = {name: part for name, part in plain["properties"].items() if not part.get("deprecated")}
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


def _without_malformed(tool: type[Call], args: dict[str, Any], error: ValidationError) -> Call | None:
    """The call without the elements that are malformed (REV-90); None if none is left (REV-901), or the fault is
    elsewhere (REV-902)."""
    given = args.get(tool.elements) if tool.elements is not None else None
    paths = [fault["loc"][:2] for fault in error.errors(include_url=False)]
    if not isinstance(given, list) or any(len(path) < 2 or path[0] != tool.elements for path in paths):
        return None
    malformed = {path[1] for path in paths}
    kept = [element for index, element in enumerate(given) if index not in malformed]
    if not kept:
        return None
    return tool.model_validate({**args, str(tool.elements): kept}).without(len(malformed), _faults(error))


def _explained(error: ValidationError) -> str:
    """Every fault in one line: where, what, and for short values which value."""
    return "; ".join(_faults(error))


def _faults(error: ValidationError) -> list[str]:
    faults = []
    for fault in error.errors(include_url=False):
        path = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            message = "there is no such argument"
        faults.append(f"{path}: {message}" if path else message)
    return faults


_WHOLE, _TEXT, _YES_NO = Sentence("a whole number"), Sentence("a text"), Sentence("true or false")
_KINDS: Mapping[str, Sentence] = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), Sentence("it is {kind}", kind=_WHOLE)),
    "string_type": Sentence("it is {kind}", kind=_TEXT),
    **dict.fromkeys(("bool_type", "bool_parsing"), Sentence("it is {kind}", kind=_YES_NO)),
    "missing": Sentence("it is missing"),
    "extra_forbidden": Sentence("there is no such argument"),
}
"""What a person reads of a fault, by pydantic's word for it."""


def _sentence(error: ValidationError) -> Sentence:
    """What is wrong with a stored proposal, or with a person's edit of it, for a person."""
    said: Sentence | None = None
    for fault in error.errors(include_url=False):
        path, why = (
            ".".join(str(part) for part in fault["loc"]),
            _fault(fault["type"], fault.get("ctx", {}), fault["msg"]),
        )
        one = Sentence("{path}: {why}", path=path, why=why) if path else why
        said = one if said is None else Sentence("{one}; {other}", one=said, other=one)
    assert said is not None
    return said


def _fault(kind: str, limits: Mapping[str, Any], message: str) -> Sentence:
    match kind:
        case "greater_than_equal":
            return Sentence("it is at least {least}", least=limits["ge"])
        case "less_than_equal":
            return Sentence("it is at most {most}", most=limits["le"])
        case "string_too_short":
            return counted(
                "it has at least {count} character", "it has at least {count} characters", limits["min_length"]
            )
        case "string_too_long":
            return counted(
                "it has at most {count} character", "it has at most {count} characters", limits["max_length"]
            )
        case "literal_error":
            return Sentence("it is one of {values}", values=limits["expected"])
        case "value_error":
            reason = limits["error"]
            own = reason.sentence if isinstance(reason, Invalid) else reason.args[0] if reason.args else message
            return own if isinstance(own, Sentence) else Sentence("{text}", text=own)
    return _KINDS.get(kind) or Sentence("{text}", text=message)


ACTIONS = Toolbox(TASK_TOOLS)
"""What can be proposed about tasks."""
