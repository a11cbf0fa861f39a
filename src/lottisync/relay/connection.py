"""A connection to a NATS server, with what a person has set for it (docs/specs/19-relay.md, section 10).

The URL replicates, and so does the server's certificate, which is public. A file of credentials is of one device: only
where it lies is written down, and on this device alone. It is read when a connection is made.
"""

import asyncio
import logging
import re
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.errors import NoServersError
from nats.js.errors import APIError

from lottisync.device import clock
from lottisync.problem import Problem, Sentence
from lottisync.relay.credentials import expires_at, form_of
from lottisync.relay.setting import RelaySetting
from lottisync.store.instant import iso, to_the_minute

# At the end of every connection with TLS asyncio warns of how its own streams, which nats-py uses, end.
logging.getLogger("asyncio").addFilter(lambda record: "eof_received" not in str(record.msg))
CONNECT_SECONDS = 5
NO_ROOM, NOT_STORED = (10_002, 10_023, 10_047), (10_049, 10_077)
"""Error codes: the server or the account has no room; a stream was not made or a message not stored, and the text says
why."""
_FULL = re.compile(r"maximum|exceed|insufficient|no space|quota", re.IGNORECASE)
OF_ANOTHER_NAME, OUT_OF_DATE = (62, 64), (9, 10)
"""What OpenSSL says of a certificate: host or address do not match; not valid yet, or no more."""


class RelayConnection(Client):
    """A client that keeps `tls://`: nats-py itself goes on in the clear if the server says that it has no TLS, and then
    shows the password to all who listen. `refused` is the last thing that the server did not permit; `lacks_tls` holds
    if it was left for that. `when_closed` is called when the connection has ended, on either side."""

    def __init__(self) -> None:
        super().__init__()
        self.when_closed: Callable[[], None] = lambda: None
        self.refused = ""
        self.lacks_tls = False

    def _connect_command(self) -> bytes:
        server = self._current_server
        self.lacks_tls = server is not None and server.uri.scheme == "tls" and not self.demands_tls
        if self.lacks_tls:
            raise NatsError("the server does not use TLS")
        return super()._connect_command()

    @property
    def demands_tls(self) -> bool:
        """Whether the server has said that it demands TLS; False if it has said nothing yet."""
        return bool(self._server_info.get("tls_required"))

    async def note(self, error: Exception) -> None:
        """Note an error of the connection. It also shows in the next request, except that something was not permitted:
        that is noted only here."""
        if "permissions violation" in str(error).lower():
            self.refused = str(error).removeprefix("nats: ")

    async def note_closed(self) -> None:
        self.when_closed()

    async def abandon(self) -> None:
        """Close the socket of a connection that was not made: nats-py leaves it open."""
        transport: Any = self._transport
        if transport is not None:
            transport.close()
            with suppress(OSError, TimeoutError):
                await asyncio.wait_for(transport.wait_closed(), 1)


async def connect(setting: RelaySetting) -> RelayConnection:
    """Connect to the relay. Raises `Problem`."""
    client = RelayConnection()
    options = {**_credentials(setting), **_tls(setting)}
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await client.connect(
                setting.url,
                connect_timeout=CONNECT_SECONDS,
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                no_echo=True,
                error_cb=client.note,
                closed_cb=client.note_closed,
                **options,
            )
    except (TimeoutError, NatsError, OSError) as error:
        await client.abandon()
        raise _at_odds(setting, error, client) or unusable(setting, error) from None
    return client


def _at_odds(setting: RelaySetting, error: BaseException, client: RelayConnection) -> Problem | None:
    """The problem of a server that answers, and of which the URL says the wrong thing about TLS. Its certificate is not
    the reason."""
    if client.lacks_tls:
        reason = Sentence("the server does not use TLS, and the URL begins with tls://")
        return _unusable("relay-without-tls", reason, setting)
    if client.demands_tls and isinstance(error, ssl.SSLError) and not setting.url.startswith("tls://"):
        reason = Sentence("the server demands TLS, and the URL begins with nats://")
        return _unusable("relay-demands-tls", reason, setting)
    return None


def unusable(setting: RelaySetting, error: BaseException, refused: str = "") -> Problem:
    """The problem that the relay did not do what was asked of it. `refused`: what it did not permit."""
    reason = refused or str(error).strip().removeprefix("nats: ") or type(error).__name__
    if isinstance(error, ssl.SSLError):
        return _untrusted(setting, error)
    if "authorization violation" in reason.lower():
        return _not_accepted(setting)
    if isinstance(error, NoServersError):
        return _unusable("relay-unreachable", Sentence("no server answers there"), setting)
    if refused:
        return _unusable("relay-not-permitted", reason, setting)
    return _unusable("relay-unreachable", reason, setting)


def _untrusted(setting: RelaySetting, error: ssl.SSLError) -> Problem:
    """The problem that the server's certificate is not valid here. It has a code of its own for a certificate of
    another name, and for one that is out of date: to trust the certificate would not help there."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return _unusable("relay-certificate", error.reason or Sentence("TLS failed"), setting)
    why = Sentence("its certificate is not valid here: {why}", why=error.verify_message.rstrip("."))
    if error.verify_code in OF_ANOTHER_NAME:
        return _unusable("relay-certificate-name", why, setting)
    if error.verify_code in OUT_OF_DATE:
        return _unusable("relay-certificate-date", why, setting)
    return _unusable("relay-certificate", why, setting)


def _not_accepted(setting: RelaySetting) -> Problem:
    expired = expires_at(Path(setting.credentials)) if setting.credentials else None
    if expired is not None and expired <= clock.now():
        at = to_the_minute(iso(expired))
        reason = Sentence("the credentials of this device expired at {at}", at=at)
        return _unusable("relay-credentials-expired", reason, setting)
    reason = Sentence("the server does not accept the name, password or credentials")
    return _unusable("relay-refused-us", reason, setting)


def _unusable(code: str, reason: str, setting: RelaySetting) -> Problem:
    return Problem(
        code, "the relay at {url} cannot be used: {reason}", hint="relay-doctor", url=setting.shown, reason=reason
    )


def has_no_room(error: BaseException) -> bool:
    """The problem that the server, the account or the stream is full."""
    return isinstance(error, APIError) and (
        error.err_code in NO_ROOM or (error.err_code in NOT_STORED and bool(_FULL.search(error.description or "")))
    )


def said_by_server(error: BaseException) -> str:
    """The reason of an error in the server's words."""
    return (isinstance(error, APIError) and error.description) or type(error).__name__


def stalled(setting: RelaySetting, error: BaseException, refused: str = "") -> Problem:
    """The problem that the server is connected, and JetStream did not do what was asked of it."""
    if has_no_room(error):
        return Problem(
            "relay-no-room", "the relay at {url} has no room: {reason}", hint="relay-doctor",
            url=setting.shown, reason=said_by_server(error),
        )  # fmt: skip
    if isinstance(error, APIError) and error.err_code in NOT_STORED:
        return Problem(
            "relay-not-storing", "the relay at {url} stores nothing: {reason}", hint="relay-doctor",
            url=setting.shown, reason=said_by_server(error),
        )  # fmt: skip
    if isinstance(error, TimeoutError) and not refused:
        return Problem(
            "relay-stalled",
            "the relay at {url} answers, but JetStream there does not: its disk may be full, or its servers have no "
            "leader",
            hint="relay-doctor",
            url=setting.shown,
        )
    return unusable(setting, error, refused)


def _tls(setting: RelaySetting) -> dict[str, Any]:
    """Verified against the certificate in the setting, or against those that this machine trusts. One that a person
    has given is enough, no matter who has signed it (RELAY-1241)."""
    if not setting.url.startswith("tls://"):
        return {}  # and the certificates of this machine, some hundreds, are not read for each visit
    context = ssl.create_default_context(cadata=setting.certificate or None)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return {"tls": context}


def _credentials(setting: RelaySetting) -> dict[str, Any]:
    if not setting.credentials:
        return {}
    file = Path(setting.credentials)
    if form_of(file, hint="relay-doctor") == "nkey":
        return {"nkeys_seed": str(file)}
    return {"user_credentials": str(file)}
