"""Items that look done, on the evidence of what was written. Where the person has opted in, an item that an agent set
last is ticked at once (REV-9)."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from lottisync.journal.actions.update_checklist_item import Completion, UpdateChecklistItem, at_once
from lottisync.journal.arguments import MAX_BATCH
from lottisync.journal.permission import may_check
from lottisync.journal.task_action import ActionBatch, TaskAction
from lottisync.review.policy import Policy
from lottisync.store.transaction import Transaction


class SuggestChecklistCompletion(ActionBatch):
    tool: ClassVar[str] = "suggest_checklist_completion"
    purpose: ClassVar[str] = (
        "Suggest that checklist items are done, on the evidence of what was written. The user decides on each."
    )
    when: ClassVar[str] = "When what was written says in plain words that a step is done."
    elements: ClassVar[str | None] = "items"

    items: list[Completion] = Field(min_length=1, max_length=MAX_BATCH, description="The items that look done.")

    def parts(self) -> Sequence[TaskAction]:
        return [UpdateChecklistItem.of(item) for item in self.items]

    def may_act(self, policy: Policy) -> bool:
        return may_check(policy)

    def at_once(self, tx: Transaction, part: object, task_id: str, agent_id: str, policy: Policy) -> str | None:
        assert isinstance(part, UpdateChecklistItem)
        return at_once(tx, agent_id, task_id, part, policy, own_only=True)
