"""The conformance adapter: one JSON request a line in, one JSON answer a line out.

The contract is `conformance/ADAPTER.md`. The runner owns time, chance and the network; nothing here
reads a clock. A request that cannot be understood is an error answer, never an exit: a suite learns
more from the next request than from a dead process.
"""

from collections.abc import Callable
from typing import Any, BinaryIO

import msgspec

from lottisync.adapter import wire_entity
from lottisync.adapter.wire_entity import BadRequest
from lottisync.causality import hlc, vector_clock
from lottisync.causality.hlc import HlcError
from lottisync.causality.vector_clock import ClockError
from lottisync.entities.entity import DELETED_AT, EqualDots, join

Request = dict[str, Any]


def clock_compare(request: Request) -> str:
    return vector_clock.compare(_clock(request, "a"), _clock(request, "b")).value


def clock_merge(request: Request) -> dict[str, int]:
    a, b = _clock(request, "a"), _clock(request, "b")
    vector_clock.validate(a)
    vector_clock.validate(b)
    return dict(sorted(vector_clock.merge(a, b).items()))


def hlc_tick(request: Request) -> list[int]:
    last = wire_entity.hlc(_field(request, "hlc"))
    hlc.validate(last)
    return list(hlc.tick(last, _now(request)))


def hlc_observe(request: Request) -> list[int]:
    last, remote = wire_entity.hlc(_field(request, "hlc")), wire_entity.hlc(_field(request, "remote"))
    hlc.validate(last)
    return list(hlc.observe(last, remote, _now(request)))


def entity_join(request: Request) -> dict[str, Any]:
    return wire_entity.written(join(wire_entity.read(_field(request, "a")), wire_entity.read(_field(request, "b"))))


def entity_read(request: Request) -> dict[str, Any]:
    entity = wire_entity.read(_field(request, "entity"))
    return {
        "fields": {path: value for path, value in entity.document().items() if path != DELETED_AT},
        "conflicts": entity.conflicts(),
    }


def entity_digest(request: Request) -> str:
    return wire_entity.digest(wire_entity.read(_field(request, "entity")))


OPERATIONS: dict[str, Callable[[Request], Any]] = {
    "clock.compare": clock_compare,
    "clock.merge": clock_merge,
    "hlc.tick": hlc_tick,
    "hlc.observe": hlc_observe,
    "entity.join": entity_join,
    "entity.read": entity_read,
    "entity.digest": entity_digest,
}


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer every line of `requests` until it ends."""
    for line in requests:
        if line.strip():
            answers.write(msgspec.json.encode(answer(line)) + b"\n")
            answers.flush()


def answer(line: bytes) -> dict[str, Any]:
    """The answer to one line, whatever it holds."""
    try:
        request = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return {"id": None, "error": {"code": "bad-json", "message": str(error)}}
    if not isinstance(request, dict):
        return {"id": None, "error": {"code": "bad-request", "message": "a request is a JSON object"}}
    number = request.get("id")
    operation = OPERATIONS.get(str(request.get("op")))
    if operation is None:
        known = ", ".join(OPERATIONS)
        message = f"no operation {request.get('op')!r}; this adapter has {known}"
        return {"id": number, "error": {"code": "unknown-op", "message": message}}
    try:
        return {"id": number, "ok": operation(request)}
    except EqualDots as error:
        return {"id": number, "error": {"code": "fork", "message": str(error)}}
    except (ClockError, HlcError) as error:
        return {"id": number, "error": {"code": "bad-clock", "message": str(error)}}
    except ValueError as error:
        return {"id": number, "error": {"code": "bad-request", "message": str(error)}}


def _field(request: Request, name: str) -> Any:
    if name not in request:
        raise BadRequest(f"{request.get('op')} needs the field {name!r}")
    return request[name]


def _clock(request: Request, name: str) -> dict[vector_clock.Host, int]:
    clock = _field(request, name)
    if not isinstance(clock, dict):
        raise BadRequest(f"{name!r} is a clock {{host: counter}}")
    return clock


def _now(request: Request) -> int:
    now = _field(request, "now")
    if type(now) is not int:
        raise BadRequest("'now' is a number of milliseconds")
    return now
