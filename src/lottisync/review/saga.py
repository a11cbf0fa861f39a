"""What a person said, word for word, until it is done (docs/specs/10-review.md, REV-50 to REV-53, REV-61).

A verdict with an effect changes two files, which can't commit as one. Its request stands in the local
table `saga_log` from before the first of them to the transaction of the second. Whoever finds a row that is
pending, at the next start or at the next word on that item, plays it; however many do, one of them finishes
it. The request holds all that a replay may not look up again, because it may have changed since.

A row that is done keeps a witness of its effect: the chain's value at the write that it was in. The journal is
another file, and somebody may put back an older one. Then its chain does not have that value, whatever was
written under the same number since, and what was said is begun again.

Like `verdict`, this is for a person's side only: whoever could write here could decide.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec

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

Kind = Literal["confirm", "undo", "keep", "suppress"]
"""`suppress` writes to the journal that an item was rejected, or that it is not any more, for actions that do so."""
IN_A_ROW = 16
"""Effects that have to be there, one after the other, until none is looked for that was done before them: processes
that are at work at one time finish in another order than they began."""


class Witness(NamedTuple):
    """A write of the journal: `value` is the chain's at it, in hexadecimal."""

    host: str
    counter: int
    value: str


class Request(msgspec.Struct, frozen=True):
    """`base` is what the person was shown, `seen` the decisions they knew of, `at` the time in ms, `decision` the
    id of the decision to come. An undo's base is the register of its receipt; `undoes` is the decision that it
    takes back. `rejected` is what a `suppress` writes. `witness`, once it is done: the write that it is in."""

    kind: Kind
    item: str
    at: int
    decision: str = ""
    args: dict[str, Any] = {}
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


def begin(tx: Transaction, placed: Placed, request: Request, now: int) -> None:
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


def pending(reader: Reader) -> list[tuple[str, Request | None]]:
    """What was begun and is not finished, in the order in which it was begun: operation and request; None for a
    request that cannot be read."""
    rows = reader.local(
        "select operation_id, request from saga_log where status = 'pending' order by created_at, rowid"
    )
    return [(operation, _request(text)) for operation, text in rows]


def _request(text: str) -> Request | None:
    try:
        return msgspec.json.decode(text, type=Request)
    except msgspec.MsgspecError:
        return None


def begun(reader: Reader, item: ChangeItem) -> Request | None:
    """What a process that died, or one that is at work, has begun on an item's effect."""
    keys = tuple(Request(kind, item.id, 0).operation(item) for kind in ("confirm", "undo", "keep"))
    rows = reader.local(
        "select request from saga_log where status = 'pending' and operation_id in (?, ?, ?) order by created_at", keys
    )
    return _request(rows[0][0]) if rows else None


def lost(reader: Reader, is_here: Callable[[Witness], bool]) -> list[tuple[str, Request]]:
    """What is done, and its effect is not in the journal any more: operation and request, oldest first."""
    found: list[tuple[str, Request]] = []
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


def attest(tx: Transaction, operation: str, request: Request, witness: Witness | None) -> None:
    """Note where the effect of what is done is to be found; None if nowhere, and it is not to be looked for."""
    attested = msgspec.structs.replace(request, witness=witness)
    tx.execute(
        "update saga_log set request = ? where operation_id = ?", (msgspec.json.encode(attested).decode(), operation)
    )


def complete(tx: Transaction, operation: str, request: Request, witness: Witness | None, now: int) -> bool:
    """Close a saga with its decision, in one transaction with it. False if another process has closed it."""
    rows = tx.execute("select request from saga_log where operation_id = ? and status = 'pending'", (operation,))
    if not rows or msgspec.json.decode(rows[0][0], type=Request).decision != request.decision:
        return False
    tx.execute(
        "update saga_log set phase = 'agent_done', status = 'completed', updated_at = ? where operation_id = ?",
        (iso(now), operation),
    )
    attest(tx, operation, request, witness)
    return True


def fail(tx: Transaction, operation: str, message: str, now: int) -> None:
    """Close a saga that came to nothing, with the error to be shown with the item."""
    tx.execute(
        "update saga_log set status = 'failed', last_error = ?, updated_at = ? where operation_id = ?",
        (message, iso(now), operation),
    )


def forget(tx: Transaction, operation: str) -> None:
    """Close a saga that leaves nothing to be known of it."""
    tx.execute("delete from saga_log where operation_id = ?", (operation,))
