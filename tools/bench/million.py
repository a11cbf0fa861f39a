"""A million entities: what is to be the same for them as for a hundred thousand (docs/specs/benchmarks-million.md).

Nobody else is measured beside: a figure is compared with the same of ours where there are fewer.
"""

import shutil

from tools.bench import growth, mending, round
from tools.bench.devices import Pair
from tools.bench.figure import Figure, at_most, value_at_most
from tools.bench.plot import Curve
from tools.bench.setting import Setting

INITIAL = "an entity of an initial sync"


def million(setting: Setting) -> tuple[list[Figure], list[Curve]]:
    *_, many, most = counts = setting.sizes.million
    idle = round.idle_memory(setting)
    cost: dict[int, float] = {}
    peak: dict[int, float] = {}
    figures: list[Figure] = []
    for count in counts:
        setting.doing(f"{count:,} entities: filling A", count)
        pair = Pair.made(setting.folder / f"million-{count}", count, setting.done)
        setting.doing(f"initial sync, {count:,} entities", count)
        met = pair.meet(setting.done)
        cost[count], peak[count] = met.seconds / count * 1e6, (max(met.peaks) - idle) / round.MB
        if count == most:
            figures += round.in_sync(setting, pair, count, round.bare_handshake(pair))
        pair.close()
        shutil.rmtree(pair.folder)
    among, memory = f"among {many:,}", "peak memory over an idle daemon"
    grown, curves = growth.grown(setting, growth.entities(*counts))
    return [
        Figure(f"{INITIAL}, among {most:,}", cost[most], "µs", cost[many], among, at_most(1.2)),
        Figure(f"{memory}, {most:,}", peak[most], "MB", peak[many], f"at {many:,}", value_at_most(64)),
        *figures,
        *grown,
        *mending.mended(setting, most),
    ], [Curve(INITIAL, cost), *curves]
