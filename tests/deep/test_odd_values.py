"""Every field of every record takes odd values, and nothing beside it stops (docs/specs/05-store.md, section 19).

The value comes as a paired device would write it: by a program of another version, or by a liar. `ODD=n` says how many
of them are tried; `ODD_FIRST=n` with `ODD=1` repeats one that failed.
"""

import os
import random
from pathlib import Path
from typing import Any

import pytest
from tests.support.beside import Homes, Victim, everything_works, make, meet, opened, scripted_model

from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.problem import Problem

FIRST, COUNT = int(os.environ.get("ODD_FIRST", "0")), int(os.environ.get("ODD", "600"))
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**53 - 1, "", "x", "-1", "\0", "\n\u202e\x1b[31m", "x" * 100_000, "9999-99-99T99:99:99Z",
    "0001-01-01", [], ["x"], [[[[]]]], [None, 1, "x"], {}, {"a": 1}, {"a": {"b": [1]}}, {"": None},
)  # fmt: skip
MORE_FIELDS = ("deletedAt", "createdAt", "unknown")
"""Fields that a record may have and mostly has not."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Homes:
    return make(tmp_path_factory.mktemp("odd"))


def drawn(victims: tuple[Victim, ...], number: int) -> tuple[Victim, str, Any]:
    """Types in turn, so that few examples meet each of them; the rest by chance."""
    chance = random.Random(number)
    kinds = sorted({victim.type for victim in victims})
    victim = chance.choice([victim for victim in victims if victim.type == kinds[number % len(kinds)]])
    return victim, chance.choice((*victim.fields, *MORE_FIELDS)), chance.choice(VALUES)


@pytest.mark.deep
@pytest.mark.parametrize("number", range(FIRST, FIRST + COUNT))
def test_rev_111_an_odd_value_stops_nothing_beside_it(number: int, template: Homes, tmp_path: Path) -> None:
    """STORE-100, STORE-104, STORE-105, REL-D1, REL-D12"""
    homes = template.copied(tmp_path)
    victim, field, value = drawn(homes.victims, number)
    print(victim, field, repr(value)[:80])
    with opened(homes.phone) as phone, opened(homes.laptop) as laptop:
        try:
            with phone.store(victim.store).transaction(clock.now(), HIGH) as tx:
                tx.put(victim.id, victim.type, {field: value})
        except Problem:
            return  # nothing of this kind is written by any program
        meet(phone, laptop, victim.store)
    with scripted_model():
        everything_works(homes, victim)
