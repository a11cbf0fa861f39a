"""Answers about proposals and verdicts. An item and a set are the engine's own structs."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from lottisync.answers.form import DeviceId, Instant
from lottisync.review.change import ChangeDecision
from lottisync.review.effect import StaleField
from lottisync.review.inbox import SetView
from lottisync.review.item_view import ItemView
from lottisync.review.outcome import Outcome, Result
from lottisync.review.proposal_record import ProposalRecord


class Proposals(msgspec.Struct, frozen=True):
    """The sets of proposals that want something of the person, oldest first."""

    sets: list[SetView]


class VerdictAnswer(msgspec.Struct, frozen=True, rename="camel"):
    """What became of a verdict on one proposal. `message`: a sentence for people, null if `result` says it all;
    `decisionId` is the decision that stands. `staleFields`: what was written since. `view`: the item as it is now,
    if it is not as it was shown."""

    item_id: str
    result: Result
    message: str | None
    decision_id: str | None
    stale_fields: list[StaleField]
    view: ItemView | None

    @classmethod
    def of(cls, outcome: Outcome) -> "VerdictAnswer":
        return cls(outcome.item, outcome.result, outcome.message or None, outcome.decision, outcome.stale, outcome.view)


class VerdictsAnswer(msgspec.Struct, frozen=True):
    """What became of the verdict on each proposal that was named."""

    verdicts: list[VerdictAnswer]


class Decision(msgspec.Struct, frozen=True, rename="camel"):
    """A decision on a proposal, which has the name `itemName` (null if it is about
    another task). `undoesId`: the id of the decision that this one takes
    back."""

    id: str
    item_id: str
    item_name: str | None
    task_id: str
    agent_id: str
    device_id: DeviceId
    tool: str
    args: dict[str, Any]
    summary: str
    verdict: str
    by: Literal["user", "agent"]
    reason: str | None
    result: str | None
    edited: bool
    until: Instant | None
    undoes_id: str | None
    created_at: Instant

    @classmethod
    def of(cls, one: ChangeDecision, item_name: str | None) -> "Decision":
        return cls(
            id=one.id,
            item_id=one.item_id,
            item_name=item_name,
            task_id=one.task_id,
            agent_id=one.agent_id,
            device_id=one.device,
            tool=one.tool_name,
            args=one.args,
            summary=one.human_summary,
            verdict=one.verdict,
            by="user" if one.actor == "user" else "agent",
            reason=one.reason,
            result=one.result,
            edited=one.edited,
            until=one.until,
            undoes_id=one.undoes,
            created_at=one.created_at,
        )


class Decisions(msgspec.Struct, frozen=True):
    """Every decision on the proposals for a task, oldest first."""

    decisions: list[Decision]


class Proposal(msgspec.Struct, frozen=True, rename="camel"):
    """What was proposed, and its `outcome`. `summary` is of the value that took effect, where the person edited it;
    `agentReason` is the reason that the agent gave, `reason` the one that the person gave. The decisions are those on
    it and on equal proposals, oldest first."""

    id: str
    name: str
    change_set_id: str
    agent_name: str
    task_id: str
    tool: str
    args: dict[str, Any]
    summary: str
    proposed_at: Instant
    outcome: str
    agent_reason: str | None
    reason: str | None
    decisions: list[Decision]


class ProposalLedger(msgspec.Struct, frozen=True):
    """All that was proposed and what became of it, oldest first."""

    proposals: list[Proposal]

    @classmethod
    def of(cls, found: list[ProposalRecord]) -> "ProposalLedger":
        names = {one.id: one.name for one in found}
        return cls([_proposal(one, names) for one in found])


def _proposal(one: ProposalRecord, names: Mapping[str, str]) -> Proposal:
    return Proposal(
        one.id,
        one.name,
        one.change_set,
        one.agent_name,
        one.task_id,
        one.tool,
        one.args,
        one.summary,
        one.proposed_at,
        one.outcome,
        one.agent_reason,
        one.reason,
        [Decision.of(each, names.get(each.item_id)) for each in one.decisions],
    )


class Reindexed(msgspec.Struct, frozen=True):
    """The index of sets was computed again."""

    reindexed: bool
