"""The replica operations at their edges; what they do in full is shown by the conformance suite."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lottisync.adapter.adapter import PURE, answer
from lottisync.adapter.space import Space
from lottisync.entities.entity import HIGH

ADAPTER = (Path(__file__).resolve().parents[2] / "conformance" / "ADAPTER.md").read_text()


class Runner:
    def __init__(self, folder: Path) -> None:
        self.folder, self.space = folder, Space()

    def exchange(self, op: str, **fields: Any) -> dict[str, Any]:
        return answer(json.dumps({"id": 1, "op": op, **fields}).encode(), self.space)

    def ask(self, op: str, **fields: Any) -> Any:
        return self.exchange(op, **fields)["ok"]

    def refused(self, op: str, **fields: Any) -> str:
        return str(self.exchange(op, **fields)["error"]["code"])

    def open(self, name: str, **fields: Any) -> Any:
        return self.ask("open", **{"replica": name, "dir": str(self.folder / name), "seed": 1, "now": 1000} | fields)

    def write(self, name: str, **fields: Any) -> Any:
        asked = {
            "replica": name,
            "store": "journal",
            "entity": "t1",
            "type": "task",
            "set": {"title": "x"},
            "now": 1000,
        }
        return self.ask("write", **asked | fields)


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    made = Runner(tmp_path)
    yield made
    made.space.close()


def test_the_same_chance_gives_the_same_hosts(runner: Runner, tmp_path: Path) -> None:
    first = runner.open("a")["hosts"]
    runner.ask("close", replica="a")
    again = runner.open("a", dir=str(tmp_path / "elsewhere"))["hosts"]
    assert first == again
    assert set(first) == {"space", "journal", "agent"}
    assert runner.open("b")["hosts"] != first
    assert runner.open("c", seed=2)["hosts"] != first


@pytest.mark.parametrize(
    ("op", "fields", "code"),
    [
        ("open", {"replica": "a", "dir": "x", "seed": 1, "now": 0}, "open-already"),
        ("open", {"replica": "z", "dir": "x", "seed": 1}, "bad-request"),
        ("open", {"replica": "z", "dir": "x", "seed": 1, "now": -1}, "bad-request"),
        ("open", {"replica": "z", "dir": "x", "seed": 1, "now": 0, "detect": "never"}, "bad-request"),
        ("open", {"replica": "z", "dir": "x", "seed": 1, "now": 0, "frame_entities": 0}, "bad-request"),
        ("open", {"replica": "z", "dir": "/dev/null/x", "seed": 1, "now": 0}, "cannot-open"),
        ("read", {"replica": "a", "store": "attic", "entity": "t1"}, "bad-request"),
        ("read", {"replica": 7, "store": "journal", "entity": "t1"}, "bad-request"),
        ("delete", {"replica": "a", "store": "journal", "entity": "t1", "now": 0, "actor": "cat"}, "bad-request"),
        ("sync", {"from": "a", "to": "b", "now": 0, "faults": ["lose"]}, "bad-request"),
        ("sync", {"from": "a", "to": "b", "now": 0, "abort_after": -1}, "bad-request"),
        ("sync", {"from": "a", "to": "nobody", "now": 0}, "unknown-replica"),
        ("round.step", {"round": 1}, "unknown-round"),
        ("round.abort", {"round": True}, "bad-request"),
        ("corrupt", {"replica": "a", "store": "journal", "entity": "t1", "path": "x", "value": 1}, "unknown-id"),
        ("verify", {"from": "a", "to": "a", "store": "journal", "now": 0}, "bad-request"),
        ("purge", {"replica": "a", "store": "journal", "now": 0, "min_age": -1}, "bad-request"),
        ("retire", {"replica": "a", "target": "nobody"}, "unknown-replica"),
        ("session.open", {"replica": "a", "now": 0}, "bad-request"),
        ("session.open", {"replica": "a", "now": 0, "role": "judge"}, "bad-request"),
        ("session.receive", {"session": 7, "bytes": "", "now": 0}, "unknown-session"),
        ("session.tick", {"session": 7, "now": 0}, "unknown-session"),
        ("session.close", {"session": 7}, "unknown-session"),
    ],
)
def test_what_cannot_be_done_has_its_code(runner: Runner, op: str, fields: dict[str, Any], code: str) -> None:
    runner.open("a")
    runner.open("b")
    assert runner.refused(op, **fields) == code


def test_the_contract_names_every_operation_and_no_other(runner: Runner) -> None:
    listed = {
        op for row in re.findall(r"^\| (`[^|]+) \| ", ADAPTER, re.MULTILINE) for op in re.findall(r"`([^`]+)`", row)
    }
    codes = {"bad-json", "bad-request", "unknown-op", "not-built", "bad-clock", "fork"}
    assert codes < listed
    operations = PURE.keys() | runner.space.operations.keys()
    assert {op for op in listed if "-" not in op and op != "internal"} == operations | codes & {"fork"} | {"refused"}


@pytest.mark.parametrize("seen", [{"x": -1}, {"x": "1"}])
def test_a_read_context_is_a_clock(runner: Runner, seen: dict[str, Any]) -> None:
    runner.open("a")
    asked = {"replica": "a", "store": "journal", "entity": "t1", "type": "task", "set": {"title": "x"}, "now": 0}
    assert runner.refused("write", **asked, seen=seen) == "bad-clock"


def test_closing_ends_running_rounds(runner: Runner) -> None:
    runner.open("a")
    runner.open("b")
    runner.write("a")
    number = runner.ask("round.begin", **{"from": "a", "to": "b", "store": "journal", "now": 1000})["round"]
    runner.ask("close", replica="b")
    runner.open("b", seed=2)
    assert runner.refused("round.step", round=number) == "unknown-round"


def test_a_round_for_a_receiver_that_was_restored_meanwhile_is_refused(runner: Runner, tmp_path: Path) -> None:
    """The receiver's knowledge has gone back behind what the round was computed from (SYNC-5)."""
    runner.open("a")
    runner.open("b")
    runner.write("a")
    runner.ask("sync", **{"from": "a", "to": "b", "now": 1000})
    runner.write("a", entity="t2")
    number = runner.ask("round.begin", **{"from": "a", "to": "b", "store": "journal", "now": 1000})["round"]
    runner.space._replicas["b"].store("journal").close()
    runner.open("c", dir=str(tmp_path / "empty"))
    runner.space._replicas["b"].device.stores = runner.space._replicas["c"].stores
    assert runner.refused("round.step", round=number) == "refused"


def test_damage_travels_no_further(runner: Runner) -> None:
    """A row that is not a version any more is not sent (MEND-26)."""
    runner.open("a")
    runner.open("b")
    runner.write("a", set={"title": "x", "due": "y"})
    runner.ask("corrupt", replica="a", store="journal", entity="t1", path="title", drop=True)
    runner.ask("corrupt", replica="a", store="journal", entity="t1", path="due", drop=True)
    assert runner.ask("sync", **{"from": "a", "to": "b", "now": 1000})["complete"]
    assert runner.refused("corrupt", replica="a", store="journal", entity="t1", path="due", drop=True) == "unknown-path"
    assert runner.ask("dump", replica="b", store="journal") == []
    assert any("t1" in fault for fault in runner.ask("check", replica="a"))


def test_verify_mends_damage_on_either_side(runner: Runner) -> None:
    runner.open("a")
    runner.open("b")
    runner.write("a")
    runner.ask("sync", **{"from": "a", "to": "b", "now": 1000})
    for number, (damaged, other) in enumerate([("a", "b"), ("b", "a")]):
        runner.ask("corrupt", replica=damaged, store="journal", entity="t1", path="title", value=f"forged {number}")
        asked = {"from": "a", "to": "b", "store": "journal", "now": 1000}
        assert runner.ask("verify", **asked) == {"equal": True, "mended": 1}
        assert runner.ask("verify", **asked) == {"equal": True, "mended": 0}
        for name in (damaged, other):
            assert runner.ask("read", replica=name, store="journal", entity="t1")["fields"] == {"title": "x"}
            assert runner.ask("check", replica=name) == []


def test_two_programs_talk_through_the_runner(runner: Runner) -> None:
    runner.open("a")
    runner.open("b")
    runner.write("a")
    sides = {}
    due: list[tuple[str, str]] = []
    for name, role in (("a", "initiator"), ("b", "responder")):
        opened = runner.ask("session.open", replica=name, role=role, now=1000)
        sides[name] = opened["session"]
        due += [(name, frame) for frame in opened["send"]]
    for speaker, frame in due:
        listener = "b" if speaker == "a" else "a"
        answer = runner.ask("session.receive", session=sides[listener], bytes=frame, now=1000)
        assert answer["closed"] is None
        due += [(listener, each) for each in answer["send"]]
        assert len(due) < 100, "they talk without end"
    assert runner.ask("digest", replica="a", store="journal") == runner.ask("digest", replica="b", store="journal")
    assert runner.ask("read", replica="b", store="journal", entity="t1")["fields"] == {"title": "x"}
    assert runner.ask("session.tick", session=sides["a"], now=6000)["send"]
    assert runner.refused("session.receive", session=sides["a"], bytes="?", now=6000) == "bad-request"
    closed = runner.ask("session.receive", session=sides["a"], bytes="AAAAAA==", now=6000)
    assert closed["closed"]["code"] == "bad-frame"
    runner.ask("session.close", session=sides["b"])
    assert runner.refused("session.tick", session=sides["b"], now=6000) == "unknown-session"


def test_divergence_is_named(runner: Runner) -> None:
    """Equal knowledge and another digest: a forged value that is a good version (SYNC-7)."""
    runner.open("a")
    runner.open("b")
    runner.write("a")
    runner.ask("sync", **{"from": "a", "to": "b", "now": 1000})
    with runner.space._replicas["b"].store("journal").transaction(0, HIGH) as tx:
        tx.execute("update state set digest = zeroblob(32)")
    runner.write("a", entity="t2")
    assert runner.ask("sync", **{"from": "a", "to": "b", "now": 1000})["diverged"] == ["journal"]
