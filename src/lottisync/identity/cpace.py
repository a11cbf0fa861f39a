"""CPace: two devices that share a short code come to share a long key.

A code of eight secret digits is not a key: who sees a value computed from it can try all codes in a second. CPace
(draft-irtf-cfrg-cpace, suite CPACE-X25519-SHA512, initiator-responder setting) spends the code where it cannot
be seen: both sides hash it, with the session id, to a point g of Curve25519, and do an ordinary Diffie-Hellman
exchange with g in the place of the base point. To someone who listens, every share is as likely for every
code. Someone who takes part has to pick a code first, and learns from a whole run only whether it was that
one. The key binds all that was said (the shares, and with them the *associated data* of both sides).

Three parts are ours: the framing of strings (a length before each, so that no two lists look alike), the map
from a hash to a point (Elligator 2: every field element to a u-coordinate), and the key derivation. X25519
itself is cryptography's, including the rejection of points of low order, whose product is zero whatever the
scalar.

Python's integers are not constant in time, so the map leaks a little about the code to somebody who can time
it on the same machine. docs/specs/decisions/0002-own-cpace.md weighs that. There is no branch on a secret.

Spec: docs/specs/06-identity-and-pairing.md, PAIR-1 and PAIR-2.
"""

import hashlib

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from lottisync.identity.device_key import IdentityError

SCALAR_BYTES = 32
SHARE_BYTES = 32

_DSI = b"CPace255"
_DSI_ISK = b"CPace255_ISK"
_SHA512_BLOCK = 128

_Q = 2**255 - 19
_A = 486662
_NON_SQUARE = 2
_HALF = pow(2, -1, _Q)


class CPaceError(IdentityError):
    """A share has the wrong size or is a point of low order."""


def generator(code: bytes, channel: bytes, session_id: bytes) -> bytes:
    """The 32-byte u-coordinate g that stands for `code` in this session (`calculate_generator`)."""
    digest = hashlib.sha512(generator_string(code, channel, session_id)).digest()
    # Bit 255 is not a part of a coordinate (RFC 7748).
    element = int.from_bytes(digest[:32], "little") & (2**255 - 1)
    return _elligator2(element).to_bytes(32, "little")


def public_share(scalar: bytes, generator_point: bytes) -> bytes:
    """What one side sends: `scalar` (32 fresh random bytes, used for one run only) times g."""
    return _multiply(scalar, generator_point)


def shared_point(scalar: bytes, peer_share: bytes) -> bytes:
    """The point K only the two can compute. Raises `CPaceError` if the share is unfit (PAIR-2)."""
    return _multiply(scalar, peer_share)


def session_key(
    *,
    session_id: bytes,
    point: bytes,
    initiator_share: bytes,
    initiator_data: bytes,
    responder_share: bytes,
    responder_data: bytes,
) -> bytes:
    """The 64-byte intermediate session key (ISK), for use in key derivation only."""
    return hashlib.sha512(
        lv_cat(_DSI_ISK, session_id, point)
        + lv_cat(initiator_share, initiator_data)
        + lv_cat(responder_share, responder_data)
    ).digest()


def generator_string(code: bytes, channel: bytes, session_id: bytes) -> bytes:
    """The bytes that are hashed to g; padding keeps the code alone in the first SHA-512 block."""
    padding = max(0, _SHA512_BLOCK - 1 - len(lv_cat(code)) - len(lv_cat(_DSI)))
    return lv_cat(_DSI, code, bytes(padding), channel, session_id)


def lv_cat(*parts: bytes) -> bytes:
    """The parts, each after its length as LEB128: no two different lists give the same bytes."""
    return b"".join(_leb128(len(part)) + part for part in parts)


def _leb128(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _elligator2(element: int) -> int:
    # One of v and -v-A is a u-coordinate of the curve; the Legendre symbol says which, and the last line
    # picks by arithmetic instead of by a branch.
    v = -_A * pow(1 + _NON_SQUARE * element * element, -1, _Q) % _Q
    legendre = pow(v * v * v + _A * v * v + v, (_Q - 1) // 2, _Q)
    return (legendre * v - (1 - legendre) * _A * _HALF) % _Q


def _multiply(scalar: bytes, point: bytes) -> bytes:
    if len(scalar) != SCALAR_BYTES or len(point) != SHARE_BYTES:
        raise CPaceError(
            "a CPace scalar and a share have 32 bytes; got {count} and {count2}", count=len(scalar), count2=len(point)
        )
    try:
        return X25519PrivateKey.from_private_bytes(scalar).exchange(X25519PublicKey.from_public_bytes(point))
    except ValueError as error:
        raise CPaceError("a CPace share of low order was refused") from error
