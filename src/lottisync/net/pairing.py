"""Pairing over the network: the shell around `lottisync.identity.pairing` (docs/specs/06-identity-and-pairing.md).

An invitation (`lottisync.identity.invitation`) holds the addresses of the device that made it. So nothing is announced:
the device that joins tries these addresses one after another. `lottisync.device.invitation_server` answers.

The side that shows a code listens on a separate port, inside TLS without client certificates, and
announces itself by mDNS as `role=pair`, with the first digit of its code. The side that types goes to the
address that the person gave, or looks for announcements with the digit that was typed, and asks the devices
behind them one after another: where several people pair at once, two codes may begin with the same digit.

Each device that is asked loses one of its three runs if it shows a code, and gets one guess at our code if it only
pretends to show one. So devices with another digit are not asked, no device is asked twice, and after
three refusals the person has to decide.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import anyio
import msgspec
from anyio.abc import ByteStream, SocketStream
from anyio.streams.memory import MemoryObjectReceiveStream
from anyio.streams.tls import TLSAttribute, TLSStream

from lottisync.identity.device_key import DeviceKey, device_id_of
from lottisync.identity.invitation import Invitation
from lottisync.identity.pairing import CodeShown, CodeTyped, Paired, PairingState
from lottisync.identity.pairing_message import MAX_PAIRING_MESSAGE, NOTHING, Introduction, PairingError
from lottisync.identity.pairing_offer import CodeOffer, Offer, Password, discriminator
from lottisync.net import tls
from lottisync.net.address import Address, BadAddress, parse
from lottisync.net.discovery import Announcement, DiscoveredService, discovering
from lottisync.net.doorway import Slots, remote_host, welcome
from lottisync.net.interfaces import scopes
from lottisync.net.listener import listen, local_host, port_of, remote_of
from lottisync.problem import Problem, Sentence
from lottisync.protocol.framing import BadFrame, FrameBuffer, frame

MESSAGE_SECONDS = 10
"""Within which each message of a run must come; the code was typed before the run."""
PERSON_SECONDS = 120
"""Within which it must come where the other device may ask its person first: as long as a code is good (PAIR-680)."""
SEARCH_SECONDS = 20
"""How long the typing side looks for a device that shows a code."""
INVITED_SECONDS = 5
"""How long each address of an invitation is tried."""
ANOTHER_SECONDS = 3
"""How long it looks for another, once one was found that shows another code; mDNS finds most in a third of that."""
MOST_REFUSALS = 3
"""As many guesses as an offer grants to the side that types."""
BROKEN_OFF = (OSError, TimeoutError, BadFrame, anyio.EndOfStream, anyio.BrokenResourceError)
"""What a connection raises when the other side goes away, says nothing or sends something that is not a message."""


class Self(NamedTuple):
    """Who this device is in the exchange, and where its daemon is reached; `chance` gives random bytes."""

    key: DeviceKey
    name: str
    chance: Callable[[int], bytes]
    introduce: Callable[[str], Introduction] = lambda host: NOTHING
    """What is handed over on a connection to this host, an address of this machine."""
    consent: Callable[[str], None] = lambda device: None
    """Called with the id of the other device before this one says that it trusts it. Raises `Problem` if the person
    does not want that. It may ask, and so take a while."""


class _Channel:
    """Whole messages over a stream."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._buffer = FrameBuffer(MAX_PAIRING_MESSAGE + 1)
        self.local_host = local_host(stream)

    async def send(self, message: bytes) -> None:
        await self._stream.send(frame(message))

    async def send_all(self, messages: Iterable[bytes]) -> None:
        for message in messages:
            await self.send(message)

    async def receive(self, seconds: float = MESSAGE_SECONDS) -> bytes:
        with anyio.fail_after(seconds):
            while (body := self._buffer.next_body()) is None:
                self._buffer.feed(await self._stream.receive(4096))
        return body


class NotWanted(PairingError):
    """The person of this device does not want the other one; `problem` is what `Self.consent` raised."""

    def __init__(self, problem: Problem) -> None:
        arguments: dict[str, Any] = problem.arguments
        super().__init__("revoked", problem.template, hint=problem.hint, **arguments)
        self.problem = problem


def _consent(me: Self, device: str) -> None:
    """Raises `NotWanted` if this device's person does not want the other device."""
    try:
        me.consent(device)
    except Problem as problem:
        raise NotWanted(problem) from None


async def _anybody(paired: Paired) -> None:
    """A consent that is always given: each device that has proved the code is let in."""


async def let_in(
    raw: SocketStream,
    me: Self,
    offer: Offer,
    clock: Callable[[], int],
    *,
    admit: Callable[[Paired], Awaitable[None]] = _anybody,
) -> Paired:
    """Pair with the device at the other end of a connection, which ends with that. `admit` is called before the device
    hears that it is let in, and may refuse it by a `PairingError`.

    Raises `PairingError`, which the device has heard then; what `admit` raises; one of `BROKEN_OFF`."""
    remote = remote_of(raw)
    async with raw:
        with anyio.fail_after(MESSAGE_SECONDS):
            stream = await tls.secured(raw, tls.pairing_context(me.key), server=True)
        return await _run_shown(_Channel(stream), me, offer, clock, remote, admit)


async def show_code(
    me: Self,
    offer: CodeOffer,
    where: Address,
    *,
    discover: bool,
    clock: Callable[[], int],
    ready: Callable[[int], None],
    tell: Callable[[PairingError], None] = lambda error: None,
) -> Paired:
    """Listen until the code was typed, or has expired. `ready` is called with the port, `tell` as soon as an attempt
    came to nothing, once for each reason. With `discover` the offer is announced.

    Raises `Problem` when the code has expired or was tried too often, `NotWanted` if the person wants it so."""
    outcome: list[Paired | NotWanted] = []
    heard: set[str] = set()
    complaint: list[Sentence] = []
    done = anyio.Event()
    slots = Slots(kept=0)

    async def serve(raw: SocketStream) -> None:
        host = remote_host(raw)
        if not slots.take(host):
            await anyio.aclose_forcefully(raw)
            return
        try:
            outcome.append(await let_in(raw, me, offer, clock))
        except NotWanted as error:  # the code was typed: nobody else has it
            outcome.append(error)
        except PairingError as error:
            complaint[:] = [error.sentence]
            if error.code not in heard:
                heard.add(error.code)
                tell(error)
        except BROKEN_OFF:
            complaint[:] = [Sentence("a device connected and went away")]
        finally:
            slots.leave(host)
        if outcome or not offer.open_at(clock()):
            done.set()

    try:
        listener = await listen(where)
    except OSError as error:
        raise Problem(
            "cannot-listen",
            "cannot listen on {listen} ({strerror})",
            listen=where,
            strerror=Sentence(error.strerror or str(error)),
        ) from None
    port = port_of(listener)
    announcement = Announcement("pair", port, lambda: me.chance(16).hex(), discriminator(offer.code))
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(welcome, listener, serve)
        if discover:
            await tasks.start(_announce, where.host, announcement)
        ready(port)
        with anyio.move_on_after(max(0, offer.expires_at_ms - clock()) / 1000):
            await done.wait()
        tasks.cancel_scope.cancel()
    if outcome:
        [ended] = outcome
        if isinstance(ended, NotWanted):
            raise ended
        return ended
    why = Sentence(" ({complaint})", complaint=complaint[0]) if complaint else ""
    if offer.runs_left <= 0:
        raise Problem("too-many-runs", "the code was tried too often{why}", hint="pair-again", why=why)
    raise Problem("expired", "the code has expired{why}", hint="pair-again", why=why)


async def _announce(
    host: str, announcement: Announcement, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    async with discovering(host, announcement, lambda found: None):
        task_status.started()
        await anyio.sleep_forever()


async def _run_shown(
    channel: _Channel,
    me: Self,
    offer: Offer,
    clock: Callable[[], int],
    remote: Address | None,
    admit: Callable[[Paired], Awaitable[None]],
) -> Paired:
    run = CodeShown(
        offer=offer,
        key=me.key,
        name=me.name,
        scalar=me.chance(32),
        nonce=me.chance(32),
        introduction=me.introduce(channel.local_host),
    )
    paired: Paired | None = None
    try:
        while paired is None:
            seconds = MESSAGE_SECONDS if run.state is PairingState.HELLO else PERSON_SECONDS
            answers = run.receive(await channel.receive(seconds), clock())
            if run.result is None:
                await channel.send_all(answers)
                continue
            _consent(me, run.result.peer_id)
            # Who was let in has to hear it, also when this program stops in between.
            with anyio.move_on_after(MESSAGE_SECONDS, shield=True):
                paired = _met_at(remote, run.result)
                await admit(paired)
                await channel.send_all(answers)
    except PairingError as error:
        if error.refusal is not None:
            await channel.send(error.refusal)
        raise
    return paired


async def type_code(me: Self, code: str, *, at: Address | None, search_from: str) -> Paired:
    """Find the device that shows `code` and pair with it.

    Raises `PairingError` with what the other device said, `Problem` if there is none."""
    if at is not None:
        return await _type_at(me, code, at)
    send, receive = anyio.create_memory_object_stream[DiscoveredService](64)

    def found(service: DiscoveredService) -> None:
        with suppress(anyio.WouldBlock):
            send.send_nowait(service)

    async with send, receive, discovering(search_from, None, found):
        outcome = await type_at_one_of(me, code, receive)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


async def accept(me: Self, invitation: Invitation) -> Paired:
    """Pair with the device that made an invitation.

    Raises `PairingError` with what it said, or if another device answers; `Problem` if none does."""
    tried = [address for text in invitation.at for address in _everywhere(text)]
    if not tried:
        raise PairingError(
            "malformed-invitation",
            "this is not a whole invitation ({at} is not an address). Copy all of it, or make a new one",
            at=", ".join(invitation.at),
        )
    last = invitation.at[-1]
    cut = "" if _is_address(last) else Sentence(" ({at} is not an address: is the invitation whole?)", at=last)
    refusal: PairingError | None = None
    for address in tried:
        try:
            return await _type_at(me, invitation.password, address, INVITED_SECONDS)
        except PairingError as error:
            if error.code != "wrong-fingerprint":  # another machine may have the address in this network
                raise
            refusal = error
        except Problem:
            continue
    if refusal is not None:
        raise refusal
    raise Problem(
        "unreachable",
        "no device answers this invitation at {tried}{cut}: no daemon runs there, or this network does not lead there,"
        " or it ended more than a day ago",
        tried=", ".join(map(str, tried)),
        cut=cut,
        hint="invite-again",
    )


def _is_address(text: str) -> bool:
    try:
        parse(text)
    except BadAddress:
        return False
    return True


def _everywhere(text: str) -> list[Address]:
    """An address of an invitation, as it is dialled from here: a link-local one on each interface."""
    try:
        address = parse(text)
    except BadAddress:
        return []
    return [address.within(scope) for scope in scopes()] if address.link_local else [address]


async def type_at_one_of(
    me: Self, code: str, services: MemoryObjectReceiveStream[DiscoveredService]
) -> Paired | PairingError | Problem:
    """Pair with the one that shows `code` of the services that come in (PAIR-41, PAIR-22, PAIR-220, PAIR-221). Gives
    back what `type_code` raises: the task group of the search would wrap it."""
    digit = discriminator(code)
    refusals: dict[str, PairingError] = {}
    others = False
    until = anyio.current_time() + SEARCH_SECONDS
    while len(refusals) < MOST_REFUSALS and (service := await _next(services, until)) is not None:
        if service.role != "pair" or service.name in refusals:
            continue
        if service.digit != digit:
            others = True
        else:
            try:
                return await _type_at_any(me, code, service.addresses)
            except NotWanted as error:
                return error
            except PairingError as error:
                refusals[service.name] = error
            except Problem:
                continue
        until = min(until, anyio.current_time() + ANOTHER_SECONDS)
    if refusals:
        # The answer of a neighbour's device, about another code, helps the person less.
        return min(refusals.values(), key=lambda error: error.code != "wrong-code")
    if others:
        return Problem(
            "nobody-found",
            "no device was found that shows a code beginning with {digit}. Check the code",
            hint="name-address",
            digit=digit,
        )
    return Problem(
        "nobody-found",
        "no device that shows a code was found within {search_seconds} s",
        hint="show-code",
        search_seconds=SEARCH_SECONDS,
    )


async def _next(services: MemoryObjectReceiveStream[DiscoveredService], until: float) -> DiscoveredService | None:
    """The next service; None if there is none by `until`. What came in while another was asked is not too late."""
    with suppress(anyio.WouldBlock):
        return services.receive_nowait()
    with anyio.CancelScope(deadline=until):
        return await services.receive()
    return None


async def _type_at_any(me: Self, code: str, addresses: tuple[Address, ...]) -> Paired:
    """Pair with one device, at the first of its addresses where it answers."""
    unreachable = Problem("unreachable", "the device that shows a code has no address")
    for address in (each for one in addresses for each in _everywhere(str(one))):
        try:
            return await _type_at(me, code, address)
        except PairingError:  # it answered, and refused: at another address it would say the same
            raise
        except Problem as problem:
            unreachable = problem
    raise unreachable


async def _type_at(me: Self, code: str | Password, address: Address, seconds: float = MESSAGE_SECONDS) -> Paired:
    """`seconds` is how long the device has to answer at all."""
    try:
        with anyio.fail_after(seconds):
            raw = await anyio.connect_tcp(address.host, address.port)
            try:
                stream = await tls.secured(raw, tls.pairing_context(None), server=False)
            except BaseException:
                await anyio.aclose_forcefully(raw)
                raise
    except (OSError, TimeoutError, anyio.EndOfStream, anyio.BrokenResourceError):
        raise Problem("unreachable", "no device shows a code at {address}", hint="show-code", address=address) from None
    try:
        return _met_at(address, await _run_typed(_Channel(stream), stream, me, code, seconds))
    except BROKEN_OFF:
        raise Problem(
            "broken-off", "the device at {address} broke the pairing off. Try again", address=address
        ) from None
    finally:
        await anyio.aclose_forcefully(stream)


def _met_at(address: Address | None, paired: Paired) -> Paired:
    """The result, with the address where the other device has just been met, and the port of its daemon (MEET-6)."""
    handed = paired.introduction
    if address is None or not handed.port:
        return paired
    ways = [Address(address.host, handed.port).uri, *handed.ways]
    return msgspec.structs.replace(paired, introduction=msgspec.structs.replace(handed, ways=ways))


async def _run_typed(channel: _Channel, stream: TLSStream, me: Self, code: str | Password, seconds: float) -> Paired:
    shown = stream.extra(TLSAttribute.peer_certificate_binary)
    assert shown is not None, "a TLS server always has a certificate"
    run = CodeTyped(
        code=code,
        key=me.key,
        name=me.name,
        scalar=me.chance(32),
        nonce=me.chance(32),
        server_certificate=shown,
        introduction=me.introduce(channel.local_host),
    )
    try:
        await channel.send(run.start())
        answers = run.receive(await channel.receive(seconds))
        _consent(me, device_id_of(shown))  # before it hears that the code is right; TLS has proved its key (PAIR-12)
        while run.result is None:
            await channel.send_all(answers)
            answers = run.receive(await channel.receive(PERSON_SECONDS))
    except PairingError as error:
        if error.refusal is not None:
            await channel.send(error.refusal)
        raise
    return run.result
