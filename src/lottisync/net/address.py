"""Where a program can be reached: a host and a port (docs/specs/16-meeting.md, section 1).

A host is an IPv4 address, an IPv6 address, or a name that is resolved when it is dialled (dynamic DNS, a VPN's
names). A link-local IPv6 address means nothing without its interface, so it carries that: `fe80::1%eth0`.

In a record that other devices read, an address is a URI (`tcp://192.0.2.7:22067`). The scheme says how the device is
reached. An address with a scheme that this version does not know is passed over.
"""

import ipaddress
import re
from typing import NamedTuple

from lottisync.problem import Invalid

MAX_NAME = 253
"""Characters of a name in DNS."""
_PORT = re.compile(r"\A[0-9]{1,5}\Z")
_LABEL = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_NAME = re.compile(rf"\A{_LABEL}(?:\.{_LABEL})*\.?\Z")
_NUMBERS = re.compile(r"\A[0-9.]+\Z")
_SCOPE = re.compile(r"\A[A-Za-z0-9_.:@-]{1,15}\Z")
_SCHEME = "tcp://"
_BROADCAST = ipaddress.IPv4Address("255.255.255.255")
_ENCODED = re.compile(r"\A25.*[^0-9]")
"""An interface as a URL writes it: `%25eth0`."""


class BadAddress(Invalid):
    """A text is not an address."""


class Address(NamedTuple):
    """`host` is an IP address (an IPv6 one without brackets, with its interface behind `%` if it is link-local) or a
    name; `port` is 0 to 65535, and 0 means any port to a program that listens."""

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
        """This address on an interface; with an empty `scope`, without an interface."""
        bare = self.host.partition("%")[0]
        return Address(f"{bare}%{scope}" if scope else bare, self.port)


def check_remote(address: Address) -> Address:
    """The address, if another machine can be reached there. Raises `BadAddress` for port 0 and for hosts that are not
    one machine."""
    if not address.port:
        raise BadAddress("a port is 1 to 65535; got {address}", address=address)
    try:
        ip = ipaddress.ip_address(address.host.partition("%")[0])
    except ValueError:
        return address  # a name
    if ip.is_unspecified:
        raise BadAddress(
            "{host} is not a machine: it means all addresses of the one that listens there", host=address.host
        )
    if ip.is_multicast or ip == _BROADCAST:
        raise BadAddress("{host} is not one machine: it goes to many at once", host=address.host)
    return address


def may_be_lost(host: str) -> bool:
    """Whether the host is an IP address that a machine may lose: no name, no loopback, and not all of its addresses."""
    try:
        ip = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return not (ip.is_unspecified or ip.is_loopback)


def parse(text: str, usual: int | None = None) -> Address:
    """The address in `HOST:PORT` or `[IPV6]:PORT`, in its one form; port 0 is allowed: a listener then takes any port.
    An IP address without a port gets the `usual` one, if that is given. Raises `BadAddress`."""
    whole = text.strip()
    if usual is not None and names_no_port(whole):
        whole = f"{whole}:{usual}"
    host, colon, port = whole.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not _PORT.match(port) or int(port) > 65535:
        raise BadAddress(
            "an address is HOST:PORT, like 192.0.2.7:22067 or [2001:db8::7]:22067; got {text!r}", text=text[:80]
        )
    if ":" in host and not bracketed:
        raise _without_brackets(text)
    return Address(parse_host(host[1:-1] if bracketed else host, bracketed=bracketed), int(port))


def names_no_port(text: str) -> bool:
    """Whether the text is only an IP address, an IPv6 one in brackets. A name alone is not one: `off` is not a host."""
    return text.endswith("]") or bool(_NUMBERS.match(text))


def parse_host(host: str, *, bracketed: bool) -> str:
    """A host in its one form. Raises `BadAddress`."""
    if bracketed:
        return _ipv6(host)
    if _NUMBERS.match(host):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            raise BadAddress("{text!r} is not an IPv4 address", text=host[:80]) from None
    if ":" in host:
        raise _without_brackets(host)
    if len(host) > MAX_NAME or not _NAME.match(host):
        raise BadAddress(
            "a host is an IP address or a name of letters, digits, dots and hyphens; got {text!r}", text=host[:80]
        )
    return host.rstrip(".").lower()


def from_uri(uri: object) -> Address | None:
    """The address that another device can dial in an entry of a record; None for what this version cannot use."""
    if not isinstance(uri, str) or not uri.startswith(_SCHEME):
        return None
    try:
        return check_remote(parse(uri.removeprefix(_SCHEME)))
    except BadAddress:
        return None


def _without_brackets(text: str) -> BadAddress:
    return BadAddress("an IPv6 address stands in brackets, like [2001:db8::7]:22067; got {text!r}", text=text[:80])


def _ipv6(text: str) -> str:
    bare, percent, scope = text.partition("%")
    try:
        address = ipaddress.IPv6Address(bare)
    except ValueError:
        raise BadAddress("{text!r} is not an IPv6 address", text=text[:80]) from None
    if address.ipv4_mapped is not None and not percent:
        return str(address.ipv4_mapped)
    if _ENCODED.match(scope):
        raise BadAddress("an interface stands behind a plain %, like [fe80::1%eth0]; got {text!r}", text=text[:80])
    if percent and not (address.is_link_local and _SCOPE.match(scope)):
        raise BadAddress(
            "only a link-local address (fe80::...) has an interface behind %; got {text!r}", text=text[:80]
        )
    return f"{address}%{scope}" if percent else str(address)
