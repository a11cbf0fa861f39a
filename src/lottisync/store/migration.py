"""Bringing an older file up to the present format (docs/specs/05-store.md, section 12).

Before anything is changed the file is copied, whole and consistent, beside itself; the copy stays until
the person removes it. All steps are one transaction: a process that is killed in the middle leaves the
old file as it was. A step never rewrites rows that it need not: a migration that touches every row
would look to every peer like a change of everything.
"""

import os
from collections.abc import Callable, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import apsw

from lottisync.problem import Problem
from lottisync.store import chain, quarantine, tables

VERIFICATIONS = """
create table verifications (bell text not null, device text not null, store text not null, state text not null,
    done integer not null default 0, total integer not null default 0, mended integer not null default 0,
    primary key (bell, device, store)) strict, without rowid;
"""
"""As format 3 had it: what a migration writes stays as it was, whatever becomes of the table."""

Step = Callable[[apsw.Connection], None]


def _with_quarantine(connection: apsw.Connection) -> None:
    connection.execute(quarantine.TABLE).fetchall()


def _with_logs_of_all_hosts(connection: apsw.Connection) -> None:
    """Own links go into segments; those of other hosts come with the next round, ahead of its entities."""
    connection.execute("alter table chain rename to links").fetchall()
    connection.execute(tables.COPIES + tables.FORGETTING).fetchall()
    connection.execute("alter table hosts add column parent text not null default ''").fetchall()
    connection.execute("alter table state add column place text not null default ''").fetchall()
    links: list[Any] = connection.execute("select host, counter, value from links order by host, counter").fetchall()
    for host, own in groupby(links, key=itemgetter(0)):
        (_, first, value), *others = own
        values = b"".join([value, *(value for _, _, value in others)])
        chain.append(lambda sql, bindings: connection.execute(sql, bindings).fetchall(), host, first, values)
    connection.execute("drop table links").fetchall()
    if connection.execute("select 1 from sqlite_schema where name = 'peers'").fetchall():
        connection.execute(VERIFICATIONS).fetchall()
    versions = "select name from sqlite_schema where type = 'table' and sql like '%clean_tombstone%'"
    for (table,) in connection.execute(versions).fetchall():
        connection.execute(tables.tombstones(str(table))).fetchall()


def _with_fewer_indexes(connection: apsw.Connection) -> None:
    """Only the agent store needs its three (S3-12); in the other stores they cost each write more than they saved."""
    for table, owner in (("journal_entities", "task"), ("space_entities", "device")):
        if connection.execute("select 1 from sqlite_schema where name = ?", (table,)).fetchall():
            for ending in (f"{owner}_id", "type", f"{owner}_type_sub"):
                connection.execute(f"drop index idx_{table}_{ending}").fetchall()
            for ending, columns in ((f"{owner}_type", f"{owner}_id, type"), ("type", "type, created_at")):
                connection.execute(f"create index idx_{table}_{ending} on {table}({columns})").fetchall()


STEPS: Mapping[int, Step] = {1: _with_quarantine, 2: _with_logs_of_all_hosts, 3: _with_fewer_indexes}
"""Format -> what leads from it to the next one. Format 1 is the first that anybody has."""


def upgrade(connection: apsw.Connection, file: Path, to: int, steps: Mapping[int, Step] = STEPS) -> Path | None:
    """Lead `file` from its format to format `to`; gives back where the copy of the old one is, None if there
    was nothing to do. Raises `Problem` if no way leads there; the file is untouched then.

    Of several programs that open the file at once one does it, and the others find it done: the format is looked at
    again under the lock, before anything is copied over the backup of the file as it was."""
    if connection.pragma("user_version") >= to:
        return None
    connection.execute("begin immediate").fetchall()
    try:
        present: int = connection.pragma("user_version")
        copy = _led(connection, file, present, to, steps) if present < to else None
        connection.execute("commit").fetchall()
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback").fetchall()
        raise
    return copy


def _led(connection: apsw.Connection, file: Path, present: int, to: int, steps: Mapping[int, Step]) -> Path:
    missing = [number for number in range(present, to) if number not in steps]
    if missing:
        raise Problem(
            "older-format",
            f"{file} has format {present}, and this program can't read it. Open it once with an older one",
        )
    copy = file.with_name(f"{file.name}.format-{present}.backup")
    _copy(connection, copy)
    for number in range(present, to):
        steps[number](connection)
    connection.execute(f"pragma user_version={to}").fetchall()
    return copy


def _copy(connection: apsw.Connection, copy: Path) -> None:
    """A consistent copy, durable under its name before this returns. It is read by a connection of its own: SQLite
    copies nothing from one that is about to write."""
    building = copy.with_name(copy.name + ".new")
    building.unlink(missing_ok=True)
    source = apsw.Connection(connection.db_filename("main"), vfs=connection.open_vfs)
    target = apsw.Connection(str(building))
    try:
        with target.backup("main", source, "main") as backup:
            backup.step()
    finally:
        target.close()
        source.close()
    with building.open("rb") as written:
        os.fsync(written.fileno())
    building.rename(copy)
    folder = os.open(copy.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
