"""Leaving the person's devices: this device retires, one other device gets all that is here, and only then may the
home go (docs/specs/11-command-line.md, section 5).

A device that reads that it was retired signs itself back in, because it is in use after all. So no daemon runs
meanwhile, and the engine here is one that stays retired.
"""

from collections.abc import Callable

import anyio

from lottisync.daemon.daemon import one_problem
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.device.alone import alone
from lottisync.net.listener import Listen
from lottisync.store.forgetting import lacking
from lottisync.sync.engine import Engine
from lottisync.sync.off_loop import in_thread
from lottisync.sync.peer import PeerState


async def leave(
    home: TaskHome, *, listen: Listen, discover: bool, wait: float, report: Callable[[str, str], None]
) -> str | None:
    """Retire this device, and wait up to `wait` seconds until another one has everything of it. Gives the name of that
    one, or None. Raises `Problem` if another program syncs this home."""
    changed = anyio.Event()

    def note() -> None:
        changed.set()

    found = None
    with one_problem():
        async with alone(home.path):
            await in_thread(lambda: home.members.retire(home.key.device_id, clock.now()))
            engine = Engine(
                home, listen, discover=discover, chance=clock.chance(), report=report, status=note, leaving=True
            )
            async with anyio.create_task_group() as tasks:
                await tasks.start(engine.run)
                with anyio.move_on_after(wait):
                    while (found := await _who_has_all(home, engine)) is None:
                        with anyio.move_on_after(1.0):
                            await changed.wait()
                        changed = anyio.Event()
                tasks.cancel_scope.cancel()
    return found


async def _who_has_all(home: TaskHome, engine: Engine) -> str | None:
    peers = await engine.snapshot()
    return await in_thread(lambda: next((peer.name for peer in peers if _has_all(home, peer)), None))


def _has_all(home: TaskHome, peer: PeerState) -> bool:
    """Whether a device that is connected has all stores, and all that is in them."""
    if not peer.connected or peer.only_here or peer.failing_there or not home.stores.keys() <= peer.acknowledged.keys():
        return False
    for name, store in home.stores.items():
        with store.reading() as reader:
            if lacking(reader, peer.acknowledged[name]):
                return False
    return True
