"""What is proposed, and what was decided about it, as it is stored (docs/specs/03-entities.md, section 6).

Change sets are immutable once written, decisions are only ever added. Their *status* is computed from them
(`lottisync.review.projection`) and never stored as a fact: a status inside a mutable replicated set loses verdicts as
soon as two devices decide at once.
"""

from typing import Any

import msgspec

from lottisync.causality.vector_clock import Host
from lottisync.entities.schema import EntityType


class SeenField(msgspec.Struct, frozen=True, rename="camel"):
    """A field as the proposer saw it: its value and the dots `[host, counter]` of all writes it held."""

    entity: str
    path: str
    value: Any = None
    dots: list[tuple[str, int]] = []


class ChangeItem(msgspec.Struct, frozen=True, rename="camel"):
    """One proposed mutation. `digest` is SHA-256 of the canonical tool and arguments (hex); prose is not in
    it. `operation_id` names the effect: equal proposals of one trigger share it. `base` is what the
    item was made against; `supersedes` are the items in whose place it is."""

    id: str
    tool_name: str
    args: dict[str, Any]
    human_summary: str
    digest: str
    operation_id: str
    base: list[SeenField] = []
    target: str | None = None
    evidence: list[str] = []
    group_id: str | None = None
    depends_on: list[str] = []
    supersedes: list[str] = []


class ChangeSet(msgspec.Struct, frozen=True, rename="camel"):
    """`journal_knowledge` is what the proposer knew of the journal when it read its context; `ordinal` is the place
    of the set among those of its wake."""

    id: str
    agent_id: str = ""
    task_id: str = ""
    thread_id: str = ""
    run_key: str = ""
    items: list[ChangeItem] = []
    journal_knowledge: dict[Host, int] = {}
    ordinal: int = 0
    created_at: str = ""

    @property
    def order(self) -> tuple[str, str, str, int, str]:
        """The key that sorts sets in the order in which they were proposed."""
        return self.created_at, self.agent_id, self.run_key, self.ordinal, self.id


class ChangeDecision(msgspec.Struct, frozen=True, rename="camel"):
    """A verdict on one operation. `seen` lists the ids of the decisions on it that were known to its
    author; `verdict` is confirmed, rejected, deferred or retracted, `actor` user or agent, `result`
    applied or no-op. `undoes` is the decision that this one takes back, `superseded_by` the item that takes the place
    of a retracted one."""

    id: str
    agent_id: str = ""
    task_id: str = ""
    change_set_id: str = ""
    item_id: str = ""
    item_index: int = 0
    operation_id: str = ""
    tool_name: str = ""
    args: dict[str, Any] = {}
    human_summary: str = ""
    verdict: str = "deferred"
    actor: str = "user"
    reason: str | None = None
    result: str | None = None
    edited: bool = False
    until: str | None = None
    seen: list[str] = []
    device: str = ""
    journal_knowledge: dict[Host, int] = {}
    undoes: str | None = None
    superseded_by: str | None = None
    created_at: str = ""


VIEWS = """
create view if not exists proposals as select i.value ->> '$.id' as id, s.id as change_set_id,
    s.serialized ->> '$.taskId' as task_id, s.agent_id, i.value ->> '$.toolName' as tool,
    i.value ->> '$.args' as args, i.value ->> '$.humanSummary' as summary, s.created_at
    from agent_entities s, json_each(s.serialized, '$.items') i where s.type = 'changeSet' and s.deleted_at is null;
create view if not exists decisions as select id, serialized ->> '$.itemId' as proposal_id,
    serialized ->> '$.taskId' as task_id, agent_id, serialized ->> '$.verdict' as verdict,
    serialized ->> '$.actor' as actor, serialized ->> '$.reason' as reason, serialized ->> '$.result' as result,
    serialized ->> '$.device' as device_id, serialized ->> '$.undoes' as undoes, created_at
    from agent_entities where type = 'changeDecision' and deleted_at is null;
"""
"""For people with any SQLite tool (docs/specs/17-backup.md, section 4). What became of a proposal is not stored: it is
computed from all decisions on it."""

CHANGE_TYPES = [
    EntityType("changeSet", ChangeSet, owner="agentId", subtype="taskId"),
    EntityType("changeDecision", ChangeDecision, owner="agentId", subtype="taskId"),
]
