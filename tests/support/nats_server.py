"""A real NATS server on this machine, in a folder of its own."""

import json
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.command_line import eventually
from tests.support.ports import free_port

WHERE = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")


class Server:
    """`folder` holds its stream. It can be stopped and started again on the same port. `more` goes into its
    configuration, and `storage` into what it says of its storage. `within` is what starts it in namespaces."""

    def __init__(
        self,
        folder: Path,
        max_payload: int = 1024 * 1024,
        more: str = "",
        *,
        storage: str = "",
        within: Sequence[str] = (),
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.port, self._within = folder, free_port(), within
        self._config = folder / "server.conf"
        self._config.write_text(
            f"listen: {json.dumps(f'127.0.0.1:{self.port}')}\nmax_payload: {max_payload}\n"
            f"jetstream {{ store_dir: {json.dumps(str(folder / 'store'))}\n{storage} }}\n{more}\n"
        )
        self.start()

    @classmethod
    def configured(cls, config: Path, port: int) -> "Server":
        """One with a configuration of its own, for this port. It is started where that lies, on loopback alone."""
        made = cls.__new__(cls)
        made.folder, made.port, made._config, made._within = config.parent, port, config, ()
        made.start()
        return made

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Returns when it takes connections."""
        assert WHERE is not None
        log = self.folder / "server.log"
        with log.open("w") as said:
            self._process = subprocess.Popen(
                [*self._within, WHERE, "-c", str(self._config), "-a", "127.0.0.1"],
                cwd=self.folder,
                stderr=said,
                start_new_session=True,
            )
        eventually(lambda: "Server is ready" in log.read_text() or self._process.poll() is not None, "the server")
        assert self._process.poll() is None, log.read_text()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(how)
        self._process.wait()

    def change(self, old: str, new: str) -> None:
        """Another configuration from the next start on."""
        text = self._config.read_text()
        assert old in text
        self._config.write_text(text.replace(old, new))

    def wipe(self) -> None:
        """Everything that it has stored is lost."""
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder / "store")
        self.start()
