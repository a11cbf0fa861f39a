"""A tick, an untick, another title, or the archive, for one checklist item. The guard of the checklist is asked here
(`journal.guard`).

`at_once` is the direct path: for programs that act for an agent without a model, and for completions of an agent that
may tick by itself. A model's call comes here only through that setting.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, StringConstraints, model_validator

from lottisync.causality.vector_clock import Clock
from lottisync.entities.view import view
from lottisync.journal import evidence, guard
from lottisync.journal.arguments import MAX_REASON, Arguments, Evidence, Id, ReasonText, TitleText
from lottisync.journal.redundancy import same
from lottisync.journal.task_action import ITEM, OwnedAction, TaskAction, Topic, missing
from lottisync.journal.types import ChecklistItem
from lottisync.language import marked
from lottisync.problem import Sentence
from lottisync.review.action import Cited, EffectWrite, Grade, TargetView
from lottisync.review.policy import Policy
from lottisync.review.tool_answer import skipped
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

SOVEREIGNTY = (
    "You can mark items as done/undone or correct titles. When an item was last toggled by the user, you must "
    "provide a reason citing evidence from AFTER the user's action to change its checked state. Title updates "
    "are always allowed."
)


class ItemChange(Arguments):
    id: Id = Field(description="The id of the checklist item.")
    is_checked: bool | None = Field(
        default=None,
        description="New checked status. For items last set by the user, you must also provide a reason citing "
        "post-dated evidence. Without a reason, the isChecked change will be rejected for user-set items.",
    )
    title: TitleText | None = Field(default=None, description="The corrected title.")
    is_archived: bool | None = Field(
        default=None,
        description="True puts the item away, for instance one that is there twice; false takes it out of the archive.",
    )
    reason: ReasonText | None = Field(
        default=None,
        description="Required when changing isChecked on a user-set item. Must cite specific evidence (e.g., a "
        "recording or note) that postdates the user's last toggle. The system will reject isChecked changes on "
        "user-set items without a reason.",
    )
    evidence_entry_ids: Evidence | None = Field(
        default=None, description="The ids of the log entries that the reason cites; the user must have written them."
    )

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.is_checked is None and self.title is None and self.is_archived is None:
            raise ValueError(Sentence("an update changes isChecked, title or isArchived"))
        return self


class Completion(Arguments):
    id: Id = Field(description="The id of the checklist item.")
    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_REASON)] = Field(
        description="Why it looks done: what was written, and when."
    )
    evidence_entry_ids: Evidence | None = Field(
        default=None, description="The ids of the log entries that the reason cites; the user must have written them."
    )


class UpdateChecklistItem(ItemChange, OwnedAction):
    tool: ClassVar[str] = "update_checklist_item"
    topic: ClassVar[Topic] = Topic.CHECKLIST
    purpose: ClassVar[str] = f"Update one existing checklist item. {SOVEREIGNTY}"
    offered: ClassVar[bool] = False
    subject: ClassVar[frozenset[str]] = frozenset({"id"})
    guarded: ClassVar[frozenset[str]] = frozenset({"isChecked"})

    @classmethod
    def of(cls, part: ItemChange | Completion) -> "UpdateChecklistItem":
        """Make the arguments of an element of a batch, which the batch has validated."""
        values: dict[str, Any] = dict(part)
        if isinstance(part, Completion):
            values["is_checked"] = True
        return cls.model_construct(**values)

    def arguments(self) -> dict[str, Any]:
        return TaskAction.arguments(self)

    def owned_id(self) -> str:
        return self.id

    def values(self) -> dict[str, Any]:
        given = {"isChecked": self.is_checked, "title": self.title, "isArchived": self.is_archived}
        return {path: value for path, value in given.items() if value is not None}

    def read_target(self, reader: Reader, task_id: str) -> TargetView:
        target, cited = reader.entity(self.id), self.evidence_entry_ids or ()
        return TargetView(
            reader.entity(task_id),
            target,
            grade=evidence.grade(reader, target, task_id, cited),
            unfit=evidence.unfit(reader, task_id, cited),
        )

    def own_obstacle(self, target_view: TargetView, task_id: str, policy: Policy) -> str | None:
        fault = missing(target_view.target, ITEM)
        if fault != "not found" and target_view.target is not None and target_view.target.value("taskId") != task_id:
            fault = Sentence("wrong task")
        return fault and Sentence("checklist item: {fault}", fault=fault)

    def hindrance(self, target_view: TargetView, task_id: str, policy: Policy, others: object) -> str | None:
        hindrance = self.obstacle(target_view, task_id, policy) or target_view.unfit
        return hindrance and f"{self.id}: {hindrance}"

    def current(self, target_view: TargetView) -> dict[str, Any]:
        if target_view.target is None:
            return {}
        item = view(target_view.target, ChecklistItem)
        return {"isChecked": item.is_checked, "title": item.title, "isArchived": item.is_archived}

    def redundant(self, target_view: TargetView) -> str | None:
        return self.redundancy(self.current(target_view))

    def redundancy(self, current: Mapping[str, Any]) -> str | None:
        """`"Buy groceries" is already checked`: neither the tick nor the title would change."""
        title, is_checked = current["title"], current["isChecked"]
        if self.title is not None and not same(self.title, title):
            return None
        if self.is_archived is not None and self.is_archived != current.get("isArchived", False):
            return None
        if self.is_checked is None and self.title is None:
            return f'"{title}" is {"already archived" if self.is_archived else "not archived"}'
        if self.is_checked is None:
            return f'"{title}" has that title already'
        if self.is_checked != is_checked:
            return None
        return f'"{title}" is already {"checked" if is_checked else "unchecked"}'

    def objection(self, target_view: TargetView, policy: Policy) -> str | None:
        assert target_view.target is not None
        item = view(target_view.target, ChecklistItem)
        return guard.objection(
            is_checked=item.is_checked,
            checked_by=item.checked_by,
            checked_at=item.checked_at,
            proposed=self.is_checked,
            reason=self.reason,
            grade=target_view.grade,
            sovereignty=policy.sovereignty,
        )

    def unguarded(self) -> Self | None:
        if self.title is None and self.is_archived is None:
            return None
        return self.model_copy(update={"is_checked": None, "reason": None})

    def order_unknown(self, target_view: TargetView) -> bool:
        if target_view.target is None or self.is_checked is None:
            return False
        item = view(target_view.target, ChecklistItem)
        return guard.is_order_unknown(
            is_checked=item.is_checked, checked_by=item.checked_by, proposed=self.is_checked, grade=target_view.grade
        )

    def cited(self, reader: Reader) -> list[Cited]:
        return evidence.cited(reader, self.evidence_entry_ids or ())

    def evidence_after(self, reader: Reader, knowledge: Clock) -> bool:
        return evidence.written_after(reader, self.evidence_entry_ids or (), knowledge)

    def newer(self, path: str, value: Any) -> str:
        if path == "isChecked":
            return f"checked state is now {'checked' if value else 'unchecked'}"
        if path == "isArchived":
            return "the user archived it" if value else "the user took it out of the archive"
        return f'title is now "{value}"'

    def heading(self, target_view: TargetView) -> str:
        return f'"{view(target_view.target, ChecklistItem).title}": ' if target_view.target is not None else ""

    def name(self, target_view: TargetView) -> str | None:
        if target_view.target is None or target_view.target.type != ITEM:
            return None
        return view(target_view.target, ChecklistItem).title or None

    def beside(self, writes: Mapping[str, Any], effect_write: EffectWrite) -> dict[str, Any]:
        if "isChecked" not in writes:
            return {}
        return {
            "checkedBy": "user",
            "checkedAt": iso(effect_write.at),
            "checkReason": self.reason,
            "proposedBy": effect_write.agent_id,
        }

    def summary(self, name: str | None = None, language: str = "en") -> str:
        item = self.mentioned(name, marked("item {id}…"), self.id, language)
        said = [self._change(item, language)] if self.is_checked is not None or self.title is not None else []
        if self.is_archived is not None:
            text = marked("Archive: {name}") if self.is_archived else marked("Take out of the archive: {name}")
            said.append(self.catalogue.say(text, language, name=item))
        return "; ".join(said)

    def _change(self, item: str, language: str) -> str:
        """What becomes of the tick and the title."""
        match self.is_checked, self.title:
            case None, _:
                text = marked('Rename {name} to "{title}"')
            case True, None:
                text = marked("Check off: {name}")
            case True, _:
                text = marked('Check off: {name} and rename it to "{title}"')
            case _, None:
                text = marked("Uncheck: {name}")
            case _:
                text = marked('Uncheck: {name} and rename it to "{title}"')
        return self.catalogue.say(text, language, name=item, title=self.title)


def at_once(
    tx: Transaction, agent_id: str, task_id: str, action: UpdateChecklistItem, policy: Policy, *, own_only: bool = False
) -> str | None:
    """Do it without a verdict, in a transaction of the journal; returns the answer. The guard is asked here as well; an
    agent freely changes what an agent set, in both directions (S0-08). With `own_only` an item that an agent did not
    set last is not touched at all, and the answer is None (S0-53)."""
    target_view = action.read_target(tx, task_id)
    hindrance = action.obstacle(target_view, task_id, policy)
    if hindrance is not None or target_view.target is None:
        return skipped(hindrance or "checklist item: not found")
    item = view(target_view.target, ChecklistItem)
    if own_only and item.set_by_user:
        return None
    so_already = action.redundant(target_view)
    if so_already is not None:
        return skipped(so_already)
    if target_view.grade is Grade.UNKNOWN:  # for a person to judge, and there is none on this path
        target_view = target_view._replace(grade=Grade.UNFIT)
    withheld = action.objection(target_view, policy)
    fields = {
        path: value for path, value in action.writes(target_view).items() if path != "isChecked" or withheld is None
    }
    if not fields:
        return skipped(withheld or "nothing would change")
    said = ["title"] if "title" in fields else []
    if "isArchived" in fields:
        said.append("archived" if action.is_archived else "taken out of the archive")
    if "isChecked" in fields:
        said.insert(0, "checked" if action.is_checked else "unchecked")
        fields |= {
            "checkedBy": "agent",
            "checkedAt": iso(tx.now),
            "checkReason": action.reason,
            "proposedBy": agent_id,
        }
    tx.put(item.id, ITEM, fields)
    answer = f"Updated: {', '.join(said)}"
    if "isChecked" in fields and item.set_by_user:
        answer += " (override reason logged)"
    return f"{answer}. {withheld}" if withheld else answer
