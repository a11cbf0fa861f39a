"""What several tests of the relay start from."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.household import household
from tests.support.nats_server import Server
from tests.support.relay import SPACE, Relay, Visitor, chance, introduce, visitors

from lottisync.relay.participant import Participant


@pytest.fixture(scope="session")
def paired(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three devices that were paired, as files: to be copied."""
    folder = tmp_path_factory.mktemp("paired") / "household"
    members = household(folder, 3)
    for member in members:
        Participant(member, SPACE, chance(1), member.now)
    introduce(*members)
    for member in members:
        member.close()
    return folder


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    started = Server(tmp_path / "server")
    yield started
    started.stop()


@pytest.fixture
def two(tmp_path: Path) -> tuple[Relay, Visitor, Visitor]:
    relay, (laptop, phone) = visitors(tmp_path)
    return relay, laptop, phone


@pytest.fixture
def three(tmp_path: Path) -> tuple[Relay, Visitor, Visitor, Visitor]:
    relay, (laptop, phone, tablet) = visitors(tmp_path, 3)
    return relay, laptop, phone, tablet
