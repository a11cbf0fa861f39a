"""A device for tests, in a folder.

It uses neither the machine's clock nor random numbers: its key, hosts and ids are counted, and a test sets the time. In
all else it is the `Device` of the product. Other devices of tests build on it: a member of a household
(`tests.support.household`), one whose agents wake (`tests.support.device`), one whose person reviews
(`tests.review.reviewer`).
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from lottisync.causality.vector_clock import Host
from lottisync.device.clock import Environment
from lottisync.device.device import Device
from lottisync.device.folder import StoreFolder
from lottisync.entities.identifier import time_ordered
from lottisync.entities.schema import StoreSchema
from lottisync.identity.device_key import DeviceKey

NOON = 1_764_590_400_000  # 2025-12-01T12:00:00Z


class CountedDevice(Device):
    """`number` (1 to 255) distinguishes it from others. `clock` gives the wall time in ms. The stores of `schemas`
    that are not in the folder yet are made."""

    def __init__(self, folder: Path, number: int, schemas: Iterable[StoreSchema], clock: Callable[[], int]) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.number = number
        self._named = 0
        seed = bytes([number]) * 32
        self.files = StoreFolder(folder, schemas, self._mint, detect="late")
        environment = Environment(clock, self.new_id, self._mint, lambda: seed)
        super().__init__(self.files, lambda: DeviceKey.from_seed(seed), environment)
        self.is_new = bool(self.files.missing())
        """Whether a store had to be made."""
        self.files.create(self.files.missing())

    def new_id(self, now: int) -> str:
        self._named += 1
        return time_ordered(now, self.number.to_bytes(4, "big") + self._named.to_bytes(6, "big"))

    def _mint(self) -> Host:
        """Hosts are counted in a file: a device that is opened again mints none that it has had."""
        counted = self.folder / "hosts"
        minted = int(counted.read_text()) + 1 if counted.exists() else 1
        counted.write_text(str(minted))
        return Host(f"{self.number:08x}{minted:08x}")

    def close(self) -> None:
        """Let go of the files. The stores can be opened again."""
        self.files.close()
