"""The log of the daemon: CLI-150, CLI-152."""

import json
import re
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.support.command_line import run, run_here, started
from tests.support.daemons import daemon
from tests.support.event_loop import BOUND_SECONDS
from tests.test_shown import HIDDEN

from lottisync.daemon.log import LOG_FILE, OLD_FILES, Follower, LogEntry, LogFile, entries, newest
from lottisync.shown import one_line


def said(number: int) -> LogEntry:
    return LogEntry("2026-11-22T12:00:00.000Z", "noted", f"line {number}")


def test_cli_310_the_log_is_kept_in_a_few_files_and_the_oldest_lines_go(tmp_path: Path) -> None:
    """CLI-310"""
    with closing(LogFile(tmp_path, most_bytes=1_000)) as log:
        for number in range(500):
            log.write(said(number))
    kept = list(entries(tmp_path))
    assert kept == [said(number) for number in range(500 - len(kept), 500)]
    files = sorted(tmp_path.iterdir())
    assert len(files) == OLD_FILES + 1
    assert all(file.stat().st_size <= 1_000 for file in files)
    assert newest(tmp_path, 2) == [said(498), said(499)]


def test_cli_150_a_line_that_cannot_be_read_or_written_stops_nothing(tmp_path: Path) -> None:
    """CLI-150"""
    with closing(LogFile(tmp_path)) as log:
        log.write(said(1))
        with (tmp_path / LOG_FILE).open("ab") as file:
            file.write(b"half a l\xff\n")
        log.write(said(2))
    assert list(entries(tmp_path)) == [said(1), said(2)]
    (tmp_path / "full").symlink_to("/dev/full")
    with closing(LogFile(tmp_path)) as log:
        log.baseFilename = str(tmp_path / "full")
        log.maxBytes = 0
        log.write(said(3))


HOSTILE = "a\nb\r\n\u2028FORGED\u202egnihton\u200b\u2066x\ufeff\x1b[2K\U000e0041"


def test_cli_670_the_file_of_the_log_shows_hostile_text_as_signs(tmp_path: Path) -> None:
    """CLI-670: a title with a direction mark turned the rest of its line, in every program but ours."""
    entry = LogEntry("2026-11-22T12:00:00.000Z", "agent-asleep", f"Rye of '{HOSTILE}' gave up")
    with closing(LogFile(tmp_path)) as log, closing(Follower(tmp_path)) as follower:
        log.write(entry)
        [followed] = follower.read()
    raw = (tmp_path / LOG_FILE).read_text()
    assert raw.splitlines() == [raw.rstrip("\n")]
    assert not set(raw) & (set(HIDDEN) - {"\n"})
    assert followed.text == one_line(entry.text)


def test_cli_152_following_goes_on_in_the_next_file(tmp_path: Path) -> None:
    """CLI-152: what is written at the end of one file and the beginning of the next is all there."""
    with closing(Follower(tmp_path)) as follower, closing(LogFile(tmp_path, most_bytes=1_000)) as log:
        found: list[LogEntry] = []
        for number in range(40):
            log.write(said(number))
            if number % 3 == 0:
                found += follower.read()
        found += follower.read()
    assert found == [said(number) for number in range(40)]


def test_cli_150_a_daemon_writes_what_it_says(tmp_path: Path) -> None:
    """CLI-150, CLI-151: and the log has nothing of the key."""
    home = tmp_path / "home"
    run_here("init", "--name", "laptop", home=home)
    assert "said nothing yet" in run_here("logs", home=home).out
    with daemon(home):
        pass
    [started] = [line for line in run_here("logs", "--json", home=home).json["lines"] if line["event"] == "started"]
    assert "laptop listens on" in started["text"]
    assert "laptop listens on" in run_here("logs", "-n", "5", home=home).out
    assert (home / LOG_FILE).stat().st_mode & 0o077 == 0


def test_cli_151_the_log_has_no_secret_after_all_that_uses_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLI-151: an invitation that the daemon answers, a browser that is let in, one that is not, a model with a key."""
    laptop, phone = tmp_path / "laptop", tmp_path / "phone"
    for home in (laptop, phone):
        assert run_here("init", "--name", home.name, home=home).code == 0
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-person")
    with daemon(laptop, web=True) as running:
        with started("pair", "--invite", "--json", home=laptop) as showing:
            assert showing.stdout is not None
            uri = json.loads(showing.stdout.readline())["uri"]
            assert run("pair", uri, home=phone).code == 0
            assert showing.wait(BOUND_SECONDS) == 0
        address = run_here("open", "--print", home=laptop).out.strip()
        token = address.partition("?token=")[2]
        assert [entered(address, tried) for tried in ("guessed", token)] == [403, 303]
        assert running.stop() == (0, "")
    said = "".join(line.text for line in entries(laptop))
    assert "listens on" in said
    secrets = ["sk-of-the-person", token, uri, *re.findall(r"[A-Za-z0-9_-]{16,}", uri)]
    secrets += [msgspec.json.decode((home / "device.json").read_bytes())["seed"] for home in (laptop, phone)]
    assert len(secrets) >= 6
    assert [secret for secret in secrets if secret in said] == []


def entered(address: str, token: str) -> int:
    """The status of pressing the button at the door of this machine's pages."""
    door = urlsplit(address)
    headers = {
        "Host": door.netloc,
        "Origin": f"http://{door.netloc}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    with closing(HTTPConnection("127.0.0.1", door.port, timeout=BOUND_SECONDS)) as connection:
        connection.request("POST", door.path, f"token={token}&name=test", headers)
        return connection.getresponse().status
