"""Links of a chain that come from a peer: taken over, or the node at which two copies of a store part
(docs/specs/13-copies.md, sections 2 and 3)."""

from collections.abc import Iterator

from lottisync.causality.chain import LINK_BYTES, Links, LogEnd, branch_name, genesis
from lottisync.causality.vector_clock import MAX_COUNTER
from lottisync.store import chain
from lottisync.store.merge import Merge


class BadLinks(ValueError):
    """Links that cannot be what they say they are; nothing was stored."""


class Gap(BadLinks):
    """Links that do not reach to what is here: they begin beyond it, or their parent's are not here."""


def extend(tx: Merge, links: Links) -> bytes | None:
    """Take over links of a host's log, from a peer (COPY-4).

    None if they agree with what is here; all of them are stored then. Else the fork node that has to be split at
    before they are sent again: where the two logs part, where the host is closed, or where the branch was cut
    off; nothing is stored. Raises `Gap` for links that do not reach to what is here, `BadLinks` for impossible ones.

    If the links show our own host beyond our own counter, this store was rolled back, and gets a new host."""
    _refuse_malformed(links)
    log = chain.log_of(tx, links.host)
    known = chain.nodes(tx)
    begun = log is not None and log.end.end >= log.end.first
    if log is not None and begun:
        end, node = log.end, _parts_from(tx, log, links)
    else:
        end, node = LogEnd(links.first, links.first - 1, links.before), _begins_badly(tx, links, known)
    new = [*_each(links.values)][end.end + 1 - links.first :]
    if node is not None or not new:
        return node
    for value in [end.value, *new[:-1]] if begun else new[:-1]:
        if value in known:
            return value
    number = log.number if log is not None and begun else _number_of(tx, links)
    chain.append(tx.execute, number, end.end + 1, b"".join(new))
    tx.changed = True
    if links.host == tx.host and links.end > tx.counter:
        tx.rolled_back()
    return None


def _refuse_malformed(links: Links) -> None:
    if len(links.before) != LINK_BYTES or not links.values or len(links.values) % LINK_BYTES:
        raise BadLinks(
            f"a link has {LINK_BYTES} bytes; got {len(links.before)} and {len(links.values)} of {links.host!r}"
        )
    if not (links.first >= 1 and links.end <= MAX_COUNTER):
        raise BadLinks(f"links of {links.host} are from 1 to {MAX_COUNTER}; got {links.first} to {links.end}")


def _parts_from(tx: Merge, log: chain.Log, links: Links) -> bytes | None:
    """Where links part from the log that is here; None if they do not."""
    if links.first > log.end.end + 1:
        raise Gap(f"links of {links.host} begin at {links.first}, and those here end at {log.end.end}")
    if links.first < log.end.first or links.parent != log.parent:
        raise BadLinks(
            f"links of {links.host} begin at {links.first} behind {links.parent!r}, "
            f"and those here at {log.end.first} behind {log.parent!r}"
        )
    last = chain.value_in(tx, links.host, log, links.first - 1)
    if last != links.before:
        raise BadLinks(f"the log of {links.host} is another one already ahead of {links.first}; greet again")
    new = links.first > log.end.end
    held = b"" if new else chain.values_from(tx, log.number, links.first, len(links.values) // LINK_BYTES)
    for ours, theirs in zip(_each(held), _each(links.values), strict=False):
        if ours != theirs:
            return last
        last = ours
    return None


def _begins_badly(tx: Merge, links: Links, known: frozenset[bytes]) -> bytes | None:
    """The node that stands in the way of a log that is new here; None if none does."""
    if not links.parent:
        if links.first != 1:
            raise Gap(f"links of {links.host} begin at {links.first}, and none are here")
        if links.before != genesis(links.host):
            raise BadLinks(f"links of {links.host} do not begin with its genesis")
        return links.before if links.before in known else None
    if links.host != branch_name(links.values[:LINK_BYTES]):
        raise Gap(f"links of the branch {links.host} do not begin it at {links.first}, and none are here")
    behind = chain.value_at(tx, links.parent, links.first - 1)
    if behind is None and links.first == 1:  # a host that is a node from the start, and of which nothing else is here
        behind = genesis(links.parent)
    if behind is None:
        raise Gap(f"the branch {links.host} begins at {links.first}, and the log of {links.parent} ends before")
    if behind != links.before:
        raise BadLinks(f"the branch {links.host} does not begin where {links.parent} is at {links.first - 1}")
    return None if behind in known else behind


def _each(values: bytes) -> Iterator[bytes]:
    return (values[at : at + LINK_BYTES] for at in range(0, len(values), LINK_BYTES))


def _number_of(tx: Merge, links: Links) -> int:
    if links.parent:
        tx.host_number(links.parent)
    number = tx.host_number(links.host)
    tx.execute("update hosts set parent = ? where n = ?", (links.parent, number))
    return number
