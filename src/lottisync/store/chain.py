"""Chain logs: for every host of which anything is here, the chain's value at each of its writes
(docs/specs/13-copies.md, sections 1 and 2).

What a chain is stands in `lottisync.causality.chain`. A log begins at write 1, a branch's behind the node
that it was cut off at; it has no holes, and it covers every component in the store. It never goes on behind
a fork node: the host is *closed* there, and what came after it is a branch's. A branch is taken only where
its parent's log is held as far as the node, so that logs form trees with the minted hosts as their roots.

A value has 16 bytes, a row for each would take three times that. So a log lies in segments: what is new is appended
to the last one until that is full. A segment lies in its page whole: where a row goes on in other pages, SQLite reads
all of it for every comparison, and to find the end of a long log would cost as much as a round.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from lottisync.causality.chain import LINK_BYTES, Links, LogEnd, branch_name, genesis
from lottisync.causality.vector_clock import MAX_COUNTER, Host
from lottisync.store.reader import Reader

if TYPE_CHECKING:
    from lottisync.store.transaction import Transaction

SEGMENT_LINKS = 60
"""Links in a segment. A write that is appended rewrites all of them, and the end of a log is read in one page."""

OWN_VALUE = f"""(select substr(links, (s.counter - first) * {LINK_BYTES} + 1, {LINK_BYTES}) from chain
    where host = h.n and first <= s.counter order by first desc limit 1)"""
"""The value at the last write of this store, where `s` is its state and `h` its host."""


Execute = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]


class BadLinks(ValueError):
    """Links that cannot be what they say they are; nothing was stored."""


class Gap(BadLinks):
    """Links that do not reach to what is here: they begin beyond it, or their parent's are not here."""


class Log(NamedTuple):
    """A host's log: its number in this file, the host that it was branched off ("" if it was minted), and its end."""

    number: int
    parent: str
    end: LogEnd


# -- reading


def logs(reader: Reader) -> dict[Host, Log]:
    """Every host that this store has heard of; a branch comes behind its parent."""
    found = dict(_logs(reader))
    placed: dict[Host, Log] = {}
    for host in sorted(found):
        line = [host]
        while (parent := Host(found[line[-1]].parent)) in found and parent not in placed and parent not in line:
            line.append(parent)
        for each in reversed(line):
            placed.setdefault(each, found[each])
    return placed


def roots(reader: Reader) -> dict[Host, Host]:
    """The host that each branch, and each host itself, goes back to: the one that its device has signed for."""
    found: dict[Host, Host] = {}
    for host, log in logs(reader).items():
        found[host] = found.get(Host(log.parent), host)
    return found


def log_ends(reader: Reader) -> dict[Host, LogEnd]:
    """How far each log goes; a branch comes behind its parent, which is the order in which links are sent."""
    return {host: log.end for host, log in logs(reader).items()}


def log_of(reader: Reader, host: str) -> Log | None:
    """One host's log; None if nothing of the host is known."""
    for _, log in _logs(reader, "where h.host = ?", (host,)):
        return log
    return None


def _logs(reader: Reader, where: str = "", bindings: tuple[str, ...] = ()) -> Iterator[tuple[Host, Log]]:
    rows = reader.local(
        f"""select h.n, h.host, h.parent, iif(h.parent = '', 1, (select min(first) from chain where host = h.n)),
                   c.first + length(c.links) / {LINK_BYTES} - 1, substr(c.links, -{LINK_BYTES})
            from hosts h left join chain c
            on c.host = h.n and c.first = (select max(first) from chain where host = h.n) {where}""",
        bindings,
    )
    for n, host, parent, first, end, value in rows:
        log_end = LogEnd(1, 0, genesis(host)) if end is None else LogEnd(first, end, bytes(value))
        yield Host(host), Log(n, parent, log_end)


def value_at(reader: Reader, host: str, counter: int) -> bytes | None:
    """The chain's value at one of a host's writes; ahead of the first it is the genesis, or the branch's node.
    None where that is not held."""
    log = log_of(reader, host)
    return None if log is None else _value_in(reader, host, log, counter)


def _value_in(reader: Reader, host: str, log: Log, counter: int) -> bytes | None:
    """The same of a log that is at hand."""
    if not log.end.first - 1 <= counter <= log.end.end:
        return None
    if counter == log.end.end:
        return log.end.value
    if counter == log.end.first - 1:
        return value_at(reader, log.parent, counter) if log.parent else genesis(host)
    return _values(reader, log.number, counter, 1)


def root(reader: Reader, host: Host) -> Host:
    """The minted host that a branch descends from; a minted host itself."""
    met = {host}
    while (log := log_of(reader, host)) is not None and log.parent and log.parent not in met:
        host = Host(log.parent)
        met.add(host)
    return host


def links_beyond(reader: Reader, host: Host, after: int, limit: int) -> Links | None:
    """At most `limit` links of a host's log behind counter `after`; None if there are none."""
    log = log_of(reader, host)
    return None if log is None else links_in(reader, host, log, after, limit)


def links_in(reader: Reader, host: Host, log: Log, after: int, limit: int) -> Links | None:
    """The same of a log that is at hand."""
    if after >= log.end.end:
        return None
    if after >= log.end.first:
        values = _values(reader, log.number, after, limit + 1)
        return Links(host, log.parent, after + 1, values[:LINK_BYTES], values[LINK_BYTES:])
    first = log.end.first
    before = _value_in(reader, host, log, first - 1)
    assert before is not None, "a branch's parent is held as far as its node"
    return Links(host, log.parent, first, before, _values(reader, log.number, first, limit))


def _values(reader: Reader, number: int, first: int, count: int) -> bytes:
    """The values of a log from `first` on, `count` of them or as many as there are."""
    found = bytearray()
    rows = reader.local(
        """select first, links from chain where host = ?1 and first < ?3
           and first >= (select max(first) from chain where host = ?1 and first <= ?2) order by first""",
        (number, first, first + count),
    )
    for begins, links in rows:
        found += links[max(0, first - begins) * LINK_BYTES : (first + count - begins) * LINK_BYTES]
    return bytes(found)


def nodes(reader: Reader) -> frozenset[bytes]:
    """Every fork node that this store knows."""
    return frozenset(bytes(node) for (node,) in reader.local("select node from forks"))


# -- writing


def extend(tx: "Transaction", links: Links) -> bytes | None:
    """Take over links of a host's log, from a peer (COPY-4).

    None if they agree with what is here; all of them are stored then. Else the fork node that has to be split at
    before they are sent again: where the two logs part, where the host is closed, or where the branch was cut
    off; nothing is stored. Raises `Gap` for links that do not reach to what is here, `BadLinks` for impossible ones.

    If the links show our own host beyond our own counter, this store was rolled back, and gets a new host."""
    _refuse_malformed(links)
    log = log_of(tx, links.host)
    known = nodes(tx)
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
    append(tx.execute, number, end.end + 1, b"".join(new))
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


def _parts_from(tx: "Transaction", log: Log, links: Links) -> bytes | None:
    """Where links part from the log that is here; None if they do not."""
    if links.first > log.end.end + 1:
        raise Gap(f"links of {links.host} begin at {links.first}, and those here end at {log.end.end}")
    if links.first < log.end.first or links.parent != log.parent:
        raise BadLinks(
            f"links of {links.host} begin at {links.first} behind {links.parent!r}, "
            f"and those here at {log.end.first} behind {log.parent!r}"
        )
    last = _value_in(tx, links.host, log, links.first - 1)
    if last != links.before:
        raise BadLinks(f"the log of {links.host} is another one already ahead of {links.first}; greet again")
    new = links.first > log.end.end
    held = b"" if new else _values(tx, log.number, links.first, len(links.values) // LINK_BYTES)
    for ours, theirs in zip(_each(held), _each(links.values), strict=False):
        if ours != theirs:
            return last
        last = ours
    return None


def _begins_badly(tx: "Transaction", links: Links, known: frozenset[bytes]) -> bytes | None:
    """The node that stands in the way of a log that is new here; None if none does."""
    if not links.parent:
        if links.first != 1:
            raise Gap(f"links of {links.host} begin at {links.first}, and none are here")
        if links.before != genesis(links.host):
            raise BadLinks(f"links of {links.host} do not begin with its genesis")
        return links.before if links.before in known else None
    if links.host != branch_name(links.values[:LINK_BYTES]):
        raise Gap(f"links of the branch {links.host} do not begin it at {links.first}, and none are here")
    behind = value_at(tx, links.parent, links.first - 1)
    if behind is None and links.first == 1:  # a host that is a node from the start, and of which nothing else is here
        behind = genesis(links.parent)
    if behind is None:
        raise Gap(f"the branch {links.host} begins at {links.first}, and the log of {links.parent} ends before")
    if behind != links.before:
        raise BadLinks(f"the branch {links.host} does not begin where {links.parent} is at {links.first - 1}")
    return None if behind in known else behind


def _each(values: bytes) -> Iterator[bytes]:
    return (values[at : at + LINK_BYTES] for at in range(0, len(values), LINK_BYTES))


def _number_of(tx: "Transaction", links: Links) -> int:
    if links.parent:
        tx.execute("insert or ignore into hosts(host) values (?)", (links.parent,))
    tx.execute(
        "insert into hosts(host, parent) values (?, ?) on conflict(host) do update set parent = excluded.parent",
        (links.host, links.parent),
    )
    return int(tx.local("select n from hosts where host = ?", (links.host,))[0][0])


def append(execute: Execute, number: int, first: int, values: bytes) -> None:
    """Store values behind the log of the host with this number, from counter `first` on."""
    for at in range(0, len(values), SEGMENT_LINKS * LINK_BYTES):
        _append_run(execute, number, first + at // LINK_BYTES, values[at : at + SEGMENT_LINKS * LINK_BYTES])


def _append_run(execute: Execute, number: int, first: int, values: bytes) -> None:
    last = execute("select first, length(links) from chain where host = ? order by first desc limit 1", (number,))
    if last and last[0][1] + len(values) <= SEGMENT_LINKS * LINK_BYTES:
        append_to = "update chain set links = cast(links || ? as blob) where host = ? and first = ?"
        execute(append_to, (values, number, last[0][0]))
    else:
        execute("insert into chain values (?, ?, ?)", (number, first, values))
