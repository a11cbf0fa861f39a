"""CPace against the draft's own numbers: PAIR-1 and PAIR-2.

The vectors are those of draft-irtf-cfrg-cpace for the suite CPACE-X25519-SHA512, initiator-responder setting, in
two revisions: up to 20 the channel identifier of the example is built by ordered concatenation, from 21 on by
plain concatenation. The protocol is the same.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lottisync.identity import cpace

SESSION_ID = bytes.fromhex("7e4b4791d6a8ef019b936c79fb7f2c57")
SCALAR_A = bytes.fromhex("21b4f4bd9e64ed355c3eb676a28ebedaf6d8f17bdc365995b319097153044080")
SCALAR_B = bytes.fromhex("848b0779ff415f0af4ea14df9dd1d3c29ac41d836c7808896c4eba19c51ac40a")


class Vector(NamedTuple):
    channel: bytes
    generator: str
    share_a: str
    share_b: str
    point: str
    isk: str


VECTORS = [
    Vector(
        channel=b"oc\x0bB_responder\x0bA_initiator",
        generator="64e8099e3ea682cfdc5cb665c057ebb514d06bf23ebc9f743b51b82242327074",
        share_a="1b02dad6dbd29a07b6d28c9e04cb2f184f0734350e32bb7e62ff9dbcfdb63d15",
        share_b="20cda5955f82c4931545bcbf40758ce1010d7db4db2a907013d79c7a8fcf957f",
        point="f97fdfcfff1c983ed6283856a401de3191ca919902b323c5f950c9703df7297a",
        isk="a051ee5ee2499d16da3f69f430218b8ea94a18a45b67f9e86495b382c33d14a5"
        "c38cecc0cc834f960e39e0d1bf7d76b9ef5d54eecc5e0f386c97ad12da8c3d5f",
    ),
    Vector(
        channel=b"\x0bA_initiator\x0bB_responder",
        generator="d04bf6d41f6a289632a2e929fa29bebd51092512a7829fdde7d314b62f05a73f",
        share_a="1d13c89278cdadd826f6d8d7f887701430f8380ddc17611cdd6dc989ce0c9f32",
        share_b="248cccf6d5cdc3646f0ad593f9e6cef4e69d4945f8372e623512ecea32185623",
        point="5b067effbdc0b2a0e1d907b21ebb25cfedb96a852179a847c37e43ee71322c6b",
        isk="6e19b875f7a561d6b3ca3dbb9ef42ac55de3e717881018204b8922b4d5e53bb2"
        "aa82c300bea7b65d2b671da71922ddf6472301b79bc270adfa8bf413285f2263",
    ),
]


@pytest.mark.parametrize("vector", VECTORS, ids=["revision-20", "revision-21"])
def test_the_official_vectors(vector: Vector) -> None:
    """PAIR-1"""
    base = cpace.generator(b"Password", vector.channel, SESSION_ID)
    share_a, share_b = cpace.public_share(SCALAR_A, base), cpace.public_share(SCALAR_B, base)
    point = cpace.shared_point(SCALAR_A, share_b)
    assert base.hex() == vector.generator
    assert share_a.hex() == vector.share_a
    assert share_b.hex() == vector.share_b
    assert point.hex() == cpace.shared_point(SCALAR_B, share_a).hex() == vector.point
    isk = cpace.session_key(
        session_id=SESSION_ID,
        point=point,
        initiator_share=share_a,
        initiator_data=b"ADa",
        responder_share=share_b,
        responder_data=b"ADb",
    )
    assert isk.hex() == vector.isk


def test_the_official_string_functions() -> None:
    """PAIR-1"""
    assert cpace.lv_cat(b"") == b"\x00"
    assert cpace.lv_cat(b"1234", b"5", b"", b"6789").hex() == "04313233340135000436373839"
    assert cpace.lv_cat(bytes(range(127)))[:2].hex() == "7f00"
    assert cpace.lv_cat(bytes(range(128)))[:3].hex() == "800100"
    whole = cpace.generator_string(b"Password", b"oc\x0bB_responder\x0bA_initiator", SESSION_ID)
    assert len(whole) == 172
    assert whole[:20].hex() == "0843506163653235350850617373776f72646d00"
    assert len(cpace.generator_string(bytes(200), b"", b"")) == 9 + 202 + 1 + 1 + 1


# scalar_mult_vfy of the draft's scalar with u0 to ub; None is the neutral element, which must end the run.
DRAFT_SCALAR = bytes.fromhex("af46e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449aff")
DRAFT_POINTS = {
    "0000000000000000000000000000000000000000000000000000000000000000": None,
    "0100000000000000000000000000000000000000000000000000000000000000": None,
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": None,
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800": None,
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157": None,
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": None,
    "daffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff": (
        "d8e2c776bbacd510d09fd9278b7edcd25fc5ae9adfba3b6e040e8d3b71b21806"
    ),
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": None,
    "dbffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff": (
        "c85c655ebe8be44ba9c0ffde69f2fe10194458d137f09bbff725ce58803cdb38"
    ),
    "d9ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff": (
        "db64dafa9b8fdd136914e61461935fe92aa372cb056314e1231bc4ec12417456"
    ),
    "cdeb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b880": (
        "e062dcd5376d58297be2618c7498f55baa07d7e03184e8aada20bca28888bf7a"
    ),
    "4c9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f11d7": (
        "993c6ad11c4c29da9a56f7691fd0ff8d732e49de6250b6c2e80003ff4629a175"
    ),
}


@pytest.mark.parametrize(("share", "product"), DRAFT_POINTS.items())
def test_points_of_low_order_are_refused(share: str, product: str | None) -> None:
    """PAIR-2"""
    if product is None:
        with pytest.raises(cpace.CPaceError, match="low order"):
            cpace.shared_point(DRAFT_SCALAR, bytes.fromhex(share))
    else:
        assert cpace.shared_point(DRAFT_SCALAR, bytes.fromhex(share)).hex() == product


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_a_wrong_size_is_refused(scalar: bytes, share: bytes) -> None:
    """PAIR-2"""
    if (len(scalar), len(share)) != (32, 32):
        with pytest.raises(cpace.CPaceError, match="32 bytes"):
            cpace.shared_point(scalar, share)


@given(st.integers(0, 2**256 - 1))
def test_every_hash_is_mapped_onto_the_curve(drawn: int) -> None:
    """PAIR-1: u^3 + A u^2 + u is a square for every result of the map."""
    q = 2**255 - 19
    u = cpace._elligator2(drawn % 2**255)
    assert pow(u**3 + 486662 * u**2 + u, (q - 1) // 2, q) in (0, 1)


@given(st.lists(st.binary(max_size=5), max_size=4), st.lists(st.binary(max_size=5), max_size=4))
def test_different_lists_are_different_strings(one: list[bytes], other: list[bytes]) -> None:
    """PAIR-1"""
    assert (cpace.lv_cat(*one) == cpace.lv_cat(*other)) == (one == other)
