"""Messages that lie in the relay and cannot be opened yet, because this device does not hold their epoch."""

from collections.abc import Iterator, Set

from lottisync.relay.header import Name, Parts
from lottisync.relay.keyring import EpochKeyring
from lottisync.relay.seal import unsealed


class Locked:
    """`epochs` says which epoch each of them waits for."""

    def __init__(self, keyring: EpochKeyring) -> None:
        self._keyring = keyring
        self.epochs: dict[Name, bytes] = {}

    def body(self, name: Name, parts: Parts, rest: bytes, open_part: bytes = b"") -> bytes | None:
        """The body that was sealed; None if its epoch is not here. Raises `BadMessage`."""
        epoch = self._keyring.epochs.get(parts.header.epoch)
        if epoch is None:
            self.epochs[name] = parts.header.epoch
            return None
        return unsealed(epoch.key, parts.header, rest, open_part)

    def unlocked(self) -> Iterator[Name]:
        """The messages whose epoch has come meanwhile."""
        yield from (name for name, epoch in self.epochs.items() if epoch in self._keyring.epochs)

    def forget(self, name: Name) -> None:
        self.epochs.pop(name, None)

    def forget_all_but(self, present: Set[Name]) -> None:
        self.epochs = {name: epoch for name, epoch in self.epochs.items() if name in present}
