"""The epochs that a device holds, and who else needs them (docs/specs/19-relay.md, section 4)."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from lottisync.device.device import Device
from lottisync.identity.device_key import IdentityError
from lottisync.identity.statement import MembershipRecord
from lottisync.relay import content, epoch, ledger
from lottisync.relay.box import BoxKey, wrap_context, wrap_info, wrapped
from lottisync.relay.circle import Circle, signed_by
from lottisync.relay.epoch import KEY_BYTES, MAX_EPOCHS, Epoch
from lottisync.relay.header import BadMessage, Name, Parts
from lottisync.relay.seal import sealed_once, unsealed_once

Chance = Callable[[int], bytes]
"""Gives that many random bytes, which nobody can guess."""
EPOCH_LIFE = 90 * 24 * 3_600_000
"""Milliseconds for which a device seals under an epoch that it has got. A relay forgets a message after as long: who
gets one key, without the device that holds it, reads at most twice this time of what is said."""


class UnwrappedKeys(NamedTuple):
    """What another member has wrapped in one keys message, and for how many."""

    signer: str
    epochs: frozenset[bytes]
    records: frozenset[str]
    wraps: int


class EpochKeyring:
    """See the module."""

    def __init__(self, device: Device, circle: Circle, chance: Chance) -> None:
        self._device, self._circle, self._chance = device, circle, chance
        self._box = BoxKey(device.key)
        with device.space.reading() as reader:
            kept = ledger.epochs(reader)
        self.epochs = {ident: one for ident, (one, _) in kept.items()}
        self._since = {ident: since for ident, (_, since) in kept.items()}
        self.held_by: dict[bytes, tuple[str, frozenset[bytes]]] = {}
        """For each lane: whose it is, and the epochs that it has last said it holds."""
        self.opened: dict[Name, UnwrappedKeys] = {}
        """The keys messages of other members that this device has opened, as long as they lie there."""

    def sealing(self, now: int) -> Epoch:
        """The epoch to seal with; one is made if none was made without all who are revoked, or if it is old."""
        fit = epoch.fitting(self.epochs, self._circle.revocations)
        if fit is None or now - self._since[fit.id] > EPOCH_LIFE:
            fit = epoch.successor(self.epochs.values(), self._circle.revocations, self._chance(KEY_BYTES))
            self._keep([fit], now)
        return fit

    def fits(self, epoch_id: bytes) -> bool:
        """Whether something may still be sealed under an epoch."""
        held = self.epochs.get(epoch_id)
        return held is not None and self._circle.revocations <= held.without

    def in_need(self, used: Iterable[bytes]) -> set[tuple[str, bytes]]:
        """(device, epoch): members that have not said that they hold an epoch which is here and in use."""
        others = self._circle.boxes.keys() - {self._device.id}
        return {
            (device, one) for device in others for one in used if one in self.epochs and not self._held(device, one)
        }

    def forget_all_but(self, lanes: set[bytes]) -> None:
        """Forget what was said in all lanes but these."""
        self.held_by = {lane: said for lane, said in self.held_by.items() if lane in lanes}

    def silent(self) -> set[str]:
        """The other devices that have no state in the relay."""
        return self._circle.boxes.keys() - {device for device, _ in self.held_by.values()} - {self._device.id}

    def is_wrapped_by_another(self, epochs: set[bytes]) -> bool:
        """Whether another member has wrapped these epochs and all records for as many devices as this one knows of."""
        records, others = {record.record_id for record in self._circle.records}, len(self._circle.boxes) - 1
        return any(
            one.signer in self._circle.members and epochs <= one.epochs and records <= one.records
            and one.wraps >= others
            for one in self.opened.values()
        )  # fmt: skip

    def _held(self, device: str, epoch_id: bytes) -> bool:
        """Whether all lanes of a device say that it holds the epoch: a device that was restored from a backup may have
        lost it."""
        said = [held for speaker, held in self.held_by.values() if speaker == device]
        return bool(said) and all(epoch_id in held for held in said)

    def wraps(self, space: bytes, lane: bytes, number: int) -> bytes:
        """The body of a keys message: all epochs that are held, for every member. The records travel once, so that a
        message grows with the number of devices and not with its square (RELAY-578)."""
        epochs = sorted(self.epochs.values(), key=lambda one: (one.generation, one.id))
        records = [record.to_fields() for record in self._circle.records]
        boxes = [public for device, public in sorted(self._circle.boxes.items()) if device != self._device.id]
        key = self._chance(KEY_BYTES)
        body = sealed_once(key, wrap_context(space, lane, number), content.encode(content.Keyring(epochs, records)))
        wraps = [wrapped(key, public, wrap_info(space, lane, number, public)) for public in boxes]
        return content.encode(content.Wraps(wraps, body))

    def take(self, parts: Parts, signer: str | None, now: int) -> bool:
        """Take the keys that were wrapped for this device, with the records that come with them; whether anything
        was new. A signer that is not a member may show the records that make it one. Raises `BadMessage`.

        All records are taken, not the revocations alone: one of them may say that a revoked device came back. A reader
        that knows only the revocation would accept nothing of that device any more (RELAY-570)."""
        found, wraps = self._opened(parts, signer)
        records = _records(found.records)
        if signer is None and not _vouched(self._circle.with_records(records), parts):
            raise BadMessage("keys came from a device that no member vouches for")
        learnt = self._circle.learn(records, now)
        new = [one for one in found.epochs if one.id not in self.epochs]
        if len(self.epochs) + len(new) > MAX_EPOCHS:
            raise BadMessage("more than {limit} epochs", limit=MAX_EPOCHS)
        self._keep(new, now)
        if signer is not None and found.epochs:
            name = Name(parts.header.lane, "keys", parts.header.number)
            ids = frozenset(one.id for one in found.epochs), frozenset(record.record_id for record in records)
            self.opened[name] = UnwrappedKeys(signer, *ids, wraps)
        return learnt or bool(new)

    def _opened(self, parts: Parts, signer: str | None) -> tuple[content.Keyring, int]:
        """What is in a keys message for this device, and for how many it is."""
        header = parts.header
        context = header.space, header.lane, header.number
        message = content.decode(parts.rest, content.Wraps)
        for one in self._likeliest_first(message.wraps, signer):
            try:
                key = self._box.opened(one, wrap_info(*context, self._box.public))
            except BadMessage:
                continue
            if len(key) != KEY_BYTES:
                raise BadMessage("a key has {limit} bytes; got {size}", limit=KEY_BYTES, size=len(key))
            body = unsealed_once(key, wrap_context(*context), message.keyring)
            return content.decode(body, content.Keyring), len(message.wraps)
        return content.Keyring([], []), 0

    def _likeliest_first(self, wraps: list[bytes], signer: str | None) -> list[bytes]:
        """Nothing says which wrap is whose, and trying them all takes long. A sender that knows the same members has
        put them in the same order."""
        others = sorted(device for device in self._circle.boxes if device != signer)
        own = self._device.id
        at = others.index(own) if own in others else 0
        return wraps[at : at + 1] + wraps[:at] + wraps[at + 1 :]

    def _keep(self, new: list[Epoch], now: int) -> None:
        if not new:
            return
        with self._device.space.transaction(now, None) as tx:
            for one in new:
                ledger.keep_epoch(tx, one, now)
        self.epochs |= {one.id: one for one in new}
        self._since |= {one.id: now for one in new}


def _records(fields: list[Mapping[str, object]] | list[dict[str, str | int]]) -> list[MembershipRecord]:
    found = []
    for each in fields:
        try:
            found.append(MembershipRecord.from_fields(each))
        except IdentityError:
            continue
    return found


def _vouched(members: Mapping[str, bytes], parts: Parts) -> bool:
    return any(signed_by(certificate, parts) for certificate in members.values())
