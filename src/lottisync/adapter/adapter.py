"""The conformance adapter: one JSON request a line in, one JSON answer a line out.

The contract is `conformance/ADAPTER.md`. The runner owns time, chance and the network; nothing here
reads a clock. A request that cannot be understood is an error answer, never an exit: a suite learns
more from the next request than from a dead process.
"""

from collections.abc import Callable
from typing import Any, BinaryIO

import msgspec

from lottisync.adapter import relay_message, wake, wire_entity
from lottisync.adapter import request as r
from lottisync.adapter.replica import shown
from lottisync.adapter.request import Request
from lottisync.adapter.space import Space
from lottisync.causality import hlc, vector_clock
from lottisync.causality.hlc import HlcError
from lottisync.causality.vector_clock import MAX_COUNTER, ClockError
from lottisync.entities.entity import EqualDots, join
from lottisync.problem import Problem


def clock_compare(request: Request) -> str:
    return vector_clock.compare(r.clock(request, "a"), r.clock(request, "b")).value


def clock_merge(request: Request) -> dict[str, int]:
    a, b = r.clock(request, "a"), r.clock(request, "b")
    vector_clock.validate(a)
    vector_clock.validate(b)
    return dict(sorted(vector_clock.merge(a, b).items()))


def hlc_tick(request: Request) -> list[int]:
    last = wire_entity.hlc(r.field(request, "hlc"))
    hlc.validate(last)
    ticked = hlc.tick(last, r.now(request))
    hlc.validate(ticked)
    return list(ticked)


def hlc_observe(request: Request) -> list[int]:
    last, remote = wire_entity.hlc(r.field(request, "hlc")), wire_entity.hlc(r.field(request, "remote"))
    hlc.validate(last)
    return list(hlc.observe(last, remote, r.now(request)))


def entity_join(request: Request) -> dict[str, Any]:
    return wire_entity.written(join(wire_entity.read(r.field(request, "a")), wire_entity.read(r.field(request, "b"))))


def entity_read(request: Request) -> dict[str, Any]:
    return shown(wire_entity.read(r.field(request, "entity")))


def entity_digest(request: Request) -> str:
    return wire_entity.digest(wire_entity.read(r.field(request, "entity")))


def whole_numbers(value: Any) -> Any:
    """A decoded JSON value with 1 in the place of 1.0: many languages do not distinguish the two."""
    match value:
        case float() if value.is_integer() and abs(value) <= MAX_COUNTER:
            return int(value)
        case list():
            return [whole_numbers(each) for each in value]
        case dict():
            return {name: whole_numbers(each) for name, each in value.items()}
    return value


PURE: dict[str, Callable[[Request], Any]] = {
    "clock.compare": clock_compare,
    "clock.merge": clock_merge,
    "hlc.tick": hlc_tick,
    "hlc.observe": hlc_observe,
    "entity.join": entity_join,
    "entity.read": entity_read,
    "entity.digest": entity_digest,
    **wake.PURE,
    **relay_message.PURE,
}


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer every line of `requests` until it ends."""
    space = Space()
    try:
        for line in requests:
            answers.write(msgspec.json.encode(answer(line, space), enc_hook=str) + b"\n")
            answers.flush()
    finally:
        space.close()


def answer(line: bytes, space: Space | None = None) -> dict[str, Any]:
    """The answer to one line of any content. Without a `space` there are only the pure operations."""
    try:
        request = whole_numbers(msgspec.json.decode(line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _error(None, "bad-json", str(error))
    if not isinstance(request, dict):
        return _error(None, "bad-request", "a request is a JSON object")
    number = request.get("id")
    operations = PURE if space is None else PURE | space.operations
    name = request.get("op")
    if not isinstance(name, str):
        return _error(number, "bad-request", f"a request names its operation in 'op', a text; got {name!r}")
    operation = operations.get(name)
    if operation is None:
        known = ", ".join(operations)
        return _error(number, "unknown-op", f"no operation {name!r}; this adapter has {known}")
    try:
        return {"id": number, "ok": operation(request)}
    except EqualDots as error:
        return _error(number, "fork", str(error))
    except (ClockError, HlcError) as error:
        return _error(number, "bad-clock", str(error))
    except Problem as problem:
        return _error(number, problem.code, problem.message)
    except (ValueError, msgspec.ValidationError) as error:
        return _error(number, "bad-request", str(error))
    except Exception as error:  # noqa: BLE001 - a suite learns more from the next request than from a dead process
        return _error(number, "internal", f"{type(error).__name__}: {error}")


def _error(number: object, code: str, message: str) -> dict[str, Any]:
    return {"id": number, "error": {"code": code, "message": message}}
