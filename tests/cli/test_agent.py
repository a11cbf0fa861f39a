"""`agent ...` as a person types it, with a real model server on loopback."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from tests.support.command_line import Result, environment, run, run_here, started
from tests.support.event_loop import BOUND_SECONDS

from lottisync.cli.watch import changes
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.device.alone import STATUS_FILE
from lottisync.entities.entity import HIGH
from lottisync.identity.device_key import DeviceKey
from lottisync.scripted_model.script import ChatRequest, Reply, Say, ServerError
from lottisync.scripted_model.server import ScriptedModelServer

Answers = list[Reply]


class Person:
    """At a shell, with a model server that gives `answers` in order, then the last one again."""

    def __init__(self, home: Path, server: ScriptedModelServer, answers: Answers) -> None:
        self.home, self.server, self.answers = home, server, answers
        self.task = self.json("task", "add", "Repair the bicycle")["id"]

    def run(self, *arguments: str) -> Result:
        return run_here(*arguments, home=self.home)

    def run_a_process(self, *arguments: str) -> Result:
        return run(*arguments, home=self.home)

    def json(self, *arguments: str) -> Any:
        result = self.run(*arguments, "--json")
        assert result.code == 0, result.err
        return result.json


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Person]:
    answers: Answers = []

    def script(request: ChatRequest) -> Reply:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    with ScriptedModelServer(script) as server:
        monkeypatch.setenv("LOTTISYNC_MODEL_URL", server.url)
        monkeypatch.setenv("LOTTISYNC_MODEL_KEY", "")
        home = tmp_path / "home"
        assert run_here("init", "--name", "laptop", home=home).code == 0
        yield Person(home, server, answers)


def propose(**arguments: Any) -> Say:
    return Say(tool_calls=(("update_task_estimate", arguments),))


def test_a_wake_without_a_daemon_says_what_it_does_and_what_it_cost(person: Person) -> None:
    """AGENT-36, S3-59, S3-71, S3-73, S3-79"""
    person.answers[:] = [propose(minutes=120), Say(text="Done.")]
    person.json("agent", "create", person.task)
    woke = person.run_a_process("agent", "wake", person.task)
    assert woke.code == 0, woke.err
    assert "1 proposed, 0 notes, 2 turns" in woke.out
    assert "turn 1 of 5, thinking" in woke.err
    assert "turn 1 of 5: update_task_estimate" in woke.err
    assert "turn 2 of 5, thinking" in woke.err
    shown = person.json("agent", "show", person.task)
    assert (shown["lifecycle"], shown["wakeCount"], shown["changesWaiting"], shown["awake"]) == ("active", 1, 0, False)
    assert shown["homeDevice"] | {"id": ""} == {"id": "", "name": "laptop", "lastSeenAt": None, "offered": False}
    [entry] = person.json("agent", "log", person.task)["wakes"]
    assert (entry["status"], entry["reason"], entry["tokens"]) == ("completed", "userInitiated", shown["tokens"])
    assert shown["tokens"]["read"] > shown["tokens"]["written"] > 0
    assert f"{shown['tokens']['read']:,} tokens read" in person.run("agent", "show", person.task).out


def test_the_log_shows_every_call_and_its_answer(person: Person) -> None:
    """S3-02, S3-58, S3-77, S3-78, S3-91"""
    person.answers[:] = [
        Say(text="Let me see.", tool_calls=(("update_task_estimate", {"minutes": -4}),)),
        Say(text="Bye."),
    ]
    person.json("agent", "create", person.task)
    person.json("agent", "wake", person.task)
    [entry] = person.json("agent", "log", person.task)["wakes"]
    said = person.json("agent", "log", person.task, "--wake", entry["runKey"][:12])["messages"]
    assert [(each["kind"], each["tool"]) for each in said] == [
        ("user", None),
        ("thought", None),
        ("action", "update_task_estimate"),
        ("toolResult", "update_task_estimate"),
        ("thought", None),
        ("system", None),
    ]
    assert json.loads(said[2]["text"]) == {"minutes": -4}
    assert "minutes" in said[3]["text"]


def test_cli_1087_a_wake_that_is_not_there_is_refused_with_what_lists_them(person: Person) -> None:
    """CLI-1087: it said that there were 0 of them."""
    person.json("agent", "create", person.task)
    assert "See: lottisync agent log" in person.run("agent", "log", person.task, "--wake", "nothing").err


def test_cli_1085_a_device_without_wakes_says_so(person: Person) -> None:
    """CLI-1085: there were headings with nothing below them."""
    person.json("agent", "create", person.task)
    assert "It has not woken on this device." in person.run("agent", "log", person.task).out
    assert "Nothing was sent from this device." in person.run("agent", "sent", person.task).out


def test_cli_1086_the_status_in_a_report_is_in_the_readers_language(person: Person) -> None:
    """CLI-1086"""
    person.answers[:] = [Say(text="Done.")]
    person.json("agent", "create", person.task)
    person.json("agent", "wake", person.task)
    assert "offen" in person.run("agent", "report", person.task, "--language", "de").out


@pytest.mark.parametrize("words", ["We are out of order. " * 30, "链条生锈了" * 80])
def test_agent_571_a_long_error_does_not_widen_the_log(person: Person, words: str) -> None:
    """AGENT-571: a sign of Chinese takes two columns; all that the server said stands in the wake's own page."""
    person.answers[:] = [ServerError(status=400, message=words)]
    person.json("agent", "create", person.task)
    assert person.run("agent", "wake", person.task).code == 1
    [entry] = person.json("agent", "log", person.task)["wakes"]
    _, _, row = person.run("agent", "log", person.task).out.splitlines()
    ended = re.search("failed: .*…", row)
    assert ended is not None
    assert 58 <= cell_len(ended[0]) <= 60
    assert entry["failure"] in person.run("agent", "log", person.task, "--wake", entry["runKey"][:12]).out


def test_an_agent_that_gave_up_is_seen_in_list_and_show(person: Person) -> None:
    """AGENT-31, AGENT-52, S3-72, S3-90"""
    person.answers[:] = [ServerError(status=400, message="We are out of order: slow down")]
    person.json("agent", "create", person.task)
    for _ in range(5):
        failed = person.run("agent", "wake", person.task)
        assert (failed.code, failed.out) == (1, "")
        assert "rejected the request (HTTP 400): We are out of order" in failed.err
    assert "gave up after 5 failures" in person.run("agent", "list").out
    assert "5 failures in a row" in person.json("status")["asleep"][0]["reason"]
    said = person.run("agent", "show", person.task).out
    assert "It sleeps, after 5 failures in a row, the last: http://127.0.0.1" in said
    asked = len(person.server.requests)
    assert "lottisync agent resume" in person.run("agent", "wake", person.task).err
    assert len(person.server.requests) == asked
    assert person.json("agent", "resume", person.task)["lifecycle"] == "active"
    assert person.json("agent", "show", person.task)["failures"] == 0
    person.answers[:] = [Say(text="Fine.")]
    assert person.json("agent", "wake", person.task)["turns"] == 1


def test_pause_destroy_and_list(person: Person) -> None:
    """S3-71, S3-72, S3-75"""
    assert "lottisync agent create TASK" in person.run("agent", "list").out
    person.json("agent", "create", person.task, "--name", "Otto")
    assert person.json("agent", "pause", person.task)["lifecycle"] == "dormant"
    assert "paused" in person.run("agent", "list").out
    assert person.run("agent", "resume", person.task).out == "Otto may wake again\n"
    assert f"Go on with: lottisync agent resume {person.task}" in person.run("agent", "pause", person.task).out
    assert person.run("agent", "configure", person.task, "autoCheck=true").out.endswith("autoCheck=true from now on\n")
    assert person.run("agent", "move", person.task).out == "Otto wakes on this device\n"
    assert person.run("agent", "wake", person.task).code == 1
    ident = person.json("agent", "list")["agents"][0]["id"]
    assert person.json("agent", "destroy", person.task, "--yes")["lifecycle"] == "destroyed"
    [row] = person.json("agent", "list")["agents"]
    assert (row["name"], row["lifecycle"], row["taskTitle"]) == ("Otto", "destroyed", "Repair the bicycle")
    assert person.json("agent", "show", ident)["lifecycle"] == "destroyed"


def test_a_wake_at_a_time_is_a_timer(person: Person) -> None:
    """AGENT-26"""
    person.json("agent", "create", person.task)
    person.json("agent", "wake", person.task, "--at", "2099-03-01T08:00:00+01:00")
    assert person.json("agent", "show", person.task)["timers"] == {"person": "2099-03-01T07:00:00.000Z"}
    wrong = person.run("agent", "wake", person.task, "--at", "soon")
    assert (wrong.code, wrong.out) == (2, "")


def test_cli_1097_on_another_device_the_answer_names_the_home_and_a_short_id(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CLI-1097, CLI-1098: it showed a whole id; and where no model was configured, it said that instead."""
    person.json("agent", "create", person.task)
    home = TaskHome.open(person.home)
    desk = DeviceKey.from_seed(b"d" * 32)
    home.members.add("desk", desk.certificate, clock.now())
    with home.agent.transaction(clock.now(), HIGH) as tx:
        tx.put(tx.by_type("agent")[0].id, "agent", {"homeDevice": desk.device_id})
    home.close()
    said = person.run("agent", "wake", person.task).err
    move = f"lottisync agent move {person.task[-8:]}"
    assert (
        said == f"lottisync: Laura of 'Repair the bicycle' lives on desk, not here. Wake it there. Or move it: {move}\n"
    )
    monkeypatch.delenv("LOTTISYNC_MODEL_URL")
    assert person.run("agent", "wake", person.task).err == said
    assert person.run(*move.split()[1:]).code == 0


def test_a_home_that_was_not_seen_for_long_is_offered_for_take_over(person: Person) -> None:
    """AGENT-33"""
    person.json("agent", "create", person.task)
    home = TaskHome.open(person.home)
    with home.agent.transaction(clock.now(), HIGH) as tx:
        ident = tx.by_type("agent")[0].id
        tx.put(ident, "agent", {"homeDevice": "lost", "createdAt": "2020-01-01T00:00:00.000Z"})
    home.close()
    assert person.json("agent", "show", person.task)["homeDevice"]["offered"]
    assert f"Take over: lottisync agent move {person.task}" in person.run("agent", "show", person.task).out
    assert "home is away" in person.run("agent", "list").out
    assert "no device is called 'phone'" in person.run("agent", "move", person.task, "--to", "phone").err
    person.json("agent", "move", person.task, "--to", "laptop")
    shown = person.json("agent", "show", person.task)
    assert (shown["homeDevice"]["name"], shown["homeDevice"]["offered"]) == ("laptop", False)


def test_an_agent_sleeps_while_its_task_is_gone(person: Person) -> None:
    """S3-88"""
    person.json("agent", "create", person.task)
    home = TaskHome.open(person.home)
    with home.journal.transaction(clock.now(), HIGH) as tx:
        tx.delete(person.task)
    home.close()
    assert "asleep: its task is gone" in person.run("agent", "list").out
    ident = person.json("agent", "list")["agents"][0]["id"]
    assert person.json("agent", "show", ident[-8:])["taskTitle"] is None
    assert "its task" in person.run("agent", "wake", ident[-8:]).err


def test_no_key_is_in_a_file_or_on_a_screen(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """AGENT-38, AGENT-56"""
    monkeypatch.setenv("LOTTISYNC_MODEL_KEY", "sk-very-secret-0123")
    assert environment()["LOTTISYNC_MODEL_KEY"] == "sk-very-secret-0123"
    person.answers[:] = [ServerError(status=401, message="sk-very-secret-0123 is not a key"), Say(text="x")]
    person.json("agent", "create", person.task)
    outputs = [person.run("agent", "wake", person.task) for _ in range(2)]
    assert [output.code for output in outputs] == [1, 0]
    assert "secret" not in "".join(output.out + output.err for output in outputs)
    for file in person.home.rglob("*"):
        if file.is_file():
            assert b"sk-very-secret" not in file.read_bytes()


def test_settings_are_changed_by_name_and_others_are_refused(person: Person) -> None:
    """S0-53: off unless the person turns it on."""
    person.json("agent", "create", person.task)
    assert "autoCheck" not in person.json("agent", "configure", person.task, "sovereignty=reason")["config"]
    changed = person.json("agent", "configure", person.task, "autoCheck=true", "sovereignty=evidence")
    assert (changed["config"]["autoCheck"], changed["config"]["sovereignty"]) == (True, "evidence")
    for wrong in ("autoCheck=maybe", "sovereignty=none", "mood=good", "autoCheck"):
        assert person.run("agent", "configure", person.task, wrong).code == 2


def test_cli_27_task_and_agent_point_at_each_other(person: Person) -> None:
    """CLI-27, CLI-325, S3-80: the agent stands on the task's page only when there is one."""
    assert person.json("task", "show", person.task)["agent"] is None
    assert "minds it" not in person.run("task", "show", person.task).out
    person.json("agent", "create", person.task)
    person.answers[:] = [propose(minutes=120), Say(text="Done.")]
    person.json("agent", "wake", person.task)
    agent = person.json("task", "show", person.task)["agent"]
    assert (agent["name"], agent["lifecycle"], agent["proposalsWaiting"]) == ("Laura", "active", 1)
    page = person.run("task", "show", person.task).out
    assert f"Laura minds it: lottisync agent show {person.task[-8:]}" in page
    assert f"1 proposal waits for you: lottisync review --task {person.task[-8:]}" in page
    assert f"lottisync task show {person.task[-8:]}" in person.run("agent", "show", person.task).out


@pytest.mark.parametrize("page", ["task", "agent"])
def test_cli_26_a_page_that_is_watched_follows_what_others_commit(person: Person, page: str) -> None:
    """CLI-301: CLI-26, S3-82"""
    person.json("agent", "create", person.task)
    with started(page, "show", person.task, "--watch", "--json", home=person.home) as watching:
        assert watching.stdout is not None
        first = json.loads(watching.stdout.readline())
        said = first["agent"] if page == "task" else first
        assert said["lifecycle"] == "created"
        person.json("agent", "pause", person.task)
        while said["lifecycle"] != "dormant":
            line = json.loads(watching.stdout.readline())
            said = line["agent"] if page == "task" else line
        watching.send_signal(signal.SIGINT)
        assert watching.wait(BOUND_SECONDS) == 0


def test_cli_26_every_page_that_is_named_can_be_watched(person: Person) -> None:
    """CLI-26: what the daemon says of the other devices, too; nothing is shown again while nothing changes."""
    person.json("agent", "create", person.task)
    home = TaskHome.open(person.home)
    seen = changes(home)
    next(seen)
    (person.home / STATUS_FILE).write_bytes(b"{}")
    next(seen)
    person.json("task", "add", "Another")
    next(seen)
    home.close()
    for call in (("task", "list"), ("agent", "list"), ("agent", "report"), ("review", "list"), ("status",)):
        assert "--watch" in person.run(*call, "--help").out
