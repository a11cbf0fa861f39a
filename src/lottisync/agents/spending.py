"""How many tokens agents have used today, and how many they may (docs/specs/09-agents.md, section 12).

A day is a calendar day where the person's clock is. What is counted are the turns that are on record, of all devices,
as far as they have arrived here: as the server counted them, or estimated where it does not count.
"""

from collections.abc import Mapping
from datetime import datetime, time, tzinfo
from typing import Any, NamedTuple

from lottisync.agents.lifecycle import TOKENS_PER_DAY, setting
from lottisync.agents.thread import ESTIMATED, natural
from lottisync.agents.types import Agent, AgentMessage, AgentSettings
from lottisync.store import tables
from lottisync.store.beside import beside
from lottisync.store.instant import iso, later, since_1970, there
from lottisync.store.reader import Reader

MAX_TOKENS_PER_DAY = 10**12
"""Greater numbers count as this one."""


class Day(NamedTuple):
    """From when to when a day lasts, in milliseconds since 1970."""

    begin: int
    end: int


def day_of(now: int, zone: tzinfo | None = None) -> Day:
    """The day of `now` (ms) in that zone (None: in this machine's)."""
    today = there(now, zone).date()
    # Without a zone each midnight has the machine's offset of that hour, which may be another one than now.
    begin, end = (since_1970(datetime.combine(day, time(), zone)) for day in (today, later(today, 1)))
    return Day(begin, end)


def used(reader: Reader, day: Day, agent_id: str | None = None) -> int:
    """The tokens that this agent, or all, have used since the day began. A damaged turn counts nothing until it is
    mended: one must not keep every agent from waking (STORE-942)."""
    since = iso(day.begin)
    entities, _ = tables.names(reader.schema)
    sql = f"""select cast(id as blob) from {entities}
        where type = 'agentMessage' and subtype in ('thought', 'summary') and created_at >= ?"""
    rows = (
        reader.local(sql, (since,)) if agent_id is None else reader.local(f"{sql} and agent_id = ?", (since, agent_id))
    )

    def tokens(row: tuple[bytes]) -> int:
        document = reader.document(row[0].decode())
        return 0 if document is None else _tokens(document.view(AgentMessage).metadata)

    return sum(beside(rows, tokens, []))


def exceeded(reader: Reader, agent: Agent, settings: AgentSettings, day: Day) -> int | None:
    """The limit that is reached, in tokens: the agent's own, or that of all agents. None if it may go on."""
    own = setting(agent, TOKENS_PER_DAY, 0, MAX_TOKENS_PER_DAY)
    if own and used(reader, day, agent.id) >= own:
        return own
    together = settings.tokens_a_day or 0
    if together > 0 and used(reader, day) >= together:
        return together
    return None


def _tokens(metadata: Mapping[str, Any]) -> int:
    if "promptTokens" in metadata:
        return natural(metadata["promptTokens"]) + natural(metadata.get("completionTokens"))
    return natural(metadata.get(ESTIMATED))
