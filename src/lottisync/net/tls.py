"""TLS 1.3 between pinned devices (docs/specs/12-transport.md).

There is no certificate authority: each side presents its self-signed device certificate and accepts
exactly the certificates in the roster. What a reader might be tempted to simplify, and must not:

- Sync and pairing have listeners of their own. A listener that starts with `CERT_NONE` and switches
  its context by SNI still accepts a client without any certificate.
- `num_tickets=0`: with session tickets a second connection does not prove the key again.
- A context is never changed, it is made anew: pins can be added to a live one, but not taken out.
- Under TLS 1.3 a client that the server is about to refuse believes that the handshake succeeded,
  and sees only the end of the stream. So the acceptor speaks first: its hello is the welcome.
"""

import contextlib
import os
import secrets
import ssl
import tempfile
from collections.abc import Iterable

from anyio.abc import ByteStream
from anyio.streams.tls import TLSAttribute, TLSStream

from lottisync.identity.device_key import DeviceKey, device_id_of

ALPN_SYNC = "lottisync/1"
ALPN_PAIRING = "lottisync-pair/1"
HANDSHAKE_SECONDS = 5


def sync_context(key: DeviceKey, pins: Iterable[bytes], *, server: bool) -> ssl.SSLContext:
    """A context that shows this device's certificate and accepts the pinned ones (DER) only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    _harden(context, ALPN_SYNC)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    _present(context, key)
    der = b"".join(pins)
    if der:
        context.load_verify_locations(cadata=der)
    return context


def pairing_context(key: DeviceKey | None) -> ssl.SSLContext:
    """With a key the listener's context, without one the client's. It only hides the exchange from
    onlookers: whom one talks to is proved inside, by the code."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if key else ssl.PROTOCOL_TLS_CLIENT)
    _harden(context, ALPN_PAIRING)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if key is not None:
        _present(context, key)
    return context


def _harden(context: ssl.SSLContext, alpn: str) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols([alpn])
    if context.protocol is ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0


def _present(context: ssl.SSLContext, key: DeviceKey) -> None:
    """`load_cert_chain` reads from files only: one that its owner alone can read, gone at once. Whoever is killed in
    between leaves it behind; so the key in it is encrypted under a password that nobody else ever has."""
    password = secrets.token_bytes(32)
    descriptor, name = tempfile.mkstemp(prefix="lottisync-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key.private_pem(password) + key.certificate_pem())
        context.load_cert_chain(name, password=password)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)  # noqa: PTH108 - mkstemp speaks of names


async def secured(stream: ByteStream, context: ssl.SSLContext, *, server: bool) -> TLSStream:
    return await TLSStream.wrap(
        stream, server_side=server, ssl_context=context, hostname=None, standard_compatible=False
    )


def peer_device(stream: TLSStream) -> str:
    """The id of the device whose certificate the handshake has proved."""
    der = stream.extra(TLSAttribute.peer_certificate_binary)
    assert der is not None, "verify_mode is CERT_REQUIRED"
    return device_id_of(der)
