"""Why an attempt came to nothing, in words, and a name that moves: MEET-19, MEET-48, MEET-60."""

import errno
import os
import socket
import ssl
from random import Random
from typing import Any

import anyio
import pytest
import trio
from trio.testing import MockClock

from lottisync.identity.device_key import DeviceKey
from lottisync.net import tls
from lottisync.net.address import Address
from lottisync.sync.dial_plan import Source
from lottisync.sync.dialling import Dialling, Met
from lottisync.sync.handshake import dial, why, why_refused

LAPTOP, PHONE = (DeviceKey.from_seed(bytes([n]) * 32) for n in (1, 2))
NOT_PINNED = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")


def several(*errors: Exception) -> OSError:
    """As anyio raises it for a name with several addresses."""
    failed = OSError("All connection attempts failed")
    failed.__cause__ = ExceptionGroup("several", errors)
    return failed


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (socket.gaierror(-2, "Name or service not known"), "unreachable", "the name nas.example leads to no address"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "x"), "unreachable", "nothing listens there"),
        (several(ConnectionRefusedError(), TimeoutError()), "unreachable", "nothing listens there"),
        (TimeoutError(), "unreachable", "no answer in time"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "unreachable", "No route to host"),
        (NOT_PINNED, "refused", "something else than phone answers there"),
        (anyio.EndOfStream(), "refused", "hung up in the middle of the handshake"),
        (ssl.SSLError(1, "wrong version number"), "refused", "does not sync"),
    ],
)
def test_meet_48_each_cause_has_a_sentence_of_its_own(error: Exception, code: str, text: str) -> None:
    """MEET-315: before, a stranger at a remembered address read "the device there is not paired"; a wrong
    name like a closed port."""
    failure = why(error, "nas.example", "phone")
    assert failure.code == code
    assert text in failure.text


def test_meet_60_the_system_s_words_are_shown_and_not_the_call_that_failed() -> None:
    """Before, `devices` showed: Connect call failed ('fd09::2', 22067, 0, 0)."""
    error = several(OSError(errno.EHOSTUNREACH, "Connect call failed ('fd09::2', 22067, 0, 0)"))
    assert why(error, "fd09::2", "phone").text == os.strerror(errno.EHOSTUNREACH)


def test_meet_48_a_refused_device_is_not_called_by_the_name_of_another() -> None:
    assert why_refused(NOT_PINNED) == "the device there is not paired with this one"


class Names(trio.abc.HostnameResolver):
    """What a name means now, and how often somebody has asked."""

    def __init__(self, port: int) -> None:
        self.host, self.port, self.asked = "127.0.0.9", port, 0

    async def getaddrinfo(self, host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        self.asked += 1
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (self.host, self.port))]

    async def getnameinfo(self, sockaddr: Any, flags: int) -> tuple[str, str]:
        raise NotImplementedError


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", [("trio", {"clock": MockClock()})], ids=["hours-by-hand"])
async def test_meet_19_a_name_is_resolved_at_each_attempt_and_found_where_it_is_now(anyio_backend: object) -> None:
    """Dynamic DNS: the name leads to an address that does not answer; hours later, to the device."""
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, MockClock)
    theirs, ours = (
        tls.sync_context(key, [other.certificate], server=server)
        for key, other, server in ((PHONE, LAPTOP, True), (LAPTOP, PHONE, False))
    )
    found, tried = anyio.Event(), anyio.Event()
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    names = Names(listener.extra(anyio.abc.SocketAttribute.local_port))
    trio.socket.set_custom_hostname_resolver(names)

    async def serve(raw: anyio.abc.SocketStream) -> None:
        async with raw:
            await tls.secured(raw, theirs, server=True)
            await found.wait()

    async def meet(stream: Any, device: str, address: Address) -> Met:
        assert (device, address.host) == (PHONE.device_id, "phone.example")
        await anyio.aclose_forcefully(stream)
        found.set()
        return Met()

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        dialling = Dialling(
            tasks,
            connect=lambda device, address: dial(address, ours, "phone"),
            meet=meet,
            is_connected=lambda device: found.is_set(),
            is_polite=lambda device: False,
            chance=Random(1),
            failed=lambda device, address, failure: tried.set(),
        )
        dialling.search([PHONE.device_id])
        dialling.know(PHONE.device_id, [(Address("phone.example", names.port), Source.GIVEN)])
        await tried.wait()
        assert names.asked == 1
        names.host = "127.0.0.1"
        clock.jump(3600)
        await found.wait()
        assert names.asked == 2
        tasks.cancel_scope.cancel()
