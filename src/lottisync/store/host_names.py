"""The names of hosts that the disk has damaged (docs/specs/05-store.md, STORE-82).

Every table names a host by its number, and the table `hosts` alone says which host that is. With one name damaged, no
row of that host can be sent, and if it is the own one, nothing can be written. But a name is also in every clock with a
write of its host. So it is found again there, by the rows that the index lists under the number.

The table `state` says which of the hosts is the store's own. If it names none of them, the own host is known by its
chain, which ends at the store's counter, and by what `hosts` says to be known of it: nothing, for that is in `state`.
"""

import re
from collections.abc import Iterable
from typing import Any

import apsw

from lottisync.causality.chain import VALUE_BYTES, branch_name, genesis
from lottisync.entities import canonical

WITNESSES = 50
"""Rows that are asked for one name."""
NOBODY = "0" * 16
"""The parent of a branch that can have several, until another device names it: text that can be read, and no host."""
_HOST = re.compile(rb"[0-9a-f]{16}")


def restore_host_names(connection: apsw.Connection) -> int:
    """Put right the names that cannot be names; returns how many were. One that no row knows stays as it is."""
    rows: list[Any] = connection.execute("select n, cast(host as blob) from hosts").fetchall()
    sound = {name.decode() for _, name in rows if _HOST.fullmatch(name)}
    own: bytes
    ((own,),) = connection.execute("select cast(host as blob) from state").fetchall()  # type: ignore[assignment]
    restored = 0
    damaged = [n for n, name in rows if not _HOST.fullmatch(name)]
    for n in damaged:
        names = _named(connection, n) - sound
        if not names and len(damaged) == 1:  # of the own host there may be no write yet
            names = {own.decode(errors="replace")} - sound
        if len(names) == 1:
            (name,) = names
            connection.execute("update hosts set host = ? where n = ?", (name, n)).fetchall()
            sound.add(name)
            restored += 1
    return restored


def restore_own_name(connection: apsw.Connection) -> None:
    """Put right which host is the store's own, if `state` names none of the hosts and only one can be meant."""
    if connection.execute("select 1 from state s join hosts h on h.host = s.host").fetchall():
        return
    fitting: list[Any] = connection.execute(
        f"""select h.host from hosts h join state s where h.known = 0 and s.counter = coalesce(
            (select max(first + length(segment) / {VALUE_BYTES}) - 1 from chain where host = h.n), 0)"""
    ).fetchall()
    if len(fitting) == 1:
        connection.execute("update state set host = ?", fitting[0]).fetchall()


def restore_parents(connection: apsw.Connection) -> None:
    """Put right a parent that is not a host. A host that is not a branch has none. (The name of a branch follows from
    the value of its first write.) The parent of a branch is the host whose log ends at a node just ahead of the branch.
    If several can be meant, it stays damaged until another device sends a part of this chain (`peer_chain.extend`)."""
    rows: list[Any] = connection.execute(
        f"""select n, host, first,
                (select substr(segment, 1, {VALUE_BYTES}) from chain where host = n and first = b.first)
            from (select n, host, parent, coalesce((select min(first) from chain where host = h.n), 1) first
                  from hosts h) b
            where (parent <> '' or first > 1) and parent not in (select host from hosts)"""
    ).fetchall()
    for n, host, first, begun in rows:
        if begun is None or branch_name(begun) != host:
            connection.execute("update hosts set parent = '' where n = ?", (n,)).fetchall()
        else:
            fitting = _parents(connection, n, first)
            parent = fitting[0] if len(fitting) == 1 else NOBODY
            connection.execute("update hosts set parent = ? where n = ?", (parent, n)).fetchall()


def _parents(connection: apsw.Connection, n: int, first: int) -> list[str]:
    """The hosts behind which the branch with the number `n` can begin: closed by a node ahead of its first write, and
    known to every entity that knows the branch."""
    rows: list[Any] = connection.execute("select node from forks").fetchall()
    nodes = {bytes(node) for (node,) in rows}
    ends: list[Any] = connection.execute(
        f"""select h.n, h.host, c.first + length(c.segment) / {VALUE_BYTES} - 1, substr(c.segment, -{VALUE_BYTES})
            from hosts h left join chain c
              on c.host = h.n and c.first = (select max(first) from chain where host = h.n) where h.n <> ?""",
        (n,),
    ).fetchall()
    closed = [
        (number, host)
        for number, host, end, value in ends
        if (end or 0) == first - 1 and (genesis(host) if value is None else bytes(value)) in nodes
    ]
    ignorant = """select 1 from components b where b.host = ?1 and not exists
        (select 1 from components p where p.n = b.n and p.host = ?2 and p.counter >= ?3) limit 1"""
    return [
        host
        for number, host in closed
        if first == 1 or not connection.execute(ignorant, (n, number, first - 1)).fetchall()
    ]


def _named(connection: apsw.Connection, n: int) -> set[str]:
    """The hosts that have, in a clock, the counter that the index gives for the number `n` and that row."""
    rows: list[Any] = connection.execute(
        f"""select cast(r.clock as blob), c.counter from components c join rows r on r.n = c.n
            where c.host = ? order by c.counter limit {WITNESSES}""",
        (n,),
    ).fetchall()
    found = [set(_with(clock, counter)) for clock, counter in rows]
    return set.intersection(*filter(None, found)) if any(found) else set()


def _with(clock: bytes, counter: int) -> Iterable[str]:
    try:
        read = canonical.decode(clock)
    except canonical.UNREADABLE:
        return []
    return [host for host, known in read.items() if known == counter and _HOST.fullmatch(host.encode())]
