"""What a store knows of every host, kept so that a change costs what it changes (docs/specs/05-store.md, section 20).

A store lives long and hears of a thousand hosts: each copy, restored backup and reinstallation is one. A round asks for
the knowledge, for the ends of the chains, and for what is held beyond the knowledge. To read all of it for one change
would cost far more than the change.

So the table `hosts` keeps these numbers in one row for each host. Each row has a *mark*, the hash of its numbers, and
the number of the *moment* at which it changed last. The table `state` has the last moment, and the sum of all marks. A
process keeps what it has read, and later reads only the rows that changed since. If the marks of what it has do not add
up to the sum in the file, it reads all rows. Thus another process, a transaction that was rolled back, or a backup that
was put back, cannot lead to wrong numbers. If the rows themselves do not add up, the numbers are found again in the
chains and in the index. That takes long, and is right.

The own host's writes change none of this: its numbers lie in `state`.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import apsw
import msgspec

from lottisync.causality.chain import VALUE_BYTES
from lottisync.causality.digest import sha256
from lottisync.causality.vector_clock import Host
from lottisync.entities import canonical
from lottisync.problem import Fault

MODULUS = 2**256
"""The marks, and the host hashes, are added modulo this."""
MAX_STEPS = 64
"""Readings back of which it is known what changed."""
COLUMNS = """reach integer not null default 0, log_end integer not null default 0, value blob not null default x'',
        mark blob not null default x'', changed integer not null default 0"""
STATE_COLUMNS = "moment integer not null default 0, marks blob not null default x''"
OWN_VALUE = f"""(select substr(segment, (s.counter - first) * {VALUE_BYTES} + 1, {VALUE_BYTES}) from chain
    where host = h.n and first <= s.counter order by first desc limit 1)"""
"""The value at the last write of this store, where `s` is its state and `h` its host."""
INDEX = "create index idx_hosts_changed on hosts(changed);"
_FOUND = f"""select h.n, h.host, h.mark, h.known, iif(h.reach > h.known, h.reach, 0),
        coalesce(c.first + length(c.segment) / {VALUE_BYTES} - 1, 0),
        coalesce((select substr(segment, (h.known - first) * {VALUE_BYTES} + 1, {VALUE_BYTES}) from chain
            where host = h.n and h.known > 0 and first <= h.known order by first desc limit 1), x'')
    from ({{hosts}}) h
    left join chain c on c.host = h.n and c.first = (select max(first) from chain where host = h.n)"""
"""The numbers of hosts as they follow from the other tables."""
_FOUND_ALL = _FOUND.format(
    hosts="""select n, host, mark, known,
        coalesce((select max(counter) from components where host = hosts.n), 0) as reach from hosts"""
)
_FOUND_SOME = _FOUND.format(
    hosts="""select n, host, mark, max(known, w.value ->> 1) as known, max(reach, w.value ->> 2) as reach
        from json_each(?) w join hosts on n = w.value ->> 0"""
)
_WRITE = "update hosts set known = ?, reach = ?, log_end = ?, value = ?, mark = ?, changed = ? where n = ?"


class Numbers(NamedTuple):
    """Of one host: the knowledge; a counter that nothing here is beyond, 0 if nothing is beyond the knowledge; the end
    of the chain, 0 if nothing of it is here; and the chain's value at the write that is known last (nothing where
    that is not held)."""

    known: int
    reach: int
    log_end: int
    value: bytes


NOTHING = Numbers(0, 0, 0, b"")


def mark(host: str, numbers: Numbers) -> bytes:
    """The hash of a host's numbers; nothing where there are none."""
    if numbers == NOTHING:
        return b""
    return sha256(canonical.encode_normal([host, *numbers[:3], numbers.value.hex()]))


def host_hash(host: str, known: int, last: int, value: bytes) -> int:
    """What one host of which anything is here adds to the hash over all that a store knows (07-sync.md, section 6):
    `last` is the last counter that is here, and `value` the chain's value there."""
    return int.from_bytes(sha256(canonical.encode_normal([host, known, last, value.hex()])), "big")


class OwnHost(NamedTuple):
    """The store's own host, how many writes it has made, and its chain's value at the last of them; the digest, and
    the sum of the marks of the other hosts as the file has it; how many fork nodes are known, and whether anything was
    forgotten."""

    host: Host
    counter: int
    value: bytes
    digest: bytes
    marks: bytes
    forks: int
    forgets: bool


class ReadPoint(NamedTuple):
    """Where in the life of a store something was read: what became of it later can be asked."""

    lineage: object
    moment: int


class KnownHosts(msgspec.Struct, frozen=True):
    """The numbers of all hosts at one moment, without the own host, whose row does not count. `known` is in the order
    of the hosts, and has an entry for the own one. `ends` and `beyond` leave out what is 0; `beyond` is the reach of
    those of which something may be here that lies beyond the knowledge. `host_hashes` is their sum, which 07-sync.md,
    section 6, needs."""

    own: Host
    read_at: ReadPoint
    rows: dict[Host, Numbers]
    known: dict[Host, int]
    ends: dict[Host, int]
    beyond: dict[Host, int]
    marks: int
    host_hashes: int
    steps: tuple[tuple[int, tuple[Host, ...]], ...]

    def knowledge(self, counter: int) -> dict[Host, int]:
        """The knowledge with that of the own host, which has made that many writes; in order."""
        knowledge = self.known | {self.own: counter}
        if not counter:
            del knowledge[self.own]
        return knowledge

    def host_hash(self, host: Host) -> int:
        """What a host adds to `host_hashes`."""
        return _host_hash(host, self.rows.get(host, NOTHING))

    def changed_since(self, since: ReadPoint | None) -> set[Host] | None:
        """The hosts whose numbers may differ from those at that point; None where that is not known."""
        if since is None or since.lineage is not self.read_at.lineage or since.moment > self.read_at.moment:
            return None
        if since.moment < self.steps[0][0]:
            return None
        return {host for moment, hosts in self.steps if moment > since.moment for host in hosts}


class Latest(msgspec.Struct):
    """What was read last of a file. Several threads may put in what they have read: each was right at its moment, and
    `read` checks it."""

    hosts: KnownHosts | None = None


def read(connection: apsw.Connection, latest: KnownHosts | None, own: Host, moment: int, marks: bytes) -> KnownHosts:
    """The hosts at the moment that the store's state names. What `latest` has is not read again if the marks add up."""
    expected = int.from_bytes(marks, "big")
    if latest is not None and latest.own == own:
        if (latest.read_at.moment, latest.marks) == (moment, expected):
            return latest
        if latest.read_at.moment < moment:
            found = _advanced(latest, _rows(connection, "changed > ?", (latest.read_at.moment,)), moment)
            if found.marks == expected:
                return found
    found = _of(own, _rows(connection, "mark <> x''"), moment)
    return found if found.marks == expected else _of(own, _found_again(connection), moment)


def _rows(connection: apsw.Connection, where: str, bindings: tuple[int, ...] = ()) -> Iterable[tuple[Host, Numbers]]:
    rows: list[Any] = connection.execute(
        f"select host, known, reach, log_end, value from hosts where {where}", bindings
    ).fetchall()
    return [(Host(host), Numbers(*numbers)) for host, *numbers in rows]


def _found_again(connection: apsw.Connection) -> Iterable[tuple[Host, Numbers]]:
    rows: list[Any] = connection.execute(_FOUND_ALL).fetchall()
    return [(Host(host), Numbers(*numbers)) for _, host, _, *numbers in rows]


def _of(own: Host, rows: Iterable[tuple[Host, Numbers]], moment: int) -> KnownHosts:
    nothing = KnownHosts(own, ReadPoint(object(), moment), {}, {own: 0}, {}, {}, 0, 0, ())
    return msgspec.structs.replace(_advanced(nothing, rows, moment), steps=((moment, ()),))


def _advanced(before: KnownHosts, rows: Iterable[tuple[Host, Numbers]], moment: int) -> KnownHosts:
    changed = dict(rows)
    marks, host_hashes = before.marks, before.host_hashes
    known, ends, beyond = dict(before.known), dict(before.ends), dict(before.beyond)
    for host, numbers in changed.items():
        old = before.rows.get(host, NOTHING)
        marks += int.from_bytes(mark(host, numbers), "big") - int.from_bytes(mark(host, old), "big")
        if host != before.own:
            host_hashes += _host_hash(host, numbers) - _host_hash(host, old)
            _put(known, host, numbers.known)
            _put(ends, host, numbers.log_end)
            _put(beyond, host, numbers.reach)
    if known.keys() != before.known.keys():
        known = dict(sorted(known.items()))
    return KnownHosts(
        before.own,
        ReadPoint(before.read_at.lineage, moment),
        before.rows | changed,
        known,
        ends,
        beyond,
        marks % MODULUS,
        host_hashes % MODULUS,
        (*before.steps[-MAX_STEPS:], (moment, tuple(changed))),
    )


def _host_hash(host: Host, numbers: Numbers) -> int:
    return host_hash(host, numbers.known, numbers.known, numbers.value) if numbers.known else 0


def _put(clock: dict[Host, int], host: Host, counter: int) -> None:
    if counter:
        clock[host] = counter
    else:
        clock.pop(host, None)


def faults(connection: apsw.Connection, own: Host, marks: bytes) -> list[Fault]:
    """One sentence for each host whose numbers are not what follows from the other tables."""
    kept: list[Any] = connection.execute("select host, mark, known, reach, log_end, value from hosts").fetchall()
    follows = dict(_found_again(connection))
    found = []
    for host, marked, *numbers in kept:
        there, right = Numbers(*numbers), follows[host]
        if mark(host, there) != marked:
            found.append(
                Fault(
                    "wrong-host", "the numbers of host {host} do not have the hash that was stored with them", host=host
                )
            )
        elif host != own and (there._replace(reach=0) != right._replace(reach=0) or there.reach < right.reach):
            found.append(
                Fault("wrong-host", "the numbers of host {host} do not follow from its chain and the index", host=host)
            )
    total = sum(int.from_bytes(marked, "big") for _, marked, *_ in kept) % MODULUS
    if total != int.from_bytes(marks, "big"):
        found.append(
            Fault("wrong-host", "the hashes of what is kept of the hosts do not add up to the sum that was stored")
        )
    return found


# -- writing


class News(NamedTuple):
    """What a transaction has learned of a host: its knowledge and its reach are at least so much."""

    known: int
    reach: int


NO_NEWS = News(0, 0)


def write(connection: apsw.Connection, news: Mapping[int, News], moment: int, marks: int) -> int | None:
    """Write down what has become of the hosts with these numbers, at this new moment; the new sum of the marks, None if
    nothing has changed."""
    listed = canonical.encode_normal([[number, *what] for number, what in news.items()]).decode()
    return _written(connection, connection.execute(_FOUND_SOME, (listed,)).fetchall(), moment, marks)


def write_all(connection: apsw.Connection, moment: int) -> int:
    """Find the numbers of all hosts again, and write all of them down; the sum of the marks."""
    rows: list[Any] = connection.execute(_FOUND_ALL).fetchall()
    written = _written(connection, ((n, host, None, *found) for n, host, _, *found in rows), moment, 0)
    return written or 0


def _written(connection: apsw.Connection, rows: Iterable[Any], moment: int, marks: int) -> int | None:
    changed = []
    for n, host, old, *found in rows:
        numbers = Numbers(*found)
        new = mark(host, numbers)
        if new != old:
            marks += int.from_bytes(new, "big") - int.from_bytes(old or b"", "big")
            changed.append((*numbers, new, moment, n))
    if not changed:
        return None
    connection.executemany(_WRITE, changed).fetchall()
    return marks % MODULUS
