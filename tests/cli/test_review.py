"""`lottisync review`: list, verdicts, the interactive mode, five languages, exit codes."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.command_line import Result, run_here
from tests.support.proposals import wake_on

from lottisync.cli.main import lottisync
from lottisync.cli.review_keys import KeyInput
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal import tasks
from lottisync.journal.toolbox import ACTIONS
from lottisync.journal.words import value as in_a_line
from lottisync.language import speaking, translated
from lottisync.problem import Problem
from lottisync.review.action import Unreadable
from lottisync.review.cleanup import remove_old_sets
from lottisync.review.completion import Sagas
from lottisync.review.not_carried_out import NotCarriedOut, not_carried_out
from lottisync.review.retraction import open_proposals
from lottisync.review.verdict import Verdicts
from lottisync.store import database
from lottisync.store.instant import iso
from lottisync.web.words import value as on_the_page

AGENT = "laura"
BATCH = {"items": [{"title": title} for title in ("Milk", "Eggs", "Salt")]}


class Killed(BaseException):
    pass


class DiesBeforeTheEffect(Sagas):
    def take_effect(self, *_: Any) -> Any:
        raise Killed


class Desk:
    """A home, what its agent proposes, and the commands that a person types."""

    def __init__(self, path: Path) -> None:
        self.home = TaskHome.create(path, "laptop")
        with self.home.journal.transaction(clock.now(), HIGH) as tx:
            tasks.add_task(tx, "t1", "Bake bread", {"estimate": 30})
            tasks.add_item(tx, "i1", "t1", "Flour")
        with self.home.agent.transaction(clock.now(), HIGH) as tx:
            tx.put(AGENT, "agent", {"agentId": AGENT, "displayName": "Laura"})

    def propose(self, tool: str, args: dict[str, Any], run: str = "r1") -> list[str]:
        waiting = open_proposals(self.home.agent, ACTIONS, clock.now(), agent_id=AGENT)
        builder = wake_on(self.home.journal, self.home.agent, run=run, waiting=[one.id for one in waiting])
        assert "queued" in builder.queue(tool, args, clock.now())
        with self.home.agent.transaction(clock.now(), LOW) as tx:
            return builder.build(tx, clock.now())

    def dies_while_confirming(self, item: str) -> None:
        """A command that is killed when the verdict is written, and its effect is not."""
        stores = self.home.journal, self.home.agent
        dying = Verdicts(*stores, ACTIONS, device_id="laptop", new_id=clock.new_id, sagas=DiesBeforeTheEffect)
        with pytest.raises(Killed):
            dying.confirm(item, clock.now())

    def edit(self, **fields: Any) -> None:
        with self.home.journal.transaction(clock.now(), HIGH) as tx:
            tasks.edit_task(tx, "t1", fields)

    @property
    def page(self) -> tasks.TaskPage:
        with self.home.journal.reading() as reader:
            return tasks.page(reader, "t1")

    def type(self, *words: str, keys: Sequence[str] = (), code: int = 0, language: str = "C") -> str:
        environment = {
            "LANG": language,
            "LC_ALL": "",
            "LANGUAGE": "",
            "LOTTISYNC_LANGUAGE": "",
            "NO_COLOR": "1",
            "COLUMNS": "160",
        }
        done = CliRunner(env=environment).invoke(
            lottisync, ["review", *words, "--home", str(self.home.path)], input="".join(f"{key}\n" for key in keys)
        )
        if isinstance(done.exception, Problem):
            assert done.exception.exit_code == code, done.exception
            return done.exception.message
        assert done.exit_code == code, (done.output, done.exception)
        return done.output

    def name(self, place: int = 0) -> str:
        """The name of an item that waits now."""
        names = [item["name"] for one in self.ask() for item in one["items"]]
        return str(names[place])

    def ask(self, *words: str, code: int = 0) -> Any:
        return Result(code, self.type(*words, "--json", code=code), "").content


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "home")
    yield made
    made.home.close()


Verb = Callable[[Desk], list[dict[str, Any]]]


def test_rev_860_an_answer_names_the_task_as_it_was_shown(desk: Desk) -> None:
    """REV-860: a new title was printed as the name of the task that gets it."""
    desk.propose("set_task_title", {"title": "Oiling the chain"})
    name = desk.name()
    desk.type()
    assert desk.type("confirm", name) == f'applied  {name}  Bake bread: Set title to "Oiling the chain"\n'
    assert f"undone  {name}  Oiling the chain: " in desk.type("undo", name)


def test_rev_860_an_answer_names_the_item_as_it_was_shown(desk: Desk) -> None:
    """REV-860"""
    desk.propose("update_checklist_item", {"id": "i1", "title": "Rye flour"})
    name = desk.name()
    shown = desk.type("show", name)
    assert "Flour" in shown
    summary = shown.split("\n")[1]
    assert desk.type("confirm", name) == f"applied  {name}  Bake bread: {summary}\n"


def test_rev80_the_list_shows_before_and_after(desk: Desk) -> None:
    """REV-80, S1-34, S1-42: numbered, and whose changes to what."""
    assert desk.type() == "Nothing waits for you.\n"
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.propose("suggest_checklist_completion", {"items": [{"id": "i1", "reason": "It says so in the note"}]}, "r2")
    shown = desk.type()
    assert 'For "Bake bread" Laura suggests 1 change' in shown
    assert "30 → 60" in shown
    assert "not done → done" in shown
    assert desk.type("list") == shown
    assert [one["items"][0]["summary"] for one in desk.ask()] == ["Set estimate to 60 minutes", 'Check off: "Flour"']
    assert "why: It says so in the note" in desk.type("show", desk.name(1))
    assert desk.ask("show", desk.name())["args"] == {"minutes": 60}


def test_rev81_each_verb_has_its_effect_and_result(desk: Desk) -> None:
    """REV-81, S1-36, S1-37, S1-39, S1-43, S1-44: several items at once, in the order of the list."""
    desk.propose("add_multiple_checklist_items", BATCH)
    desk.propose("update_task_estimate", {"minutes": 60}, "r2")
    desk.propose("set_task_title", {"title": "Rye"}, "r3")
    assert [one["result"] for one in desk.ask("confirm", desk.name(1), desk.name(0))] == ["applied", "applied"]
    assert [item.title for item in desk.page.items] == ["Flour", "Milk", "Eggs"]
    items = {item["summary"]: item["id"] for one in desk.ask("--all") for item in one["items"]}
    assert desk.ask("edit", items["Set estimate to 60 minutes"], "minutes=75")[0]["result"] == "applied"
    assert desk.page.task.estimate == 75
    assert desk.ask("undo", items["Set estimate to 60 minutes"])[0]["result"] == "undone"
    assert desk.page.task.estimate == 30
    assert desk.ask("reject", items['Set title to "Rye"'], "--reason", "no")[0]["result"] == "rejected"
    assert desk.ask("defer", items['Add: "Salt"'], "--for", "2d")[0]["result"] == "deferred"
    assert desk.ask() == []
    assert desk.ask("undo", items['Add: "Salt"'])[0]["result"] == "undone"
    assert len(desk.ask()) == 1
    assert [one["result"] for one in desk.ask("dismiss", items['Add: "Salt"'])] == ["rejected"]
    assert desk.ask("keep", items['Add: "Salt"'])[0]["result"] == "already"
    outcomes = {one["summary"]: one["outcome"] for one in desk.ask("ledger", "t1")}
    assert outcomes == {
        'Add: "Milk"': "confirmed",
        'Add: "Eggs"': "confirmed",
        'Add: "Salt"': "rejected",
        "Set estimate to 60 minutes": "undone",
        'Set title to "Rye"': "rejected",
    }
    assert "Laura" in desk.type("ledger")
    assert len(desk.ask("log", "t1")) == 8


def test_rev480_what_was_deleted_and_brought_back_is_said_in_words(desk: Desk) -> None:
    """REV-480: and no register by its name, with a value that nobody sees."""
    desk.propose("update_task_estimate", {"minutes": 60})
    for command, said in (
        ("delete", "it was deleted, by the user"),
        ("undelete", "it was deleted and brought back, by the user"),
    ):
        assert run_here("task", command, "t1", home=desk.home.path).code == 0
        shown = desk.type("confirm", desk.name(), code=1)
        assert said in shown
        assert "deletedAt" not in shown
        assert "it was 30 and is now 30" not in shown
    assert desk.ask("confirm", desk.name(), "--anyway")[0]["result"] == "applied"


def test_rev81_confirm_all(desk: Desk) -> None:
    """REV-81, S1-39."""
    desk.propose("add_multiple_checklist_items", BATCH)
    desk.type()
    assert [one["result"] for one in desk.ask("confirm", "--all")] == ["applied"] * 3
    assert desk.ask("confirm", "--all") == []


def test_rev82_what_could_not_be_done_is_exit_code_1_and_a_wrong_call_2(desk: Desk) -> None:
    """REV-82, REV-325, S1-71: was, is now, by whom, proposed."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.edit(estimate=90)
    name = desk.name()
    shown = desk.type("confirm", name, code=1)
    assert "changed since" in shown
    assert "Estimate: it was 30 and is now 90, by the user; proposed is 60" in shown
    [outcome] = desk.ask("confirm", name, code=1)
    assert (outcome["result"], outcome["stale"][0]["now"]) == ("stale", 90)
    assert desk.ask("confirm", name, "--anyway")[0]["result"] == "applied"
    assert "no proposal has the name" in desk.type("confirm", "1", code=1)
    assert "no proposal has the name" in desk.type("undo", "nothing", code=1)
    assert "give an ITEM" in desk.type("confirm", code=2)
    assert "give an ITEM" in desk.type("confirm", name, "--all", code=2)
    assert "like 2d" in desk.type("defer", name, "--for", "soon", code=2)
    assert "--interactive" in desk.type("-i", "--json", code=2)


@pytest.mark.parametrize("which", ["²", "٣", "0", "9999", "10000", ".0", "x.²", "\udcff.0", "\x1b[2J.0"])
def test_rev82_a_wrong_number_or_id(desk: Desk, which: str) -> None:
    """REV-82: a clear sentence, also for digits of other scripts."""
    desk.propose("update_task_estimate", {"minutes": 60})
    said = desk.type("confirm", which, code=1)
    assert "no proposal has the name" in said
    assert "\x1b" not in said


def test_s1_42_before_and_after_have_their_colours(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """S1-42, REV-80: what goes is red, what comes is green; in a pipe there is no colour."""
    desk.propose("update_task_estimate", {"minutes": 60})
    assert "\x1b" not in desk.type("show", desk.name())
    environment = {"LANG": "C", "FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "160"}
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = (
        CliRunner(env=environment)
        .invoke(lottisync, ["review", "show", desk.name(), "--home", str(desk.home.path)])
        .output
    )
    assert "\x1b[31m30\x1b[0m → \x1b[32m60\x1b[0m" in shown


VERBS = ("show", "confirm", "edit", "reject", "defer", "undo", "keep", "dismiss")


@pytest.mark.parametrize("verb", VERBS)
def test_rev82_each_verb_has_its_exit_codes_and_one_json_value(desk: Desk, verb: str) -> None:
    """REV-82, REV-81, CLI-7: 0 done, 1 could not be done, 2 a wrong call."""
    more = ["minutes=75"] if verb == "edit" else []
    desk.propose("update_task_estimate", {"minutes": 60})
    item = desk.ask()[0]["items"][0]["id"]
    assert "no proposal has the name" in desk.type(verb, "x.0", *more, code=1)
    assert desk.type(verb, "--nonsense", code=2) is not None
    desk.type(verb, code=2)
    if verb in ("undo", "keep"):
        desk.type("confirm", item)
    found = desk.ask(verb, item, *more)
    assert isinstance(found, dict if verb == "show" else list)
    desk.ask("show", item)
    assert desk.ask(verb, item, *more) or verb == "dismiss"  # nothing is left in its set


def test_cli13_a_title_cannot_pass_for_something_else_on_the_screen(desk: Desk) -> None:
    """CLI-13, REV-60: neither move the cursor, nor turn the direction of writing, nor make lines of its own."""
    title = "Rye\x1b[2K\x1b[1A\x08\x9b2J\u202eeyR"
    desk.propose("set_task_title", {"title": title})
    desk.propose("set_task_status", {"status": "BLOCKED", "reason": "no flour\n9  OPEN\x07"}, "r2")
    shown = (
        desk.type()
        + desk.type("show", desk.name())
        + desk.type("show", desk.name(1))
        + desk.type("ledger")
        + desk.type("-i", keys=["q"])
    )
    assert not {sign for sign in shown if not sign.isprintable()} - {"\n"}
    assert "Rye␛[2K" in shown
    assert not [line for line in desk.type("ledger").splitlines() if line.startswith("9  OPEN")]
    assert desk.ask()[0]["items"][0]["args"] == {"title": title}


def test_rev50_a_command_that_was_killed_is_finished_by_the_next_one(desk: Desk) -> None:
    """REV-50: also where no daemon runs."""
    desk.propose("update_task_estimate", {"minutes": 60})
    item = desk.ask()[0]["items"][0]["id"]
    desk.dies_while_confirming(item)
    assert desk.page.task.estimate == 30
    assert desk.ask() == []
    assert desk.page.task.estimate == 60


def test_rev943_status_shows_a_verdict_that_was_cut_off_and_one_that_failed(desk: Desk) -> None:
    """REV-943: a saga that can be read, then one whose row is damaged, then one that was given up."""
    desk.propose("update_task_estimate", {"minutes": 60})
    item = desk.ask()[0]["items"][0]
    desk.dies_while_confirming(item["id"])
    begun = [NotCarriedOut(item["name"], None)]
    assert not_carried_out(desk.home.agent, clock.now()) == begun
    with desk.home.agent.transaction(clock.now(), LOW) as tx:
        tx.execute("update saga_log set request = 'no JSON'")
    assert not_carried_out(desk.home.agent, clock.now()) == begun
    assert f"The verdict on {item['name']} was begun" in run_here("status", home=desk.home.path).out
    assert [one["name"] for one in desk.ask()[0]["items"]] == [item["name"]]
    shown = " ".join(run_here("status", home=desk.home.path).out.split())
    assert f"The verdict on {item['name']} was not carried out: its saga cannot be read" in shown
    assert f"(lottisync review show {item['name']})" in shown
    desk.type("confirm", item["name"])
    assert run_here("status", "--json", home=desk.home.path).json["unfinished"] == []


def test_rev83_one_by_one_with_the_keys_of_git_add_p(desk: Desk) -> None:
    """REV-83: y n e d s b q ?"""
    desk.propose("add_multiple_checklist_items", {"items": [{"title": t} for t in "ABCDEF"]})
    shown = desk.type("-i", keys=["y", "n", "not needed", "e", "C2", "x", "d", "s", "q"])
    assert "(1/6)" in shown
    assert "Confirm this? [y,n,e,d,s,b,q,?]" in shown
    assert "q  quit: the other items wait" in shown
    assert [item.title for item in desk.page.items] == ["Flour", "A", "C2"]
    outcomes = [(one["outcome"], [d.get("reason") for d in one["decisions"]]) for one in desk.ask("ledger", "t1")]
    assert outcomes == [
        ("confirmed", [None]),
        ("rejected", ["not needed"]),
        ("confirmed", [None]),
        ("deferred", [None]),
        ("pending", []),
        ("pending", []),
    ]


def test_rev414_what_has_changed_is_shown_before_it_is_confirmed_over(desk: Desk) -> None:
    """REV-414, REV-413, REV-44"""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.edit(estimate=90)
    assert "is now 90" in desk.type("-i", keys=["y"])
    assert desk.page.task.estimate == 90
    assert desk.type("-i", keys=["y", "y"]).count("Confirm this?") == 2
    assert desk.page.task.estimate == 60
    assert desk.type("-i") == "Nothing waits for you.\n"


def test_rev38_check_names_a_lying_index_and_reindex_mends_it(desk: Desk) -> None:
    """REV-38, REV-130: a row that hides what waits."""
    desk.propose("update_task_estimate", {"minutes": 60})
    assert len(desk.ask()) == 1
    with desk.home.agent.transaction(clock.now(), HIGH) as tx:
        tx.execute("update change_set_index set settled = 1, open = 0, status = 'resolved'")
    assert desk.ask() == []
    done = CliRunner().invoke(lottisync, ["check", "--json", "--home", str(desk.home.path)])
    [fault] = json.loads(done.output)["faults"]["agent"]
    assert (done.exit_code, "says resolved, and it is pending" in fault) == (1, True)
    assert "lottisync review reindex" in CliRunner().invoke(lottisync, ["check", "--home", str(desk.home.path)]).output
    assert "computed again" in desk.type("reindex")
    assert len(desk.ask()) == 1
    assert CliRunner().invoke(lottisync, ["check", "--home", str(desk.home.path)]).exit_code == 0


@pytest.mark.parametrize(
    ("language", "heading", "change", "nothing"),
    [
        ("de_DE.UTF-8", "Für „Bake bread“ schlägt Laura 1 Änderung vor", "Aufwand auf 60 Minuten setzen", "Nichts"),
        ("es_ES.UTF-8", "Para «Bake bread» Laura propone 1 cambio", "estimación en 60 minutos", "Nada"),
        ("fr_FR.UTF-8", "Pour « Bake bread » Laura propose 1 changement", "à 60 minutes", "Rien"),
        ("ro_RO.UTF-8", "Pentru „Bake bread” Laura propune 1 schimbare", "la 60 de minute", "Nu te"),
    ],
)
def test_s1_63_the_readers_language(desk: Desk, language: str, heading: str, change: str, nothing: str) -> None:
    """S1-63, REV-14: from LANG, or as an option of the command or of `review` itself."""
    assert desk.type(language=language).startswith(nothing)
    desk.propose("update_task_estimate", {"minutes": 60})
    by_lang = desk.type(language=language)
    assert heading in by_lang
    assert change in by_lang
    assert desk.type("--language", language[:2]) == by_lang
    assert desk.type("list", "--language", language[:2]) == by_lang
    assert change in desk.type("--language", language[:2], "show", desk.name())
    assert desk.ask()[0]["items"][0]["changes"] == [{"path": "estimate", "before": 30, "after": 60}]


def test_rev80_what_was_undone_is_called_so_and_not_retracted(desk: Desk) -> None:
    """REV-80, REV-47: in the list, on the page of the item, and where a verdict on it is refused."""
    desk.propose("update_task_estimate", {"minutes": 60})
    item = desk.ask()[0]["items"][0]["id"]
    desk.type("confirm", item)
    desk.type("undo", item)
    said = desk.type("reject", item)
    assert re.fullmatch(
        r"left as it is  \w{4}\.0  Bake bread: Set estimate to 60 minutes  it was undone already\n", said
    )
    assert "undone" in desk.type("show", item)
    assert "retracted" not in desk.type("show", item)
    assert "bleibt, wie es ist" in desk.type("confirm", item, language="de_DE.UTF-8")


def test_cli_28_status_says_how_many_proposals_wait(desk: Desk) -> None:
    """CLI-28: no daemon runs here."""

    def status(*words: str) -> str:
        done = CliRunner(env={"NO_COLOR": "1"}).invoke(lottisync, ["status", *words, "--home", str(desk.home.path)])
        assert done.exit_code == 0, done.output
        return done.output

    assert "for you" not in status()
    assert json.loads(status("--json"))["proposalsWaiting"] == 0
    desk.propose("add_multiple_checklist_items", BATCH)
    assert "3 proposals wait for you: lottisync review\n" in status()
    desk.type("reject", desk.name())
    assert json.loads(status("--json"))["proposalsWaiting"] == 2
    desk.type("confirm", desk.name(1))
    assert "1 proposal waits for you" in status()


def test_cli_28_an_index_that_cannot_be_kept_does_not_hide_the_rest(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who looks at the status of a device with a full disk, or a store that somebody holds, looks for that."""
    monkeypatch.setattr(database, "BUSY_MILLIS", 20)
    desk.propose("update_task_estimate", {"minutes": 60})
    with desk.home.agent.transaction(clock.now(), HIGH):
        done = CliRunner().invoke(lottisync, ["status", "--json", "--home", str(desk.home.path)])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["proposalsWaiting"] is None
    assert "the proposals that wait for you could not be counted" in done.stderr


def test_rev103_a_verdict_of_a_later_version_is_shown_as_it_is_called(desk: Desk) -> None:
    """REV-313: the log goes on."""
    [change_set] = desk.propose("update_task_estimate", {"minutes": 60})
    later = {
        "agentId": AGENT,
        "taskId": "t1",
        "changeSetId": change_set,
        "verdict": "delegated",
        "humanSummary": "Ask Bo",
    }
    with desk.home.agent.transaction(clock.now(), HIGH) as tx:
        tx.put("d-later", "changeDecision", later)
    assert "delegated" in desk.type("log", "t1")


def test_rev84_a_name_that_was_printed_means_the_same_item_for_ever(desk: Desk) -> None:
    """REV-125, REV-84, REV-85: what is decided leaves the list, and no name moves; the same key twice decides nothing
    else."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.propose("add_multiple_checklist_items", BATCH, "r2")
    names = {item["summary"]: item["name"] for one in desk.ask() for item in one["items"]}
    assert len(set(names.values())) == 4
    estimate = names["Set estimate to 60 minutes"]
    assert desk.type("reject", estimate) == f"rejected  {estimate}  Bake bread: Set estimate to 60 minutes\n"
    assert "already" in desk.type("reject", estimate)
    assert {item["summary"]: item["name"] for one in desk.ask() for item in one["items"]}.items() <= names.items()
    assert estimate in desk.type("ledger")
    first = names['Add: "Milk"']
    assert [one["result"] for one in desk.ask("confirm", f"{first}-1")] == ["applied", "applied"]
    assert [item.title for item in desk.page.items] == ["Flour", "Milk", "Eggs"]
    assert desk.ask("undo", estimate)[0]["result"] == "undone"
    assert f"has no item {first.split('.')[0]}." in desk.type("confirm", f"{first}-9", code=1)


def test_rev126_a_beginning_that_two_sets_have_is_refused_with_the_candidates(desk: Desk) -> None:
    """REV-126."""
    item = {"id": "", "toolName": "set_task_title", "args": {"title": "Rye"}, "humanSummary": "", "digest": ""}
    for ident in ("abcd1", "abcd2"):
        items = [{**item, "id": f"{ident}.0", "operationId": ident}]
        fields = {"agentId": AGENT, "taskId": "t1", "items": items, "createdAt": iso(clock.now())}
        with desk.home.agent.transaction(clock.now(), LOW) as tx:
            tx.put(ident, "changeSet", fields)
    said = desk.type("confirm", "abcd.0", code=1)
    assert "abcd1.0, abcd2.0" in said
    assert {item["name"] for one in desk.ask("--all") for item in one["items"]} <= {"abcd1.0", "abcd2.0"}
    assert "Rye" in desk.type("show", "abcd2.0")


def test_rel_d12_a_verdict_of_a_later_version_ends_no_command(desk: Desk) -> None:
    """REV-45, ENT-15, REL-D12: `review log` was a KeyError. What stands beside it can be decided."""
    desk.propose("add_checklist_item", {"title": "Milk"})
    desk.propose("add_checklist_item", {"title": "Eggs"}, "r2")
    odd, other = desk.name(0), desk.name(1)
    assert desk.ask("confirm", odd)[0]["result"] == "applied"
    with desk.home.agent.reading() as reader:
        [decision] = [document.id for document in reader.documents("changeDecision")]
    with desk.home.agent.transaction(clock.now(), HIGH) as tx:
        tx.put(decision, "changeDecision", {"verdict": "pondered"})
    for call in (["log", "t1"], ["ledger"], ["--all"], ["show", odd], ["--json"]):
        assert "Traceback" not in desk.type(*call)
    assert desk.ask("confirm", other)[0]["result"] == "applied"


def elsewhere(desk: Desk, statement: str) -> None:
    """Another process does something with the journal of this home; `tx` is its transaction."""
    script = f"""
import sys
from pathlib import Path
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.entities.entity import HIGH
from lottisync.journal import tasks
home = TaskHome.open(Path(sys.argv[1]))
with home.journal.transaction(clock.now(), HIGH) as tx:
    {statement}
home.close()
"""
    subprocess.run([sys.executable, "-c", script, str(desk.home.path)], check=True)


NOTE = 'tasks.add_note(tx, "e1", "t1", "The flour is here")'


@pytest.mark.parametrize("verb", ["confirm", "reject", "edit", "defer", "dismiss"])
def test_rev86_another_process_changes_the_target_and_then_the_cited_note(desk: Desk, verb: str) -> None:
    """REV-122, REV-86, REV-64: between `review` and the verdict. Both are refused, and what is there now is shown."""
    elsewhere(desk, NOTE)
    args = {"id": "i1", "isChecked": True, "reason": "The note says that it is here", "evidenceEntryIds": ["e1"]}
    desk.propose("update_checklist_items", {"items": [args]})
    name = desk.name()
    more = ["reason=The note says that it came"] if verb == "edit" else []
    elsewhere(desk, 'tx.put("i1", "checklistItem", {"title": "Rye flour"})')
    said = desk.type(verb, name, *more, code=1)
    assert "not as it was shown" in said
    assert "Rye flour" in said
    assert "The flour is here" in said
    elsewhere(desk, 'tx.put("e1", "entry", {"text": "The flour is gone"})')
    said = desk.type(verb, name, *more, code=1)
    assert "not as it was shown" in said
    assert "The flour is gone" in said
    assert [one["outcome"] for one in desk.ask("ledger")] == ["pending"]
    done = {"reject": "rejected", "dismiss": "rejected", "defer": "deferred"}.get(verb, "applied")
    assert desk.ask(verb, name, *more)[0]["result"] == done


@pytest.mark.parametrize("first", [["defer"], ["reject", "undo"], ["defer", "undo"], ["reject", "undo", "defer"]])
def test_rev150_the_answer_to_ones_own_defer_or_undo_is_a_page(desk: Desk, first: list[str]) -> None:
    """REV-150: an item that was put off, or whose rejection was taken back, can be decided at once."""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    for verb in first:
        desk.type(verb, name)
    assert desk.ask("confirm", name)[0]["result"] == "applied"
    assert desk.page.task.estimate == 60


@pytest.mark.parametrize("when", ["before", "after"])
def test_rev150_what_else_has_changed_is_shown_after_ones_own_undo_too(desk: Desk, when: str) -> None:
    """REV-150, REV-64: a change by somebody else is shown first, whether it came before the undo or after it."""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    desk.type("reject", name)
    if when == "before":
        desk.edit(estimate=45)
    desk.type("undo", name)
    if when == "after":
        desk.edit(estimate=45)
    said = desk.type("confirm", name, code=1)
    assert "not as it was shown" in said
    assert "45" in said
    assert desk.page.task.estimate == 45


def test_rev150_a_decision_of_another_device_is_shown_after_ones_own_defer_too(desk: Desk) -> None:
    """REV-150: the kept digest has the person's own decision in it, and no other."""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    desk.type("defer", name)
    item = desk.ask("list", "--all")[0]["items"][0]["id"]
    phone = Verdicts(desk.home.journal, desk.home.agent, ACTIONS, device_id="phone", new_id=clock.new_id)
    phone.defer(item, clock.now() + 3_600_000, clock.now())
    assert "not as it was shown" in desk.type("confirm", name, code=1)


@pytest.mark.parametrize(
    "call", [("confirm",), ("reject",), ("edit", "minutes=75"), ("confirm", "--all"), ("defer",), ("dismiss",)]
)
def test_rev86_what_was_never_shown_here_is_not_decided(desk: Desk, call: tuple[str, ...]) -> None:
    """REV-86, REV-1230: a proposal that came after the page was printed; nothing of the call is done."""
    [known] = desk.propose("update_task_priority", {"priority": "P1"})
    desk.type()
    [unseen] = desk.propose("update_task_estimate", {"minutes": 60}, "r2")
    verb, *more = call
    one = verb in ("edit", "dismiss")
    items = [] if more == ["--all"] else [f"{unseen}.0"] if one else [f"{known}.0", f"{unseen}.0"]
    assert "never shown on this device" in desk.type(verb, *items, *more, code=2)
    assert {one["outcome"] for one in desk.ask("ledger")} == {"pending"}


def test_rev1231_a_program_says_itself_what_was_shown(desk: Desk) -> None:
    """REV-1231: `--shown`, for one item; a wrong digest is refused with the present page, which has the right one."""
    [change_set] = desk.propose("update_task_estimate", {"minutes": 60})
    [outcome] = desk.ask("confirm", f"{change_set}.0", "--shown", f"{'0' * 64}.{'0' * 64}", code=1)
    assert desk.page.task.estimate == 30
    digest = outcome["view"]["shown"]
    desk.propose("update_task_priority", {"priority": "P1"}, "r2")
    assert "the digest of one ITEM" in desk.type("confirm", "--all", "--shown", digest, code=2)
    assert desk.ask("confirm", f"{change_set}.0", "--shown", digest)[0]["result"] == "applied"


def test_rev123_in_a_terminal_it_is_shown_and_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """REV-123: it is shown before the question, and a no leaves it."""
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    [change_set] = desk.propose("update_task_estimate", {"minutes": 60})
    assert "nothing was changed" in desk.type("confirm", f"{change_set}.0", keys=["n"], code=1)
    assert desk.page.task.estimate == 30
    said = desk.type("confirm", f"{change_set}.0", keys=["y"])
    shown, asked, _ = said.partition("Confirm this?")
    assert "Set estimate to 60 minutes" in shown
    assert asked
    assert desk.page.task.estimate == 60


def test_rev86_what_was_shown_is_forgotten_with_the_set(desk: Desk) -> None:
    """REV-86, REV-36: else the table would grow without end."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.type("reject", desk.name())
    remove_old_sets(desk.home.agent, clock.now() + 91 * 86_400_000)
    with desk.home.agent.reading() as reader:
        assert reader.local("select * from item_shown") == []


def test_rev87_the_page_has_all_that_will_be_written(desk: Desk) -> None:
    """REV-87, REV-D4: on each page: the reason of a status, the details of a follow-up, the words that are cited."""
    elsewhere(desk, NOTE)
    reason = "The note says that it is here"
    tick = {"id": "i1", "isChecked": True, "reason": reason, "evidenceEntryIds": ["e1"]}
    task = {"title": "Buy salt", "dueDate": "2030-01-02", "priority": "P1", "description": "The coarse one"}
    [ticked] = desk.propose("update_checklist_items", {"items": [tick]})
    [blocked] = desk.propose("set_task_status", {"status": "BLOCKED", "reason": "no yeast"}, "r2")
    [followed] = desk.propose("create_follow_up_task", task, "r3")
    for change_set, words in {
        ticked: ("Laura", "Bake bread", "not done → done", reason, "The flour is here"),
        blocked: ("Status: open → blocked", "Reason: none → no yeast"),
        followed: ("Buy salt", "Due date: 2030-01-02", "Priority: P1", "Description: The coarse one"),
    }.items():
        for shown in (desk.type("show", f"{change_set}.0"), desk.type(), desk.type("-i", keys=["s", "s", "s"])):
            assert [word for word in words if word not in shown] == [], shown


def test_rev88_confirm_one_task_or_one_set(desk: Desk) -> None:
    """REV-88: what waits elsewhere goes on waiting."""
    elsewhere(desk, 'tasks.add_task(tx, "t2", "Sweep")')
    [batch] = desk.propose("add_multiple_checklist_items", BATCH)
    desk.propose("update_task_estimate", {"minutes": 60}, "r2")
    desk.type()
    assert desk.ask("confirm", "--task", "t2") == []
    assert [one["result"] for one in desk.ask("confirm", "--set", batch[:4])] == ["applied"] * 3
    assert desk.page.task.estimate == 30
    assert "give an ITEM" in desk.type("confirm", "--all", "--task", "t1", code=2)
    assert [one["result"] for one in desk.ask("confirm", "--task", "t1")] == ["applied"]


def test_rev89_ledger_and_log_say_what_took_effect_and_what_counts(desk: Desk) -> None:
    """REV-124, REV-89, REV-D10: the edited value, no reason that was taken back, and names that `undo` takes."""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    desk.type("reject", name, "--reason", "far too long")
    desk.type("undo", name)
    desk.type()
    desk.type("edit", name, "minutes=75")
    ledger, log = desk.type("ledger"), desk.type("log", "t1")
    assert "Set estimate to 75 minutes" in ledger
    assert "far too long" not in ledger
    lines = [line for line in log.splitlines() if line.strip()]
    assert [word in line for word, line in zip(("rejected", "undone", "confirmed"), lines, strict=True)] == [True] * 3
    assert all(line.startswith(name) for line in lines)
    assert desk.ask("undo", desk.ask("log", "t1")[0]["itemName"])[0]["result"] == "undone"


def test_rev_950_an_edited_item_shows_the_value_that_took_effect(desk: Desk) -> None:
    """REV-950: on `review --all` and `review show`, while another item of its set waits."""
    desk.propose("add_multiple_checklist_items", BATCH)
    desk.type()
    name = desk.name()
    desk.type("edit", name, "title=Oat milk")
    for page in (desk.type("--all"), desk.type("show", name)):
        first = next(line for line in page.splitlines() if "Oat milk" in line)
        assert "Milk" not in first
    [one] = desk.ask("--all")
    assert "Oat milk" in one["items"][0]["summary"]
    assert one["items"][0]["args"]["title"] == "Milk"  # what the agent proposed


def test_rev_1010_a_value_that_took_effect_is_there_once(desk: Desk) -> None:
    """REV-1010: it read `60 → 60`, as if it were still to be done."""
    desk.propose("update_task_estimate", {"minutes": 60})
    assert "30 → 60" in desk.type()
    name = desk.name()
    desk.type("confirm", name)
    shown = desk.type("show", name)
    assert "→" not in shown
    assert "  60\n" in shown
    desk.type("undo", name)
    assert "30 → 60" in desk.type("show", name)


def test_rev_1011_the_log_has_the_order_of_the_proposal(desk: Desk) -> None:
    """REV-1011: the decisions of one call are of one instant, and came in the order of their ids."""
    titles = [f"Step {n}" for n in range(9)]
    desk.propose("add_multiple_checklist_items", {"items": [{"title": each} for each in titles]})
    desk.type()
    desk.type("confirm", "--all")
    assert [one["summary"] for one in desk.ask("log", "t1")] == [f'Add: "{each}"' for each in titles]


def test_rev_1080_the_log_is_in_the_readers_language(desk: Desk) -> None:
    """REV-1080: the ledger was, and the log was not."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.type()
    desk.ask("edit", desk.name(), "minutes=90")
    assert "Set estimate to 90 minutes" in desk.type("log", "t1")
    assert "Aufwand auf 90 Minuten setzen" in desk.type("log", "t1", "--language", "de")


def test_rev_1012_a_stale_proposal_names_the_call_that_confirms_it_all_the_same(desk: Desk) -> None:
    """REV-1012: the second refusal of what was seen by then was a dead end."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.type()
    name = desk.name()
    desk.edit(estimate=45)
    assert "--anyway" not in desk.type("confirm", name, code=1)  # shown now, and not yet decided on
    assert f"lottisync review confirm {name} --anyway" in desk.type("confirm", name, code=1)
    assert desk.ask("confirm", name, "--anyway")[0]["result"] == "applied"


def test_rev_951_a_refused_range_says_which_item_is_missing(desk: Desk) -> None:
    """REV-951: it only said that nothing has the name; nothing of the range is decided."""
    desk.propose("add_multiple_checklist_items", BATCH)
    desk.type()
    names = [desk.name(place) for place in range(3)]
    stem = names[0].partition(".")[0]
    said = desk.type("confirm", f"{stem}.1-4", code=1)
    assert f"{stem}.3, {stem}.4" in said
    assert f"{stem}.2" not in said
    assert "begins after its end" in desk.type("confirm", f"{stem}.2-1", code=1)
    assert [desk.name(place) for place in range(3)] == names


def test_rev_952_a_wrong_value_is_refused_in_the_readers_language(desk: Desk) -> None:
    """REV-952: it was pydantic's English sentence."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.type()
    name = desk.name()
    wrong = desk.type("edit", name, "minutes=0", code=1, language="de_DE")
    assert "1 bis 1440" in wrong
    assert "minutes go" not in wrong
    typed = desk.type("edit", name, "minutes=soon", code=1, language="de_DE")
    assert "soon" in typed
    assert "are a number" not in typed
    assert "minutes are a number" in desk.type("edit", name, "minutes=soon", code=1)
    assert desk.page.task.estimate == 30


def test_rev_952_what_the_library_finds_is_said_in_words_of_ours(desk: Desk) -> None:
    """REV-952"""
    read = ACTIONS.read("add_checklist_item", {"title": 7, "colour": "red"})
    assert isinstance(read, Unreadable)
    assert "title: it is a text" in str(read.reason)
    with speaking("de"):
        assert "title: es ist ein Text" in translated(read.reason)
        assert "colour: dieses Argument gibt es nicht" in translated(read.reason)


def test_rev411_back_and_an_edit_that_is_typed_again(desk: Desk) -> None:
    """REV-411, REV-412: a wrong value changes nothing, and one can go back to what was skipped."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.propose("set_task_status", {"status": "BLOCKED", "reason": "no yeast"}, "r2")
    shown = desk.type("-i", keys=["s", "b", "e", "soon", "e", "75", "q"])
    assert [line for line in shown.splitlines() if line.startswith("(")] == ["(1/2)", "(2/2)", "(1/2)", "(2/2)"]
    assert "could not be done" in shown
    assert desk.page.task.estimate == 75


def test_rev_600_the_answer_to_an_edit_says_what_took_effect(desk: Desk) -> None:
    """REV-600: and not what was proposed; in the reader's language."""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    said = desk.type("edit", name, "minutes=75", language="de_DE").replace(name, "")  # which may hold any digits
    assert "75" in said
    assert "60" not in said


@pytest.mark.parametrize("keys", [False, True])
def test_jour_600_an_edit_says_done_and_names_the_next_task(desk: Desk, keys: bool) -> None:
    """JOUR-600, JOUR-602: with `edit` and with `-i`; undo takes it back."""
    with desk.home.journal.transaction(clock.now(), HIGH) as tx:
        tasks.edit_task(tx, "t1", {"due": "2099-01-05", "repeat": "R/2099-01-05/P1W"})
    desk.propose("set_task_status", {"status": "GROOMED"})
    item = desk.name()
    said = desk.type("-i", keys=["e", "DONE"]) if keys else desk.type("edit", item, "status=DONE")
    assert "'Bake bread'" in said
    assert "is next, due 2099-01-12" in said
    assert "Bake bread: Set status to done" in said
    for page in ("ledger", "log"):
        assert "Set status to done" in desk.type(page, "t1")
    with desk.home.journal.reading() as reader:
        assert sorted(line.status for line in tasks.all_tasks(reader)[0]) == ["DONE", "OPEN"]
    desk.type("undo", item)
    with desk.home.journal.reading() as reader:
        assert [line.status for line in tasks.all_tasks(reader)[0]] == ["OPEN"]


def test_rev410_in_a_terminal_one_key_decides(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """REV-410, REV-412: no Enter; a reason and an edit are lines."""
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    desk.propose("add_multiple_checklist_items", {"items": [{"title": t} for t in "ABC"]})
    desk.propose("update_task_estimate", {"minutes": 60}, "r2")
    desk.propose("create_follow_up_task", {"title": "Buy salt", "priority": "P1"}, "r3")
    shown = desk.type("-i", keys=["ynnot needed", "yesoon", "e75", "eP9", "Buy rye", "eP3", ""])
    outcomes = {one["summary"]: one["outcome"] for one in desk.ask("ledger")}
    assert outcomes == {
        'Add: "A"': "confirmed",
        'Add: "B"': "rejected",
        'Add: "C"': "confirmed",
        "Set estimate to 75 minutes": "confirmed",
        'Create follow-up task: "Buy rye"': "confirmed",
    }
    assert "title [Buy rye]" in shown
    assert desk.ask("ledger")[1]["reason"] == "not needed"


def test_rev414_what_changes_while_it_is_on_the_screen_is_shown_before_a_no(desk: Desk) -> None:
    """REV-414, REV-86: between the page and the key another process writes; that key does nothing."""
    desk.propose("update_task_estimate", {"minutes": 60})
    asked = KeyInput.key

    def key(keys: KeyInput) -> str:
        if desk.page.task.estimate == 30:
            desk.edit(estimate=75)
        return asked(keys)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeyInput, "key", key)
        shown = desk.type("-i", keys=["n", "n", "never"])
    assert "not as it was shown" in shown
    assert "75 → 60" in shown
    assert [one["outcome"] for one in desk.ask("ledger")] == ["rejected"]


@pytest.mark.parametrize(
    ("language", "words"), [("C", "category 'Private things'"), ("de", "Kategorie 'Private things'")]
)
def test_rev_1092_an_item_in_a_category_that_is_not_allowed_names_it(desk: Desk, language: str, words: str) -> None:
    """REV-1092: the page showed the 36 characters of the task's id. The answer to the model has no titles."""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    with desk.home.journal.transaction(clock.now(), HIGH) as tx:
        tx.put("private", "category", {"name": "Private things"})
    desk.edit(categoryId="private")
    for said in (
        desk.type(language=language),
        desk.type("show", name, language=language),
        desk.type("confirm", name, code=1, language=language),
    ):
        assert words in said
        assert "'Bake bread'" in said
        assert "t1:" not in said
    answer = wake_on(desk.home.journal, desk.home.agent, run="r2").queue(
        "set_task_title", {"title": "Rye"}, clock.now()
    )
    assert "task t1: the agent is not allowed in its category" in answer
    assert "Private" not in answer
    desk.edit(categoryId="forgotten")
    assert "its category" in desk.type()


def test_rev_1090_where_nobody_can_answer_one_by_one_is_refused(desk: Desk) -> None:
    """REV-1090: with an empty input it ended well, and had decided nothing."""
    desk.propose("update_task_estimate", {"minutes": 60})
    assert "nobody is here to answer" in desk.type("-i", code=2)
    assert "review confirm NAME" in desk.type("-i", code=2)
    desk.type("-i", keys=["q"])
    assert desk.name()


def test_rev_1090_a_closed_input_is_an_input_without_answers(desk: Desk) -> None:
    desk.propose("update_task_estimate", {"minutes": 60})
    call = [sys.executable, "-m", "lottisync", "review", "-i", "--home", str(desk.home.path)]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&-', "sh", *call], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert done.stderr.startswith("lottisync: nobody is here to answer")


def test_rev_1091_several_verdicts_are_taken_back_in_one_call(desk: Desk) -> None:
    """REV-1091, REV-82: names and ranges; each item has its line, also the one that cannot be done."""
    desk.propose("add_multiple_checklist_items", {"items": [{"title": title} for title in "ABCD"]})
    desk.propose("update_task_estimate", {"minutes": 60}, "r2")
    first, *_, fourth, estimate = (item["name"] for one in desk.ask() for item in one["items"])
    names = f"{first}-2"
    desk.type("confirm", names)
    desk.type("reject", estimate)
    said = desk.type("undo", names, fourth, estimate, code=1).splitlines()
    assert [line.partition("  ")[0] for line in said] == ["undone"] * 3 + ["could not be done", "undone"]
    assert [line.split("  ")[1] for line in said][-2:] == [fourth, estimate]
    assert [item.title for item in desk.page.items] == ["Flour"]
    assert [one["result"] for one in desk.ask("undo", names)] == ["already"] * 3
    assert "has no item" in desk.type("undo", f"{first}-9", code=1)


def test_rev_1091_what_others_build_on_is_taken_back_after_them(desk: Desk) -> None:
    """REV-1091, REV-116: in whichever order they are named."""
    desk.propose("create_follow_up_task", {"title": "Buy salt", "relation": "has_follow_up"})
    names = [item["name"] for one in desk.ask() for item in one["items"]]
    assert len(names) == 2
    assert {one["result"] for one in desk.ask("confirm", *names)} == {"applied"}
    assert [one["result"] for one in desk.ask("undo", *names)] == ["undone"] * len(names)


def test_rev87_the_page_of_a_task_shows_its_proposals_as_review_does(desk: Desk) -> None:
    """REV-87, REV-86: with names, and what was shown there can be decided."""
    with desk.home.agent.transaction(clock.now(), HIGH) as tx:
        tx.link("agent_task", AGENT, "t1", {})
    desk.propose("set_task_status", {"status": "BLOCKED", "reason": "no yeast"})
    page = CliRunner(env={"NO_COLOR": "1"}).invoke(lottisync, ["task", "show", "t1", "--home", str(desk.home.path)])
    [name] = re.findall(r"\w{4}\.0", page.output)
    assert "why: no yeast" in page.output
    assert desk.ask("confirm", name)[0]["result"] == "applied"


def test_rev402_the_pages_of_both_say_which_took_the_place_of_which(desk: Desk) -> None:
    """REV-402: in the list, on the page of the old one, and in the ledger."""
    [old] = desk.propose("update_task_estimate", {"minutes": 60})
    [new] = desk.propose("update_task_estimate", {"minutes": 90}, "r2")
    assert f"takes the place of {old[:4]}.0" in desk.type()
    assert f"replaced by {new[:4]}.0" in desk.type("show", f"{old}.0")
    assert "another proposal took its place" in desk.type("ledger")
    assert desk.type("confirm", f"{new}.0").startswith("applied")


@pytest.mark.parametrize(
    ("language", "words"), [("C", "not archived → archived"), ("de_DE.UTF-8", "nicht archiviert → archiviert")]
)
def test_agent155_what_goes_to_the_archive_is_not_called_done(desk: Desk, language: str, words: str) -> None:
    """AGENT-155: an item that is put away keeps its tick."""
    desk.propose("update_checklist_items", {"items": [{"id": "i1", "isArchived": True}]})
    shown = desk.type(language=language)
    assert words in shown
    assert "done" not in shown
    assert "erledigt" not in shown


def test_cli_460_a_proposal_is_put_off_until_a_time_as_people_say_it(desk: Desk) -> None:
    """CLI-460"""
    desk.propose("update_task_estimate", {"minutes": 60})
    name = desk.name()
    desk.type("defer", name, "--until", "10 min ago", code=2)
    desk.type("defer", name, "--until", "in 2 hours")
    assert desk.ask() == []
    assert [item["name"] for one in desk.ask("--all") for item in one["items"]] == [name]


def test_the_ledger_and_the_log_begin_with_their_first_row(desk: Desk) -> None:
    desk.propose("update_task_estimate", {"minutes": 90})
    assert desk.type("log", "t1") == "Nothing was decided.\n"
    desk.type("list")
    desk.type("reject", desk.name())
    for verb in ("ledger", "log"):
        first, *others = desk.type(verb, "t1").splitlines()
        assert "Set estimate to 90 minutes" in first
        assert others == []


@pytest.mark.usefixtures("three_hours_east")
def test_cli_462_a_proposed_time_is_shown_in_the_zone_of_this_device() -> None:
    """CLI-462: from when to when somebody worked was to be confirmed in UTC."""
    assert in_a_line("end", "2026-11-22T12:00:00.000Z") == "2026-11-22 15:00"
    assert in_a_line("text", "2026-11-22T12:00:00.000Z") == "2026-11-22T12:00:00.000Z"
    assert on_the_page("end", "2026-11-22T12:00:00.000Z").endswith("15:00")


def test_cli_865_a_proposal_is_shown_in_the_words_of_the_browser(desk: Desk) -> None:
    """CLI-865: `statusReason: none` and `IN PROGRESS` are names of the store. They are for programs."""
    desk.propose("set_task_status", {"status": "IN PROGRESS", "reason": "it began"})
    page = desk.type()
    assert "Set status to in progress  Status: open → in progress, Reason: none → it began" in page
    assert desk.ask()[0]["items"][0]["changes"][0]["after"] == "IN PROGRESS"
    german = desk.type("--language", "de")
    assert "Status: offen → in Arbeit, Grund: nichts → it began" in german


def test_cli_865_a_new_item_is_named_once(desk: Desk) -> None:
    """CLI-865: the list said the title of a new item twice."""
    desk.propose("add_checklist_item", {"title": "Rye"})
    assert desk.type().splitlines()[1].endswith('Add: "Rye"')
