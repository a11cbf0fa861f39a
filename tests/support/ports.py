"""A port on which nothing listens."""

import random
import socket

HERE = "127.0.0.1"
PORTS = range(23_000, 32_000)
"""Below the ports that a system gives to connections that go out. One of these could take the port before a server
does, or while the server is started again."""


def free_port() -> int:
    """Drawn by the system's random numbers: those of the tests are the same in each of the suite's processes."""
    for port in random.SystemRandom().sample(PORTS, 100):
        try:
            with socket.create_server((HERE, port)):
                return port
        except OSError:
            continue
    raise AssertionError("of a hundred ports none was free")
