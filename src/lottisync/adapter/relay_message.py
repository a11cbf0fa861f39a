"""Messages of a relay, for the suite: taken apart, verified and opened, without a relay (docs/specs/19-relay.md)."""

from collections.abc import Callable
from typing import Any

from lottisync.adapter import request as r
from lottisync.adapter.request import Request
from lottisync.adapter.wire_entity import BadRequest
from lottisync.identity.device_key import DeviceKey
from lottisync.problem import Problem
from lottisync.relay import content
from lottisync.relay.box import BoxKey, wrap_info
from lottisync.relay.circle import signed_by
from lottisync.relay.epoch import Epoch
from lottisync.relay.header import BadMessage, Kind, Name, parts_of, refuse_misplaced
from lottisync.relay.seal import unsealed


def _hexadecimal(request: Request, name: str) -> bytes:
    try:
        return bytes.fromhex(r.text(request, name))
    except ValueError:
        raise BadRequest(f"{name!r} of {request.get('op')} is hexadecimal") from None


def _epoch(request: Request) -> str:
    return Epoch(_hexadecimal(request, "key"), 1, frozenset()).id.hex()


def _open(request: Request) -> dict[str, Any]:
    """Verify a message of the device with this seed, in its place, and open it."""
    name = Name(_hexadecimal(request, "lane"), r.text(request, "channel"), r.whole(request, "number"))
    try:
        parts = parts_of(_hexadecimal(request, "message"))
        refuse_misplaced(parts.header, _hexadecimal(request, "space"), name)
        if not signed_by(DeviceKey.from_seed(_hexadecimal(request, "seed")).certificate, parts):
            raise BadMessage("no device of yours has signed it")
        open_part = content.open_part_of(parts.rest) if parts.header.kind is Kind.STATE else b""
        ciphertext = parts.rest[len(open_part) :]
        body = unsealed(_hexadecimal(request, "key"), parts.header, ciphertext, open_part)
    except BadMessage as error:
        raise _refused(error) from None
    return {"kind": int(parts.header.kind), "hash": parts.hash.hex(), "body": body.hex()}


def _wrap(request: Request) -> str:
    """Open a wrap for the device with this seed."""
    box = BoxKey(DeviceKey.from_seed(_hexadecimal(request, "seed")))
    message = _hexadecimal(request, "space"), _hexadecimal(request, "lane"), r.whole(request, "number")
    try:
        return box.opened(_hexadecimal(request, "wrap"), wrap_info(*message, box.public)).hex()
    except BadMessage as error:
        raise _refused(error) from None


def _segment(request: Request) -> list[dict[str, Any]]:
    """What a segment of an envelope says of its store."""
    try:
        envelope = content.decode(_hexadecimal(request, "body"), content.Envelope)
    except BadMessage as error:
        raise _refused(error) from None
    return [
        {
            "store": segment.extent.store,
            "base": dict(segment.extent.base),
            "knowledge": dict(segment.extent.knowledge),
            "whole": segment.extent.whole,
            "parts": [type(part).__name__.lower() for part in segment.parts],
        }
        for segment in envelope.segments
    ]


def _refused(error: BadMessage) -> Problem:
    return Problem("bad-message", "{error}", error=error)


PURE: dict[str, Callable[[Request], Any]] = {
    "relay.epoch": _epoch,
    "relay.open": _open,
    "relay.wrap": _wrap,
    "relay.segment": _segment,
}
