"""Epochs: the keys that the devices of a person share (docs/specs/19-relay.md, section 4).

An epoch is made *without* the devices that its maker knew to be revoked. Devices learn of revocations at different
times, so none of them says which epoch is "the present one". Each uses the greatest of those that it holds which were
made without everything that *it* knows to be revoked, and makes one if there is none. So a rotation that one device
began is finished by any other, and two devices that rotate at once need no agreement: both epochs can be read, one is
greater.

Whom an epoch was wrapped for is not a criterion. Another device may have wrapped it for a revoked one meanwhile.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec

KEY_BYTES = 32
ID_BYTES = 16
MAX_EPOCHS = 4_096
"""Epochs that a device keeps: one for every revocation and every 90 days of a long life."""
_LABEL = b"lottisync/relay-epoch/1\x00"

RevocationId = Annotated[str, msgspec.Meta(max_length=34)]
"""The id of a signed record that revokes a device."""


class Epoch(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """`without` are the revocations that its maker knew. The id is a hash of the key, so that no two keys have one
    id."""

    key: Annotated[bytes, msgspec.Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
    generation: Annotated[int, msgspec.Meta(ge=1, le=2**53 - 1)]
    without: frozenset[RevocationId]

    @property
    def id(self) -> bytes:
        return hashlib.sha256(_LABEL + self.key).digest()[:ID_BYTES]


def fitting(epochs: Mapping[bytes, Epoch], revocations: frozenset[str]) -> Epoch | None:
    """The epoch to seal with by somebody who knows of these revocations; None if one has to be made (RELAY-10)."""
    fit = [epoch for epoch in epochs.values() if revocations <= epoch.without]
    return max(fit, key=lambda epoch: (epoch.generation, epoch.id), default=None)


def successor(epochs: Iterable[Epoch], revocations: frozenset[str], key: bytes) -> Epoch:
    """The epoch that comes after these."""
    return Epoch(key, max((epoch.generation for epoch in epochs), default=0) + 1, revocations)
