"""What an agent is, says and proposes (docs/specs/03-entities.md, section 8; seed 003 sections 2 and 3).

Change sets and messages are immutable once written, decisions are only ever added. What their
*status* is, is computed from them (`lottisync.review.projection`) and never stored as a fact: a
status inside a mutable replicated set loses verdicts as soon as two devices decide at once.
"""

from typing import Any, Literal

import msgspec

from lottisync.entities.link import Link
from lottisync.entities.schema import EntityType, schema

LINK_KINDS = (
    "basic",
    "agent_state",
    "agent_head_message",
    "message_prev",
    "message_payload",
    "agent_report_head",
    "report_source_span",
    "tool_effect",
    "agent_task",
)
"""The plan's relations, and `basic` for the rest. This program writes four of them: the chain of messages and their
payloads are fields (docs/specs/09-agents.md, section 1)."""
MESSAGE_KINDS = Literal["observation", "user", "thought", "action", "toolResult", "summary", "system"]

LOCAL_TABLES = """
create table wake_run_log (run_key text not null primary key, agent_id text not null, reason text not null,
    reason_id text, thread_id text not null, status text not null, logical_change_key text,
    created_at text not null, started_at text, completed_at text, error_message text) strict;
create index idx_wake_run_log_agent on wake_run_log(agent_id, created_at desc);
create index idx_wake_run_log_status on wake_run_log(status);
create table wake_queue (agent_id text not null, subscription_id text not null, host text not null,
    counter integer not null, queued_at integer not null,
    primary key (agent_id, subscription_id, host, counter)) strict, without rowid;
create table saga_log (operation_id text not null primary key, run_key text not null, phase text not null,
    status text not null, tool_name text not null, last_error text, created_at text not null,
    updated_at text not null, request text not null) strict;
create index idx_saga_log_status on saga_log(status, updated_at);
create table change_set_index (set_id text not null primary key, task_id text not null, status text not null,
    resolved_at text, items text not null, decisions text not null, open integer not null, settled integer not null,
    since integer not null, until integer not null) strict;
create index idx_change_set_index_task on change_set_index(task_id);
create index idx_change_set_index_open on change_set_index(open, task_id) where not settled;
create index idx_change_set_index_since on change_set_index(since) where not settled;
create index idx_change_set_index_until on change_set_index(until) where not settled;
create index idx_agent_entities_subtype on agent_entities(type, subtype, created_at) where subtype is not null;
"""
"""Local bookkeeping that stands in agent.sqlite and never replicates (S3-17 to S3-19). `request` is
what recovery needs to go on: the item, the edited arguments and the person's choice, as JSON. `wake_queue` holds
the writes that an agent is to wake for, by their dots, with the time (ms) at which they were queued here.
`change_set_index` is what sets and decisions amounted to when they were last looked at (S1-08; its columns are in
`lottisync.review.index`). The last index serves what is read by its task: sets and decisions."""


class Agent(msgspec.Struct, frozen=True, rename="camel"):
    """`subscriptions` says by id what it wakes for (`lottisync.agents.subscription`), `timers` when (ISO 8601)."""

    id: str
    agent_id: str = ""
    kind: str = "taskAgent"
    display_name: str = ""
    lifecycle: str = "created"
    mode: str = "autonomous"
    allowed_category_ids: dict[str, bool] = {}
    current_state_id: str = ""
    config: dict[str, Any] = {}
    subscriptions: dict[str, Any] = {}
    timers: dict[str, Any] = {}
    home_device: str = ""
    created_at: str = ""
    destroyed_at: str | None = None

    @property
    def sovereignty(self) -> str:
        """`evidence` if an override has to cite entries (SOV-11), else `reason`."""
        return "evidence" if self.config.get("sovereignty") == "evidence" else "reason"

    @property
    def auto_check(self) -> bool:
        """Whether completions may be ticked without a verdict, on items that an agent set last (S0-53)."""
        return self.config.get("autoCheck") is True


class AgentState(msgspec.Struct, frozen=True, rename="camel"):
    """`processed_counter_by_host` is the journal's knowledge at the end of the last wake."""

    id: str
    agent_id: str = ""
    revision: int = 0
    slots: dict[str, Any] = {}
    last_wake_at: str | None = None
    next_wake_at: str | None = None
    sleep_until: str | None = None
    recent_head_message_id: str | None = None
    latest_summary_message_id: str | None = None
    consecutive_failure_count: int = 0
    processed_counter_by_host: dict[str, int] = {}


class AgentMessage(msgspec.Struct, frozen=True, rename="camel"):
    """Short content stands in `text`; long content in a payload that `content_entry_id` names. A kind that
    this program does not know reads as `system`."""

    id: str
    agent_id: str = ""
    thread_id: str = ""
    kind: MESSAGE_KINDS = "system"
    text: str = ""
    prev_message_id: str | None = None
    content_entry_id: str | None = None
    trigger_source_id: str | None = None
    summary_start_message_id: str | None = None
    summary_end_message_id: str | None = None
    summary_depth: int = 0
    tokens_approx: int = 0
    metadata: dict[str, Any] = {}
    created_at: str = ""


class AgentMessagePayload(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    agent_id: str = ""
    content: dict[str, Any] = {}
    content_type: str = "application/json"
    created_at: str = ""


class AgentReport(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    agent_id: str = ""
    scope: str = "current"
    content: dict[str, Any] = {}
    confidence: float | None = None
    provenance: dict[str, Any] = {}
    created_at: str = ""


class AgentReportHead(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    agent_id: str = ""
    scope: str = "current"
    report_id: str = ""


class SeenField(msgspec.Struct, frozen=True, rename="camel"):
    """A field as the proposer saw it: its value and the dots `[host, counter]` of all writes it held."""

    entity: str
    path: str
    value: Any = None
    dots: list[tuple[str, int]] = []


class ChangeItem(msgspec.Struct, frozen=True, rename="camel"):
    """One proposed mutation. `digest` is SHA-256 of the canonical tool and arguments (hex); prose is not in
    it. `operation_id` names the effect: equal proposals of one trigger share it. `base` is what the
    item was made against."""

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


class ChangeSet(msgspec.Struct, frozen=True, rename="camel"):
    """`journal_knowledge` is what the proposer knew of the journal when it read its context."""

    id: str
    agent_id: str = ""
    task_id: str = ""
    thread_id: str = ""
    run_key: str = ""
    items: list[ChangeItem] = []
    journal_knowledge: dict[str, int] = {}
    created_at: str = ""


class ChangeDecision(msgspec.Struct, frozen=True, rename="camel"):
    """A verdict on one operation. `seen` lists the ids of the decisions on it that were known to whoever
    decided; `verdict` is confirmed, rejected, deferred or retracted, `actor` user or agent, `result`
    applied or no-op. `undoes` is the decision that this one takes back."""

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
    journal_knowledge: dict[str, int] = {}
    undoes: str | None = None
    created_at: str = ""


AGENT_STORE = schema(
    "agent",
    "agent_id",
    [
        EntityType("agent", Agent),
        EntityType("agentState", AgentState, owner="agentId"),
        EntityType("agentMessage", AgentMessage, owner="agentId", subtype="kind"),
        EntityType("agentMessagePayload", AgentMessagePayload, owner="agentId"),
        EntityType("agentReport", AgentReport, owner="agentId", subtype="scope"),
        EntityType("agentReportHead", AgentReportHead, owner="agentId", subtype="scope"),
        EntityType("changeSet", ChangeSet, owner="agentId", subtype="taskId"),
        EntityType("changeDecision", ChangeDecision, owner="agentId", subtype="taskId"),
        *(EntityType(kind, Link, link=True) for kind in LINK_KINDS),
    ],
    indexes={
        "agent_id": "agent_id",
        "type": "type, agent_id, created_at desc",
        "agent_type_sub": "agent_id, type, subtype, created_at desc",
    },  # the plan's (S3-12)
)
