"""A connection through which everything passes that two programs say to each other, and that keeps all of it."""

import contextlib
import select
import socket
import threading

HERE = "127.0.0.1"


class RecordedWire:
    """Listens on a free port of loopback, and passes everything on to another port there, both ways. After `cut_after`
    bytes a connection ends, whatever is being said. While `reading` is not set, nothing is read of what the server
    says, and then the connection ends. The next one is whole again."""

    def __init__(self, target: int) -> None:
        self._listener = socket.create_server((HERE, 0))
        self._target = target
        self._lock = threading.Lock()
        self._pieces: dict[int, list[bytes]] = {}
        self.cut_after: int | None = None
        self.cuts = 0
        self.reading = threading.Event()
        self.reading.set()
        self.url = f"nats://{HERE}:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def directions(self) -> list[bytes]:
        """What was said in each direction of each connection, as one piece: a word may lie in two."""
        with self._lock:
            return [b"".join(pieces) for pieces in self._pieces.values()]

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = self._dialled()
                except OSError:
                    near.close()
                    continue
                threading.Thread(target=self._pass_on, args=(near, far), daemon=True).start()

    def _dialled(self) -> socket.socket:
        """With little room for what was not read yet, so that a server soon notices who does not read."""
        far = socket.socket()
        far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        far.connect((HERE, self._target))
        return far

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        passed = 0
        with contextlib.suppress(OSError), near, far:
            heard: dict[socket.socket, list[bytes]] = {near: [], far: []}
            with self._lock:
                self._pieces |= {len(self._pieces) + n: pieces for n, pieces in enumerate(heard.values())}
            while True:
                for end in select.select([near, far], [], [])[0]:
                    if end is far and not self.reading.is_set():
                        self.reading.wait()
                        return
                    piece = end.recv(65_536)
                    if not piece:
                        return
                    heard[end].append(piece)
                    (far if end is near else near).sendall(piece)
                    passed += len(piece)
                if self.cut_after is not None and passed > self.cut_after:
                    self.cut_after, self.cuts = None, self.cuts + 1
                    return

    def close(self) -> None:
        self.reading.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
