from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.proposals import propose
from tests.web.visitor import PROPOSED, Visitor, answering


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    one = Visitor(tmp_path / "laptop")
    yield one
    one.close()


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A visitor whose home many forms go to, one after the other; codes are answered, as in the daemon."""
    one = Visitor(tmp_path_factory.mktemp("fuzzed") / "laptop")
    propose(one.home, *PROPOSED)
    with answering(one):
        yield one
    one.close()
