"""What several tests of the command line start from."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.review_desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "home")
    yield made
    made.home.close()
