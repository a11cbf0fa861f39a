"""Names of devices that were paired with different ones: CLI-95."""

from itertools import permutations
from pathlib import Path

import pytest

from lottisync.device.home import Home
from lottisync.device.membership import put_membership, read_roster, tell_apart
from lottisync.device.space import MEMBERSHIP
from lottisync.entities.entity import HIGH
from lottisync.entities.path import nest
from lottisync.identity.statement import MembershipRecord

NOON = 1_764_590_400_000


def share(homes: list[Home]) -> None:
    """Every device hears all that was said."""
    said: dict[str, MembershipRecord] = {}
    for home in homes:
        with home.space.reading() as reader:
            records = [MembershipRecord.from_fields(nest(each.document())) for each in reader.by_type(MEMBERSHIP)]
        said |= {record.record_id: record for record in records}
    for home in homes:
        with home.space.transaction(NOON, HIGH) as tx:
            for record in said.values():
                put_membership(tx, record)


def names(home: Home) -> list[str]:
    with home.space.reading() as reader:
        return sorted(member.name for member in read_roster(reader, home.key.certificate).members.values())


@pytest.mark.parametrize("pairs", list(permutations([(0, 1), (1, 2), (2, 0)], 2)))
def test_cli_95_three_devices_of_one_name_get_different_names(tmp_path: Path, pairs: list[tuple[int, int]]) -> None:
    """Two of them were given the same number, where each was paired with another one."""
    homes = [Home.create(tmp_path / str(number), "laptop") for number in range(3)]
    for one, other in pairs:  # neither knows of the third yet
        homes[one].members.add_paired("laptop", homes[other].key.certificate, NOON)
        homes[other].members.add_paired("laptop", homes[one].key.certificate, NOON)
    share(homes)
    for _ in homes:  # all at once, and then they hear of it
        for home in homes:
            tell_apart(home.space, home.key, NOON)
        share(homes)
    assert [tell_apart(home.space, home.key, NOON) for home in homes] == [None, None, None]
    assert all(names(home) == names(homes[0]) for home in homes)
    assert len(set(names(homes[0]))) == 3
    for home in homes:
        home.close()


def test_cli_95_the_same_number_given_twice_is_given_up_by_the_greater_id(tmp_path: Path) -> None:
    homes = [Home.create(tmp_path / str(number), "laptop 2") for number in range(2)]
    small, great = sorted(homes, key=lambda home: home.id)
    for home, other in ((small, great), (great, small)):
        home.members.add("laptop 2", other.key.certificate, NOON)
    share(homes)
    assert tell_apart(small.space, small.key, NOON) is None
    assert tell_apart(great.space, great.key, NOON) == "laptop"
    share(homes)
    assert names(small) == names(great) == ["laptop", "laptop 2"]
    for home in homes:
        home.close()
