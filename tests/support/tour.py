"""A tour through every command with `--json`, on two devices and a few other homes: what each really answers.

`python -m tools.json_page` takes the examples of docs/json.md from it.
"""

import itertools
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from tests.support import sqlite
from tests.support.command_line import eventually, run_here, run_line, started, unversioned
from tests.support.daemons import daemon
from tests.support.event_loop import BOUND_SECONDS
from tests.support.rounds import send

from lottisync.daemon.home import TaskHome
from lottisync.daemon.pages import new_secret
from lottisync.device import clock
from lottisync.scripted_model.script import ChatRequest, Reply, Say
from lottisync.scripted_model.server import ScriptedModelServer
from lottisync.web.access import read_door, write_door
from lottisync.web.admission import Browsers

Answers = dict[str, list[dict[str, Any]]]
"""Command -> what it answered, in order, without the version."""

PROPOSALS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("update_task_estimate", {"minutes": 120}),
    ("set_task_title", {"title": "Buy milk and oats"}),
    *(("add_checklist_item", {"title": title}) for title in ("Take the bottles", "Ask for oat milk", "Pay")),
)
ASKS = ("request_attention", {"rationale": "The shop closes on Friday.", "minutes": 5, "urgency": 5})
ALONE = ("--no-discovery", "--listen", "127.0.0.1:0")
READING = frozenset(
    [
        "agent list",
        "agent log",
        "agent report",
        "agent sent",
        "agent show",
        "conflicts",
        "conflicts show",
        "devices",
        "devices browsers",
        "doctor",
        "history",
        "pair --invitations",
        "relay status",
        "review",
        "review ledger",
        "review list",
        "review log",
        "review show",
        "search",
        "status",
        "task list",
        "task search",
        "task show",
        "task time list",
        "undo --list",
    ]
)
"""What changes nothing, and is printed for people, too."""


class Tour:
    """The homes, and what was answered so far."""

    def __init__(self, folder: Path, *, options_first: bool = False) -> None:
        self.folder, self.options_first = folder, options_first
        self.laptop, self.phone = folder / "laptop", folder / "phone"
        self.answers: Answers = {}
        self.pages: list[tuple[str, str]] = []

    def note(self, command: str, line: str) -> Any:
        answer = unversioned(line)
        self.answers.setdefault(command, []).append(answer)
        return answer

    def call(self, command: str, rest: str = "", *, home: Path | None = None, code: int = 0) -> Any:
        """Run a command; `rest` is what stands behind its name, as in a shell."""
        words, place = [*command.split(), *shlex.split(rest)], home or self.laptop
        if self.options_first:
            done = run_line("--home", str(place), "--json", *words)
        else:
            done = run_line(*words, "--json", "--home", str(place))
        assert done.code == code, (command, rest, done)
        if command in READING or f"{command} {rest.split(' ')[0]}" in READING:
            self.pages.append((f"{command} {rest}", run_line(*words, "--home", str(place)).out))
        return self.note(command, done.out)

    def whole(self) -> Answers:
        self.make()
        self.tasks()
        self.files()
        # All proposals are made at once.
        with model_replying(itertools.chain([Say(tool_calls=(*PROPOSALS, ASKS))], itertools.repeat(Say(text="Done.")))):
            self.agents()
            self.review()
        self.conflicts()
        self.damage()
        self.devices()
        return self.answers

    def make(self) -> None:
        self.call("init", "--name laptop")
        self.call("init", "--name phone", home=self.phone)
        # Else the phone hands over the addresses of this machine, and each machine makes another page.
        (self.phone / "config.toml").write_text('listen = "127.0.0.1:22067"\n')
        with started("pair", "--json", *ALONE, home=self.laptop) as showing:
            assert showing.stdout is not None
            shown = self.note("pair", showing.stdout.readline())
            self.call("pair", f"{shown['code']} --at 127.0.0.1:{shown['port']}", home=self.phone)
            assert showing.wait(BOUND_SECONDS) == 0
        with started("pair", "--invite", "--json", "--listen", "127.0.0.1:0", home=self.laptop) as showing:
            assert showing.stdout is not None
            self.note("pair", showing.stdout.readline())
        self.call("pair", "--invitations", home=self.laptop)
        self.call("pair", "--take-back 1", home=self.laptop)

    def tasks(self) -> None:
        self.call("task add", "'Buy milk' --due 2026-11-30 --item 'Look into the fridge'")
        self.call("task add", "'Bake bread'")
        for command, rest in (
            ("task done", "bread"),
            ("task reopen", "bread"),
            ("task status", "bread blocked --reason 'no flour'"),
            ("task due", "bread 2026-12-24"),
            ("task remind", "bread 2026-12-23T17:00:00Z"),
            ("task repeat", "bread yearly"),
            ("task priority", "bread p1"),
            ("task estimate", "bread 1h30m"),
            ("task edit", "bread --title 'Bake rye bread'"),
            ("task note", "milk 'The shop has none.'"),
            ("task time add", "milk 25 'Walked to the shop'"),
            ("task category", "milk household"),
            ("task language", "milk en"),
            ("task link", "milk blocks bread"),
            ("task label add", "milk shopping"),
            ("task label remove", "milk shopping"),
            ("task item add", "milk 'Count the money'"),
            ("task item edit", "money 'Count the coins'"),
            ("task item check", "coins"),
            ("task item archive", "coins"),
            ("task item archive", "coins --off"),
            ("task checklist add", "bread Oven"),
            ("task checklist rename", "bread Oven Kitchen"),
            ("task item move", "coins --task bread"),
            ("task check", "fridge"),
            ("task item remove", "coins"),
            ("task delete", "bread"),
            ("task undelete", "bread"),
            ("undo", ""),
            ("undo", "--list -n 2"),
            ("task undelete", "bread"),
            ("task list", ""),
            ("task show", "milk"),
            ("search", "shop"),
            ("task search", "shop"),
        ):
            self.call(command, rest)
        self.task = self.answers["task show"][0]["id"]
        walked = self.call("task time list", "milk")["times"][0]["id"]
        self.call("task time edit", f"{walked} 'Walked to the shop and back'")
        self.call("task time start", "bread Kneading")
        stopped = self.call("task time stop")
        self.call("task time remove", stopped["times"][0]["id"])

    def files(self) -> None:
        file = shlex.quote(str(self.folder / "everything.jsonl"))
        backups = shlex.quote(str(self.folder / "backups"))
        self.call("export", file)
        self.call("import", f"{file} --dry-run", home=self.phone)
        self.call("backup", backups)
        self.call("restore", backups, home=self.folder / "restored")
        self.call("devices acknowledge", home=self.folder / "restored")
        self.call("purge")
        self.call("doctor")
        self.call("relay set", "nats://ada:secret@relay.example:4222")
        self.call("relay credentials", "--none")
        self.call("relay off")
        self.call("relay status")
        self.call("relay doctor")
        self.call("relay server-config", f"{shlex.quote(str(self.folder / 'relay'))} --host nas.home.arpa")
        self.call("config set", "listen 192.168.1.5:22067")
        self.call("config get", "listen")
        self.call("config list")
        self.call("completion", "bash")
        self.call("config unset", "listen")
        (self.folder / "restored" / "agent.sqlite").unlink()
        self.call("init", "--missing", home=self.folder / "restored")

    def agents(self) -> None:
        self.call("agent create", self.task)
        self.call("agent wake", self.task)
        self.call("agent wake", f"{self.task} --at 2099-03-01T07:00:00Z")
        self.call("agent configure", f"{self.task} autoCheck=true")
        self.call("agent model", f"{self.task} small")
        self.call("agent attended", self.task)
        self.call("agent limit", "200000")
        for verb in ("off", "on"):
            self.call(f"agent {verb}")
        self.call("agent never-send", "--category household")
        self.call("agent never-send", "--category household --off")
        number = self.call("agent sent", self.task)["requests"][0]["number"]
        self.call("agent sent", f"{self.task} {number}")
        for verb in ("pause", "resume", "move", "list", "show", "report", "log"):
            self.call(f"agent {verb}", "" if verb == "list" else self.task)
        self.call("agent log", f"{self.task} --wake {self.answers['agent log'][0]['wakes'][0]['runKey']}")

    def review(self) -> None:
        found = self.call("review")
        names = [item["name"] for one in found["sets"] for item in one["items"]]
        assert len(names) == len(PROPOSALS), found
        self.call("review show", names[0])
        self.call("review confirm", names[0])
        self.call("review undo", names[0])
        self.call("review reject", f"{names[2]} --reason 'I decide that.'")
        self.call("review edit", f"{names[1]} 'title=Buy soy milk'")
        self.call("review keep", names[1])
        self.call("review list")  # the task has another title now, so that the rest is to be looked at again
        self.call("review defer", names[3])
        self.call("review dismiss", names[4])
        self.call("review ledger", self.task)
        self.call("review log", self.task)
        self.call("review reindex")

    def conflicts(self) -> None:
        self.meet()
        self.call("task edit", "milk --title 'Buy oat milk'")
        self.call("task edit", f"{self.task} --title 'Buy almond milk' --due 2026-12-02", home=self.phone)
        self.call("task due", f"{self.task} 2026-12-03")
        self.meet()
        self.call("history", self.task)
        self.call("conflicts")
        self.call("conflicts show", self.task)
        self.call("conflicts keep", f"{self.task} title 1")
        self.call("conflicts combine", f"{self.task} due 2026-12-04")

    def meet(self) -> None:
        """The two have everything of each other."""
        laptop, phone = TaskHome.open(self.laptop), TaskHome.open(self.phone)
        for name, store in laptop.stores.items():
            send(store, phone.store(name), now=clock.now())
            send(phone.store(name), store, now=clock.now())
        laptop.close()
        phone.close()

    def damage(self) -> None:
        self.call("check")
        home = TaskHome.open(self.laptop)
        sqlite.connection(home.journal).execute(
            "update journal_entities set serialized = replace(serialized, 'rye', 'wheat') where serialized like '%rye%'"
        )
        home.close()
        bread = next(task["id"] for task in self.call("task list")["tasks"] if "bread" in task["title"])
        self.call("check", f"--accept {bread}")

    def let_in_a_browser(self) -> None:
        """Let a browser in by a code, as the pages do. The daemon here does not serve the network, so the address
        where it would is written into its state."""
        door = read_door(self.laptop)
        assert door is not None
        write_door(
            self.laptop / "web.json",
            msgspec.structs.replace(door, network=["https://192.168.1.5:22443"], fingerprint="A6AD 0E08"),
        )
        self.call("open", "--phone")
        browsers = Browsers(self.laptop, clock.now, new_secret)
        assert browsers.admit(browsers.offer().code, "phone")
        self.call("devices browsers")
        self.call("devices revoke-browser", "phone")

    def units(self) -> None:
        """With a systemd that accepts everything."""
        with agreeing_systemd(self.folder):
            for verb in ("install", "remove"):
                self.call(f"service {verb}")

    def _missed(self) -> bool:
        """Whether the laptop has tried to reach the phone, which is off, at each of its addresses. If another program
        of this machine answers at one of them, that is not "unreachable" but "refused"."""
        [phone] = run_here("status", "--json", home=self.laptop).json["peers"]
        return all(each["code"] is not None for each in phone["addresses"])

    def _delivered(self) -> bool:
        """Whether the phone has all that the laptop has. If not, the two meet again."""
        [phone] = run_here("status", "--json", home=self.laptop).json["peers"]
        if phone["lacks"] is None or any(phone["lacks"].values()):
            run_here("verify", "laptop", *ALONE, home=self.phone)
            return False
        return True

    def devices(self) -> None:
        with daemon(self.laptop, web=True) as running:
            event = running.event("started")
            eventually(self._missed, "an attempt to reach the phone")
            self.call("status")
            self.call("open")
            self.let_in_a_browser()
            self.note("daemon", msgspec.json.encode(event).decode())
            self.call("devices address", f"laptop 127.0.0.1:{event['port']}", home=self.phone)
            self.call("verify", "laptop " + shlex.join(ALONE), home=self.phone)
            eventually(self._delivered, "the phone to have everything")
            self.call("sync", "phone")
            self.call("daemon stop")
            assert running.process.wait(BOUND_SECONDS) == 0
        self.call("logs", "-n 1")
        with started("logs", "--follow", "--json", home=self.laptop) as following:
            assert following.stdout is not None
            self.note("logs", following.stdout.readline())
        self.units()
        self.call("devices")
        shutil.copytree(self.phone, self.folder / "copied")
        self.call("devices renew", "tablet --yes", home=self.folder / "copied")
        self.call("devices rename", "phone pocket")
        self.call("devices retire", "pocket")
        self.call("devices revoke", "pocket --yes --keep-none")
        self.call("agent destroy", f"{self.task} --yes")
        self.call("leave", "--untold --yes --wait 0 " + shlex.join(ALONE), home=self.folder / "copied")


@contextmanager
def agreeing_systemd(folder: Path) -> Iterator[Path]:
    """A `systemctl` that writes down how it was called, and where units are written; yields the first."""
    calls, systemctl = folder / "systemctl.calls", folder / "bin" / "systemctl"
    systemctl.parent.mkdir(exist_ok=True)
    systemctl.write_text(f'#!/bin/sh\necho "$@" >> {shlex.quote(str(calls))}\n')
    systemctl.chmod(0o755)
    before = {name: os.environ.get(name) for name in ("PATH", "XDG_CONFIG_HOME")}
    os.environ |= {"PATH": f"{systemctl.parent}:{before['PATH']}", "XDG_CONFIG_HOME": str(folder / "config")}
    try:
        yield calls
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def model_replying(replies: Iterable[Reply]) -> Iterator[None]:
    """A model that gives these replies, one for each request; the processes that are started meanwhile use it."""
    given = iter(replies)

    def script(request: ChatRequest) -> Reply:
        return next(given)

    before = {name: os.environ.get(name) for name in ("LOTTISYNC_MODEL_URL", "LOTTISYNC_MODEL_KEY")}
    with ScriptedModelServer(script) as server:
        os.environ |= {"LOTTISYNC_MODEL_URL": server.url, "LOTTISYNC_MODEL_KEY": ""}
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
