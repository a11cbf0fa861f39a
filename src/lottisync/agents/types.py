"""What an agent is and says (docs/specs/03-entities.md, section 6)."""

from typing import Any, Literal

import msgspec

from lottisync.entities.link import Link
from lottisync.entities.schema import EntityType

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
"""The kinds of links in the agent store, and `basic` for the rest. This program writes four of them: the chain of
messages and their payloads are fields (docs/specs/09-agents.md, section 1)."""
MESSAGE_KINDS = Literal["observation", "user", "thought", "action", "toolResult", "summary", "system"]


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


class AgentSettings(msgspec.Struct, frozen=True, rename="camel"):
    """What the person says of all agents at once (`lottisync.agents.switch`)."""

    id: str
    off: bool = False
    tokens_a_day: int | None = None


class AttentionRequest(msgspec.Struct, frozen=True, rename="camel"):
    """An agent wants the person to look at its task (`lottisync.agents.attention`). `settled_at`: when the person
    did."""

    id: str
    agent_id: str = ""
    task_id: str = ""
    rationale: str = ""
    minutes: int = 15
    impact: int = 3
    urgency: int = 3
    energy_fit: str = "neutral"
    created_at: str = ""
    settled_at: str | None = None


class AgentMessage(msgspec.Struct, frozen=True, rename="camel"):
    """Short content is in `text`, long content in a payload that `content_entry_id` names. A kind that
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


VIEWS = """
create view if not exists agents as select id, serialized ->> '$.displayName' as name,
    serialized ->> '$.lifecycle' as lifecycle, created_at, updated_at
    from agent_entities where type = 'agent' and deleted_at is null;
"""
"""For people with any SQLite tool (docs/specs/17-backup.md, section 4)."""

AGENT_TYPES = [
    EntityType("agent", Agent),
    EntityType("agentSettings", AgentSettings),
    EntityType("attentionRequest", AttentionRequest, owner="agentId"),
    EntityType("agentState", AgentState, owner="agentId"),
    EntityType("agentMessage", AgentMessage, owner="agentId", subtype="kind"),
    EntityType("agentMessagePayload", AgentMessagePayload, owner="agentId"),
    EntityType("agentReport", AgentReport, owner="agentId", subtype="scope"),
    EntityType("agentReportHead", AgentReportHead, owner="agentId", subtype="scope"),
    *(EntityType(kind, Link, link=True) for kind in LINK_KINDS),
]
