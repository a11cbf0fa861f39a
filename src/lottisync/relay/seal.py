"""What is inside a message: sealed under an epoch key, and padded (docs/specs/19-relay.md, section 3).

    plaintext  = frame of 07 (length, encoding, body), then zeros up to a size that many messages have
    cipher     = ChaCha20-Poly1305(envelope key, nonce 0, plaintext, associated data: header, open part)
    envelope key = HKDF-SHA256(epoch key, salt, info: "lottisync/relay-envelope/1" NUL header)

A key is used for one plaintext, because the salt is drawn for it; so the nonce can always be zero. What repeats within
a message is compressed, and nothing across messages: a dictionary would tell the relay what two messages share."""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from lottisync.protocol.framing import PLAIN, ZSTD, BadFrame, FrameBuffer, frame
from lottisync.relay.header import LABEL, BadMessage, Header

MAX_BODY = 984 * 1024
"""Bytes of a body, before it is compressed: the largest version, and what is around it."""
SMALLEST = 512
"""Bytes of the smallest padded plaintext: a change of one field fits."""
DOUBLING_TO = 64 * 1024
STEP = 32 * 1024
"""Sizes double up to `DOUBLING_TO`; above it, padding to the next power would cost too much."""
_NONCE = bytes(12)
_ENCODINGS = (PLAIN, ZSTD)


def bucket(size: int) -> int:
    """The padded size for a plaintext of `size` bytes."""
    if size > DOUBLING_TO:
        return -(-size // STEP) * STEP
    padded = SMALLEST
    while padded < size:
        padded *= 2
    return padded


def sealed(epoch_key: bytes, header: Header, body: bytes, open_part: bytes = b"") -> bytes:
    """The ciphertext of a body. Raises `ValueError` for one that is too large."""
    return _cipher(epoch_key, header).encrypt(_NONCE, _padded(body), header.packed() + open_part)


def unsealed(epoch_key: bytes, header: Header, ciphertext: bytes, open_part: bytes = b"") -> bytes:
    """The body. Raises `BadMessage` for bytes that were not sealed under this key with this header."""
    return _opened(_cipher(epoch_key, header), ciphertext, header.packed() + open_part)


def sealed_once(key: bytes, associated: bytes, body: bytes) -> bytes:
    """The ciphertext of a body, under a key that seals nothing else. Raises `ValueError` for one that is too large."""
    return ChaCha20Poly1305(key).encrypt(_NONCE, _padded(body), associated)


def unsealed_once(key: bytes, associated: bytes, ciphertext: bytes) -> bytes:
    """The body. Raises `BadMessage` for bytes that were not sealed under this key with this associated data."""
    return _opened(ChaCha20Poly1305(key), ciphertext, associated)


def _padded(body: bytes) -> bytes:
    if len(body) > MAX_BODY:
        raise ValueError(f"a message carries at most {MAX_BODY} bytes; got {len(body)}")
    plaintext = frame(body, _ENCODINGS)
    return plaintext.ljust(bucket(len(plaintext)), b"\x00")


def _opened(cipher: ChaCha20Poly1305, ciphertext: bytes, associated: bytes) -> bytes:
    try:
        plaintext = cipher.decrypt(_NONCE, ciphertext, associated)
    except InvalidTag:
        raise BadMessage("a message was not sealed under the key that it names") from None
    frames = FrameBuffer(MAX_BODY + 1, _ENCODINGS)
    frames.feed(plaintext)
    try:
        body = frames.next_body()
    except BadFrame as error:
        raise BadMessage("what a member has sealed cannot be read: {error}", error=error) from None
    if body is None:
        raise BadMessage("what a member has sealed ends in the middle")
    return body


def _cipher(epoch_key: bytes, header: Header) -> ChaCha20Poly1305:
    key = HKDF(SHA256(), 32, salt=header.salt, info=LABEL + header.packed()).derive(epoch_key)
    return ChaCha20Poly1305(key)
