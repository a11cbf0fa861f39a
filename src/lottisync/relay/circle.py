"""Who speaks in a relay: the person's devices, as this one knows them (docs/specs/19-relay.md, section 4)."""

import hashlib
from collections.abc import Set

from lottisync.device.device import Device
from lottisync.device.membership import IN_USE, read_records, read_roster
from lottisync.device.space import BOX_KEY
from lottisync.entities import path
from lottisync.entities.entity import HIGH
from lottisync.identity.device_key import verify
from lottisync.identity.roster import Roster
from lottisync.identity.statement import MembershipRecord
from lottisync.relay.box import BoxRecord
from lottisync.relay.header import CHANNEL, Kind, Name, Parts
from lottisync.store.reader import ChangeToken

MOST_LANES = 8
"""Lanes of one device that are read: it begins another one only when it was restored from a backup."""


class Circle:
    """The members as of the last `load`. `members` are the devices whose word counts, this one among them, with their
    certificates; `boxes` the public box keys of those that have announced one; `revocations` the signed records by
    which devices were revoked."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._lanes: dict[bytes, str] = {}
        self._heard: dict[bytes, set[Name]] = {}
        """The messages of each lane that its device was heard in."""
        self._loaded: ChangeToken | None = None
        self.load()

    def load(self) -> None:
        """Look again, if anything in `space` has changed: checking every signature takes longer than all else that a
        visit does when there is nothing to say."""
        with self._device.space.reading() as reader:
            token = reader.change_token()
            if token == self._loaded:
                return
            self._loaded = token
            self.roster: Roster = read_roster(reader, self._device.key.certificate)
            self.records = read_records(reader)
            announced = [
                record
                for entity in reader.by_type(BOX_KEY)
                if (record := BoxRecord.from_fields(path.nest(entity.document()))) is not None
            ]
        own = self._device.id
        trusted = {each.device: each for each in self.roster.members.values() if each.status in IN_USE}
        self.members = {device: member.certificate for device, member in trusted.items()}
        self.members[own] = self._device.key.certificate
        self.active = {device for device, member in trusted.items() if member.status == "active"} | {own}
        unheard = {record_id for record_id, _ in self.roster.rejected}
        self.revocations = frozenset(
            record.record_id for record in self.records if record.kind == "revoked" and record.record_id not in unheard
        )
        self.boxes = {
            record.device: record.public
            for record in announced
            if record.device in self.members and record.genuine(self.members[record.device])
        }

    @property
    def records_id(self) -> bytes:
        """A hash that differs if any of the records does."""
        return hashlib.sha256("".join(sorted(record.record_id for record in self.records)).encode()).digest()

    def announce(self, now: int) -> None:
        """Say in `space` what this device's public box key is."""
        record = BoxRecord.signed_by(self._device.key)
        with self._device.space.reading() as reader:
            there = reader.version(record.record_id) is not None
        if not there:
            with self._device.space.transaction(now, HIGH) as tx:
                tx.put(record.record_id, BOX_KEY, record.to_fields())
            self.load()

    def learn(self, records: list[MembershipRecord], now: int) -> bool:
        """Write down signed records that came with keys; whether any was new."""
        known = {record.record_id for record in self.records}
        new = [record for record in records if record.record_id not in known]
        if new:
            self._device.members.publish(new, now)
            self.load()
        return bool(new)

    def with_records(self, records: list[MembershipRecord]) -> dict[str, bytes]:
        """The certificates of the members, if these records counted, too."""
        roster = Roster.fold(self._device.key.certificate, [*self.records, *records], [])
        return {each.device: each.certificate for each in roster.members.values() if each.status in IN_USE}

    def device_of(self, lane: bytes) -> str:
        """The device whose lane it is; "" if none of its messages was read."""
        return self._lanes.get(lane, "")

    def show(self, present: Set[Name]) -> None:
        """Take these messages, and no others, to be in the relay. If none of the messages is left by which a lane was
        given to a device, the lane belongs to no device again: the one that took it first may have lied (RELAY-579)."""
        self._heard = {lane: left for lane, heard in self._heard.items() if (left := heard & present)}
        self._lanes = {lane: device for lane, device in self._lanes.items() if lane in self._heard}

    def lanes_of(self, device: str) -> set[bytes]:
        """The lanes of a device that were read."""
        return {lane for lane, speaker in self._lanes.items() if speaker == device}

    def another_signed(self, parts: Parts) -> bool:
        """Whether a member other than this device has signed a message."""
        own = self._device.id
        return any(signed_by(certificate, parts) for device, certificate in self.members.items() if device != own)

    def signer(self, parts: Parts) -> str | None:
        """The member that has signed a message; None if none has. A lane is one device's."""
        found = self._signer(parts)
        header = parts.header
        if found is not None and header.kind is not Kind.FRAME:
            name = Name(header.lane, CHANNEL[header.kind], header.number)
            self._heard.setdefault(header.lane, set()).add(name)
            self._lanes[header.lane] = found
        return found

    def _signer(self, parts: Parts) -> str | None:
        known = self._lanes.get(parts.header.lane)
        if known is not None:
            certificate = self.members.get(known)
            return known if certificate is not None and signed_by(certificate, parts) else None
        signers = (device for device, certificate in self.members.items() if signed_by(certificate, parts))
        found = next(signers, None)
        return found if found is not None and len(self.lanes_of(found)) < MOST_LANES else None


def signed_by(certificate: bytes, parts: Parts) -> bool:
    return verify(certificate, parts.signature, parts.signed)
