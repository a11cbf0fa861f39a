"""Run keys: the name of a wake, made from what it is a reaction to (docs/specs/09-agents.md, section 3).

Two devices that react to the same change must not each make proposals of their own, and a wake that was
killed must find its own record again. So a wake is not named by chance or by the clock, but by its cause: the
agent, and the person's request, the change that matched a subscription, or the appointment that came. The same
cause gives the same key on every device, and everything that is derived from it (operation ids, change sets)
is then made once (S3-36, S3-40).

A change is named by its dots, which are the same on every device that holds it. A hash over notification tokens
would depend on what else arrived in the same batch (S3-37).
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from lottisync.causality.digest import sha256
from lottisync.causality.vector_clock import Dot

WakeReason = Literal["userInitiated", "subscription", "timer"]


class Trigger(msgspec.Struct, frozen=True):
    """Why an agent wakes. `reason_id` is the session, subscription or timer."""

    run_key: str
    reason: WakeReason
    reason_id: str
    logical_change_key: str | None = None


def user_initiated(agent_id: str, session_id: str, turn_id: str) -> Trigger:
    """A person asked for it, in the given turn of a session (AGENT-1)."""
    return Trigger(_key(agent_id, session_id, turn_id), "userInitiated", session_id)


def subscription(agent_id: str, subscription_id: str, dots: Iterable[Dot]) -> Trigger:
    """Writes came that the subscription matches; `dots` names them, in any order (AGENT-2)."""
    change = logical_change_key(dots)
    return Trigger(_key(agent_id, subscription_id, change), "subscription", subscription_id, change)


def timer(agent_id: str, timer_id: str, scheduled_at: str) -> Trigger:
    """An appointment came; `scheduled_at` is the instant that was set for it (ISO 8601), not when it rang."""
    return Trigger(_key(agent_id, timer_id, scheduled_at), "timer", timer_id)


def logical_change_key(dots: Iterable[Dot]) -> str:
    """SHA-256 (hex) of the distinct dots as `host:counter`, sorted by host and counter, joined by commas."""
    return sha256(",".join(f"{host}:{counter}" for host, counter in sorted(set(dots))).encode()).hex()


def _key(*parts: str) -> str:
    """SHA-256 (hex) of the parts joined by `|`, which no part may hold, or two causes could share a key."""
    for part in parts:
        if "|" in part:
            raise ValueError(f"a part of a run key holds no '|'; got {part!r}")
    return sha256("|".join(parts).encode()).hex()
