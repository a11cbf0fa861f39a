"""The names of wakes, as the conformance contract asks for them: `run.key`."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lottisync.adapter import request as r
from lottisync.adapter.request import Request
from lottisync.adapter.wire_entity import BadRequest
from lottisync.agents import run_key
from lottisync.agents.run_key import Trigger
from lottisync.causality.vector_clock import Dot


def _run_key(request: Request) -> dict[str, str]:
    """Of one cause; a change has the key of its dots beside it."""
    trigger = _trigger(request, r.text(request, "agent"))
    named = {"run": trigger.run_key}
    return named if trigger.logical_change_key is None else named | {"change": trigger.logical_change_key}


def _trigger(request: Request, agent: str) -> Trigger:
    match r.text(request, "reason"):
        case "userInitiated":
            return run_key.user_initiated(agent, r.text(request, "session"), r.text(request, "turn"))
        case "timer":
            return run_key.timer(agent, r.text(request, "timer"), r.text(request, "at"))
        case "subscription":
            try:
                dots = msgspec.convert(r.field(request, "dots"), list[Dot])
            except msgspec.ValidationError as error:
                raise BadRequest(f"'dots' lists [host, counter]: {error}") from None
            return run_key.subscription(agent, r.text(request, "subscription"), dots)
        case other:
            raise BadRequest(f"'reason' is userInitiated, subscription or timer; got {other!r}")


PURE: Mapping[str, Callable[[Request], Any]] = {"run.key": _run_key}
