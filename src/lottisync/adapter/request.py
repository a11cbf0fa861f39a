"""The fields of a request, checked one by one: a missing field, or one of the wrong kind, is a `BadRequest`
that names the operation and the field. `true` is never taken for 1, as Python would."""

from typing import Any

from lottisync.adapter.wire_entity import BadRequest
from lottisync.causality import hlc
from lottisync.causality.vector_clock import Host
from lottisync.review.precedence import AGENT, PERSON

Request = dict[str, Any]


def field(request: Request, name: str) -> Any:
    if name not in request:
        raise BadRequest(f"{request.get('op')} needs the field {name!r}")
    return request[name]


def text(request: Request, name: str) -> str:
    found = field(request, name)
    if not isinstance(found, str):
        raise BadRequest(f"{name!r} of {request.get('op')} is text")
    return found


def texts(request: Request, name: str) -> list[str]:
    found = field(request, name)
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise BadRequest(f"{name!r} of {request.get('op')} is a list of texts")
    return found


def optional_text(request: Request, name: str) -> str | None:
    """Text or null; the field must be there."""
    return None if field(request, name) is None else text(request, name)


def whole(request: Request, name: str, *, least: int = 0) -> int:
    found = field(request, name)
    if type(found) is not int or found < least:
        raise BadRequest(f"{name!r} of {request.get('op')} is a whole number from {least}")
    return found


def clock(request: Request, name: str) -> dict[Host, int]:
    """The shape of a clock. `vector_clock.validate` checks its counters."""
    found = field(request, name)
    if not isinstance(found, dict):
        raise BadRequest(f"{name!r} is a clock {{host: counter}}")
    return found


def mapping(request: Request, name: str) -> dict[str, Any]:
    found = field(request, name)
    if not isinstance(found, dict):
        raise BadRequest(f"{name!r} of {request.get('op')} is an object")
    return found


def now(request: Request) -> int:
    found = field(request, "now")
    if type(found) is not int or not 0 <= found <= hlc.MAX_MILLIS:
        raise BadRequest(f"'now' is a number of milliseconds from 0 to {hlc.MAX_MILLIS}")
    return found


def precedence(request: Request) -> int:
    """Who writes: a person, unless the request says otherwise."""
    actor = request.get("actor", "user")
    if actor not in ("user", "agent"):
        raise BadRequest(f"'actor' is user or agent; got {actor!r}")
    return PERSON if actor == "user" else AGENT


def names(request: Request, name: str, allowed: tuple[str, ...]) -> list[str]:
    """A list of words out of `allowed`; empty if the request has none."""
    found = request.get(name) or []
    if not isinstance(found, list) or any(item not in allowed for item in found):
        raise BadRequest(f"{name!r} lists any of {', '.join(allowed)}")
    return found
