from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.device import Device


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Device]:
    device = Device(tmp_path / "laptop", 1)
    yield device
    device.close()


@pytest.fixture
def phone(tmp_path: Path) -> Iterator[Device]:
    device = Device(tmp_path / "phone", 2)
    yield device
    device.close()
