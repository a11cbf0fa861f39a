"""Where time and chance come from."""

import datetime
import re

from lottisync.device import clock
from lottisync.store.instant import millis


def test_now_is_the_machines_time_in_milliseconds() -> None:
    """ENT-14"""
    released = millis("2025-01-01T00:00:00Z")
    assert released < clock.now() < released + 200 * 365 * 86_400_000
    before = clock.now()
    wall = datetime.datetime.now(datetime.UTC).timestamp() * 1000  # noqa: TID251
    assert before <= wall + 1 <= clock.now() + 2


def test_new_ids_and_hosts_are_new() -> None:
    """ENT-4, CAUS-1"""
    assert len({clock.new_id(0) for _ in range(100)}) == 100
    hosts = {clock.new_host() for _ in range(100)}
    assert len(hosts) == 100
    assert all(re.fullmatch("[0-9a-f]{16}", host) for host in hosts)
