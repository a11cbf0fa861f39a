"""What the person says of all agents at once, on all devices (docs/specs/09-agents.md, section 12).

One entity, which replicates: whether agents are off, and how many tokens they may use in a day together.
"""

import msgspec

from lottisync.agents.types import AgentSettings
from lottisync.entities.schema import derived_id
from lottisync.entities.view import view
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

TYPE = "agentSettings"
IDENT = derived_id(TYPE, "all")


def read(reader: Reader) -> AgentSettings:
    """The settings; the usual ones if the person said nothing."""
    entity = reader.entity(IDENT)
    return AgentSettings(IDENT) if entity is None or entity.type != TYPE else view(entity, AgentSettings)


def turn(tx: Transaction, *, off: bool) -> AgentSettings:
    """Turn all agents off, or on again."""
    return _change(tx, "off", off)


def limit(tx: Transaction, tokens: int | None) -> AgentSettings:
    """Let all agents together use at most that many tokens in a day; None: no limit."""
    return _change(tx, "tokensADay", tokens)


def _change(tx: Transaction, field: str, value: bool | int | None) -> AgentSettings:
    if msgspec.to_builtins(read(tx))[field] != value:
        tx.put(IDENT, TYPE, {field: value})
    return read(tx)
