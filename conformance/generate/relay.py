"""Messages of a relay to the byte: header, seal, hash, wrap, segment. Made by a second text of the rules."""

import hashlib
import hmac
import struct
from typing import Any

import msgspec
from conformance.generate.book import A, B, Book
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

SEED, SPACE, LANE, KEY = bytes([2]) * 32, bytes([1]) * 16, bytes([2]) * 8, bytes([5]) * 32
SALT, BEFORE = bytes([7]) * 16, bytes([3]) * 32
LABEL = b"lottisync/relay-envelope/1\x00"
WRAP = "01a8fa6dfdd777804cd19182da96bc0dbad821eb2f155adf3672d417d20dbd023621a94e187d5381379b2d54c0d796cab37e40f2e1fbd9"
"""The text "secret", sealed to the X25519 key of the device with `SEED`, as message 3. HPKE draws a key of its own for
each wrap, so it was made once."""
HYBRID_WRAP = (
    "02435172416e60ee525232882ac57f06aa7ed21f68e9b9561e26a2e4ce2ecc62758adfd6d3f923b507ce12322bd5b77a92542bfff44aef77"
    "9fb0a07254d723c7a160ceb33c66e3838772b6632e27b9ef52dfcbba63bca2861f2369904887057229d3791e3ec9f4b51e9456b0c9349315"
    "637e1f785a048383900bedba0f3695266979f64fb84ebcb0a4ca30885f4aac6750fd98bf9d43f9e0051724ddb99ba19885f82cca8d867de2"
    "4c10cc054fce972c3e78a82194ea90c49b497095bd4e7c6200fb6b5c5ed2e734f792c1b9cf776fcbdd630f0140943e94b660ba9619c228ab"
    "d973b632c978000924e81aa35e909777397363f9d545ca55de03485e8c088df0ca297bf372aff1f909a18e4f7ca92992cd0460c45a6b7877"
    "59d8a5cb4048ca75b8a4ec07332308c83238d195dec23685b5760802d7413517c26e3d244882ec9edb87e8f72a5784756111c56af814430b"
    "7ea218792817ecd9a17709110398078802ea8e5eb23481313c1f54e323f88c2f096e6909b73500cf513627342561da877c05b8b753a85074"
    "1be9dc230792fd3699c0cded499925384e02223159ce1f702d826ed9c23893aa605990f377a6bad5b9175295281acd3c5b2744a42cbc4529"
    "cc205d4ab78fc676e252b1f431ad374a779685d469059c7db1b62d557bfe8c3b2a850a63c6a5f4d0bf8ecd4c85b5b7538291f7833a110ab3"
    "30b524681c5024db9f58bc17516acca120979af95ab51acd7c1b02d73ec4218f0e5871382705c6bd6e0e8ca3e6b93b508b1185303390f8b7"
    "31bdca6d7c53e3fd45258f6bc246f0c76ee6c6d85dc7e4f16b4e57ac932485768c142cad600e5c85dd5bef7dc42c2c430a6a899831cfed47"
    "a9092698614ee9d5535c69115994d2ce6291d05364b321afbe68bb7cd0f49aa69472b6c3f50860aab034d5880aaf839b07027828ccdf015d"
    "311404d2b190955d8046924fbaeea6d95aa136e60e11149297ed5b5a7147a86daebe37d454ece5bdb9386c80a412fc24457f886f759c0033"
    "0976bf089165f6e4931bef8a9178019fb083ad3d4567d16c660c096b8e150992acb9c35010f9c869434e04c8aed6061dc56eb3a90c801616"
    "8972635106384c36ce12192b640aca64036c9ac9e63bcd1f508c628ee5518e5d3d82098dad702af811dfe3c520495d90bc2d7273fa2fbbba"
    "c87c6c7f7e0eb557fd33cd2a9455a2ff2dac8341be48d2dcc8b2f3b69a7d5f5aa86352b133a2f85fc03e814e768f597f9629d349f911d054"
    "78db7a985d53af90e661a5fab1c0ad17e3168a8f1434bb49bae8c5aa1d043091a3b12abddc7e3cce2f89611d1efd102ccb5ec11d8a61486c"
    "f468d6e71dca5821983a652ca7ec0534bb16e3e5660a444f87416087f803011824dd1f2a138ff1caaf9c70e423a2e60b0b7a881e38239082"
    "fb37531231725a3ddde3fef2371e8e27b8cf639ec2b354387963d0921f72e4320b384b2ec22b43257faa21c5357c3269d42ec56998d63dbd"
    "35ea570ff839363dde5b41447a1e6ab272cc7901d6b4c9f7e251767d224e5acd6635f22b1eae7134316df48836d562ede2b7170d33811cac"
    "2b56664902e6f174dcff548e2f7158896c7d1f199e893c"
)
"""The same for the device's whole box key, by the hybrid of ML-KEM-768 and X25519."""
COMPRESSED = (
    "28b52ffd60e100350200d4029291929aa76a6f75726e616c81b061020381b062018090c4100990c2009198a5636861696e0100a003c50140"
    "080800782b013c38b5986afeb86e2ce50d5c4736bdab0375"
)
"""An envelope with twenty chain values, by zstd at level 1. How well a library compresses is its own business, so this
was made once."""
HEAD = ["journal", {A: 2}, {A: 3}, {B: 1}, {}, [], {A: bytes([9]) * 16}, [], False, 0]
VALUE = bytes([8]) * 16


def epoch_id(key: bytes) -> bytes:
    return hashlib.sha256(b"lottisync/relay-epoch/1\x00" + key).digest()[:16]


def header(kind: int, number: int = 1) -> bytes:
    """version, kind, space, lane, number, hash before, epoch, incarnation, salt"""
    return (
        struct.pack(">BB", 1, kind)
        + SPACE
        + LANE
        + struct.pack(">Q", number)
        + BEFORE
        + epoch_id(KEY)
        + bytes(16)
        + SALT
    )


def sealed(head: bytes, plaintext: bytes, open_part: bytes = b"") -> bytes:
    """HKDF-SHA256 by hand: extract with the salt, expand once."""
    extracted = hmac.digest(SALT, KEY, "sha256")
    key = hmac.digest(extracted, LABEL + head + b"\x01", "sha256")
    return ChaCha20Poly1305(key).encrypt(bytes(12), plaintext, head + open_part)


def padded(body: bytes, size: int = 512, encoding: int = 0) -> bytes:
    return (struct.pack(">IB", len(body) + 1, encoding) + body).ljust(size, b"\x00")


def message(head: bytes, plaintext: bytes, seed: bytes = SEED, open_part: bytes = b"") -> tuple[bytes, bytes]:
    """The message, and its hash."""
    ciphertext = open_part + sealed(head, plaintext, open_part)
    signature = Ed25519PrivateKey.from_private_bytes(seed).sign(LABEL + head + hashlib.sha256(ciphertext).digest())
    return head + signature + ciphertext, hashlib.sha256(head + signature).digest()


def envelope(values: int = 1) -> bytes:
    chain = ["chain", 1, 0, A, "", 3, VALUE * values, bytes([9]) * 16]
    return msgspec.msgpack.encode([[[HEAD, [chain]]], []])


def state() -> tuple[bytes, bytes]:
    """What a state says in the clear, and sealed."""
    epochs = msgspec.msgpack.encode([[epoch_id(KEY)]])
    stores = {"journal": [{A: 3}, {}, [], [bytes([4]) * 16, bytes([6]) * 32]]}
    heads, refused = [[LANE, 1, BEFORE]], [[LANE, "snap.1", 2]]
    return struct.pack(">I", len(epochs)) + epochs, msgspec.msgpack.encode([1_800_000_000_000, stores, heads, refused])


def vectors() -> Book:
    book = Book(1, "relay")
    book.ok("epoch-id", "RELAY-9", "an id cannot be two keys", "relay.epoch", epoch_id(KEY).hex(), key=KEY.hex())
    place: dict[str, Any] = {"space": SPACE.hex(), "lane": LANE.hex(), "channel": "log", "number": 1}
    known = {"seed": SEED.hex(), "key": KEY.hex()}
    good, message_hash = message(header(1), padded(envelope()))
    opened = {"kind": 1, "hash": message_hash.hex(), "body": envelope().hex()}
    comment = "a message is verified in its place, and opened"
    book.ok("open", "RELAY-2 RELAY-3 RELAY-6", comment, "relay.open", opened, message=good.hex(), **place, **known)
    packed, message_hash = message(header(1), padded(bytes.fromhex(COMPRESSED), encoding=1))
    opened = {"kind": 1, "hash": message_hash.hex(), "body": envelope(20).hex()}
    comment = "what was compressed"
    book.ok("open-compressed", "RELAY-6", comment, "relay.open", opened, message=packed.hex(), **place, **known)
    in_the_clear, body = state()
    said, message_hash = message(header(4), padded(body), open_part=in_the_clear)
    there = place | {"channel": "state"}
    opened = {"kind": 4, "hash": message_hash.hex(), "body": body.hex()}
    comment = "a state, of which a part is in the clear"
    book.ok("open-state", "RELAY-2", comment, "relay.open", opened, message=said.hex(), **there, **known)
    for name, change in (
        ("lane", {"lane": bytes(8).hex()}),
        ("number", {"number": 2}),
        ("channel", {"channel": "state"}),
    ):
        comment = f"put by the relay under another {name}"
        fields = place | change
        book.error(
            f"another-{name}", "RELAY-3", comment, "relay.open", "bad-message", message=good.hex(), **fields, **known
        )
    for at, name in ((1, "kind"), (120, "signature"), (len(good) - 1, "ciphertext")):
        altered = good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]
        comment = f"a byte of the {name} is another one"
        book.error(
            f"altered-{name}", "RELAY-2", comment, "relay.open", "bad-message", message=altered.hex(), **place, **known
        )
    stranger, _ = message(header(1), padded(envelope()), bytes([3]) * 32)
    book.error(
        "stranger",
        "RELAY-2",
        "signed by another device",
        "relay.open",
        "bad-message",
        message=stranger.hex(),
        **place,
        **known,
    )
    long = message(header(1), struct.pack(">IB", 2**31, 0).ljust(512, b"\x00"))[0]
    book.error(
        "claims-too-much",
        "RELAY-8",
        "a body longer than the message",
        "relay.open",
        "bad-message",
        message=long.hex(),
        **place,
        **known,
    )
    wrap: dict[str, Any] = {"seed": SEED.hex(), "space": SPACE.hex(), "lane": LANE.hex(), "wrap": WRAP}
    book.ok("wrap", "RELAY-11", "sealed to one device", "relay.wrap", b"secret".hex(), number=3, **wrap)
    book.ok(
        "wrap-hybrid", "RELAY-11", "sealed by the hybrid KEM", "relay.wrap", b"secret".hex(), number=3,
        **wrap | {"wrap": HYBRID_WRAP},
    )  # fmt: skip
    book.error("wrap-elsewhere", "RELAY-11", "as another message", "relay.wrap", "bad-message", number=4, **wrap)
    other: dict[str, Any] = wrap | {"seed": bytes([3]).hex() * 32}
    book.error(
        "wrap-of-another", "RELAY-11", "opened by another device", "relay.wrap", "bad-message", number=3, **other
    )
    shown = {"store": "journal", "base": {A: 2}, "knowledge": {A: 3}, "whole": False, "parts": ["chain"]}
    book.ok("segment", "RELAY-15", "what a segment is of", "relay.segment", [shown], body=envelope().hex())
    book.error(
        "segment-cut-short",
        "RELAY-15",
        "a field less",
        "relay.segment",
        "bad-message",
        body=msgspec.msgpack.encode([[]]).hex(),
    )
    return book
