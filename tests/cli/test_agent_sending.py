"""What leaves this device, as a person decides it at a shell, with a real model server on loopback."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.test_agent import Person, person, propose
from tests.support.child import ROOT
from tests.support.command_line import run_here

from lottisync.agents.endpoint import Endpoint, ModelChoice, model_for
from lottisync.daemon.home import TaskHome
from lottisync.daemon.settings import SETTINGS_FILE, change, read_settings
from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.problem import Problem
from lottisync.scripted_model.script import Say, ServerError
from lottisync.scripted_model.server import ScriptedModelServer

__all__ = ["person"]

SECRET = "Xylophone-4711"
KEY = "sk-not-for-any-file"


def test_agent85_what_was_sent_is_shown_byte_for_byte(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """AGENT-85, AGENT-56: the server has the same bytes, and no key is among them."""
    monkeypatch.setenv("LOTTISYNC_MODEL_KEY", KEY)
    person.answers[:] = [propose(minutes=120), Say(text="Done.")]
    person.json("agent", "create", person.task)
    person.json("agent", "wake", person.task)
    listed = person.json("agent", "sent", person.task)["requests"]
    shown = [person.json("agent", "sent", person.task, str(each["number"])) for each in reversed(listed)]
    assert [each["body"].encode() for each in shown] == person.server.bodies
    assert [each["bytes"] for each in reversed(listed)] == [len(body) for body in person.server.bodies]
    assert "bytes" in person.run("agent", "sent", person.task).out
    assert person.run("agent", "sent", person.task, "999").code == 1
    assert KEY not in str(shown)
    assert not [file for file in person.home.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]


def test_agent82_the_server_sees_no_byte_of_what_is_never_sent(person: Person) -> None:
    """AGENT-82, AGENT-311: a linked task and a label's task, set by the verb and shown."""
    person.answers[:] = [Say(tool_calls=(("search_task", {"words": ""}),)), Say(text="Done.")]
    other = person.json("task", "add", f"Call {SECRET}", "--item", f"Ask {SECRET}")["id"]
    person.json("task", "note", other, f"Of {SECRET}")
    person.json("task", "label", "add", other, "health")
    person.json("task", "link", person.task, "blocks", other)
    assert person.json("agent", "never-send", "--label", "health")["marked"][0]["name"] == "health"
    assert "its label" in person.run("task", "show", other).out
    assert "health" in person.run("agent", "never-send").out
    person.json("agent", "create", person.task)
    person.json("agent", "wake", person.task)
    assert person.server.bodies
    assert all(SECRET.encode() not in body and b"health" not in body for body in person.server.bodies)
    person.json("agent", "create", other)
    assert "is never sent to a model" in person.run("agent", "wake", other).err
    assert "asleep: never sent to a model" in person.run("agent", "list").out


def test_agent80_off_is_shown_and_nothing_is_sent(person: Person) -> None:
    person.answers[:] = [Say(text="Done.")]
    person.json("agent", "create", person.task)
    assert person.json("agent", "off")["off"] is True
    refused = person.run("agent", "wake", person.task)
    sleeps = "Laura of 'Repair the bicycle' sleeps: agents are off on all devices"
    assert refused.err == f"lottisync: {sleeps}. Turn them on: lottisync agent on\n"
    assert person.server.bodies == []
    assert "off on all devices" in person.run("status").out
    assert person.json("status")["agentsOff"] is True
    assert "agents are off" in person.run("agent", "list").out
    assert person.json("agent", "on")["off"] is False
    person.json("agent", "wake", person.task)
    assert len(person.server.bodies) == 1


def test_agent84_a_budget_is_shown_with_when_it_goes_on(person: Person) -> None:
    person.answers[:] = [Say(text="Done.")]
    person.json("agent", "create", person.task)
    person.json("agent", "configure", person.task, "tokensADay=5", "contextTokens=30000")
    person.json("agent", "wake", person.task)
    shown = person.json("agent", "show", person.task)
    assert shown["withheld"]["code"] == "budget"
    assert shown["tokensToday"] > 5
    assert "paused: budget, until 20" in person.run("agent", "show", person.task).out
    assert "paused: budget" in person.run("status").out
    assert "paused: budget" in person.run("agent", "wake", person.task).err
    person.json("agent", "configure", person.task, "tokensADay=")
    assert person.json("agent", "limit", "1")["tokensADay"] == 1
    assert "paused: budget" in person.run("agent", "wake", person.task).err
    assert "no limit" in person.run("agent", "limit", "none").out
    assert person.json("agent", "wake", person.task)["turns"] == 1


@pytest.mark.parametrize(
    "typed",
    [("limit", "0"), ("limit", "many"), ("configure", "x", "tokensADay=-1"), ("configure", "x", "contextTokens=7")],
)
def test_agent84_a_limit_is_a_number(person: Person, typed: tuple[str, ...]) -> None:
    arguments = [person.task if each == "x" else each for each in typed]
    person.json("agent", "create", person.task)
    assert person.run("agent", *arguments).code == 2


# -- models and servers


def test_agent87_an_agent_asks_the_server_that_was_chosen_for_it(person: Person) -> None:
    """AGENT-87"""
    person.answers[:] = [ServerError(status=500, message="the wrong one")]
    person.json("agent", "create", person.task, "--model", "large")
    with ScriptedModelServer(lambda request: Say(text="Here.")) as own:
        (person.home / SETTINGS_FILE).write_text(
            f'[endpoints.home]\nurl = "{own.url}"\nmodel = "small"\nkey_env = "HOME_KEY"\n'
        )
        assert person.run("agent", "model", person.task, "--endpoint", "hime").code == 2
        page = person.json("agent", "model", person.task, "qwen3", "--endpoint", "home")
        assert (page["model"], page["endpoint"]) == ("qwen3", "home")
        person.json("agent", "wake", person.task)
        assert own.requests[0]["model"] == "qwen3"
    assert person.server.requests == []
    assert "environment" in person.run("agent", "model", person.task, "--endpoint", "none").out


def test_agent87_an_endpoint_takes_its_key_from_the_environment() -> None:
    """AGENT-87, AGENT-315, AGENT-56"""
    there = {"home": Endpoint("http://127.0.0.1:9/v1", model="small", key_env="HOME_KEY")}
    found = model_for(ModelChoice(None, "home"), there, {"HOME_KEY": KEY, "LOTTISYNC_MODEL": "other"})
    assert (found.model, found.api) == ("small", "chat")
    assert KEY not in repr(found)
    with pytest.raises(Problem, match=r"no endpoint 'work': write \[endpoints.work\]"):
        model_for(ModelChoice(None, "work"), there, {})


@pytest.mark.parametrize(
    ("key_env", "named"),
    [("key_env = 'HOME_KEY'", "set a valid one in HOME_KEY, or"), ("", "as endpoints.home.key_env")],
)
def test_agent_570_a_key_that_is_not_accepted_is_named_where_it_stands(
    person: Person, key_env: str, named: str
) -> None:
    """AGENT-570: and so is the name of a model that there is not."""
    person.json("agent", "create", person.task)
    file = person.home / SETTINGS_FILE
    with ScriptedModelServer(lambda request: Say(text="Here."), require_key=KEY) as own:
        file.write_text(f'[endpoints.home]\nurl = "{own.url}"\n{key_env}\n')
        person.json("agent", "model", person.task, "--endpoint", "home")
        refused = person.run("agent", "wake", person.task)
    assert refused.code == 1
    assert named in refused.err
    assert "LOTTISYNC_MODEL" not in refused.err
    with ScriptedModelServer(lambda request: ServerError(status=404)) as other:
        file.write_text(f'[endpoints.home]\nurl = "{other.url}"\n')
        unknown = person.run("agent", "wake", person.task)
    assert "check endpoints.home.model, and that endpoints.home.url ends in /v1" in unknown.err


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"LOTTISYNC_MODEL_KEY": "other"}, "set a valid one in LOTTISYNC_MODEL_KEY, or in your keyring"),
        ({"LOTTISYNC_MODEL_KEY": ""}, "set a valid one in LOTTISYNC_MODEL_KEY, or in your keyring"),
    ],
)
def test_agent_570_of_the_environment_it_is_the_variable_of_that_server(
    person: Person, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], named: str
) -> None:
    """AGENT-570"""
    person.json("agent", "create", person.task)
    with ScriptedModelServer(lambda request: Say(text="Here."), require_key=KEY) as own:
        monkeypatch.setenv("LOTTISYNC_MODEL_URL", own.url)
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        refused = person.run("agent", "wake", person.task)
    assert named in refused.err
    assert "OPENAI_API_KEY" not in refused.err


def test_agent87_a_key_in_the_file_is_refused_and_a_setting_stays_before_the_tables(tmp_path: Path) -> None:
    """AGENT-315"""
    file = tmp_path / SETTINGS_FILE
    file.write_text('web = "off"\n[endpoints.home]\nurl = "http://127.0.0.1:9/v1"\n')
    change(tmp_path, "agents", "false")
    assert read_settings(tmp_path).endpoints == {"home": Endpoint("http://127.0.0.1:9/v1")}
    assert read_settings(tmp_path).agents is False
    file.write_text(f'[endpoints.home]\nurl = "http://127.0.0.1:9/v1"\nkey = "{KEY}"\n')
    with pytest.raises(Problem) as refused:
        read_settings(tmp_path)
    assert KEY not in refused.value.message


# -- attention, failures, speed


def test_agent88_an_agent_asks_for_attention_until_the_person_has_looked(person: Person) -> None:
    """AGENT-88, AGENT-316, AGENT-317"""
    asked = ("request_attention", {"rationale": "The shop closes on Friday.", "minutes": 5, "urgency": 5})
    person.answers[:] = [Say(tool_calls=(asked,)), Say(text="Done."), Say(tool_calls=(asked,)), Say(text="Done.")]
    person.json("agent", "create", person.task)
    before = person.json("history", person.task)
    for _ in range(2):
        person.json("agent", "wake", person.task)
    assert person.json("history", person.task) == before
    for command in (("status",), ("review",), ("agent", "show", person.task)):
        assert "The shop closes on Friday." in person.run(*command).out, command
    [wanted] = person.json("status")["attention"]
    assert (wanted["taskTitle"], wanted["urgency"], wanted["impact"]) == ("Repair the bicycle", 5, 3)
    assert person.json("agent", "attended", person.task)["attentionReason"] is None
    assert person.json("status")["attention"] == []
    assert person.run("agent", "attended", person.task).code == 1
    person.json("agent", "wake", person.task)
    assert b"You asked the user for attention" in person.server.bodies[-1]
    assert b"they settled it" in person.server.bodies[-1]


@pytest.mark.parametrize(
    "kept_by",
    [
        ("agent", "off"),
        ("agent", "limit", "1"),
        ("agent", "never-send", "bicycle"),
        ("agent", "pause", "bicycle"),
        ("agent", "destroy", "bicycle", "--yes"),
        ("task", "done", "bicycle"),
        ("task", "delete", "bicycle"),
    ],
    ids=["off", "budget", "never-send", "pause", "destroy", "done", "delete"],
)
def test_agent91_a_refusal_names_agent_and_task(person: Person, kept_by: tuple[str, ...]) -> None:
    """AGENT-91: for whatever reason, since a dozen agents have one name."""
    person.answers[:] = [Say(text="Done.")]
    made = person.json("agent", "create", person.task)
    person.json("agent", "wake", person.task)
    person.json(*kept_by)
    refused = person.run("agent", "wake", made["id"])
    assert refused.code == 1
    assert refused.err.startswith("lottisync: Laura of 'Repair the bicycle' ")


def test_agent480_nothing_is_asked_for_a_task_that_is_closed(person: Person) -> None:
    """AGENT-480: nowhere, and it is asked again when the task is open."""
    asked = ("request_attention", {"rationale": "The shop closes on Friday.", "minutes": 5, "urgency": 5})
    person.answers[:] = [Say(tool_calls=(asked,)), Say(text="Done.")]
    person.json("agent", "create", person.task)
    person.json("agent", "wake", person.task)
    person.json("task", "done", person.task)
    assert person.json("agent", "show", person.task)["attentionReason"] is None
    assert person.json("status")["attention"] == []
    for command in (("status",), ("review",), ("agent", "show", person.task)):
        assert "closes on Friday" not in person.run(*command).out, command
    person.json("task", "reopen", person.task)
    assert person.json("agent", "show", person.task)["attentionReason"] == "The shop closes on Friday."


def test_agent481_the_log_shows_what_a_note_is_and_no_empty_thought(person: Person) -> None:
    """AGENT-481"""
    noted = {"text": "They do not want to be called.", "priority": "critical", "category": "grievance"}
    person.answers[:] = [Say(tool_calls=(("record_observations", {"observations": [noted]}),)), Say(text="Done.")]
    person.json("agent", "create", person.task)
    run = person.json("agent", "wake", person.task)["runKey"]
    said = person.json("agent", "log", person.task, "--wake", run)["messages"]
    assert [(each["priority"], each["category"]) for each in said if each["kind"] == "observation"] == [
        ("critical", "grievance")
    ]
    assert {each["category"] for each in said if each["kind"] != "observation"} == {None}
    shown = person.run("agent", "log", person.task, "--wake", run).out.splitlines()
    assert any("observation critical, grievance" in line for line in shown)
    thoughts = [at for at, line in enumerate(shown) if " thought " in line]
    assert [shown[at + 1].strip("│ ") for at in thoughts] == ["Done."]


def test_rev_d16_show_says_why_a_wake_failed(person: Person) -> None:
    """AGENT-318 (REV-D16)"""
    person.answers[:] = [ServerError(status=400, message="We are out of order")]
    person.json("agent", "create", person.task)
    person.run("agent", "wake", person.task)
    assert "We are out of order" in person.run("agent", "show", person.task).out
    assert "We are out of order" in person.json("agent", "show", person.task)["failure"]
    person.answers[:] = [Say(text="Done.")]
    person.json("agent", "wake", person.task)
    assert person.json("agent", "show", person.task)["failure"] is None


def test_agent90_commands_that_ask_no_model_load_neither_its_client_nor_its_checks(person: Person) -> None:
    """AGENT-90"""
    person.json("agent", "create", person.task)
    code = (
        "import sys\nfrom lottisync.cli.main import main\n"
        f"try: main(['agent', 'show', '{person.task}', '--home', {str(person.home)!r}])\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        "print('LOADED', *sorted({'openai', 'pydantic', 'httpx2'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED"
    assert run_here("agent", "list", home=person.home).code == 0


def test_agent124_an_agent_without_its_endpoint_is_shown_to_wait(person: Person) -> None:
    """AGENT-124, CLI-220: in its page, in the list, in `status` and by `doctor`."""
    person.json("agent", "create", person.task)
    file = person.home / SETTINGS_FILE
    file.write_text('[endpoints.home]\nurl = "http://127.0.0.1:9/v1"\n')
    person.json("agent", "model", person.task, "--endpoint", "home")
    file.unlink()
    home = TaskHome.open(person.home)
    with home.agent.transaction(clock.now(), HIGH) as tx:
        tx.put(person.json("agent", "list")["agents"][0]["id"], "agent", {"lifecycle": "active"})
    home.close()
    assert person.json("agent", "show", person.task)["withheld"]["code"] == "no-endpoint"
    assert "waits: its endpoint is not on this device" in person.run("agent", "list").out
    [paused] = person.json("status")["paused"]
    assert (paused["taskTitle"], "no endpoint 'home'" in paused["reason"]) == ("Repair the bicycle", True)
    assert "Laura of 'Repair the bicycle' waits" in person.run("status").out
    found = [each for each in person.json("doctor")["findings"] if each["part"] == "endpoint"]
    assert [(each["state"], "no endpoint 'home'" in each["text"]) for each in found] == [("warning", True)]


def test_cli_220_doctor_tries_each_endpoint_and_sends_nothing(person: Person) -> None:
    """CLI-220"""
    (person.home / SETTINGS_FILE).write_text(
        f'[endpoints.good]\nurl = "{person.server.url}"\n'
        '[endpoints.closed]\nurl = "http://127.0.0.1:9/v1"\n'
        '[endpoints.keyless]\nurl = "http://127.0.0.1:9/v1"\nkey_env = "NO_SUCH_KEY"\n'
        '[endpoints.wrong]\nurl = "nonsense"\n'
    )
    found = run_here("doctor", "--json", home=person.home).json["findings"]
    by_name = {each["text"].partition(":")[0]: each for each in found if each["part"] == "endpoint"}
    assert {name: each["state"] for name, each in by_name.items()} == {
        "good": "good",
        "closed": "warning",
        "keyless": "warning",
        "wrong": "fault",
    }
    assert "NO_SUCH_KEY is not set" in by_name["keyless"]["text"]
    assert person.server.bodies == []


def test_agent121_the_log_says_what_a_call_changed_and_whether_it_did_anything(person: Person) -> None:
    """AGENT-121, S3-78 (REV-D16): by name."""
    person.answers[:] = [
        Say(
            tool_calls=(
                ("set_task_language", {"languageCode": "fr", "confidence": "high"}),
                ("update_task_estimate", {"minutes": -4}),
            )
        ),
        Say(text="Done."),
    ]
    person.json("agent", "create", person.task)
    person.json("agent", "wake", person.task)
    [entry] = person.json("agent", "log", person.task)["wakes"]
    said = person.json("agent", "log", person.task, "--wake", entry["runKey"])["messages"]
    answers = [each for each in said if each["kind"] == "toolResult"]
    assert [each["succeeded"] for each in answers] == [True, False]
    assert answers[0]["changedEntities"] == [{"id": person.task, "type": "task", "name": "Repair the bicycle"}]
    assert answers[1]["changedEntities"] == []
    assert {each["succeeded"] for each in said if each["kind"] != "toolResult"} == {None}
    shown = person.run("agent", "log", person.task, "--wake", entry["runKey"]).out
    assert "changed the task Repair the bicycle" in shown
    assert "update_task_estimate  (nothing was done)" in shown


def test_rev_d16_status_names_the_task_of_an_agent_that_gave_up(person: Person) -> None:
    """AGENT-91: with a dozen agents of one name, the name alone says little."""
    person.answers[:] = [ServerError(status=400, message="We are out of order")]
    person.json("agent", "create", person.task)
    for _ in range(5):
        person.run("agent", "wake", person.task)
    [asleep] = person.json("status")["asleep"]
    assert (asleep["agentName"], asleep["taskTitle"]) == ("Laura", "Repair the bicycle")
    assert "Laura of 'Repair the bicycle' gave up: 5 failures in a row" in person.run("status").out


def test_agent152_the_log_says_whose_wakes_it_lists(person: Person) -> None:
    """AGENT-152: in the list, in one wake, and in the answer for programs."""
    person.answers[:] = [Say(text="Done.")]
    person.json("agent", "create", person.task)
    person.json("agent", "wake", person.task)
    log = person.json("agent", "log", person.task)
    assert (log["agentName"], log["taskTitle"], log["homeDeviceName"]) == ("Laura", "Repair the bicycle", "laptop")
    for options in ((), ("--wake", log["wakes"][0]["runKey"])):
        heading, *_ = person.run("agent", "log", person.task, *options).out.splitlines()
        assert heading == "Laura  Repair the bicycle  wakes on laptop"
    person.json("task", "delete", person.task)
    agent = person.json("agent", "list")["agents"][0]["id"]
    assert person.run("agent", "log", agent).out.startswith("Laura  (gone)  wakes on laptop")


@pytest.mark.parametrize("kept_by", ["off", "never-send", "done", "delete"])
def test_agent153_status_promises_no_wake_of_an_agent_that_sleeps(person: Person, kept_by: str) -> None:
    """AGENT-153: it does not go on when the budget is there again."""
    person.answers[:] = [Say(text="Done.")]
    person.json("agent", "create", person.task)
    person.json("agent", "wake", person.task)
    person.json("agent", "limit", "1")
    assert "it goes on at" in person.run("status").out
    commands = {
        "off": ("agent", "off"),
        "never-send": ("agent", "never-send", person.task),
        "done": ("task", "done", person.task),
        "delete": ("task", "delete", person.task),
    }
    person.json(*commands[kept_by])
    assert person.json("status")["paused"] == []
    assert "it goes on at" not in person.run("status").out


def test_agent154_a_wake_and_its_failure_name_agent_task_and_device(person: Person) -> None:
    """AGENT-154, AGENT-91: with a dozen agents of one name, the name alone says little."""
    person.answers[:] = [ServerError(status=400, message="We are out of order")]
    person.json("agent", "create", person.task)
    failed = person.run("agent", "wake", person.task)
    named = "Laura of 'Repair the bicycle' on laptop: "
    assert named in failed.err
    assert "We are out of order" in failed.err
    assert "on laptop" not in person.json("agent", "show", person.task)["failure"]
    person.answers[:] = [Say(text="Done.")]
    assert named in person.run("agent", "wake", person.task).out
