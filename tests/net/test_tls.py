"""TLS between pinned devices, over real sockets: NET-1 to NET-3, NET-20, NET-21."""

import contextlib
import errno
import os
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.tls import TLSAttribute, TLSStream
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.support.engines import NoStream

from lottisync.identity.device_key import DeviceKey, device_id_of
from lottisync.net import tls

pytestmark = pytest.mark.anyio
A, B, C, EVE = (DeviceKey.from_seed(bytes([n]) * 32) for n in (1, 2, 3, 4))
HERE = "127.0.0.1"
REFUSED = (ssl.SSLError, anyio.EndOfStream, anyio.BrokenResourceError)


@contextlib.asynccontextmanager
async def serving(context: ssl.SSLContext, served: list[str]) -> AsyncIterator[int]:
    """A server that greets, and notes the device that has come, or "refused"."""

    async def serve(raw: SocketStream) -> None:
        try:
            stream = await tls.secured(raw, context, server=True)
            served.append(tls.peer_device(stream))
            await stream.send(b"welcome")
            with contextlib.suppress(*REFUSED):
                await stream.receive()
        except REFUSED:
            served.append("refused")
        finally:
            await anyio.aclose_forcefully(raw)

    listener = await anyio.create_tcp_listener(local_host=HERE)
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, serve)
        yield int(listener.extra(SocketAttribute.local_port))
        tasks.cancel_scope.cancel()


async def welcomed(port: int, context: ssl.SSLContext) -> TLSStream:
    """A connection whose server has greeted. Under TLS 1.3 only this says that we were let in."""
    raw = await anyio.connect_tcp(HERE, port)
    try:
        stream = await tls.secured(raw, context, server=False)
        assert await stream.receive() == b"welcome"
    except BaseException:
        await anyio.aclose_forcefully(raw)
        raise
    return stream


async def test_net_1_each_side_learns_which_device_the_other_is() -> None:
    """NET-300"""
    served: list[str] = []
    pins = [B.certificate, C.certificate, A.certificate]
    async with serving(tls.sync_context(A, pins, server=True), served) as port:
        for key in (B, C):
            async with await welcomed(port, tls.sync_context(key, pins, server=False)) as stream:
                assert tls.peer_device(stream) == A.device_id
                assert stream.extra(TLSAttribute.tls_version) == "TLSv1.3"
                assert stream.extra(TLSAttribute.alpn_protocol) == tls.ALPN_SYNC
    assert served == [B.device_id, C.device_id]


async def test_net_2_a_client_whose_certificate_is_not_pinned_is_refused() -> None:
    served: list[str] = []
    async with serving(tls.sync_context(A, [B.certificate], server=True), served) as port:
        with pytest.raises(REFUSED):
            await welcomed(port, tls.sync_context(EVE, [A.certificate], server=False))
    assert served == ["refused"]


async def test_net_2_a_client_without_a_certificate_is_refused() -> None:
    served: list[str] = []
    bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    bare.check_hostname = False
    bare.verify_mode = ssl.CERT_NONE
    async with serving(tls.sync_context(A, [B.certificate], server=True), served) as port:
        with pytest.raises(REFUSED):
            await welcomed(port, bare)
    assert served == ["refused"]


async def test_net_2_a_listener_without_any_pin_refuses_all() -> None:
    served: list[str] = []
    async with serving(tls.sync_context(A, [], server=True), served) as port:
        with pytest.raises(REFUSED):
            await welcomed(port, tls.sync_context(B, [A.certificate], server=False))
    assert served == ["refused"]


async def test_net_301_a_server_that_is_not_pinned_is_refused() -> None:
    """A man in the middle has another key, and cannot use that of the device."""
    served: list[str] = []
    async with serving(tls.sync_context(EVE, [B.certificate], server=True), served) as port:
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
            await welcomed(port, tls.sync_context(B, [A.certificate], server=False))


async def test_net_301_the_pairing_listener_does_not_sync() -> None:
    served: list[str] = []
    async with serving(tls.pairing_context(EVE), served) as port:
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
            await welcomed(port, tls.sync_context(B, [A.certificate], server=False))


async def test_net_51_a_handshake_that_the_other_side_ends_is_the_end_of_the_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """NET-51: with every Python. It was reported as a refusal with the first releases of 3.11."""

    async def wrap(*_: object, **__: object) -> TLSStream:
        raise ssl.SSLZeroReturnError(6, "TLS/SSL connection has been closed (EOF)")

    monkeypatch.setattr(TLSStream, "wrap", wrap)
    with pytest.raises(anyio.EndOfStream):
        await tls.secured(NoStream(), tls.pairing_context(None), server=True)


async def test_net_1_an_older_tls_is_refused() -> None:
    served: list[str] = []
    old = tls.sync_context(B, [A.certificate], server=False)
    old.minimum_version = ssl.TLSVersion.TLSv1_2
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    async with serving(tls.sync_context(A, [B.certificate], server=True), served) as port:
        with pytest.raises(REFUSED):
            await welcomed(port, old)
    assert served == ["refused"]


async def test_net_3_no_session_is_resumed() -> None:
    """With tickets the second connection would not prove the key again."""
    served: list[str] = []
    context = tls.sync_context(B, [A.certificate], server=False)
    async with serving(tls.sync_context(A, [B.certificate], server=True), served) as port:
        async with await welcomed(port, context) as first:
            session = first.extra(TLSAttribute.ssl_object).session
        assert session is not None
        assert not session.has_ticket
        async with await welcomed(port, context) as second:
            assert second.extra(TLSAttribute.ssl_object).session_reused is False


@pytest.mark.parametrize("made", [tls.pairing_context, lambda key: tls.sync_context(key, [B.certificate], server=True)])
def test_net_20_no_file_is_needed_for_a_key(
    made: Callable[[DeviceKey], ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    """NET-20, NET-304, REL-D5: a full folder for temporary files ended the daemon when the roster changed."""

    def full(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for name in ("mkstemp", "NamedTemporaryFile", "TemporaryFile"):
        monkeypatch.setattr(tempfile, name, full)
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    before = len(list(Path("/dev/fd").iterdir()))
    made(A)
    assert len(list(Path("/dev/fd").iterdir())) == before


class Dated(DeviceKey):
    """A device key whose certificate is good for one day of 1990 only: as if all clocks were wrong."""

    @property
    def certificate(self) -> bytes:
        made = x509.load_der_x509_certificate(super().certificate)
        key = serialization.load_pem_private_key(self.private_pem(), None)
        assert isinstance(key, Ed25519PrivateKey)
        day = datetime(1990, 1, 1, tzinfo=UTC)
        return (
            x509.CertificateBuilder(
                made.subject, made.subject, key.public_key(), made.serial_number, day, day + timedelta(days=1)
            )
            .sign(key, None)
            .public_bytes(serialization.Encoding.DER)
        )

    def certificate_pem(self) -> bytes:
        return x509.load_der_x509_certificate(self.certificate).public_bytes(serialization.Encoding.PEM)


async def test_net_21_the_dates_of_a_pinned_certificate_do_not_matter() -> None:
    """NET-21, REL-D8: a device whose clock said 1970 or 2125 paired and never linked."""
    served: list[str] = []
    old_a, old_b = Dated(bytes([1]) * 32), Dated(bytes([2]) * 32)
    pins = [old_a.certificate, old_b.certificate]
    async with serving(tls.sync_context(old_a, pins, server=True), served) as port:
        async with await welcomed(port, tls.sync_context(old_b, pins, server=False)) as stream:
            assert tls.peer_device(stream) == A.device_id
        with pytest.raises(REFUSED):  # and another key's is refused all the same
            await welcomed(port, tls.sync_context(Dated(bytes([4]) * 32), pins, server=False))
    assert served == [B.device_id, "refused"]


async def test_net_21_pairing_looks_at_no_dates_either() -> None:
    served: list[str] = []
    async with serving(tls.pairing_context(Dated(bytes([1]) * 32)), served) as port:
        raw = await anyio.connect_tcp(HERE, port)
        async with await tls.secured(raw, tls.pairing_context(None), server=False) as stream:
            shown = stream.extra(TLSAttribute.peer_certificate_binary)
            assert shown is not None
            assert device_id_of(shown) == A.device_id
