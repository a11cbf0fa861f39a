"""What a device keeps for itself of a relay, in local tables of `space` (docs/specs/19-relay.md, section 7).

Little is kept. What lies in the relay is not written down here: after every start the device looks, and reads. So a
restored backup cannot say that the relay holds what it does not. What has to outlive a start is where this device's own
lane ends, the message that it may have sent or not, the epoch keys, and the last message that was seen of every lane.
"""

import json
from collections.abc import Mapping

from lottisync.relay.epoch import Epoch
from lottisync.relay.header import FIRST
from lottisync.store.merge import Merge
from lottisync.store.reader import Reader

Head = tuple[int, bytes]
"""The number and the hash of the last message of a channel."""


def enter(tx: Merge, space: bytes) -> None:
    """Keep the tables for this space from now on. Lanes, and what was seen of them, belong to one space: those of
    another are dropped."""
    noted = tx.local("select space from relay_space")
    if noted and bytes(noted[0][0]) != space:
        for table in ("relay_channels", "relay_out", "relay_heads", "relay_losses"):
            tx.execute(f"delete from {table}")
    tx.execute("insert or replace into relay_space values (0, ?)", (space,))


def space_of(reader: Reader) -> bytes | None:
    """The space that the tables are about; None before the first visit."""
    rows = reader.local("select space from relay_space")
    return bytes(rows[0][0]) if rows else None


def lane(reader: Reader) -> bytes | None:
    """The lane that this device publishes in; None if it never did."""
    rows = reader.local("select lane from relay_channels limit 1")
    return bytes(rows[0][0]) if rows else None


def begin_lane(tx: Merge, new: bytes) -> None:
    """Go on in a new lane. What was not acknowledged in the old one is given up: it is made again."""
    tx.execute("delete from relay_channels")
    tx.execute("delete from relay_out")
    tx.execute("insert into relay_channels values (?, 'log', 0, ?)", (new, FIRST))


def end_of(reader: Reader, channel: str) -> Head:
    """The number of the last message in a channel of this device's lane, and its hash."""
    rows = reader.local("select number, hash from relay_channels where channel = ?", (channel,))
    return (rows[0][0], bytes(rows[0][1])) if rows else (0, FIRST)


def advance(tx: Merge, own_lane: bytes, channel: str, head: Head) -> None:
    tx.execute("insert or replace into relay_channels values (?, ?, ?, ?)", (own_lane, channel, *head))


def queue(tx: Merge, number: int, message: bytes) -> None:
    """Keep a message of the log until the relay has acknowledged it."""
    tx.execute("insert into relay_out values (?, ?)", (number, message))


def unacknowledged(reader: Reader) -> tuple[int, bytes] | None:
    """The message that may have been sent."""
    rows = reader.local("select number, message from relay_out order by number limit 1")
    return (rows[0][0], bytes(rows[0][1])) if rows else None


def acknowledge(tx: Merge, number: int) -> None:
    tx.execute("delete from relay_out where number = ?", (number,))


def snapshots_begun(reader: Reader) -> list[int]:
    """When snapshots were begun (ms), the earliest first."""
    return [row[0] for row in reader.local("select at from relay_snapshots order by at")]


def note_snapshot(tx: Merge, now: int, kept_from: int) -> None:
    """Note that a snapshot is begun. Times before `kept_from` are not needed any more, and times later than now are
    wrong."""
    tx.execute("delete from relay_snapshots where at < ? or at > ?", (kept_from, now))
    tx.execute("insert into relay_snapshots values (?)", (now,))


def epochs(reader: Reader) -> dict[bytes, tuple[Epoch, int]]:
    """By their ids, each with when this device got it (ms)."""
    return {
        bytes(ident): (Epoch(bytes(key), generation, frozenset(json.loads(without))), since)
        for ident, key, generation, without, since in reader.local("select * from relay_epochs")
    }


def keep_epoch(tx: Merge, epoch: Epoch, now: int) -> None:
    """Keep a key. One that is here already keeps the revocations that it came with first."""
    row = (epoch.id, epoch.key, epoch.generation, json.dumps(sorted(epoch.without)), now)
    tx.execute("insert or ignore into relay_epochs values (?, ?, ?, ?, ?)", row)


def heads(reader: Reader) -> dict[bytes, Head]:
    """The last message of every lane's log that was ever seen, or heard of."""
    rows = reader.local("select * from relay_heads")
    return {bytes(at): (number, bytes(message_hash)) for at, number, message_hash in rows}


def note_heads(tx: Merge, seen: Mapping[bytes, Head]) -> None:
    for at, (number, message_hash) in seen.items():
        tx.execute(
            """insert into relay_heads values (?, ?, ?) on conflict(lane) do update
               set number = excluded.number, hash = excluded.hash where excluded.number > number""",
            (at, number, message_hash),
        )


def losses(reader: Reader) -> dict[bytes, tuple[int, int]]:
    """For each lane that was longer before than the relay has shown it: how many messages the relay showed, and how
    many it had shown before, when the person was told."""
    return {bytes(at): (shown, known) for at, shown, known in reader.local("select * from relay_losses")}


def keep_losses(tx: Merge, said: Mapping[bytes, tuple[int, int]]) -> None:
    tx.execute("delete from relay_losses")
    for at, (shown, known) in said.items():
        tx.execute("insert into relay_losses values (?, ?, ?)", (at, shown, known))


def credentials(reader: Reader) -> str:
    """Where this device's file of credentials lies; empty if it has none."""
    rows = reader.local("select file from relay_credentials")
    return str(rows[0][0]) if rows else ""


def keep_credentials(tx: Merge, file: str) -> None:
    tx.execute("insert or replace into relay_credentials values (0, ?)", (file,))
