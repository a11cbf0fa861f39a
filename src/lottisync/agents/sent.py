"""What was sent to a model, byte for byte (docs/specs/09-agents.md, section 12).

Each request is kept before it is sent, so that what a killed process has sent is here, too. The table is this device's
own and never replicates. It holds the last requests of each agent. Keys are sent in a header and are not part of it.
"""

import zlib
from typing import NamedTuple

from lottisync.agents.model import ModelRequest
from lottisync.store.instant import iso
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader

TABLE = """
create table if not exists sent (id integer primary key autoincrement, agent_id text not null, run_key text not null,
    at text not null, address text not null, bytes integer not null, body blob not null) strict;
create index if not exists idx_sent_agent on sent(agent_id, id);
"""
KEPT = 50
"""Requests of an agent: as many as the longest wake has."""


class SentRequest(NamedTuple):
    """One request, without its body: when it was sent, in which run, to which address, and its size in bytes."""

    id: int
    run_key: str
    at: str
    address: str
    bytes: int


def keep(tx: Merge, agent_id: str, run_key: str, request: ModelRequest) -> None:
    """Put a request down that is about to be sent, and drop the oldest ones of that agent."""
    tx.execute(
        "insert into sent(agent_id, run_key, at, address, bytes, body) values (?, ?, ?, ?, ?, ?)",
        (agent_id, run_key, iso(tx.now), request.address, len(request.body), zlib.compress(request.body, 1)),
    )
    tx.execute(
        "delete from sent where agent_id = ? and id not in (select id from sent where agent_id = ? "
        "order by id desc limit ?)",
        (agent_id, agent_id, KEPT),
    )


def requests(reader: Reader, agent_id: str) -> list[SentRequest]:
    """The agent's requests that are kept, the latest first."""
    rows = reader.local(
        "select id, run_key, at, address, bytes from sent where agent_id = ? order by id desc", (agent_id,)
    )
    return [SentRequest(*row) for row in rows]


def body(reader: Reader, agent_id: str, request_id: int) -> bytes | None:
    """The body of one of the agent's requests; None if it is not kept (any more)."""
    rows = reader.local("select body from sent where agent_id = ? and id = ?", (agent_id, request_id))
    return zlib.decompress(rows[0][0]) if rows else None
