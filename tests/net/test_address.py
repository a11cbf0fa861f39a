"""Addresses as people write them, and as records hold them: MEET-1, MEET-18, MEET-19."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.net.address import Address, BadAddress, from_uri, parse

ports = st.integers(0, 65535)


@given(st.ip_addresses(), ports)
def test_meet_18_what_is_printed_is_read_again(address: ipaddress.IPv4Address, port: int) -> None:
    one = Address(str(address), port)
    assert parse(str(one)) == one
    assert from_uri(one.uri) == (one if port else None)


@given(st.text(max_size=60))
def test_meet_1_any_text_is_an_address_or_refused_with_a_sentence(text: str) -> None:
    try:
        address = parse(text)
    except BadAddress:
        assert from_uri(f"tcp://{text}") is None
    else:
        assert parse(str(address)) == address


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("192.0.2.7:22067", "192.0.2.7"),
        ("[2001:DB8::0:7]:22067", "2001:db8::7"),
        ("[::]:22067", "::"),
        ("[fe80::1%eth0]:22067", "fe80::1%eth0"),
        ("[fe80::1%3]:22067", "fe80::1%3"),
        ("Phone.Tailnet.example.:22067", "phone.tailnet.example"),
        (" localhost:22067 ", "localhost"),
    ],
)
def test_meet_19_hosts_have_one_form(text: str, host: str) -> None:
    assert parse(text) == Address(host, 22067)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("192.0.2.7", "HOST:PORT"),
        ("192.0.2.7:", "HOST:PORT"),
        ("192.0.2.7:65536", "HOST:PORT"),
        ("192.0.2.7:٤", "HOST:PORT"),
        ("2001:db8::7:22067", "in brackets"),
        ("[2001:db8::7%eth0]:22067", "only a link-local address"),
        ("[fe80::1%]:22067", "only a link-local address"),
        ("[192.0.2.7]:22067", "no IPv6 address"),
        ("300.0.2.7:22067", "no IPv4 address"),
        (":22067", "IP address or a name"),
        ("a b:22067", "IP address or a name"),
        ("-a:22067", "IP address or a name"),
    ],
)
def test_meet_1_what_is_no_address_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(BadAddress, match=why):
        parse(text)


def test_meet_18_a_link_local_address_belongs_to_a_link() -> None:
    address = parse("[fe80::1]:22067")
    assert address.link_local
    assert str(address.within("eth0")) == "[fe80::1%eth0]:22067"
    assert address.within("eth0").within("") == address
    assert address.within("eth0").link_local
    assert not parse("[2001:db8::7]:22067").link_local
    assert not parse("192.0.2.7:22067").link_local


def test_meet_1_a_kind_of_way_that_is_not_known_is_passed_over() -> None:
    assert from_uri("relay://relay.example/0011") is None
    assert from_uri("tcp://192.0.2.7:0") is None
    assert from_uri(7) is None
