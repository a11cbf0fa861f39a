from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.device import Device

from lottisync.journal import tasks


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


@pytest.fixture
def laura(laptop: Device) -> str:
    """An agent for a task with one item."""
    laptop.add_task()
    laptop.do(lambda tx: tasks.add_item(tx, "i1", "t1", "Buy a chain"))
    return laptop.add_agent()
