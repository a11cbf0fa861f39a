"""A listener that strangers cannot close: NET-22, NET-220 to NET-222, NET-23."""

import asyncio
import contextlib
import os
import resource
import socket
from collections.abc import Iterator

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import SocketAttribute, SocketStream
from hypothesis import given
from hypothesis import strategies as st
from tests.net.test_pairing import HERE, TYPES, offer, shown
from tests.support.event_loop import BOUND_SECONDS, until

from lottisync.net.doorway import EACH, Slots, network_of, remote_host, welcome
from lottisync.net.pairing import type_code

HOSTS = st.sampled_from(["10.0.0.1", "10.0.0.2", "::ffff:10.0.0.1", "fe80::1%eth0", "fe80::2", "2001:db8::1", ""])


@given(st.lists(st.tuples(HOSTS, st.booleans()), max_size=60))
def test_net_22_no_address_takes_more_than_its_share_and_the_known_find_a_place(calls: list[tuple[str, bool]]) -> None:
    """NET-22, NET-220, NET-221, NET-40, REL-D4"""
    slots = Slots(limit=12, each=3, kept=4)
    taken: list[tuple[str, bool]] = []
    for host, known in calls:
        share = (host if known else network_of(host), known)
        there = [(each if was_known else network_of(each), was_known) for each, was_known in taken].count(share)
        room = len(taken) < (12 if known else 8)
        assert slots.take(host, known=known) is (there < 3 and room)
        if there < 3 and room:
            taken.append((host, known))
    for host, known in taken:
        slots.leave(host, known=known)
    assert slots.taken == 0
    assert slots.take("10.0.0.9")


def test_net_22_no_more_than_32_are_let_in_at_one_time() -> None:
    """NET-22, NET-40: all of them may be known, and 24 strangers."""
    for known, most in ((True, 32), (False, 24)):
        slots = Slots()
        assert [slots.take(f"10.0.0.{number}", known=known) for number in range(40)].count(True) == most


def test_net_220_no_more_than_6_are_let_in_of_one_address() -> None:
    """NET-220, NET-221: nor of one /64."""
    for hosts in (["10.0.0.1"] * 10, [f"2001:db8::{number}" for number in range(10)]):
        slots = Slots()
        assert [slots.take(host) for host in hosts] == [True] * 6 + [False] * 4


def test_net_41_a_stranger_in_the_same_network_does_not_use_up_the_share_of_a_known_address() -> None:
    """NET-41, REL-D4"""
    slots = Slots()
    while slots.take("fe80::bad%eth0"):
        pass
    assert slots.take("fe80::1%eth0", known=True)


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.168.1.7", "192.168.1.7"),
        ("::ffff:192.168.1.7", "192.168.1.7"),
        ("2001:db8:0:1:aaaa::1", "2001:db8:0:1::"),
        ("fe80::1%eth0", "fe80::"),
        ("", ""),
    ],
)
def test_net_221_a_network_counts_as_one_address(host: str, network: str) -> None:
    assert network_of(host) == network


@pytest.mark.anyio
async def test_net_222_a_stranger_with_half_open_connections_does_not_keep_the_other_device_from_pairing() -> None:
    """NET-220, NET-222, REL-D6: 400 half-open connections ended `pair` with a traceback."""
    async with shown(offer()) as showing, contextlib.AsyncExitStack() as stack:
        for _ in range(3 * EACH):
            raw = await anyio.connect_tcp(HERE, showing.at.port, local_host="127.0.0.2")
            await stack.enter_async_context(raw)
        with anyio.fail_after(BOUND_SECONDS), pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
            await raw.receive()  # the last of them was hung up on
        assert (await type_code(TYPES, "123456789", at=showing.at, search_from=HERE)).peer_name == "laptop"


@contextlib.contextmanager
def no_free_descriptor() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.anyio
async def test_net_23_without_a_free_descriptor_the_listener_waits_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """NET-23, REL-D5: EMFILE at the listener ended the daemon."""
    monkeypatch.setattr("lottisync.net.doorway.PAUSE_SECONDS", 0.01)
    failed: list[OSError] = []
    served: list[str] = []

    async def serve(raw: SocketStream) -> None:
        async with raw:
            served.append(remote_host(raw))

    listener = await anyio.create_tcp_listener(local_host=HERE)
    with socket.socket() as caller:
        caller.settimeout(0)
        async with listener, anyio.create_task_group() as tasks:
            with no_free_descriptor():
                caller.connect_ex((HERE, listener.extra(SocketAttribute.local_port)))
                tasks.start_soon(welcome, listener, serve, failed.append)
                await until(lambda: failed)
            await until(lambda: served)
            tasks.cancel_scope.cancel()
    assert served == [HERE]


@pytest.mark.anyio
@pytest.mark.parametrize("steps", range(6))
async def test_net_23_a_connection_that_comes_while_the_listener_stops_is_closed(steps: int) -> None:
    """asyncio lost a connection that came in the same turn of its loop as the cancellation: the socket stayed open."""
    faults: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))

    async def serve(raw: SocketStream) -> None:
        async with raw:
            await anyio.sleep_forever()

    listener = await anyio.create_tcp_listener(local_host=HERE)
    with socket.socket() as caller:
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(welcome, listener, serve)
            await anyio.wait_all_tasks_blocked()
            caller.connect((HERE, listener.extra(SocketAttribute.local_port)))
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        caller.settimeout(BOUND_SECONDS)
        with contextlib.suppress(ConnectionResetError):
            assert caller.recv(1) == b""
    assert faults == []
