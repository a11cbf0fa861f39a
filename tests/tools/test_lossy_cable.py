"""The cable of the tests' networks does what its name says."""

import os
import random
import socket
import threading
import time

from tests.support.lossy_cable import carry


def test_a_lossy_cable_delays_every_frame_and_loses_its_share_in_order() -> None:
    here, left = socket.socketpair(type=socket.SOCK_DGRAM)
    right, there = socket.socketpair(type=socket.SOCK_DGRAM)
    stop, stopping = os.pipe()
    ends = {left.fileno(): right.fileno(), right.fileno(): left.fileno()}
    cable = threading.Thread(target=carry, args=(ends, stop, 0.05, 0.25, random.Random(1)))
    sender = threading.Thread(target=lambda: [here.send(bytes([number])) for number in range(100)])
    began = time.monotonic()
    cable.start()
    sender.start()
    arrived = list(there.recv(1))
    assert time.monotonic() - began >= 0.05
    there.settimeout(1)
    try:
        while True:
            arrived += there.recv(1)
    except TimeoutError:
        pass
    os.write(stopping, b"x")
    sender.join(10)
    cable.join(10)
    assert arrived == sorted(arrived)
    assert 60 <= len(arrived) <= 90
    for end in (here, left, right, there):
        end.close()
    os.close(stop)
    os.close(stopping)
