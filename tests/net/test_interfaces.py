"""This machine's addresses: MEET-16, NET-8."""

import socket
import sys

import anyio
import pytest
from trio.testing import MockClock

from lottisync.net import interfaces as module
from lottisync.net.interfaces import Interface, interfaces, listened_on, named_scope, scopes, watch

pytestmark = pytest.mark.anyio
LOOPBACK = Interface("127.0.0.1", "", 1)


def test_net_8_where_a_listener_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    ethernet = [Interface("192.0.2.2", "", 2), Interface("2001:db8::2", "", 2), Interface("fe80::2", "eth0", 2)]
    here = [LOOPBACK, Interface("::1", "", 1), *ethernet]
    monkeypatch.setattr(module, "interfaces", lambda: here)
    assert listened_on("::") == ethernet
    assert listened_on("0.0.0.0") == ethernet[:1]
    assert listened_on("127.0.0.1") == [LOOPBACK]
    assert listened_on("::1") == [here[1]]
    assert listened_on("fe80::2%eth0") == [ethernet[2]]
    assert listened_on("fe80::2%eth1") == []
    assert listened_on("no.such.host.invalid") == []
    assert scopes() == ["eth0"]
    here[2:] = []
    assert listened_on("0.0.0.0") == [LOOPBACK]


def test_net_8_this_machine_has_a_loopback_that_is_up() -> None:
    assert any(each.loopback and not each.ipv6 for each in interfaces())
    assert not module._is_up("no-such-one")


class TestTime:
    """Under trio's virtual clock: a busy machine is not slower."""

    @pytest.fixture
    def anyio_backend(self) -> tuple[str, dict[str, object]]:
        return "trio", {"clock": MockClock(autojump_threshold=0)}

    @pytest.mark.parametrize("told_by_the_system", [True, False])
    async def test_meet_16_a_change_of_addresses_is_reported_within_two_seconds(
        self, monkeypatch: pytest.MonkeyPatch, told_by_the_system: bool
    ) -> None:
        here = [LOOPBACK]
        monkeypatch.setattr(module, "interfaces", lambda: list(here))
        if not told_by_the_system:
            monkeypatch.setattr(sys, "platform", "unheard-of")
        bell, ringing = socket.socketpair()
        seen: list[float] = []
        with bell, ringing:
            if told_by_the_system:
                bell.settimeout(0)
                monkeypatch.setattr(module, "_watching", lambda: bell)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch, lambda: seen.append(anyio.current_time()))
                await anyio.wait_all_tasks_blocked()  # it watches
                began = anyio.current_time()
                here.append(Interface("192.0.2.2", "", 2))
                ringing.send(b"!")
                await anyio.sleep(2)
                tasks.cancel_scope.cancel()
        [at] = seen
        assert at - began < 2


def test_meet_45_an_interface_stands_with_its_name() -> None:
    """mDNS gives its number: the same address was known twice, as `%1` and as `%lo`."""
    name = socket.if_indextoname(1)
    assert named_scope("fe80::1%1") == named_scope(f"fe80::1%{name}") == f"fe80::1%{name}"
    assert named_scope("fe80::1%999999") == "fe80::1%999999"
    assert named_scope("fe80::1") == "fe80::1"
    assert named_scope("192.0.2.7") == "192.0.2.7"
