"""A network cable that loses and delays frames: a program between two TAP devices. `tc netem` would do the same in the
kernel, and many kernels come without it.

    python -m tests.support.lossy_cable SECONDS LOSS SEED DEVICE DEVICE

It makes the two devices in the network namespace that it runs in and prints `ready`. It carries each frame from one to
the other after SECONDS, and drops a share of LOSS (0 to 1). A device may be moved to another namespace and renamed
afterwards. The cable ends with its standard input."""

import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time

_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_FRAME = 65_536


def tap(name: str) -> int:
    """A TAP device: what is read is what the system sends over it. Its file descriptor."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
    return device


def carry(ends: dict[int, int], stop: int, delay: float, loss: float, chance: random.Random) -> None:
    """`ends` says for each device where its frames go. It ends when there is something to read from `stop`."""
    under_way: list[tuple[float, int, int, bytes]] = []
    count = 0
    while True:
        pause = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
        ready, _, _ = select.select([stop, *ends], [], [], pause)
        if stop in ready:
            return
        for device in ready:
            frame = os.read(device, _FRAME)
            if chance.random() >= loss:
                count += 1  # frames of one moment stay in order
                heapq.heappush(under_way, (time.monotonic() + delay, count, ends[device], frame))
        while under_way and under_way[0][0] <= time.monotonic():
            *_, device, frame = heapq.heappop(under_way)
            try:
                os.write(device, frame)
            except OSError:
                continue  # the device is down or its queue is full: one more frame that is lost


def main() -> None:
    delay, loss, seed, *names = sys.argv[1:]
    first, second = (tap(name) for name in names)
    print("ready", flush=True)
    carry({first: second, second: first}, sys.stdin.fileno(), float(delay), float(loss), random.Random(int(seed)))


if __name__ == "__main__":
    main()
