"""What a snapshot that is published takes of a process's memory (docs/specs/19-relay.md, section 7)."""

import random
import tracemalloc
from pathlib import Path

import apsw
import pytest
from tests.support.household import Member, household
from tests.support.relay import SPACE, chance

from lottisync.entities.entity import HIGH
from lottisync.relay.participant import Participant
from lottisync.relay.recording import PART_BYTES

FEW, MANY = 3_000, 9_000
TITLE_BYTES = 300


@pytest.fixture
def laptop(tmp_path: Path) -> Member:
    return household(tmp_path / "household", 2)[0]


def fill(member: Member, numbers: range) -> None:
    draw = random.Random(numbers.start)
    with member.stores["journal"].transaction(member.now, HIGH) as tx:
        tx.put_all((f"t{n}", "task", {"title": draw.randbytes(TITLE_BYTES // 2).hex()}) for n in numbers)


def peak(member: Member, seed: int) -> tuple[int, int]:
    """Put everything into an empty relay: the bytes of the messages, and the most that Python and SQLite had beside
    what they had before."""
    participant = Participant(member, SPACE, chance(seed), member.now)
    participant.show([], member.now)
    sent = 0
    before = apsw.memory_used()
    apsw.memory_high_water(reset=True)
    tracemalloc.start()
    try:
        while (publication := participant.publish(member.now)) is not None:
            sent += len(publication.data)
            participant.acknowledged(publication.name, member.now)
        most = tracemalloc.get_traced_memory()[1] + apsw.memory_high_water() - before
    finally:
        tracemalloc.stop()
        participant.close()
    return sent, most


def test_relay_901_a_snapshot_takes_no_more_memory_if_there_is_more_to_put_there(laptop: Member) -> None:
    """RELAY-901: three times the data, and hardly more memory."""
    fill(laptop, range(FEW))
    sent, least = peak(laptop, 1)
    fill(laptop, range(FEW, MANY))
    sent_then, most = peak(laptop, 2)
    assert sent_then - sent > 2 * PART_BYTES
    assert most - least < (sent_then - sent) / 2
