"""Where time and chance come from."""

import datetime
import re

import pytest

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


@pytest.mark.parametrize("said", ["1970-01-01T00:00:00Z", "2019-06-01T12:00:00Z", "2125-01-01T00:00:00Z"])
def test_rel_d8_a_clock_that_cannot_be_right_is_doubted_by_its_own_device(said: str) -> None:
    """CAUS-17"""
    doubt = clock.doubt(millis(said))
    assert doubt is not None
    assert said[:10] in doubt


@pytest.mark.parametrize("said", ["2026-01-01T00:00:00Z", "2026-11-22T20:00:00Z", "2099-12-31T23:59:59Z"])
def test_rel_d8_a_clock_that_may_be_right_is_not_doubted(said: str) -> None:
    """CAUS-17"""
    assert clock.doubt(millis(said)) is None
