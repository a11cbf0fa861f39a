"""Examples of docs/json.md are the same bytes each time: what comes from chance is replaced."""

import re
import uuid
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tools.stable_examples import Stable


def instant(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


def tour(seed: int, now: datetime) -> list[Any]:
    """Answers as a tour at `now` gives them; the seed decides what comes from chance."""
    chance = Random(seed)
    task, device = str(uuid.UUID(int=chance.getrandbits(128))), f"{chance.getrandbits(256):064x}"
    hosts = [f"{chance.getrandbits(64):016x}" for _ in range(2)]
    knowledge = dict(sorted(zip(hosts, (6, 7), strict=True)))
    port = chance.randrange(32_768, 60_000)
    later = now + timedelta(milliseconds=chance.randrange(20_000))
    return [
        {"id": task, "deviceId": device, "at": instant(later), "pid": chance.randrange(9_999), "port": port},
        {"stores": {"journal": {"knowledge": knowledge}}, "name": f"{device[:4]}.0", "until": None},
        {
            "code": f"{chance.randrange(10**9):09}"[:3] + "-123-456",
            "address": f"127.0.0.1:{port}",
            "text": f"of {task}",
        },
        {"at": instant(later - timedelta(minutes=25)), "until": instant(later + timedelta(minutes=15))},
        {"uri": f"lottisync://invite/1?device={chance.getrandbits(120):030x}&until={int(later.timestamp())}&at=x"},
        {"folder": f"/home/ada/backups/{later:%Y%m%d-%H%M%S}", "words": [chance.choice("ab"), "c"]},
        {"due": "2026-12-24", "at": "2099-03-01T07:00:00.000Z", "bytes": 4095, "port": None},
    ]


def made(seed: int, now: datetime) -> list[Any]:
    stable = Stable(now)
    return [stable.value(answer) for answer in tour(seed, now)]


def test_two_tours_give_the_same_examples() -> None:
    assert made(1, datetime(2026, 11, 22, 22, 48, 21, tzinfo=UTC)) == made(2, datetime(2027, 2, 3, 4, 5, 6, tzinfo=UTC))


def test_an_example_keeps_its_shape_and_one_id_is_one_id() -> None:
    first, second, third, fourth, *_, last = made(1, datetime(2026, 11, 22, 22, 48, 21, tzinfo=UTC))
    assert str(uuid.UUID(first["id"])) == first["id"]
    assert re.fullmatch("[0-9a-f]{64}", first["deviceId"])
    assert second["name"] == first["deviceId"][:4] + ".0"
    assert (third["text"], third["address"]) == (f"of {first['id']}", f"127.0.0.1:{first['port']}")
    assert sorted(second["stores"]["journal"]["knowledge"].values()) == [6, 7]
    assert fourth == {"at": "2026-11-22T11:35:00.000Z", "until": "2026-11-22T12:15:00.000Z"}
    assert last == {"due": "2026-12-24", "at": "2099-03-01T07:00:00.000Z", "bytes": 4095, "port": None}
