"""A program that announces devices that do not exist: `python -m tests.support.invented COUNT ADDRESS`, until
killed."""

import random
import socket
import sys

import anyio
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from lottisync.net.discovery import SERVICE


async def invent(count: int, address: str) -> None:
    chance = random.Random(1)
    zeroconf = AsyncZeroconf(interfaces=[address])

    async def one() -> None:
        name = chance.randbytes(16).hex()
        info = AsyncServiceInfo(
            SERVICE,
            f"{name}.{SERVICE}",
            addresses=[socket.inet_aton(f"10.9.1.{chance.randrange(1, 255)}")],
            port=22067,
            properties={"role": "sync", "v": "1"},
            server=f"{name}.local.",
        )
        await (await zeroconf.async_register_service(info, cooperating_responders=True))

    async with anyio.create_task_group() as tasks:
        for _ in range(count):
            tasks.start_soon(one)
    print("ready", flush=True)
    await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(invent, int(sys.argv[1]), sys.argv[2])
