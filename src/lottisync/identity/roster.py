"""The roster: which devices belong to this person.

Nobody keeps a list of members. Each device signs small statements (*added*, *renamed*, *revoked*, *retired*), they
are replicated as immutable documents like everything else, and each device works out for itself what follows from
those it holds. `Roster.fold` is that working-out: a function of a *set* of statements, so that two devices with
the same statements and the same point of view agree, in whatever order the statements came.

The point of view is the device's own: it trusts itself, and from there whom it added, whom they added, and so on.
A stranger can sign what it likes; no chain leads to it from here.

Three words carry the rule:

    once-member   reachable over `added` records, whatever was revoked. Only a once-member is listened to.
    revoked at    for a device, the latest `at_ms` of a `revoked` record about it by another once-member.
    member        this device; and who is added by a member, later than it was revoked.

So a revocation only ever takes away. It counts even if its signer was revoked too; and nothing a revoked device adds
counts, whatever date it wrote on it. That settles the hard cases on the safe side. Whom only a revoked device
had vouched for is *unvouched* until a remaining member adds it (`resting_on` tells whom, before the person
decides). Two devices that revoke each other are both out in the eyes of a third. What this costs is written down in
the spec: a thief with an unlocked device can take the others out of the roster (though not bring anything in), and
a clock only decides between statements of devices that are trusted anyway.

The other cut considered was by date: what a device signed before it was revoked stays good. It keeps more, and it
lets a thief write an old date on a new accomplice.

Spec: docs/specs/06-identity-and-pairing.md, ROSTER-1 to ROSTER-19.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, Self

import msgspec

from lottisync.identity.device_key import (
    IdentityError,
    device_id_of,
    grouped,
    verify,
)
from lottisync.identity.statement import MAX_AT_MS, HostBinding, MembershipRecord

Status = Literal["active", "retired", "revoked", "unvouched"]

_TAKE_AWAY = ("revoked", "retired")
"""What a once-member says of this kind counts for good, whatever became of the signer."""


class Member(msgspec.Struct, frozen=True):
    """A device as the roster sees it.

    `vouched_by`: the members whose `added` record holds, in order of id. `latest_at_ms`: of any record about the
    device by a once-member, -1 without one.
    """

    device: str
    name: str
    certificate: bytes
    status: Status
    vouched_by: tuple[str, ...]
    latest_at_ms: int


class Roster(msgspec.Struct, frozen=True):
    """What one device makes of the statements it holds. A value: made by `fold`, never changed.

    `members` has every once-member by device id, also the revoked. `host_owner` says which device a host belongs
    to. `rejected` are the records that changed nothing, as (record id, reason), in order. `revoked_here_by`:
    members that revoked *this* device; it goes on trusting itself, and has something to tell the person.
    """

    self_id: str
    members: dict[str, Member]
    host_owner: dict[str, str]
    rejected: tuple[tuple[str, str], ...]
    revoked_here_by: tuple[str, ...]

    @classmethod
    def fold(
        cls,
        own_certificate: bytes,
        memberships: Iterable[MembershipRecord],
        bindings: Iterable[HostBinding],
    ) -> Self:
        """The roster that follows for the device of `own_certificate` (ROSTER-4 to ROSTER-17)."""
        self_id = device_id_of(own_certificate)
        distinct = sorted(set(memberships), key=lambda record: (record.record_id, record.signature))
        # An id fixes the key, so the certificate to check a signature with may come from anybody's record.
        certificates = {record.device: record.certificate for record in distinct if record.kind == "added"}
        certificates[self_id] = own_certificate

        forged = {
            record: _forged(record.by, record.signature, record.signed_bytes, certificates) for record in distinct
        }
        genuine = [record for record, reason in forged.items() if not reason]
        once = _reachable(self_id, ((record.by, record.device) for record in genuine if record.kind == "added"))
        heard = [record for record in genuine if record.by in once]

        revoked_at: dict[str, int] = {}
        for record in heard:
            if record.kind == "revoked":
                revoked_at[record.device] = max(record.at_ms, revoked_at.get(record.device, -1))
        holding = [
            record for record in heard if record.kind == "added" and record.at_ms > revoked_at.get(record.device, -1)
        ]
        current = _reachable(self_id, ((record.by, record.device) for record in holding))

        members = {
            device: _member(device, self_id, own_certificate, heard, current, device in revoked_at)
            for device in sorted(once)
        }
        host_owner, unbound = _owners(bindings, certificates, once, current)
        refused = {record: reason or _unheard(record, once, current) for record, reason in forged.items()}
        rejected = [(record.record_id, reason) for record, reason in refused.items() if reason]
        return cls(
            self_id=self_id,
            members=members,
            host_owner=host_owner,
            rejected=tuple(sorted(rejected + unbound)),
            revoked_here_by=tuple(
                sorted(
                    {
                        record.by
                        for record in heard
                        if record.kind == "revoked" and record.device == self_id and record.by in current
                    }
                )
            ),
        )

    def active_peers(self) -> list[Member]:
        """The devices to dial and to wait for, this one left out, in order of id."""
        return [member for member in self.trusted_peers() if member.status == "active"]

    def trusted_peers(self) -> list[Member]:
        """The devices to have sessions with, if they ask: also those that are put away, which come back that way."""
        return [
            member
            for device, member in self.members.items()
            if member.status in ("active", "retired") and device != self.self_id
        ]

    def revoked(self) -> list[str]:
        """The devices that are out for good, in order of id."""
        return [device for device, member in self.members.items() if member.status == "revoked"]

    def resting_on(self, device: str) -> list[str]:
        """Who else would be unvouched if `device` were revoked, in order of id.

        The program that revokes adds those that are kept, in the same transaction (ROSTER-18).
        """
        vouched = [
            (by, member.device)
            for member in self.members.values()
            for by in member.vouched_by
            if device not in (by, member.device)
        ]
        kept = _reachable(self.self_id, vouched)
        return [
            member.device
            for member in self.members.values()
            if member.status in ("active", "retired") and member.device not in kept and member.device != device
        ]

    def next_at(self, device: str, now_ms: int) -> int:
        """The `at_ms` for a new record about `device`: now, or just after all that is known about it (ROSTER-19).

        A device whose clock is behind could otherwise revoke, and not be heard. Raises `IdentityError` if the
        time has run out (somebody signed 2^53-1): that device needs a new key.
        """
        known = self.members.get(device)
        at_ms = max(now_ms, known.latest_at_ms + 1 if known else 0)
        if at_ms > MAX_AT_MS:
            raise IdentityError("no later record about this device is possible; it needs a new key")
        return at_ms


def _forged(by: str, signature: bytes, signed: bytes, certificates: Mapping[str, bytes]) -> str:
    certificate = certificates.get(by)
    if certificate is None:
        return "signed by a device whose certificate is not known"
    return "" if verify(certificate, signature, signed) else "the signature does not hold"


def _unheard(record: MembershipRecord, once: set[str], current: set[str]) -> str:
    """Why a genuine record changes nothing; "" if it counts. `once` are those that ever were members, `current` those
    that are."""
    if record.by not in once:
        return "signed by a device that never was a member"
    if record.by not in current and record.kind not in _TAKE_AWAY:
        return "signed by a device that is revoked or that no member vouches for"
    return "about a device that no member added" if record.device not in once else ""


def _reachable(start: str, edges: Iterable[tuple[str, str]]) -> set[str]:
    onward: dict[str, list[str]] = {}
    for source, target in edges:
        onward.setdefault(source, []).append(target)
    found = {start}
    waiting = [start]
    while waiting:
        for target in onward.get(waiting.pop(), ()):
            if target not in found:
                found.add(target)
                waiting.append(target)
    return found


def _later(record: MembershipRecord) -> tuple[int, str]:
    return record.at_ms, record.record_id


def _member(
    device: str,
    self_id: str,
    own_certificate: bytes,
    heard: Iterable[MembershipRecord],
    current: set[str],
    revoked: bool,
) -> Member:
    about = [record for record in heard if record.device == device]
    by_members = [record for record in about if record.by in current]
    # For who is out, a revoked sponsor's word still serves to show what the device was called.
    naming = [r for r in by_members if r.name]
    if device not in current:
        naming = naming or [r for r in about if r.name]
    adding = [r for r in by_members if r.kind == "added"] or [r for r in about if r.kind == "added"]
    revoked_at = max((r.at_ms for r in about if r.kind == "revoked"), default=-1)
    # A device's word about itself names it and brings it back from retirement; it does not vouch for it.
    vouching = [r for r in by_members if r.kind == "added" and r.by != device and r.at_ms > revoked_at]
    return Member(
        device=device,
        name=max(naming, key=_later).name if naming else grouped(device)[:9],
        certificate=own_certificate if device == self_id else max(adding, key=_later).certificate,
        status=_status(device in current, revoked, by_members, by_members if device == self_id else about),
        vouched_by=tuple(sorted({r.by for r in vouching})) if device in current else (),
        latest_at_ms=max((r.at_ms for r in about), default=-1),
    )


def _status(
    is_current: bool, revoked: bool, by_members: Iterable[MembershipRecord], ending: Iterable[MembershipRecord]
) -> Status:
    """What became of a device. `ending` are the records that may put it away: only members may do that, and not devices
    that this one has revoked."""
    if not is_current:
        return "revoked" if revoked else "unvouched"
    retired_at = max((r.at_ms for r in ending if r.kind == "retired"), default=-1)
    back_at = max((r.at_ms for r in by_members if r.kind == "added"), default=-1)
    return "retired" if retired_at >= 0 and retired_at >= back_at else "active"


def _owners(
    bindings: Iterable[HostBinding], certificates: Mapping[str, bytes], once: set[str], current: set[str]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    owners: dict[str, str] = {}
    rejected: list[tuple[str, str]] = []
    # Members before those who were, then by id: which of two claims holds does not depend on which came first.
    in_order = sorted(
        set(bindings),
        key=lambda binding: (binding.device not in current, binding.device, binding.store, binding.signature),
    )
    for binding in in_order:
        reason = _forged(binding.device, binding.signature, binding.signed_bytes, certificates)
        if not reason and binding.device not in once:
            reason = "signed by a device that never was a member"
        if not reason and owners.setdefault(binding.host, binding.device) != binding.device:
            reason = "the host is another device's"
        if reason:
            rejected.append((binding.record_id, reason))
    return owners, rejected
