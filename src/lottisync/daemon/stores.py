"""The stores of a person's tasks, and their local tables (docs/specs/03-entities.md)."""

import msgspec

from lottisync.agents import queue, run_log, sent, types
from lottisync.agents.types import AGENT_TYPES
from lottisync.device import space
from lottisync.entities.schema import schema
from lottisync.journal.types import JOURNAL
from lottisync.relay import tables
from lottisync.review import change, index, saga, shown_items
from lottisync.review.change import CHANGE_TYPES
from lottisync.sync import verification_request

SPACE = msgspec.structs.replace(
    space.SPACE, local_tables=space.LOCAL_TABLES + verification_request.TABLE + tables.TABLES
)
"""The person's devices, and what this one keeps of comparisons and of a relay."""

LOCAL_TABLES = f"""
{run_log.TABLE}
{queue.TABLE}
{sent.TABLE}
{saga.TABLE}
{index.TABLE}
{shown_items.TABLE}
{types.VIEWS}
{change.VIEWS}
create index if not exists idx_agent_entities_subtype on agent_entities(type, subtype, created_at)
    where subtype is not null;
"""
"""Local bookkeeping in agent.sqlite, which never replicates (S3-17 to S3-19); the tables belong to the modules
that read them. The last index serves what is read by its task: sets and decisions."""

AGENT_STORE = schema(
    "agent",
    [*AGENT_TYPES, *CHANGE_TYPES],
    owner_column="agent_id",
    indexes={
        "agent_id": "agent_id",
        "type": "type, agent_id, created_at desc",
        "agent_type_sub": "agent_id, type, subtype, created_at desc",
    },  # the three that S3-12 asks for
    local_tables=LOCAL_TABLES,
)
"""What agents are and say, what they propose, and what was decided."""

STORES = (SPACE, JOURNAL, AGENT_STORE)
"""In the order of delivery: a decision never arrives before its effect, nor data before the device that wrote it is
known."""
