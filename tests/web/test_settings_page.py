"""Settings on a page (docs/specs/18-web.md, section 7)."""

import re

import pytest
from tests.web.visitor import TASK, Visitor

from lottisync.agents import switch
from lottisync.daemon.settings import OnPending, read_settings


def test_web_85_a_setting_is_kept_in_the_devices_file(visitor: Visitor) -> None:
    page = visitor.post("/settings", name="agents", value="false")
    assert '<option value="false" selected>Off</option>' in page
    assert (visitor.home.path / "config.toml").read_text() == "agents = false\n"
    visitor.post("/settings", name="listen", value="127.0.0.1:22067")
    visitor.post("/settings", name="listen", value="")
    assert (visitor.home.path / "config.toml").read_text() == "agents = false\n"


@pytest.mark.parametrize(("name", "value"), [("agents", "perhaps"), ("listen", "nowhere"), ("colour", "red"), ("", "")])
def test_web_85_what_is_not_a_setting_changes_nothing(visitor: Visitor, name: str, value: str) -> None:
    visitor.post("/settings", 400, name=name, value=value)
    assert not (visitor.home.path / "config.toml").exists()


def test_web_85_a_file_that_cannot_be_read_is_said(visitor: Visitor) -> None:
    (visitor.home.path / "config.toml").write_text("agents = perhaps")
    assert "config.toml is not TOML" in visitor.get("/settings")


def test_web_720_the_command_that_calls_is_set_on_this_machine(visitor: Visitor) -> None:
    """WEB-720: as `config set` reads it, with its sentences."""
    config = visitor.home.path / "config.toml"
    assert "command" in visitor.post("/settings", 400, name="on-pending.after", value="5")
    assert not config.exists()
    page = visitor.post("/settings", name="on-pending.command", value="notify-send 'Proposals <wait>'")
    assert 'value="notify-send &#39;Proposals &lt;wait&gt;&#39;"' in page
    visitor.post("/settings", name="on-pending.after", value="5")
    visitor.post("/settings", name="on-pending.device", value="desktop")
    kept = config.read_text()
    assert read_settings(visitor.home.path).on_pending == OnPending(["notify-send", "Proposals <wait>"], "desktop", 5)
    for name, value, said in (
        ("on-pending.after", "soon", "is a number of minutes"),
        ("on-pending.command", "notify-send 'x", "No closing quotation"),
        ("on-pending.command", "", "command"),
    ):
        assert said in visitor.post("/settings", 400, name=name, value=value)
    assert config.read_text() == kept
    for name in ("on-pending.after", "on-pending.device", "on-pending.command"):
        visitor.post("/settings", name=name, value="")
    assert config.read_text() == ""


def off(visitor: Visitor) -> bool:
    with visitor.home.agent.reading() as reader:
        return switch.read(reader).off


def test_web_86_agents_are_turned_off_and_on(visitor: Visitor) -> None:
    assert "All are off." in visitor.post("/settings", verb="agents-off")
    assert off(visitor)
    assert "They are on" in visitor.post("/settings", verb="agents-on")
    assert not off(visitor)


def test_web_86_all_agents_get_a_limit(visitor: Visitor) -> None:
    assert 'value="20000"' in visitor.post("/settings", verb="limit", value="20000")
    visitor.post("/settings", 400, verb="limit", value="many")
    visitor.post("/settings", verb="limit", value="")
    with visitor.home.agent.reading() as reader:
        assert switch.read(reader).tokens_a_day is None


def test_web_86_a_task_is_marked_and_the_mark_taken_off(visitor: Visitor) -> None:
    visitor.post(f"/tasks/{TASK}", verb="never-send")
    assert visitor.task.never_send
    assert f'name="name" value="{TASK}"' in visitor.get("/settings")
    assert "Nothing is marked." in visitor.post("/settings", verb="send-again", name=TASK)
    assert not visitor.task.never_send


def test_web_963_each_choice_of_a_setting_has_words(visitor: Visitor) -> None:
    page = visitor.get("/settings")
    assert '<option value="" selected>As the browser asks</option>' in page
    choices = re.findall(r"<option[^>]*>([^<]*)</option>", page)
    assert choices
    assert all(any(letter.isalpha() for letter in choice) for choice in choices)
