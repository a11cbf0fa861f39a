"""The log of verdicts that are being carried out (docs/specs/10-review.md, REV-50 to REV-53, REV-61, REV-503, REV-504).

A verdict with an effect changes two files, which cannot commit as one. Its request is in the local table
`saga_log` from before the first commit until the second one. A process that finds a pending row, at the
next start or at the next verdict on that item, runs the saga; if several do, one of them finishes it. The
request holds everything that a replay must not look up again, because it may have changed.

A completed row keeps a witness of its effect: the chain value of the journal at the write of the effect.
The journal is another file, and it may be restored from an older backup. Then its chain does not have that
value, even if the same counter was used again, and the saga is run again.

Like `verdict`, this module may be used on the person's side only: code that writes here decides.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec

from lottisync import wording
from lottisync.review.change import ChangeItem, SeenField
from lottisync.review.decision import Twin
from lottisync.review.ledger import Placed
from lottisync.review.proposal import undo_operation
from lottisync.store.instant import iso
from lottisync.store.reader import Reader
from lottisync.store.transaction import Transaction

TABLE = """
create table if not exists saga_log (operation_id text not null primary key, run_key text not null, phase text not null,
    status text not null, tool_name text not null, last_error text, created_at text not null,
    updated_at text not null, request text not null) strict;
create index if not exists idx_saga_log_status on saga_log(status, updated_at);
"""
"""Confirmations in progress; local. `request` holds what recovery needs: item, edited arguments, choice, as JSON."""

SagaKind = Literal["confirm", "undo", "keep", "mark"]
"""`mark` records in the journal that an item was rejected, or that it no longer is, if its action does that."""
IN_A_ROW = 16
"""How many effects in a row, newest first, must be present before the search for lost effects ends. More than one,
because processes that run at the same time finish in another order than they began."""


class Witness(NamedTuple):
    """A write of the journal: `value` is the chain value there, in hexadecimal."""

    host: str
    counter: int
    value: str


class SagaRequest(msgspec.Struct, frozen=True):
    """`edited` says that the person edited the arguments, `base` is what they were shown, `seen` are the decisions that
    they knew, `at` is the time in ms, `decision` the id of the future decision. The base of an undo is the register of
    its receipt; `undoes` is the decision that it takes back. `rejected` is what a `mark` writes. `witness` is the
    write of the effect, after completion."""

    kind: SagaKind
    item: str
    at: int
    decision: str = ""
    args: dict[str, Any] = {}
    edited: bool = False
    guarded: bool = False
    base: list[SeenField] = []
    seen: list[str] = []
    twins: list[Twin] = []
    undoes: str | None = None
    rejected: bool = True
    witness: Witness | None = None

    def operation(self, item: ChangeItem) -> str:
        """The saga's key."""
        match self.kind:
            case "confirm":
                return item.operation_id
            case "undo":
                return undo_operation(item.operation_id)
        return f"{self.kind}-{item.operation_id}"


def begin(tx: Transaction, placed: Placed, request: SagaRequest, now: int) -> None:
    tx.execute(
        """insert into saga_log(operation_id, run_key, phase, status, tool_name, created_at, updated_at, request)
           values (?, ?, 'journal_pending', 'pending', ?, ?, ?, ?)
           on conflict(operation_id) do update set phase = excluded.phase, status = excluded.status,
           last_error = null, updated_at = excluded.updated_at, request = excluded.request""",
        (
            request.operation(placed.item),
            placed.set.run_key,
            placed.item.tool_name,
            iso(now),
            iso(now),
            msgspec.json.encode(request).decode(),
        ),
    )


def pending(reader: Reader) -> list[tuple[str, SagaRequest | None]]:
    """What was begun and is not finished, in the order in which it was begun: operation and request; None for a
    request that cannot be read."""
    rows = reader.local(
        "select operation_id, request from saga_log where status = 'pending' order by created_at, rowid"
    )
    return [(operation, _request(text)) for operation, text in rows]


def _request(text: str) -> SagaRequest | None:
    try:
        return msgspec.json.decode(text, type=SagaRequest)
    except msgspec.MsgspecError:
        return None


def begun(reader: Reader, item: ChangeItem) -> SagaRequest | None:
    """What a process that died, or one that is at work, has begun on an item's effect."""
    keys = tuple(SagaRequest(kind, item.id, 0).operation(item) for kind in ("confirm", "undo", "keep"))
    rows = reader.local(
        "select request from saga_log where status = 'pending' and operation_id in (?, ?, ?) order by created_at", keys
    )
    return _request(rows[0][0]) if rows else None


def lost(reader: Reader, is_here: Callable[[Witness], bool]) -> list[tuple[str, SagaRequest]]:
    """The completed sagas whose effect is no longer in the journal: operation and request, oldest first."""
    found: list[tuple[str, SagaRequest]] = []
    in_a_row = offset = 0
    while True:
        rows = reader.local(
            """select operation_id, request from saga_log where status = 'completed'
               order by updated_at desc, operation_id limit ? offset ?""",
            (IN_A_ROW, offset),
        )
        for operation, text in rows:
            request = _request(text)
            if request is not None and request.witness is not None:
                here = is_here(request.witness)
                in_a_row = in_a_row + 1 if here else 0
                found += [] if here else [(operation, request)]
        if len(rows) < IN_A_ROW or in_a_row >= IN_A_ROW:
            return found[::-1]
        offset += IN_A_ROW


def attest(tx: Transaction, operation: str, request: SagaRequest, witness: Witness | None) -> None:
    """Store the witness of a completed saga. With None its effect is not looked for any more."""
    attested = msgspec.structs.replace(request, witness=witness)
    tx.execute(
        "update saga_log set request = ? where operation_id = ?", (msgspec.json.encode(attested).decode(), operation)
    )


def complete(tx: Transaction, operation: str, request: SagaRequest, witness: Witness | None, now: int) -> bool:
    """Close a saga with its decision, in one transaction with it. False if another process has closed it."""
    rows = tx.execute("select request from saga_log where operation_id = ? and status = 'pending'", (operation,))
    if not rows or msgspec.json.decode(rows[0][0], type=SagaRequest).decision != request.decision:
        return False
    tx.execute(
        "update saga_log set phase = 'agent_done', status = 'completed', updated_at = ? where operation_id = ?",
        (iso(now), operation),
    )
    attest(tx, operation, request, witness)
    return True


def fail(tx: Transaction, operation: str, why: str, now: int) -> None:
    """Close a saga that came to nothing, with the error to be shown with the item."""
    tx.execute(
        "update saga_log set status = 'failed', last_error = ?, updated_at = ? where operation_id = ?",
        (wording.column(why), iso(now), operation),
    )


def forget(tx: Transaction, operation: str) -> None:
    """Delete a saga's row."""
    tx.execute("delete from saga_log where operation_id = ?", (operation,))
