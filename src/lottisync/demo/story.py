"""The story of `make demo`, step by step, each step checked.

Two devices find and pair with each other; an agent on laptop proposes changes to a real task list;
phone shows them at once; some are confirmed, one is edited, one is rejected with a reason; laptop shows
the effect; the next wake has learnt from it; phone goes offline while both change one field, and nothing is
lost; both devices prove that they hold the same.

With a scripted model every step has one right outcome. With a real one (`OPENAI_API_KEY` or
`LOTTISYNC_MODEL_URL`) what is proposed is the model's affair; then the demo checks what must be true of
any proposals, and shows the rest.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

from lottisync.demo import script
from lottisync.demo.device import LOOPBACK, DemoDevice, DemoFailed, until
from lottisync.demo.stage import Stage, StageText
from lottisync.scripted_model.script import ChatRequest
from lottisync.scripted_model.server import ScriptedModelServer

HOUSEHOLD = Path(__file__).with_name("household.json")
TASK = "boiler-service"
CONTESTED = "desk lamp"
"""A piece of the title of the task of which both devices set the due date while they are apart."""
REASON = "No hurry: the boiler works, this is the yearly service."
EDITED_MINUTES = 120


class Story:
    def __init__(self, folder: Path, stage: Stage, server: ScriptedModelServer | None) -> None:
        self.stage = stage
        self.server = server
        model = {"LOTTISYNC_MODEL_URL": server.url, "LOTTISYNC_MODEL_KEY": ""} if server else {}
        self.laptop = DemoDevice("laptop", folder / "laptop", model)
        self.phone = DemoDevice("phone", folder / "phone", {})
        self.stranger = DemoDevice("stranger", folder / "stranger", {})
        self.task = ""

    def tell(self) -> None:
        self.stage.say((self._cast(), "dim"))
        try:
            self.two_devices()
            self.pair()
            self.import_tasks()
            self.wake()
            items = self.arrival()
            self.review(items)
            self.effect()
            self.second_wake()
            self.apart()
            self.proof()
        finally:
            for device in (self.laptop, self.phone, self.stranger):
                device.stop()

    def _cast(self) -> str:
        if self.server is None:
            return "A real model is asked. The devices are two homes on this machine, each with its own daemon."
        return (
            "The model is scripted: what it says is written in the demo. All else is real: two homes on this machine, "
            "each with its own key and daemon, and the commands that you would type."
        )

    # 1
    def two_devices(self) -> None:
        shown: dict[str, list[StageText]] = {}
        for device in (self.laptop, self.phone):
            made = device.run("init", "--name", device.name)
            port = device.start_daemon()
            shown[device.name] = [
                f"lottisync init --name {device.name}",
                (f"device {made['id'][:16]}…", "dim"),
                (f"daemon on port {port}", "dim"),
            ]
        self.stage.step("Two devices, each with its own key, stores and daemon", shown["laptop"], shown["phone"])

    # 2
    def pair(self) -> None:
        status = self.phone.run("status")
        require(not status["peers"], "phone knows nobody before it is paired")
        found = until(lambda: self.phone.run("status")["nearby"], "phone sees laptop's daemon by mDNS")
        offer = self.laptop.start("pair", "--listen", LOOPBACK)
        code = self.laptop.answer(offer)["code"]
        # Beginning like the right one, or nobody would be asked.
        wrong = code[:-1] + str((int(code[-1]) + 1) % 10)
        refusal = self.phone.refused("pair", wrong, "--listen", LOOPBACK)
        mine = self.phone.run("pair", code, "--listen", LOOPBACK)
        theirs = self.laptop.answer(offer)
        require(mine["words"] == theirs["words"], "both devices show the same words")
        connected = until(lambda: _connected(self.phone) and _connected(self.laptop), "the two daemons are connected")
        require(connected, "connected")
        self.stage.step(
            "They find each other by mDNS and pair with a code that is typed",
            ["lottisync pair", (f"shows {code}", "bold"), (f"words: {' '.join(theirs['words'])}", "green")],
            [
                (f"{found} nearby, not paired", "dim"),
                f"lottisync pair {wrong}",
                (refusal.removeprefix("lottisync: "), "red"),
                f"lottisync pair {code}",
                (f"words: {' '.join(mine['words'])}", "green"),
            ],
        )
        self.turn_away()

    def turn_away(self) -> None:
        """A device that trusts laptop, and that laptop does not know, is refused and shows why."""
        from lottisync.daemon.home import TaskHome
        from lottisync.device import clock

        self.stranger.run("init", "--name", "stranger")
        outsider = TaskHome.open(self.stranger.home)
        outsider.members.add("laptop", TaskHome.open(self.laptop.home).key.certificate, clock.now())
        outsider.close()
        port = self.laptop.run("status")["daemon"]["port"]
        self.stranger.run("devices", "address", "laptop", f"127.0.0.1:{port}")
        self.stranger.start_daemon()

        def error_there() -> str | None:
            [peer] = self.stranger.run("status")["peers"]
            require(not peer["connected"], "an unpaired device is not let in")
            error = peer["failure"] or ""
            return error if "does not know this device" in error else None

        error = until(error_there, "the stranger shows why")
        self.stranger.stop()
        require(self.stranger.run("status")["stores"]["journal"]["entities"] == 0, "the stranger got nothing")
        self.stage.say(("An unpaired device that tries is told:", "dim"), (f"  {error}", "red"))

    # 3
    def import_tasks(self) -> None:
        added = self.laptop.run("import", str(HOUSEHOLD))
        again = self.laptop.run("import", str(HOUSEHOLD))
        count = added["byType"]["task"]
        require(count > 0, "the household's tasks are imported")
        require(again["added"] == 0, "importing twice adds nothing")
        started = time.monotonic()
        until(lambda: len(self.phone.run("task", "list", "--all")) == count, "phone has the tasks")
        waited = time.monotonic() - started
        still_open = len(self.phone.run("task", "list"))
        self.stage.step(
            "A task list is imported on laptop, and is on phone",
            [
                "lottisync import household.json",
                f"{count} tasks, {added['byType']['checklistItem']} checklist items, {added['byType']['entry']} notes",
                ("imported again: nothing added", "dim"),
            ],
            [
                "lottisync task list --all",
                f"{count} tasks, {still_open} of them open",
                (f"after {waited:.1f} s", "dim"),
            ],
        )

    # 4 and 5
    def wake(self) -> None:
        from lottisync.journal.task_file import task_id

        self.task = task_id(TASK)
        before = self._shown(self.laptop)
        agent = self.laptop.run("agent", "create", self.task)
        result = self.laptop.run("agent", "wake", self.task)
        require(result["proposalsMade"] >= 2, "the agent proposes several changes")
        require(self._shown(self.laptop) == before, "nothing changes without a verdict")
        report = self.laptop.run("agent", "report", self.task)
        lines: list[StageText] = [
            f"lottisync agent wake  ({before['title']!r})",
            f"{agent['name']}: {result['proposalsMade']} proposed, the task untouched",
            (report["content"]["tldr"], "italic"),
        ]
        self.stage.step("An agent wakes for one task, reports, and proposes", lines, [])
        if self.server is not None:
            feedback = self.feedback(1)
            require(any("redundant" in text for text in feedback), "a redundant proposal was suppressed")
            self.stage.table("what the model was answered", ["tool", "answer"], _answers(self.last_request().body))

    def _shown(self, device: DemoDevice) -> dict[str, Any]:
        """The task as a device shows it, without who minds it."""
        page: dict[str, Any] = device.run("task", "show", self.task)
        return {key: value for key, value in page.items() if key != "agent"}

    # 5
    def arrival(self) -> list[dict[str, Any]]:
        started = time.monotonic()
        sets = until(lambda: self.phone.run("review"), "phone shows the proposals")
        waited = time.monotonic() - started
        items: list[dict[str, Any]] = [item for one in sets for item in one["items"]]
        self.stage.step("Phone shows them at once", [], [f"lottisync review   ({waited:.1f} s)"])
        rows = [(item["name"], item["summary"], _change(item)) for item in items]
        self.stage.table(f"{sets[0]['agentName']} suggests {len(items)} changes", ["", "", "now → then"], rows)
        return items

    # 6
    def review(self, items: list[dict[str, Any]]) -> None:
        edited, change = self.to_edit(items)
        rejected = self.to_reject([item for item in items if item is not edited])
        lines: list[StageText] = [f"lottisync review edit {edited['name']} {change}"]
        lines.append((_result(self.phone.run("review", "edit", edited["id"], change)), "green"))
        lines.append(f"lottisync review reject {rejected['name']} --reason {REASON!r}")
        lines.append((_result(self.phone.run("review", "reject", rejected["id"], "--reason", REASON)), "red"))
        outcomes = self.phone.run("review", "confirm", "--all")
        require(len(outcomes) == len(items) - 2, "the rest is confirmed")
        lines.append("lottisync review confirm --all")
        lines.append((f"{len(outcomes)} times {_result(outcomes)}", "green"))
        require(self.phone.run("review") == [], "nothing waits any more")
        self.stage.step("The person decides on phone: one edited, one rejected, the rest confirmed", [], lines)

    def to_edit(self, items: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
        for tool, change in (
            ("update_task_estimate", f"minutes={EDITED_MINUTES}"),
            ("set_task_title", "title=Boiler: the yearly service"),
            ("add_checklist_item", "title=Ask about an earlier appointment"),
        ):
            for item in items:
                if item["tool"] == tool:
                    return item, change
        raise DemoFailed("the model proposed nothing that can be edited; run the demo again")

    def to_reject(self, items: list[dict[str, Any]]) -> dict[str, Any]:
        wanted = [item for item in items if item["tool"] == "update_task_priority"]
        return wanted[0] if wanted else items[-1]

    # 6
    def effect(self) -> None:
        on_phone = self.phone.run("task", "show", self.task)
        on_laptop = until(
            lambda: found if (found := self.laptop.run("task", "show", self.task)) == on_phone else None,
            "laptop shows the effects",
        )
        decisions = until(
            lambda: found if (found := self.laptop.run("review", "log", self.task)) else None,
            "laptop has the decisions",
        )
        verdicts = [decision["verdict"] for decision in decisions]
        require(verdicts.count("rejected") == 1, "one decision is a rejection")
        if self.server is not None:
            self.check_effect(on_laptop)
        done = [item for checklist in on_laptop["checklists"] for item in checklist["items"]]
        lines: list[StageText] = [
            f"lottisync task show   ({len(decisions)} decisions arrived)",
            (on_laptop["title"], "bold"),
            f"{on_laptop['priority']}, estimate {on_laptop['estimate']} minutes",
        ]
        lines += [(f"{'✓' if item['isChecked'] else '·'} {item['title']}", "") for item in done]
        self.stage.step("Effects and decisions arrive on laptop", lines, [])

    def check_effect(self, task: dict[str, Any]) -> None:
        titles = {item["title"]: item for checklist in task["checklists"] for item in checklist["items"]}
        require(task["title"] == script.NEW_TITLE, "the title was changed")
        require(task["estimate"] == EDITED_MINUTES, "the estimate is the one the person edited")
        require(task["priority"] == "P2", "the rejected priority has no effect")
        require(titles["Find the manual"]["isChecked"], "the item was ticked")
        require(titles["Find the manual"]["checkedBy"] == "user", "and it was the person who decided")
        require(all(title in titles for title in script.NEW_ITEMS), "the new items are there")

    # 7
    def second_wake(self) -> None:
        result = self.laptop.run("agent", "wake", self.task)
        lines: list[StageText] = ["lottisync agent wake", f"{result['proposalsMade']} proposed"]
        self.stage.step("The next wake has learnt from the verdicts", lines, [])
        if self.server is None:
            return
        sent = self.last_request().texts("user")[-1]
        require(REASON in sent, "the decisions, with the reason, are in the model's context")
        feedback = self.feedback(2)
        require(any("rejected" in text.lower() for text in feedback), "the rejected proposal was refused")
        require(any("already" in text.lower() for text in feedback), "the redundant proposal was refused")
        require(result["proposalsMade"] == 0, "so nothing new waits")
        decisions = sent[sent.index("<decisions>") : sent.index("</decisions>")].splitlines()
        self.stage.say(*((line, "dim") for line in decisions if line.startswith("- ")))
        self.stage.table(
            "the model proposed it again, and was answered", ["tool", "answer"], _answers(self.last_request().body)
        )

    def feedback(self, wake: int) -> list[str]:
        """The tool results in the last request of a wake, as the server recorded them."""
        texts = self.last_request().texts("tool")
        require(texts, f"wake {wake} was answered")
        return texts

    def last_request(self) -> ChatRequest:
        """The model's last prompt, as the server recorded it."""
        assert self.server is not None
        return ChatRequest(len(self.server.requests), self.server.requests[-1])

    # 8
    def apart(self) -> None:
        """Phone is offline; both devices set one due date, and both values are kept until a person settles them."""
        self.phone.stop()
        until(lambda: not _connected(self.laptop), "laptop sees that phone is away")
        self.laptop.run("task", "due", CONTESTED, "2026-12-18")
        self.phone.run("task", "due", CONTESTED, "2026-12-21")
        require(self.laptop.run("conflicts") == [], "apart, neither knows of the other's change")
        self.phone.start_daemon()
        _conflict(self.laptop)
        conflict = _conflict(self.phone)
        values = [value["value"] for value in conflict["values"]]
        keep = ("conflicts", "keep", conflict["id"][-8:], conflict["path"], "1")
        lines: list[StageText] = [
            "lottisync conflicts",
            f"{conflict['title']}: due {' or '.join(values)}?",
            f"lottisync {' '.join(keep)}",
        ]
        self.phone.run(*keep)
        until(lambda: self.laptop.run("conflicts") == [], "settled on phone, it is settled on laptop")
        lines.append(("settled, on both devices", "green"))
        self.stage.step(
            "Phone goes offline. Both change one date, and both values are kept",
            [f"lottisync task due '{CONTESTED}' 2026-12-18", ("phone is out of reach", "dim")],
            [
                ("no daemon runs", "dim"),
                f"lottisync task due '{CONTESTED}' 2026-12-21",
                ("daemon starts again", "dim"),
                *lines,
            ],
        )

    # 9
    def proof(self) -> None:
        def equal() -> dict[str, tuple[str, str]] | None:
            a, b = (device.run("status")["stores"] for device in (self.laptop, self.phone))
            digests = {name: (a[name]["digest"], b[name]["digest"]) for name in a}
            return digests if all(x == y for x, y in digests.values()) else None

        digests = until(equal, "both devices have the same digests")
        require(all(int(left, 16) for left, _ in digests.values()), "and each store holds something")
        until(lambda: _in_step(self.laptop) and _in_step(self.phone), "each daemon says that they are in step")
        left: list[StageText] = [f"{name:8} {mine[:32]}" for name, (mine, _) in digests.items()]
        right: list[StageText] = [f"{name:8} {theirs[:32]}" for name, (_, theirs) in digests.items()]
        self.stage.step("Both devices hold the same, and can prove it", left, right)
        self.stage.say(
            (
                "A digest is one number over everything that a store holds: if two devices show the same digest, they "
                "hold the same.",
                "dim",
            )
        )


def tell(folder: Path, stage: Stage) -> None:
    """Run the story in fresh homes under `folder`. Raises `DemoFailed` if a step did not happen as described."""
    if os.environ.get("LOTTISYNC_MODEL_URL") or os.environ.get("OPENAI_API_KEY"):
        Story(folder, stage, None).tell()
        return
    with ScriptedModelServer(script.demo_script, record_to=folder / "requests.jsonl") as server:
        Story(folder, stage, server).tell()


def require(condition: object, what: str) -> None:
    if not condition:
        raise DemoFailed(f"this should be true, and is not: {what}")


def _connected(device: DemoDevice) -> bool:
    return any(peer["connected"] for peer in device.run("status")["peers"])


def _in_step(device: DemoDevice) -> bool:
    return all(peer["inStep"] for peer in device.run("status")["peers"])


def _conflict(device: DemoDevice) -> dict[str, Any]:
    """The one conflict that the device shows, as soon as it does, with both values."""
    [conflict] = until(lambda: device.run("conflicts"), f"{device.name} shows the conflict")
    require(len(conflict["values"]) == 2, "both values are kept")
    found: dict[str, Any] = conflict
    return found


def _result(outcomes: list[dict[str, Any]]) -> str:
    return ", ".join(sorted({outcome["result"] for outcome in outcomes}))


def _change(item: dict[str, Any]) -> StageText:
    named = {None: "none", True: "done", False: "not done"}

    def plain(value: Any) -> str:
        return named.get(value, "") if value is None or isinstance(value, bool) else str(value)

    parts = []
    for change in item["changes"]:
        before = "" if item["tool"] == "add_checklist_item" else f"{plain(change['before'])} → "
        parts.append(f"{before}{plain(change['after'])}")
    return ", ".join(parts), "green"


def _answers(body: dict[str, Any]) -> list[tuple[StageText, StageText]]:
    """Each tool call of a recorded conversation with what the model was answered."""
    calls: dict[str, str] = {}
    rows: list[tuple[StageText, StageText]] = []
    for message in body["messages"]:
        for call in message.get("tool_calls") or []:
            arguments = json.loads(call["function"]["arguments"])
            brief = {k: v for k, v in arguments.items() if k in ("title", "minutes", "priority")}
            calls[call["id"]] = f"{call['function']['name']} {json.dumps(brief) if brief else ''}".strip()
        if message["role"] == "tool":
            text = str(message["content"])
            style = "yellow" if "kipped" in text or "ejected" in text else "green"
            rows.append((calls.get(message["tool_call_id"], ""), (text, style)))
    return rows
