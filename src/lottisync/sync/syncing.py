"""Keeping a device in sync from a program: over the network, or over a transport of its own (docs/library.md).

`syncing` runs the engine: it listens, finds the person's other devices, and keeps one connection with each.
`conversation` is one side of such a connection without a network: the program carries the bytes.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

from lottisync.device import clock
from lottisync.device.alone import alone
from lottisync.device.device import Device
from lottisync.net.address import Address
from lottisync.net.listener import Listen
from lottisync.sync.conversation import Conversation
from lottisync.sync.engine import Engine

ANYWHERE = Address("0.0.0.0", 0)
"""All interfaces, any port."""


@asynccontextmanager
async def syncing(
    device: Device,
    listen: Address = ANYWHERE,
    *,
    discover: bool = True,
    report: Callable[[str, str], None] = lambda code, text: None,
) -> AsyncIterator[Engine]:
    """Sync a device with the person's other devices until the block ends. `discover` finds them by mDNS; `report` gets
    what happens (a code, a sentence). The engine's `port` says where it listens, its `peers` the state of each device.

    Raises `Problem` if the address cannot be listened on, and (`running`) if a daemon or another program syncs this
    device: one at a time can. No daemon starts meanwhile."""
    engine = Engine(device, Listen(*listen), discover=discover, chance=clock.chance(), report=report)
    failure: BaseException | None = None
    async with alone(device.space.file.parent), anyio.create_task_group() as tasks:
        try:
            await tasks.start(engine.run)
            yield engine
        except Exception as error:  # noqa: BLE001 - raised again below: a task group would wrap it
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


def conversation(device: Device, *, dialled: bool, peer: str | None = None) -> Conversation:
    """One side of a conversation with another device, for a transport of the program's own. One side has `dialled`, the
    other has not. `peer` is the device id that the transport has proved; None if it proves none."""
    now = device.environment.now()
    return Conversation(
        device,
        boot=device.environment.new_seed()[:16],
        members=frozenset(device.roster().members),
        dialled=dialled,
        expected=peer,
        now=now,
    )
