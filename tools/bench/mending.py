"""One entity that differs among many, because somebody has changed a row behind its store's back: what it takes to
find it and to make both stores the same again (docs/specs/15-mending.md).

Measured without a network, on two stores and the frames that would cross: the goal is for messages and bytes. What
stands beside the time is one look through all the rows of one store, hashed, which finds nothing out by itself.
"""

import shutil
import time
from collections import deque

from lottisync.entities.entity import HIGH
from lottisync.journal.types import JOURNAL
from lottisync.protocol import message as m
from lottisync.protocol.framing import ENCODINGS, frame
from lottisync.store.store import Store
from lottisync.sync.local_state import own_summary
from lottisync.sync.range_comparison import RangeComparison
from tools.bench.figure import Figure, at_most, value_at_most
from tools.bench.record import ident, task
from tools.bench.setting import Setting
from tools.bench.store import NOW, Bench

PER_COMMIT = 10_000


def mending(setting: Setting) -> list[Figure]:
    return mended(setting, setting.sizes.many)


def mended(setting: Setting, count: int) -> list[Figure]:
    """One among so many."""
    setting.doing("mending: filling", count)
    bench = Bench(setting.folder / f"mending-{count}")
    ours = bench.store()
    for start in range(0, count, PER_COMMIT):
        with ours.transaction(NOW, HIGH) as tx:
            some = range(start, min(start + PER_COMMIT, count))
            tx.put_all((ident(number), "task", task(number)) for number in some)
        setting.done(start)
    ours.close()
    copy = ours.file.with_name("other.sqlite")
    shutil.copyfile(ours.file, copy)
    stores = [Store.open(file, JOURNAL, bench.mint, detect="late") for file in (ours.file, copy)]
    tampered = ident(count // 2)
    with stores[1].transaction(NOW, HIGH) as tx:
        tx.execute("update journal_entities set serialized = replace(serialized, 'a', 'e') where id = ?", (tampered,))
    setting.doing("mending: comparing")
    began = time.perf_counter()
    sides = [RangeComparison("journal", store) for store in stores]
    looked = (time.perf_counter() - began) / 2
    messages, size = _talk(sides)
    summaries = set()
    for side, store in zip(sides, stores, strict=True):
        side.end(NOW)
        side.close()
        with store.reading() as reader:
            summaries.add((own_summary(reader).known, own_summary(reader).digest))
    took = time.perf_counter() - began
    if len(summaries) > 1 or sum(side.changed for side in sides) != 1:
        raise RuntimeError(f"{tampered} was changed in one of {count:,} rows, and was not mended")
    for store in stores:
        store.close()
    what = f"one that differs among {count:,}"
    return [
        Figure(f"{what}: messages until it is mended", messages, "", goal=value_at_most(8)),
        Figure(f"{what}: bytes, beside the entity", size, "B", goal=value_at_most(4_000)),
        Figure(f"{what}: found and mended", took * 1000, "ms", looked * 1000, "one store looked through", at_most(2.5)),
    ]


def _talk(sides: list[RangeComparison]) -> tuple[int, int]:
    """Carry the messages to and fro: how many there were, and their bytes on the wire without the entity itself."""
    waiting: deque[tuple[int, m.Message]] = deque([(1, sides[0].opening())])
    messages = size = 0
    while waiting:
        listener, message = waiting.popleft()
        messages += 1
        size += len(frame(m.encode(message), ENCODINGS))
        answer: list[m.Message] = []
        match message:
            case m.Compare():
                answer = sides[listener].take(message)
            case m.Mend(versions=versions):
                size -= sum(each.size() for each in versions)
                answer = sides[listener].mend(message, NOW)
        waiting += [(1 - listener, each) for each in answer]
    return messages, size
