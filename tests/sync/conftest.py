"""Two and three devices that were paired."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.household import Member, household


@pytest.fixture
def members(tmp_path: Path) -> Iterator[list[Member]]:
    """Two devices that were paired, and have not yet met."""
    members = household(tmp_path, 2)
    yield members
    for member in members:
        member.close()


@pytest.fixture
def three(tmp_path: Path) -> Iterator[list[Member]]:
    """The same, of three devices."""
    members = household(tmp_path, 3)
    yield members
    for member in members:
        member.close()
