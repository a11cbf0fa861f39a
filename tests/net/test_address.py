"""Addresses as people write them, and as records hold them: MEET-1, MEET-18, MEET-19."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.net.address import Address, BadAddress, check_remote, from_uri, parse

ports = st.integers(0, 65535)


@given(st.ip_addresses(), ports)
def test_meet_239_what_is_printed_is_read_again(address: ipaddress.IPv4Address, port: int) -> None:
    host = getattr(address, "ipv4_mapped", None) or address
    one = Address(str(host), port)
    assert parse(str(one)) == one
    is_machine = not (host.is_unspecified or host.is_multicast or str(host) == "255.255.255.255")
    assert from_uri(one.uri) == (one if port and is_machine else None)


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
        ("2001:db8::7:22067", r"in brackets.*got '2001:db8::7:22067'"),
        ("[2001:db8::7%eth0]:22067", "only a link-local address"),
        ("[fe80::1%]:22067", "only a link-local address"),
        ("[192.0.2.7]:22067", "not an IPv6 address"),
        ("300.0.2.7:22067", "not an IPv4 address"),
        (":22067", "IP address or a name"),
        ("a b:22067", "IP address or a name"),
        ("-a:22067", "IP address or a name"),
    ],
)
def test_meet_1_what_is_not_an_address_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(BadAddress, match=why):
        parse(text)


@pytest.mark.parametrize(
    ("text", "host"),
    [("[::]", "::"), ("[fe80::1%eth0]", "fe80::1%eth0"), ("0.0.0.0", "0.0.0.0")],
)
def test_meet_63_an_address_alone_has_the_usual_port_where_there_is_one(text: str, host: str) -> None:
    assert parse(text, 22067) == parse(f"{text}:22067") == Address(host, 22067)
    assert parse(f"{text}:7", 22067) == Address(host, 7)
    with pytest.raises(BadAddress):
        parse(text)


@pytest.mark.parametrize("text", ["", "::", "fe80::1", "[::]:", "nas.local:", "nas.local", "off"])
def test_meet_63_what_is_not_a_host_has_no_usual_port(text: str) -> None:
    with pytest.raises(BadAddress):
        parse(text, 22067)


def test_meet_239_a_link_local_address_belongs_to_a_link() -> None:
    address = parse("[fe80::1]:22067")
    assert address.link_local
    assert str(address.within("eth0")) == "[fe80::1%eth0]:22067"
    assert address.within("eth0").within("") == address
    assert address.within("eth0").link_local
    assert not parse("[2001:db8::7]:22067").link_local
    assert not parse("192.0.2.7:22067").link_local


def test_meet_234_a_kind_of_way_that_is_not_known_is_passed_over() -> None:
    assert from_uri("relay://relay.example/0011") is None
    assert from_uri("tcp://192.0.2.7:0") is None
    assert from_uri(7) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0.0.0.0:22067", "means all addresses"),
        ("[::]:22067", "means all addresses"),
        ("224.0.0.251:22067", "many at once"),
        ("[ff02::fb]:22067", "many at once"),
        ("255.255.255.255:22067", "many at once"),
        ("phone.example:0", "1 to 65535"),
        ("[fe80::1%25eth0]:22067", "plain %"),
    ],
)
def test_meet_46_what_is_not_a_single_machine_is_refused_with_the_reason(text: str, why: str) -> None:
    """All of these were taken, sent to every device and dialled for ever."""
    with pytest.raises(BadAddress, match=why):
        check_remote(parse(text))
    assert from_uri(f"tcp://{text}") is None


def test_meet_46_a_machine_is_not_refused() -> None:
    for text in ("127.0.0.1:1", "phone.example:2", "[fe80::1%eth0]:3", "[fe80::1%25]:3", "[2001:db8::7]:4"):
        assert check_remote(parse(text)) == parse(text)


def test_meet_45_an_ipv4_address_in_an_ipv6_one_is_the_ipv4_one() -> None:
    assert parse("[::ffff:192.0.2.7]:1") == Address("192.0.2.7", 1)
