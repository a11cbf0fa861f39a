"""Bringing an older file up to the present format (docs/specs/05-store.md, section 12).

Before anything is changed the file is copied, whole and consistent, beside itself; the copy stays until
the person removes it. All steps are one transaction: a process that is killed in the middle leaves the
old file as it was. A step never rewrites rows that it need not: a migration that touches every row
would look to every peer like a change of everything.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import apsw

from lottisync.problem import Problem
from lottisync.store import known_hosts, tables

Step = Callable[[apsw.Connection], None]


def _with_a_description(connection: apsw.Connection) -> None:
    """Add an empty description: the program that opens the file with its schema writes it."""
    connection.execute(tables.SCHEMA).fetchall()


def _with_plain_names(connection: apsw.Connection) -> None:
    """Give the tables the names of the specification."""
    connection.execute(
        """alter table told rename to acknowledged;
        alter table copies rename column told to shown;
        alter table chain rename column links to segment;
        alter table state rename column place to file_identity;"""
    ).fetchall()


def _with_numbers_of_hosts(connection: apsw.Connection) -> None:
    """Add the numbers that are kept for each host."""
    for table, columns in (("hosts", known_hosts.COLUMNS), ("state", known_hosts.STATE_COLUMNS)):
        for column in columns.split(","):
            connection.execute(f"alter table {table} add column {column}").fetchall()
    connection.execute(f"drop view knowledge; {known_hosts.INDEX}").fetchall()
    marks = known_hosts.write_all(connection, 1)
    connection.execute("update state set moment = 1, marks = ?", (marks.to_bytes(32, "big"),)).fetchall()


STEPS: Mapping[int, Step] = {4: _with_a_description, 5: _with_plain_names, 6: _with_numbers_of_hosts}
"""Format -> what leads from it to the next one. No program that made an earlier one was ever released."""


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
            "{file} has format {present}, and this program can't read it. Open it once with an older one",
            file=file,
            present=present,
        )
    copy = file.with_name(f"{file.name}.format-{present}.backup")
    _copy(connection, copy)
    for number in range(present, to):
        steps[number](connection)
    connection.execute(f"pragma user_version={to}").fetchall()
    return copy


def _copy(connection: apsw.Connection, copy: Path) -> None:
    """A consistent copy, durable under its name before this returns. It is read over a second connection: SQLite
    copies nothing from a connection that is about to write."""
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
