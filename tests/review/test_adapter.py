"""The conformance operations on proposals, as a runner would ask them (`6-adapter.md`, Proposals)."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.review.reviewer import DAY, START

from lottisync.adapter.adapter import answer
from lottisync.adapter.space import Space

Ask = Callable[..., Any]


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    """Ask with a time that goes on by itself; two replicas are open."""
    space, times = Space(), iter(range(START, START + 10_000_000, 1000))

    def asked(op: str, *, fails: bool = False, **fields: Any) -> Any:
        fields = {"replica": "laptop", "now": next(times), **fields}
        said = answer(json.dumps({"id": 1, "op": op, **fields}).encode(), space)
        if fails:
            return said["error"]["code"]
        assert "ok" in said, said
        return said["ok"]

    for name in ("laptop", "phone"):
        asked("open", replica=name, dir=str(tmp_path / name), seed=name)
    yield asked
    space.close()


def meet(ask: Ask) -> None:
    for source, target in (("laptop", "phone"), ("phone", "laptop")):
        assert ask("sync", **{"from": source, "to": target})["complete"]


def call(tool: str, **args: Any) -> dict[str, Any]:
    return {"tool": tool, "args": args}


def test_proposed_on_one_confirmed_on_the_other(ask: Ask) -> None:
    """S2-10, S1-62."""
    made = ask("task.create", title="Bake bread", checklist=["Flour", "Yeast"])
    proposed = ask(
        "propose",
        task=made["task"],
        calls=[
            call("update_task_estimate", minutes="60"),
            call("update_task_estimate", minutes=60),
            call("update_checklist_items", items=[{"id": made["items"][0], "isChecked": True}]),
            call("fly"),
        ],
    )
    assert proposed["feedback"][0] == "Proposal queued for user review."
    assert "already in this wake" in proposed["feedback"][1]
    assert "User set this item at unknown" in proposed["feedback"][2]
    assert "There is no tool 'fly'" in proposed["feedback"][3]
    [item] = proposed["items"]
    assert item["summary"] == "Set estimate to 60 minutes"
    meet(ask)
    [shown] = ask("inbox", replica="phone")
    assert (shown["changeSet"], shown["status"]) == (proposed["changeSet"], "pending")
    assert {key: shown["items"][0][key] for key in ("status", "stale", "satisfied", "contested")} == {
        "status": "pending",
        "stale": False,
        "satisfied": False,
        "contested": False,
    }
    assert ask("confirm", replica="phone", item=item["id"])["result"] == "applied"
    assert ask("confirm", replica="phone", item=item["id"])["result"] == "already"
    meet(ask)
    task = ask("task.read", task=made["task"])
    assert (task["estimate"], [item["title"] for item in task["checklist"]]) == (60, ["Flour", "Yeast"])
    assert [d["verdict"] for d in ask("decisions", task=made["task"])] == ["confirmed"]
    assert ask("inbox") == []


def test_every_verdict(ask: Ask) -> None:
    """S1-02, S1-44."""
    task = ask("task.create", title="Bake bread")["task"]
    proposed = ask(
        "propose",
        task=task,
        calls=[call("add_multiple_checklist_items", items=[{"title": t} for t in ("Milk", "Eggs", "Salt", "Rye")])],
    )
    milk, eggs, salt, rye = (item["id"] for item in proposed["items"])
    assert ask("reject", item=milk, reason="no")["result"] == "rejected"
    assert ask("undo", item=milk)["result"] == "undone"
    assert ask("defer", item=eggs, until=START + DAY)["result"] == "deferred"
    assert ask("confirm", item=salt, edited_args={"title": "Sea salt"})["result"] == "applied"
    assert ask("undo", item=salt)["result"] == "undone"
    assert ask("keep", item=salt)["result"] == "already"
    assert ask("retract", item=rye, reason="of no use")["result"] == "retracted"
    assert ask("retract", item=rye)["result"] == "already"
    assert [(one["item"], one["result"]) for one in ask("dismiss", changeSet=proposed["changeSet"])] == [
        (milk, "rejected")
    ]
    assert ask("confirm_all", changeSet=proposed["changeSet"]) == []
    statuses = {item["id"]: item["status"] for one in ask("inbox") for item in one["items"]}
    assert statuses == {milk: "rejected", eggs: "deferred", salt: "retracted", rye: "retracted"}
    assert ask("task.read", task=task)["checklist"] == []


def test_stale_and_against_current(ask: Ask) -> None:
    """S1-71."""
    task = ask("task.create", title="Bake bread")["task"]
    [item] = ask("propose", task=task, calls=[call("update_task_estimate", minutes=60)])["items"]
    ask("task.edit", task=task, set={"estimate": 90, "labels": ["home"], "status": "ON HOLD", "statusReason": "rain"})
    [shown] = ask("inbox")
    assert shown["items"][0]["stale"]
    assert ask("confirm", item=item["id"])["stale"][0]["now"] == 90
    assert ask("confirm", item=item["id"], against="current")["result"] == "applied"
    read = ask("task.read", task=task)
    assert (read["estimate"], read["labels"], read["status"]) == (60, ["home"], "ON HOLD")


def test_expiry_and_twins_of_one_run(ask: Ask) -> None:
    """S1-53, S1-70."""
    task = ask("task.create", title="Bake bread")["task"]
    meet(ask)
    calls = [call("add_checklist_item", title="Milk")]
    here = ask("propose", task=task, run="r", calls=calls)["items"][0]["id"]
    there = ask("propose", replica="phone", task=task, run="r", calls=calls)["items"][0]["id"]
    assert here != there
    assert ask("confirm", item=here)["result"] == "applied"
    assert ask("confirm", replica="phone", item=there)["result"] == "applied"
    meet(ask)
    assert [item["title"] for item in ask("task.read", task=task)["checklist"]] == ["Milk"]
    ask("propose", task=task, calls=[call("set_task_title", title="Rye")])
    assert ask("expire") == []
    [expired] = ask("expire", now=START + 9 * DAY)
    assert len(expired["items"]) == 1
    assert ask("inbox", now=START + 9 * DAY)[0]["items"][0]["expired"]


def test_evidence_mode_is_the_replicas(ask: Ask, tmp_path: Path) -> None:
    """SOV-11, S0-02: an argument of `open`."""
    ask("open", replica="strict", dir=str(tmp_path / "strict"), seed="s", sovereignty="evidence")
    made = ask("task.create", replica="strict", title="Bake bread", checklist=["Flour"])
    [item] = made["items"]
    ask("task.check", replica="strict", item=item, isChecked=True)
    untick = {"id": item, "isChecked": False, "reason": "The user wrote that it is not done"}

    def said(**more: Any) -> str:
        calls = [call("update_checklist_item", **untick, **more)]
        return str(ask("propose", replica="strict", task=made["task"], calls=calls)["feedback"][0])

    assert "evidenceEntryIds" in said()
    machine = ask("note.add", replica="strict", task=made["task"], text="not done", actor="agent")
    assert "not written by the user" in said(evidenceEntryIds=[machine])
    note = ask("note.add", replica="strict", task=made["task"], text="not done")
    assert said(evidenceEntryIds=[note]) == "Proposal queued for user review."
    assert ask("open", replica="x", dir=str(tmp_path / "x"), seed="x", sovereignty="no", fails=True) == "bad-request"


@pytest.mark.parametrize(
    ("op", "fields", "code"),
    [
        ("confirm", {"item": "none.0"}, "unknown-id"),
        ("undo", {"item": "none.0"}, "unknown-id"),
        ("retract", {"item": "none.0"}, "unknown-id"),
        ("task.read", {"task": "none"}, "unknown-id"),
        ("task.check", {"item": "none", "isChecked": 1}, "bad-request"),
        ("propose", {"task": "none", "calls": []}, "unknown-id"),
        ("propose", {"task": "none", "calls": [1]}, "bad-request"),
        ("confirm", {"item": "none.0", "against": "x"}, "bad-request"),
        ("task.create", {"title": "x", "checklist": [1]}, "bad-request"),
        ("inbox", {"replica": "nobody"}, "unknown-replica"),
    ],
)
def test_what_cannot_be_answered_is_an_error(ask: Ask, op: str, fields: dict[str, Any], code: str) -> None:
    """S0-11."""
    assert ask(op, fails=True, **fields) == code
