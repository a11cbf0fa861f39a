"""Two devices of one person."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.review.reviewer import Reviewer


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Reviewer]:
    device = Reviewer(tmp_path / "laptop", 1)
    yield device
    device.close()


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[Reviewer]:
    device = Reviewer(tmp_path / "phone", 2)
    yield device
    device.close()
