"""Where a program can be reached: a host and a port (docs/specs/16-meeting.md, section 1).

A host is an IPv4 address, an IPv6 address, or a name that is resolved when it is dialled (dynamic DNS, a VPN's
names). A link-local IPv6 address means nothing without its interface, so it carries that: `fe80::1%eth0`.

In a record that other devices read, an address is a URI (`tcp://192.0.2.7:22067`). The scheme is the kind of way:
one that this version does not know (a relay's, say) is passed over.
"""

import ipaddress
import re
from typing import NamedTuple

MAX_NAME = 253
"""Characters of a name in DNS."""
_PORT = re.compile(r"\A[0-9]{1,5}\Z")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"\A{_LABEL}(?:\.{_LABEL})*\.?\Z")
_NUMBERS = re.compile(r"\A[0-9.]+\Z")
_SCOPE = re.compile(r"\A[A-Za-z0-9_.:@-]{1,15}\Z")
_SCHEME = "tcp://"


class BadAddress(ValueError):
    """This text is no address."""


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def uri(self) -> str:
        return f"{_SCHEME}{self}"

    @property
    def link_local(self) -> bool:
        """Whether the host is a link-local IPv6 address."""
        return ":" in self.host and ipaddress.IPv6Address(self.host).is_link_local

    def within(self, scope: str) -> "Address":
        """The same address on an interface; with an empty `scope`, on no particular one."""
        bare = self.host.partition("%")[0]
        return Address(f"{bare}%{scope}" if scope else bare, self.port)


def parse(text: str) -> Address:
    """The address in `HOST:PORT` or `[IPV6]:PORT`, in its one form; port 0 is allowed, for who listens on any port.
    Raises `BadAddress`."""
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not _PORT.match(port) or int(port) > 65535:
        raise BadAddress(f"an address is HOST:PORT, like 192.0.2.7:22067 or [2001:db8::7]:22067; got {text[:80]!r}")
    return Address(parse_host(host[1:-1] if bracketed else host, bracketed=bracketed), int(port))


def parse_host(host: str, *, bracketed: bool) -> str:
    """A host in its one form. Raises `BadAddress`."""
    if bracketed:
        return _ipv6(host)
    if _NUMBERS.match(host):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            raise BadAddress(f"{host[:80]!r} is no IPv4 address") from None
    if ":" in host:
        raise BadAddress(f"an IPv6 address stands in brackets, like [2001:db8::7]:22067; got {host[:80]!r}")
    if len(host) > MAX_NAME or not _NAME.match(host):
        raise BadAddress(f"a host is an IP address or a name of letters, digits, dots and hyphens; got {host[:80]!r}")
    return host.rstrip(".").lower()


def from_uri(uri: object) -> Address | None:
    """The address that another device can dial in an entry of a record; None for what this version cannot use."""
    if not isinstance(uri, str) or not uri.startswith(_SCHEME):
        return None
    try:
        address = parse(uri.removeprefix(_SCHEME))
    except BadAddress:
        return None
    return address if address.port else None


def _ipv6(text: str) -> str:
    bare, percent, scope = text.partition("%")
    try:
        address = ipaddress.IPv6Address(bare)
    except ValueError:
        raise BadAddress(f"{text[:80]!r} is no IPv6 address") from None
    if percent and not (address.is_link_local and _SCOPE.match(scope)):
        raise BadAddress(f"only a link-local address (fe80::...) has an interface behind %; got {text[:80]!r}")
    return f"{address}%{scope}" if percent else str(address)
