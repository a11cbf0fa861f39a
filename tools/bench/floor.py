"""The floor: what the machine allows. A bare pipeline of two processes without any merge.

    sender                                     receiver
    rows of an SQLite table -- msgspec frames over TLS 1.3, loopback --> the same table, WAL, synchronous=FULL

The table has three indexes. `floor` is what a program does that was written without thinking of speed:
rows come in no order, one statement for each, a commit for each frame of 1,000. `floor-bulk` is the best
that is known: 64 MB of page cache, rows sorted, `executemany`, a commit for every ten frames, a checkpoint
every 10,000 pages.

Run as a program this is the receiver: `python -m tools.bench.floor FILE floor|floor-bulk`.
"""

import contextlib
import random
import socket
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

from lottisync.identity.device_key import DeviceKey
from lottisync.net import tls
from tools.bench.process import Child, running
from tools.bench.record import ident, task
from tools.bench.relay import Relay

FRAME_ROWS = 1_000
FRAMES_PER_COMMIT = 10
CREATED_AT = "2026-11-20T18:30:00.000Z"
TABLE = """create table records (n integer primary key, id text not null unique, owner text not null,
    type text not null, created_at text not null, document text not null) strict;
    create index idx_owner on records(owner);
    create index idx_type on records(type, created_at);"""
COLUMNS = "id, owner, type, created_at, document"
UPSERT = f"""insert into records({COLUMNS}) values (?, ?, ?, ?, ?)
    on conflict(id) do update set document = excluded.document"""
KEYS = [DeviceKey.from_seed(bytes([number]) * 32) for number in (1, 2)]
HEADER_BYTES = 4

Row = tuple[str, str, str, str, str]


class Mode(NamedTuple):
    name: str
    bulk: bool


FLOOR, FLOOR_BULK = Mode("floor", bulk=False), Mode("floor-bulk", bulk=True)
MODES = {mode.name: mode for mode in (FLOOR, FLOOR_BULK)}


class Rows(msgspec.Struct, array_like=True):
    """Some rows; with `answer` they are committed, and the receiver says so."""

    rows: list[Row]
    answer: bool


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Rows).decode
_document = msgspec.json.Encoder().encode


def row(number: int, edition: int = 0) -> Row:
    document = task(number) | {"estimate": edition} if edition else task(number)
    return ident(number), ident(number), "task", CREATED_AT, _document(document).decode()


def connect(file: Path, mode: Mode) -> apsw.Connection:
    connection = apsw.Connection(str(file))
    settings = ["journal_mode=wal", "synchronous=full"]
    if mode.bulk:
        settings += ["cache_size=-65536", "wal_autocheckpoint=10000"]
    for setting in settings:
        connection.execute(f"pragma {setting}").fetchall()
    if not connection.execute("select 1 from sqlite_schema").fetchall():
        connection.execute(TABLE).fetchall()
    return connection


def filled(file: Path, mode: Mode, count: int) -> apsw.Connection:
    """The sender's table with so many rows."""
    connection = connect(file, mode)
    with connection:
        connection.executemany(UPSERT, (row(number) for number in range(count))).fetchall()
    return connection


# -- the receiver


def receive(file: Path, mode: Mode) -> None:
    connection = connect(file, mode)
    context = tls.sync_context(KEYS[1], [KEYS[0].certificate], server=True)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(msgspec.json.encode({"port": listener.getsockname()[1]}).decode(), flush=True)
        plain, _ = listener.accept()
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with context.wrap_socket(plain, server_side=True) as stream:
        waiting: list[Row] = []
        for message in _messages(stream):
            waiting += message.rows
            whole = len(waiting) >= FRAME_ROWS * (FRAMES_PER_COMMIT if mode.bulk else 1)
            if waiting and (whole or message.answer):
                _insert(connection, mode, waiting)
                waiting.clear()
            if message.answer:
                stream.sendall(b"\x01")
    connection.close()


def _insert(connection: apsw.Connection, mode: Mode, rows: list[Row]) -> None:
    connection.execute("begin immediate").fetchall()
    if mode.bulk:
        connection.executemany(UPSERT, rows).fetchall()
    else:
        for one in rows:
            connection.execute(UPSERT, one).fetchall()
    connection.execute("commit").fetchall()


def _messages(stream: ssl.SSLSocket) -> Iterator[Rows]:
    held = bytearray()
    while piece := stream.recv(262_144):
        held += piece
        while len(held) >= HEADER_BYTES:
            end = HEADER_BYTES + int.from_bytes(held[:HEADER_BYTES], "big")
            if len(held) < end:
                break
            yield _decode(memoryview(held)[HEADER_BYTES:end].tobytes())
            del held[:end]


# -- the sender


class Pipeline:
    """The sender's end, connected to a receiver in a process of its own."""

    def __init__(self, stream: ssl.SSLSocket, receiver: Child, source: apsw.Connection, mode: Mode) -> None:
        self.receiver = receiver
        self._stream, self._source, self._mode = stream, source, mode

    def send(self, rows: list[Row], *, answer: bool) -> None:
        body = _encode(Rows(rows, answer))
        self._stream.sendall(len(body).to_bytes(HEADER_BYTES, "big") + body)
        if answer:
            assert self._stream.recv(1) == b"\x01"

    def send_all(self, count: int) -> float:
        """Seconds until the receiver holds all of the sender's table durably."""
        order = list(range(1, count + 1))
        if not self._mode.bulk:
            random.Random(count).shuffle(order)
        started = time.perf_counter()
        for start in range(0, count, FRAME_ROWS):
            chunk = order[start : start + FRAME_ROWS]
            if self._mode.bulk:
                rows = self._read("n between ? and ?", (chunk[0], chunk[-1]))
            else:
                rows = [self._read("n = ?", (n,))[0] for n in chunk]
            self.send(rows, answer=start + FRAME_ROWS >= count)
        return time.perf_counter() - started

    @property
    def processor(self) -> float:
        """Seconds on a core that both ends have taken."""
        return time.process_time() + self.receiver.cpu_seconds

    def _read(self, where: str, bindings: tuple[int, ...]) -> list[Row]:
        found: list[Any] = self._source.execute(f"select {COLUMNS} from records where {where}", bindings).fetchall()
        return found

    def round_trip(self) -> float:
        """Seconds for a word there and a word back."""
        started = time.perf_counter()
        self.send([], answer=True)
        return time.perf_counter() - started

    def change(self, numbers: range, edition: int) -> float:
        """Seconds from before the commit here to the word that it is durable there."""
        started = time.perf_counter()
        rows = [row(number, edition) for number in numbers]
        _insert(self._source, self._mode, rows)
        self.send(rows, answer=True)
        return time.perf_counter() - started

    def commit(self, number: int, edition: int) -> float:
        """Seconds for one durable commit of one changed row here."""
        started = time.perf_counter()
        _insert(self._source, self._mode, [row(number, edition)])
        return time.perf_counter() - started


@contextlib.contextmanager
def pipeline(folder: Path, mode: Mode, count: int, *, relayed: bool = False) -> Iterator[tuple[Pipeline, Relay | None]]:
    """A sender with `count` rows and an empty receiver, connected; `relayed` counts what crosses."""
    folder.mkdir(parents=True, exist_ok=True)
    source = filled(folder / "sender.sqlite", mode, count)
    with running(("-m", "tools.bench.floor", str(folder / "receiver.sqlite"), mode.name)) as (receiver,):
        port = receiver.said()["port"]
        relay = Relay(port) if relayed else None
        plain = socket.create_connection(("127.0.0.1", relay.port if relay else port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        context = tls.sync_context(KEYS[0], [KEYS[1].certificate], server=False)
        with context.wrap_socket(plain) as stream:
            yield Pipeline(stream, receiver, source, mode), relay
        if relay:
            relay.close()
    source.close()


def size(file: Path) -> int:
    """Bytes of an SQLite database file, all that is in the log included."""
    connection = apsw.Connection(str(file))
    pages, free, page = (connection.pragma(name) for name in ("page_count", "freelist_count", "page_size"))
    connection.close()
    return int(pages - free) * int(page)


if __name__ == "__main__":
    receive(Path(sys.argv[1]), MODES[sys.argv[2]])
