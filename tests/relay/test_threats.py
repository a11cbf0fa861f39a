"""Who can do what at a relay: the table of docs/specs/19-relay.md, section 4."""

import re
from pathlib import Path

import pytest
from tests.support.relay import SPACE, chance, visitors

from lottisync.relay import content
from lottisync.relay.event import Refused
from lottisync.relay.header import NO_EPOCH, Header, Kind, Name, signed_bytes

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "specs" / "19-relay.md"
ROWS = re.findall(r"^\|.*\| (RELAY-\d+) \| `(\S+)::(\S+)` \|$", PAGE.read_text(), re.MULTILINE)


@pytest.mark.parametrize(("rule", "file", "name"), ROWS, ids=[row[2] for row in ROWS])
def test_each_cannot_has_its_test(rule: str, file: str, name: str) -> None:
    _, found, rest = (HERE / file).read_text().partition(f"def {name}(")
    assert found
    assert rule in rest.partition("def test_")[0]


def test_the_table_is_there() -> None:
    assert len(ROWS) == 19


def test_relay_546_a_member_cannot_speak_in_another_s_lane(tmp_path: Path) -> None:
    """RELAY-546"""
    relay, (laptop, liar, reader) = visitors(tmp_path, 3)
    laptop.member.put("t1", "one")
    laptop.visit()
    reader.read()
    [lane] = {name.lane for name in relay.messages}
    name = Name(lane, "state", max(name.number for name in relay.messages if name.channel == "state") + 1)
    header = Header(Kind.STATE, SPACE, lane, name.number, bytes(32), NO_EPOCH, bytes(16), chance(1)(16))
    held = content.encode(content.OpenState([]))
    said = len(held).to_bytes(4, "big") + held
    relay.put(name, header.packed() + liar.member.key.sign(signed_bytes(header, said)) + said)
    reader.read()
    assert [event.name for event in reader.happened(Refused) if isinstance(event, Refused)] == [name]
    assert reader.member.title("t1") == "one"
