"""Who is behind a write: `lottisync.review.precedence`."""

import pytest

from lottisync.review.precedence import AGENT, PERSON, is_persons


@pytest.mark.parametrize(
    ("path", "precedence", "persons"),
    [("title", PERSON, True), ("title", AGENT, False), ("deletedAt", PERSON, True), ("deletedAt", AGENT, True)],
)
def test_cli_1400_no_agent_deletes(path: str, precedence: int, persons: bool) -> None:
    assert is_persons(path, precedence) is persons
