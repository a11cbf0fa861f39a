"""What a person does to one of their devices: rename it, retire it, revoke it (docs/specs/06-identity-and-pairing.md).

`Members` writes any statement that can be signed. Here are the person's rules before that: which device may be meant,
and who is asked about first. The command line and the web pages call these, so both say the same.
"""

from collections.abc import Container, Set
from typing import NamedTuple

from lottisync.device.device import Device
from lottisync.device.membership import member_named, same_name
from lottisync.identity.roster import Member
from lottisync.problem import Problem, Usage
from lottisync.shown import quoted


class Leaving(NamedTuple):
    """A device that may be taken out for good, and `resting`: the devices that it alone brought in."""

    member: Member
    resting: list[Member]


def rename(device: Device, name: str, new_name: str) -> Member:
    """Call the device `name` something else, on all devices; as it was before. Raises `Problem`, and `IdentityError`
    for a name that a device cannot have."""
    member = member_named(device.roster(), name)
    refuse_taken(device, new_name, but=member.device)
    device.members.rename(member.device, new_name, device.environment.now())
    return member


def refuse_taken(device: Device, name: str, but: str = "") -> None:
    """A name that a person would take for another device's is a wrong call."""
    taken = same_name(device.roster(), name, {but})
    if taken is not None:
        raise Usage(
            "exists", "a device of yours is called {quoted} already. Choose another name", quoted=quoted(taken.name)
        )


def retire(device: Device, name: str, connected: Container[str]) -> Member:
    """Put the device `name` away: nobody waits for it any more. `connected` are the ids of those that would come back
    at once."""
    member = _other(device, name)
    if member.status != "active":
        raise Problem(
            "not-active", "{name} is {status} already", hint="devices", name=member.name, status=member.status
        )
    if member.device in connected:
        raise Problem(
            "connected",
            "{name} is connected now, and would come back at once. Switch it off first",
            hint="revoke",
            name=member.name,
            called=name,
        )
    device.members.retire(member.device, device.environment.now())
    return member


def leaving(device: Device, name: str) -> Leaving:
    """Who goes if the device `name` is taken out. Raises `Problem` if it is out already, or is this device."""
    member, roster = _other(device, name), device.roster()
    if member.status == "revoked":
        raise Problem("not-active", "{name} is revoked already", hint="devices", name=member.name)
    return Leaving(member, [roster.members[each] for each in roster.resting_on(member.device)])


def revoke(device: Device, out: Leaving, keep: Set[str]) -> list[Member]:
    """Take a device out for good; `keep` are the ids of those that rest on it and stay. Gives those that go with it."""
    device.members.revoke(out.member.device, keep, device.environment.now())
    return [each for each in out.resting if each.device not in keep]


def _other(device: Device, name: str) -> Member:
    """A device that is not this one."""
    member = member_named(device.roster(), name)
    if member.device == device.id:
        raise Usage("this-device", "{name} is this device. Do it on another one, which waits for it", name=member.name)
    return member
