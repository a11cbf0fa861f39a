"""The names of wakes, as the conformance contract asks for them: `run.key`."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from lottisync.adapter import request as r
from lottisync.adapter.request import Request
from lottisync.adapter.wire_entity import BadRequest
from lottisync.agents import run_key
from lottisync.agents.run_key import Trigger
from lottisync.causality.vector_clock import Dot, Host
from lottisync.protocol.message import Counter


def _run_key(request: Request) -> dict[str, str]:
    """The key of one cause. For a change there is also the key of its dots."""
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
                named = msgspec.convert(r.field(request, "dots"), list[tuple[str, Counter]])
            except msgspec.ValidationError as error:
                raise BadRequest(f"'dots' lists [host, counter]: {error}") from None
            dots = [Dot(Host(host), counter) for host, counter in named]
            return run_key.subscription(agent, r.text(request, "subscription"), dots)
        case other:
            raise BadRequest(f"'reason' is userInitiated, subscription or timer; got {other!r}")


PURE: Mapping[str, Callable[[Request], Any]] = {"run.key": _run_key}
