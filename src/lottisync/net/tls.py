"""TLS 1.3 between pinned devices (docs/specs/12-transport.md).

There is no certificate authority: each side presents its self-signed device certificate and accepts
exactly the certificates in the roster. What a reader might be tempted to simplify, and must not:

- Sync and pairing have listeners of their own. A listener that starts with `CERT_NONE` and switches
  its context by SNI still accepts a client without any certificate.
- `num_tickets=0`: with session tickets a second connection does not prove the key again.
- A context is never changed. A new one is made: pins can be added to a live one, but not taken out.
- The dates of certificates are not looked at. A pin is as good on the day a flat battery says 1970 as on any other.
- Under TLS 1.3 a client that the server is about to refuse believes that the handshake succeeded,
  and sees only the end of the stream. So the acceptor speaks first: its hello is the welcome.
"""

import contextlib
import os
import ssl
from collections.abc import Iterable, Iterator

from anyio import EndOfStream
from anyio.abc import ByteStream
from anyio.streams.tls import TLSAttribute, TLSStream

from lottisync.identity.device_key import DeviceKey, device_id_of

ALPN_SYNC = "lottisync/1"
ALPN_PAIRING = "lottisync-pair/1"
HANDSHAKE_SECONDS = 5
NO_CHECK_TIME = ssl.VerifyFlags(0x20_0000)
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which `ssl` does not name."""


def sync_context(key: DeviceKey, pins: Iterable[bytes], *, server: bool) -> ssl.SSLContext:
    """A context that shows this device's certificate and accepts the pinned ones (DER) only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    _harden(context, ALPN_SYNC)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | NO_CHECK_TIME
    _present(context, key)
    der = b"".join(pins)
    if der:
        context.load_verify_locations(cadata=der)
    return context


def pairing_context(key: DeviceKey | None) -> ssl.SSLContext:
    """With a key the listener's context, without one the client's. It only hides the exchange from onlookers: the code
    inside proves who the other side is."""
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
    """Give the context our certificate and key. `load_cert_chain` takes names of files only, so it gets those of two
    pipes: the key never lies in a file, and a full disk does not prevent a connection."""
    with _readable(key.certificate_pem()) as certificate, _readable(key.private_pem()) as private:
        context.load_cert_chain(certificate, private)


@contextlib.contextmanager
def _readable(content: bytes) -> Iterator[str]:
    """The name of a pipe that gives `content`, of less than a page, once. Raises `OSError` without free descriptors."""
    reading, writing = os.pipe()
    try:
        os.write(writing, content)
        os.close(writing)
        yield f"/dev/fd/{reading}"
    finally:
        os.close(reading)


async def secured(stream: ByteStream, context: ssl.SSLContext, *, server: bool) -> TLSStream:
    """The stream after the handshake. Raises `EndOfStream` if the other side hangs up during it, with every Python: the
    first releases of 3.11 have an error of their own for that."""
    try:
        return await TLSStream.wrap(
            stream, server_side=server, ssl_context=context, hostname=None, standard_compatible=False
        )
    except ssl.SSLZeroReturnError:
        raise EndOfStream from None


def peer_device(stream: TLSStream) -> str:
    """The id of the device whose certificate the handshake has proved."""
    der = stream.extra(TLSAttribute.peer_certificate_binary)
    assert der is not None, "verify_mode is CERT_REQUIRED"
    return device_id_of(der)
