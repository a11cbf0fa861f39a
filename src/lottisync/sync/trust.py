"""Which devices this one trusts, by the roster in the `space` store (docs/specs/06-identity-and-pairing.md)."""

import ssl

from lottisync.device.device import Device
from lottisync.device.membership import come_back, read_roster, tell_apart
from lottisync.device.peers import known_hosts
from lottisync.identity.roster import Member, Roster
from lottisync.net import tls
from lottisync.sync.off_loop import Caller


class Trust:
    """Everything here is as of the last `load`; before the first there is nothing. A device that is `leaving` reads
    that it is retired, and stays so."""

    roster: Roster
    serve_context: ssl.SSLContext
    """For connections that are accepted: those of trusted devices, and of revoked ones, which get a Close that says so
    (NET-50)."""
    dial_context: ssl.SSLContext
    """For connections that are dialled."""

    def __init__(self, device: Device, call: Caller, *, leaving: bool = False) -> None:
        self._key, self._space, self._clock = device.key, device.space, device.environment.now
        self._call, self._leaving = call, leaving
        self.active: set[str] = set()
        """The devices that are dialled."""
        self.members: set[str] = set()
        """The devices that are, or were, this person's."""
        self.renamed: str | None = None
        """What this device is called now, if another one had its name when the roster was read."""

    async def load(self) -> tuple[dict[str, Member], set[str]]:
        """Read the roster. Returns the trusted devices, by id, and the addresses where peers were reached before."""

        def read() -> tuple[str | None, Roster, set[str]]:
            if not self._leaving:
                come_back(self._space, self._key, self._clock())
            renamed = tell_apart(self._space, self._key, self._clock())
            with self._space.reading() as reader:
                return renamed, read_roster(reader, self._key.certificate), known_hosts(reader)

        self.renamed, self.roster, hosts = await self._call(read)
        trusted = {member.device: member for member in self.roster.trusted_peers()}
        self.active = {member.device for member in self.roster.active_peers()}
        self.members |= self.roster.members.keys()
        pins = [member.certificate for member in trusted.values()]
        revoked = [self.roster.members[device].certificate for device in self.roster.revoked()]
        self.serve_context = tls.sync_context(self._key, [*pins, *revoked], server=True)
        self.dial_context = tls.sync_context(self._key, pins, server=False)
        return trusted, hosts
