"""Whether this machine passes multicast on to its own programs: without that, mDNS finds no device.

The datagram does not leave this machine (its time to live is 0), so no other machine is asked and nothing is announced.
"""

import socket

GROUP = "224.0.0.251"
"""The group of mDNS. The port is one of our own, so that no program that speaks mDNS hears us."""


def is_heard(host: str, word: bytes, seconds: float = 1.0) -> bool:
    """Whether a datagram with a random `word` that is sent to the group from the IPv4 address `host` comes back. False
    also if the system refuses it."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.settimeout(seconds)
            asking.bind(("", 0))
            here = socket.inet_aton(host)
            asking.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + here)
            asking.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, here)
            asking.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
            asking.sendto(word, (GROUP, asking.getsockname()[1]))
            return asking.recv(len(word)) == word
    except OSError:
        return False
