"""How another device stands, as the engine tells it and `status` shows it.

It stands alone so that whoever only reads a status need not load what a connection takes.
"""

import msgspec

from lottisync.causality.vector_clock import Host


class PeerState(msgspec.Struct, rename="camel"):
    """What the engine knows of a device, for `status`; times are ISO 8601. `told` is the knowledge that
    the device last told, by store; `error` is why the last attempt failed."""

    device: str
    name: str
    linked: bool = False
    address: str | None = None
    last_seen: str | None = None
    in_step: dict[str, bool] = {}
    told: dict[str, dict[Host, int]] = {}
    diverged: list[str] = []
    error: str | None = None
