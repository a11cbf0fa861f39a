"""A part of a chain that comes from a peer: taken over, or the node at which two copies of a store part
(docs/specs/13-copies.md, sections 2 and 3)."""

from collections.abc import Iterator

from lottisync.causality.chain import VALUE_BYTES, ChainPart, LogEnd, branch_name, genesis
from lottisync.causality.vector_clock import MAX_COUNTER
from lottisync.problem import Invalid
from lottisync.store import chain
from lottisync.store.merge import Merge


class BadChain(Invalid):
    """A part of a chain that cannot be what it says it is; nothing was stored."""


class Gap(BadChain):
    """A part of a chain that does not reach to what is here: it begins beyond it, or its parent's chain is not here."""


def extend(tx: Merge, part: ChainPart) -> bytes | None:
    """Take over a part of a host's log, from a peer (COPY-4, COPY-32, COPY-33).

    None if it agrees with what is here; all of it is stored then. Else the fork node that has to be split at
    before it is sent again: where the two logs part, where the host is closed, or where the branch was cut
    off; nothing is stored.

    Raises `Gap` for a part that does not reach to what is here, `BadChain` for an impossible one.

    If the part shows our own host beyond our own counter, this store was rolled back, and gets a new host."""
    _refuse_malformed(part)
    log = chain.log_of(tx, part.host)
    known = chain.nodes(tx)
    begun = log is not None and log.end.end >= log.end.first
    if log is not None and begun:
        end, node = log.end, _parts_from(tx, log, part)
    else:
        end, node = LogEnd(part.first, part.first - 1, part.before), _begins_badly(tx, part, known)
    new = [*_each(part.values)][end.end + 1 - part.first :]
    if node is not None or not new:
        return node
    for value in [end.value, *new[:-1]] if begun else new[:-1]:
        if value in known:
            return value
    number = log.number if log is not None and begun else _number_of(tx, part)
    chain.append(tx.execute, number, end.end + 1, b"".join(new))
    tx.lengthened(number)
    if part.host == tx.host and part.end > tx.counter:
        tx.rolled_back()
    return None


def _refuse_malformed(part: ChainPart) -> None:
    if len(part.before) != VALUE_BYTES or not part.values or len(part.values) % VALUE_BYTES:
        raise BadChain(
            "a chain value has {limit} bytes; got {before} and {values} of {host!r}",
            limit=VALUE_BYTES,
            before=len(part.before),
            values=len(part.values),
            host=part.host,
        )
    if not (part.first >= 1 and part.end <= MAX_COUNTER):
        raise BadChain(
            "chain values of {host} are from 1 to {limit}; got {first} to {end}",
            host=part.host,
            limit=MAX_COUNTER,
            first=part.first,
            end=part.end,
        )


def _parts_from(tx: Merge, log: chain.HostLog, part: ChainPart) -> bytes | None:
    """Where a part leaves the log that is here; None if it does not."""
    if part.first > log.end.end + 1:
        raise Gap(
            "the chain of {host} begins at {first}, and the one here ends at {end}",
            host=part.host,
            first=part.first,
            end=log.end.end,
        )
    if part.parent != log.parent:
        log = _with_parent(tx, log, part)
    if part.first < log.end.first or part.parent != log.parent:
        raise BadChain(
            "the chain of {host} begins at {first} behind {parent!r}, and the one here at {begun} behind {other!r}",
            host=part.host,
            first=part.first,
            parent=part.parent,
            begun=log.end.first,
            other=log.parent,
        )
    last = chain.value_in(tx, part.host, log, part.first - 1)
    if last != part.before:
        raise BadChain(
            "the log of {host} is another one already ahead of {first}; greet again", host=part.host, first=part.first
        )
    new = part.first > log.end.end
    held = b"" if new else chain.values_from(tx, log.number, part.first, len(part.values) // VALUE_BYTES)
    for ours, theirs in zip(_each(held), _each(part.values), strict=False):
        if ours != theirs:
            return last
        last = ours
    return None


def _with_parent(tx: Merge, log: chain.HostLog, part: ChainPart) -> chain.HostLog:
    """The log with the parent that the part names, if the disk has damaged the one here and that one can be meant
    (STORE-671): no host has the name here, and the other's log ends at the node that the branch begins behind."""
    lost = chain.log_of(tx, log.parent) is None and (log.parent or log.end.first > 1)
    behind = chain.log_of(tx, part.parent) if lost else None
    if behind is None or behind.end.end != log.end.first - 1 or behind.end.value not in chain.nodes(tx):
        return log
    tx.execute("update hosts set parent = ? where n = ?", (part.parent, log.number))
    return log._replace(parent=part.parent)


def _begins_badly(tx: Merge, part: ChainPart, known: frozenset[bytes]) -> bytes | None:
    """The node because of which a log that is new here cannot begin as the part says; None if there is none."""
    if not part.parent:
        if part.first != 1:
            raise Gap(
                "the chain of {host} begins at {first}, and nothing of it is here", host=part.host, first=part.first
            )
        if part.before != genesis(part.host):
            raise BadChain("the chain of {host} does not begin with its genesis", host=part.host)
        return part.before if part.before in known else None
    if part.host != branch_name(part.values[:VALUE_BYTES]):
        raise Gap(
            "the branch {host} does not begin at {first}, and nothing of it is here", host=part.host, first=part.first
        )
    behind = chain.value_at(tx, part.parent, part.first - 1)
    if behind is None and part.first == 1:  # a host that is a node from the start, and of which nothing else is here
        behind = genesis(part.parent)
    if behind is None:
        raise Gap(
            "the branch {host} begins at {first}, and the log of {parent} ends before",
            host=part.host,
            first=part.first,
            parent=part.parent,
        )
    if behind != part.before:
        raise BadChain(
            "the branch {host} does not begin where {parent} is at {counter}",
            host=part.host,
            parent=part.parent,
            counter=part.first - 1,
        )
    return None if behind in known else behind


def _each(values: bytes) -> Iterator[bytes]:
    return (values[at : at + VALUE_BYTES] for at in range(0, len(values), VALUE_BYTES))


def _number_of(tx: Merge, part: ChainPart) -> int:
    if part.parent:
        tx.host_number(part.parent)
    number = tx.host_number(part.host)
    tx.execute("update hosts set parent = ? where n = ?", (part.parent, number))
    return number
