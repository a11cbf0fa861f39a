"""A relay between two devices that counts what crosses. It costs time, so nothing is timed through it."""

import contextlib
import select
import socket
import threading
import time

HERE = "127.0.0.1"


class Relay:
    """Listens on `port`, passes everything on to another port, both ways."""

    def __init__(self, target: int) -> None:
        self._listener = socket.create_server((HERE, 0))
        self.port: int = self._listener.getsockname()[1]
        self.target = target
        self._lock = threading.Lock()
        self._total = 0
        self._flights: list[tuple[int, int]] = []
        self._last = time.monotonic()
        self._ends: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection((HERE, self.target))
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._ends += [near, far]
            threading.Thread(target=self._pass_on, args=(near, far), daemon=True).start()

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError), near, far:
            while True:
                ready, _, _ = select.select([near, far], [], [])
                for end in ready:
                    piece = end.recv(262_144)
                    if not piece:
                        return
                    self._count(0 if end is near else 1, len(piece))
                    (far if end is near else near).sendall(piece)

    def _count(self, direction: int, size: int) -> None:
        with self._lock:
            self._total += size
            self._last = time.monotonic()
            if self._flights and self._flights[-1][0] == direction:
                size += self._flights.pop()[1]
            self._flights.append((direction, size))

    def reset(self) -> None:
        with self._lock:
            self._total = 0
            self._flights.clear()

    @property
    def total(self) -> int:
        """Bytes in both directions since the last reset."""
        with self._lock:
            return self._total

    @property
    def flights(self) -> int:
        """How often the direction changed, and one: 2 for a question and its answer."""
        with self._lock:
            return len(self._flights)

    def settle(self, seconds: float = 0.5) -> None:
        """Wait until nothing has crossed for so long."""
        while (quiet := time.monotonic() - self._last) < seconds:
            time.sleep(seconds - quiet)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
