"""Chain logs: for every host of which anything is here, the chain value at each of its writes
(docs/specs/13-copies.md, section 2).

How they are stored: a value has 16 bytes, and a row for each value would take three times that. So a log lies in
segments. New values are appended to the last segment until it is full. A segment fits into one page of the file:
where a row goes on in other pages, SQLite reads all of it for every comparison, and finding the end of a long log
would cost as much as a round.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import apsw

from lottisync.causality.chain import VALUE_BYTES, ChainPart, LogEnd, genesis
from lottisync.causality.vector_clock import Host
from lottisync.entities import canonical
from lottisync.store.reader import Reader

SEGMENT_VALUES = 60
"""Values in a segment. A write that is appended rewrites all of them, and the end of a log is read in one page."""

Execute = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]


class HostLog(NamedTuple):
    """A host's log: its number in this file, the host that it was branched off ("" if it was minted), and its end."""

    number: int
    parent: str
    end: LogEnd


LAST_SEGMENT = "h.n = c.host and c.first = (select max(first) from chain where host = h.n)"
TIP = f"c.first + length(c.segment) / {VALUE_BYTES} - 1"

# -- reading


def logs(reader: Reader, hosts: Iterable[Host] | None = None) -> dict[Host, HostLog]:
    """Every host that this store has heard of, or those of these hosts; a branch comes behind its parent."""
    if hosts is None:
        found = dict(_logs(reader))
    else:
        found = dict(_logs(reader, "where h.host in (select value from json_each(?))", (_listed(hosts),)))
    if not any(log.parent for log in found.values()):
        return dict(sorted(found.items()))
    placed: dict[Host, HostLog] = {}
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
    """How far each log goes; a branch comes behind its parent, which is the order in which they are sent."""
    return {host: log.end for host, log in logs(reader).items()}


def ends_of(reader: Reader, hosts: Iterable[Host]) -> dict[Host, int]:
    """How far the logs of these hosts go; 0 for a host without one."""
    asked = dict.fromkeys(hosts, 0)
    rows = reader.local(
        f"""select h.host, {TIP} from hosts h join chain c on {LAST_SEGMENT}
            where h.host in (select value from json_each(?))""",
        (_listed(asked),),
    )
    return asked | {Host(host): end for host, end in rows}


def _listed(hosts: Iterable[Host]) -> str:
    return canonical.encode_normal(list(hosts)).decode()


def log_of(reader: Reader, host: str) -> HostLog | None:
    """One host's log; None if nothing of the host is known."""
    for _, log in _logs(reader, "where h.host = ?", (host,)):
        return log
    return None


def _logs(reader: Reader, where: str = "", bindings: tuple[str, ...] = ()) -> Iterator[tuple[Host, HostLog]]:
    rows = reader.local(
        f"""select h.n, h.host, h.parent, iif(h.parent = '', 1, (select min(first) from chain where host = h.n)),
                   {TIP}, substr(c.segment, -{VALUE_BYTES})
            from hosts h left join chain c on {LAST_SEGMENT} {where}""",
        bindings,
    )
    for n, host, parent, first, end, value in rows:
        log_end = LogEnd(1, 0, genesis(host)) if end is None else LogEnd(first, end, bytes(value))
        yield Host(host), HostLog(n, parent, log_end)


def value_at(reader: Reader, host: str, counter: int) -> bytes | None:
    """The chain's value at one of a host's writes; ahead of the first it is the genesis, or the branch's node.
    None where that is not held."""
    log = log_of(reader, host)
    return None if log is None else value_in(reader, host, log, counter)


def value_in(reader: Reader, host: str, log: HostLog, counter: int) -> bytes | None:
    """`value_at` for a log that was read already."""
    if not log.end.first - 1 <= counter <= log.end.end:
        return None
    if counter == log.end.end:
        return log.end.value
    if counter == log.end.first - 1:
        return value_at(reader, log.parent, counter) if log.parent else genesis(host)
    return values_from(reader, log.number, counter, 1)


def root(reader: Reader, host: Host) -> Host:
    """The minted host that a branch descends from; a minted host itself."""
    met = {host}
    while (log := log_of(reader, host)) is not None and log.parent and log.parent not in met:
        host = Host(log.parent)
        met.add(host)
    return host


def part_of(reader: Reader, host: Host, log: HostLog, after: int, limit: int) -> ChainPart | None:
    """At most `limit` values of a host's log behind counter `after`; None if there are none."""
    if after >= log.end.end:
        return None
    if after >= log.end.first:
        values = values_from(reader, log.number, after, limit + 1)
        return ChainPart(host, log.parent, after + 1, values[:VALUE_BYTES], values[VALUE_BYTES:])
    first = log.end.first
    before = value_in(reader, host, log, first - 1)
    if before is None:
        raise apsw.CorruptError(f"it is not known which host {host} was branched off")
    return ChainPart(host, log.parent, first, before, values_from(reader, log.number, first, limit))


def values_from(reader: Reader, number: int, first: int, count: int) -> bytes:
    """The values of a log from `first` on, `count` of them or as many as there are."""
    found = bytearray()
    rows = reader.local(
        """select first, segment from chain where host = ?1 and first < ?3
           and first >= (select max(first) from chain where host = ?1 and first <= ?2) order by first""",
        (number, first, first + count),
    )
    for begins, segment in rows:
        found += segment[max(0, first - begins) * VALUE_BYTES : (first + count - begins) * VALUE_BYTES]
    return bytes(found)


def nodes(reader: Reader) -> frozenset[bytes]:
    """Every fork node that this store knows."""
    return frozenset(bytes(node) for (node,) in reader.local("select node from forks"))


# -- writing


def append(execute: Execute, number: int, first: int, values: bytes) -> None:
    """Store values behind the log of the host with this number, from counter `first` on."""
    for at in range(0, len(values), SEGMENT_VALUES * VALUE_BYTES):
        _append_run(execute, number, first + at // VALUE_BYTES, values[at : at + SEGMENT_VALUES * VALUE_BYTES])


def _append_run(execute: Execute, number: int, first: int, values: bytes) -> None:
    last = execute("select first, length(segment) from chain where host = ? order by first desc limit 1", (number,))
    if last and last[0][1] + len(values) <= SEGMENT_VALUES * VALUE_BYTES:
        append_to = "update chain set segment = cast(segment || ? as blob) where host = ? and first = ?"
        execute(append_to, (values, number, last[0][0]))
    else:
        execute("insert into chain values (?, ?, ?)", (number, first, values))
