from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.web.visitor import Visitor


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    one = Visitor(tmp_path / "laptop")
    yield one
    one.close()
