"""The settings of the daemon: CLI-113, CLI-114, CLI-115."""

from pathlib import Path

import pytest
from tests.support.command_line import contents, run_here
from tests.support.daemons import daemon

from lottisync.daemon.settings import SETTINGS_FILE, OnPending, Settings, change, read_settings
from lottisync.problem import Problem


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    assert run_here("init", "--name", "laptop", home=folder).code == 0
    return folder


def test_cli_113_what_is_set_is_listed_and_can_be_taken_back(home: Path) -> None:
    assert run_here("config", "get", "listen", home=home).out == "listen = (the daemon chooses)\n"
    assert run_here("config", "set", "listen", "[::1]:7000", home=home).code == 0
    assert run_here("config", "set", "discovery", "false", home=home).out.startswith("discovery = false")
    listed = run_here("config", "list", "--json", home=home).json
    assert listed["file"] == str(home / SETTINGS_FILE)
    assert {each["name"]: each["value"] for each in listed["settings"] if each["isSet"]} == {
        "listen": "[::1]:7000",
        "discovery": False,
    }
    assert run_here("config", "unset", "listen", home=home).code == 0
    assert read_settings(home) == Settings(discovery=False)


def test_cli_324_an_option_counts_before_the_setting(home: Path) -> None:
    """The port that is set is not a port of this machine, so that a daemon without the option could not start."""
    change(home, "listen", "192.0.2.1:7000")
    change(home, "web", "off")
    assert "192.0.2.1" in run_here("daemon", home=home).err
    with daemon(home) as running:
        assert "127.0.0.1" in running.event("started")["text"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("lisen", "[::]:1", "Did you mean listen?"),
        ("colour", "red", "There are: listen, web, discovery, agents"),
        ("listen", "nowhere", "nowhere"),
        ("listen", "off", "off"),
        ("agents", "yes", "true or false"),
    ],
)
def test_cli_114_what_cannot_be_set_is_a_wrong_call_and_changes_nothing(
    home: Path, name: str, value: str, said: str
) -> None:
    """CLI-308"""
    change(home, "agents", "false")
    before = contents(home)
    done = run_here("config", "set", name, value, home=home)
    assert (done.code, said in done.err) == (2, True), done.err
    assert contents(home) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lisen = '[::]:1'", "Did you mean listen?"),
        ("listen = 7000", "listen"),
        ("listen = 'nowhere'", "nowhere"),
        ("listen = [", "not TOML"),
    ],
)
def test_cli_114_a_bad_file_is_named_and_no_daemon_starts(home: Path, text: str, said: str) -> None:
    """CLI-308"""
    (home / SETTINGS_FILE).write_text(text)
    for call in (("config", "list"), ("config", "set", "web", "off"), ("daemon",)):
        done = run_here(*call, home=home)
        assert (done.code, done.out) == (1, "")
        assert str(home / SETTINGS_FILE) in done.err
        assert said in done.err
    assert (home / SETTINGS_FILE).read_text() == text


def test_cli_115_comments_and_other_lines_stay(home: Path) -> None:
    file = home / SETTINGS_FILE
    file.write_text("# at home\nlisten = '[::]:1'\nagents = false # the desktop does that")
    change(home, "listen", "[::]:2")
    change(home, "web", "off")
    assert file.read_text() == ('# at home\nlisten = "[::]:2"\nagents = false # the desktop does that\nweb = "off"\n')
    change(home, "web", None)
    change(home, "discovery", None)
    assert file.read_text() == '# at home\nlisten = "[::]:2"\nagents = false # the desktop does that\n'


def test_cli_115_what_has_no_line_of_its_own_is_left_to_the_person(home: Path) -> None:
    """A key may be quoted in TOML; a second line for it would break the file."""
    (home / SETTINGS_FILE).write_text('"listen" = "[::]:1"\n')
    with pytest.raises(Problem, match="by hand"):
        change(home, "listen", "[::]:2")
    assert (home / SETTINGS_FILE).read_text() == '"listen" = "[::]:1"\n'


def test_cli_113_the_command_that_calls_the_person_is_set_like_the_others(home: Path) -> None:
    """CLI-113, CLI-115: its settings are lines, and what does not fit together is refused."""
    (home / SETTINGS_FILE).write_text("# mine\nagents = false\n")
    refused = run_here("config", "set", "on-pending.after", "5", home=home)
    assert (refused.code, refused.err) == (
        1,
        "lottisync: on-pending.after means nothing without on-pending.command: set that one first, or take this one "
        "away first\n",
    )
    assert not (home / SETTINGS_FILE).read_text().count("on-pending")
    said = run_here("config", "set", "on-pending.command", "notify-send 'Proposals wait'", home=home)
    assert said.out.startswith("on-pending.command = notify-send 'Proposals wait'")
    assert run_here("config", "set", "on-pending.after", "5", home=home).code == 0
    assert run_here("config", "set", "on-pending.after", "soon", home=home).code == 2
    assert read_settings(home).on_pending == OnPending(["notify-send", "Proposals wait"], None, 5)
    assert run_here("config", "get", "on-pending.after", "--json", home=home).json["value"] == "5"
    assert (home / SETTINGS_FILE).read_text().startswith("# mine\nagents = false\n")
    assert run_here("config", "unset", "on-pending.command", home=home).code == 1
    for name in ("after", "command"):
        assert run_here("config", "unset", f"on-pending.{name}", home=home).code == 0
    assert read_settings(home) == Settings(agents=False)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("notify-send 'Proposals wait'", ["notify-send", "Proposals wait"]),
        ('["notify-send", "Proposals wait"]', ["notify-send", "Proposals wait"]),
        ("[ -f x ]", ["[", "-f", "x", "]"]),
    ],
)
def test_cli_681_a_command_is_words_or_a_list(home: Path, typed: str, meant: list[str]) -> None:
    """CLI-681"""
    assert run_here("config", "set", "on-pending.command", typed, home=home).code == 0
    found = read_settings(home).on_pending
    assert found is not None
    assert found.command == meant


@pytest.mark.parametrize("typed", ["[notify-send,x]", '["notify-send"', '["sleep", 5]', "[[]]"])
def test_cli_681_a_list_that_is_not_one_is_refused_with_what_to_type(home: Path, typed: str) -> None:
    """CLI-681: it was one word, a program of that name."""
    refused = run_here("config", "set", "on-pending.command", typed, home=home)
    assert (refused.code, 'like ["touch", "x"]' in refused.err) == (2, True)
    assert not (home / SETTINGS_FILE).exists()


def test_cli_115_a_table_that_was_written_by_hand_stays(home: Path) -> None:
    """CLI-115"""
    text = '[on-pending]\ncommand = ["true"]\n'
    (home / SETTINGS_FILE).write_text(text)
    assert run_here("config", "get", "on-pending.command", home=home).out == "on-pending.command = true\n"
    refused = run_here("config", "set", "on-pending.after", "5", home=home)
    assert (refused.code, "Change it by hand" in refused.err) == (1, True)
    assert (home / SETTINGS_FILE).read_text() == text
