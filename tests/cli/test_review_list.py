"""`lottisync review`: what it shows of proposals and of what became of them, in five languages."""

import json
import re

import pytest
from click.testing import CliRunner
from tests.support.command_line import run_here
from tests.support.proposals import wake_on
from tests.support.review_desk import AGENT, BATCH, NOTE, Desk, elsewhere

from lottisync.cli.main import lottisync
from lottisync.device import clock
from lottisync.entities.entity import HIGH, LOW
from lottisync.journal.words import value as in_a_line
from lottisync.review.not_carried_out import NotCarriedOut, not_carried_out
from lottisync.store import database
from lottisync.web.words import value as on_the_page


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


def test_rev38_check_names_a_lying_index_and_reindex_mends_it(desk: Desk) -> None:
    """REV-38, REV-130: a row that hides what waits."""
    desk.propose("update_task_estimate", {"minutes": 60})
    assert len(desk.ask()) == 1
    with desk.home.agent.transaction(clock.now(), HIGH) as tx:
        tx.execute("update change_set_index set settled = 1, open = 0, status = 'resolved'")
    assert desk.ask() == []
    done = CliRunner().invoke(lottisync, ["check", "--json", "--home", str(desk.home.path)])
    [fault] = json.loads(done.output)["faults"]
    assert (done.exit_code, "says resolved, and it is pending" in fault["message"]) == (1, True)
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


def test_rev_1012_a_stale_proposal_names_the_call_that_confirms_it_all_the_same(desk: Desk) -> None:
    """REV-1012: the second refusal of what was seen by then was a dead end."""
    desk.propose("update_task_estimate", {"minutes": 60})
    desk.type()
    name = desk.name()
    desk.edit(estimate=45)
    assert "--anyway" not in desk.type("confirm", name, code=1)  # shown now, and not yet decided on
    assert f"lottisync review confirm {name} --anyway" in desk.type("confirm", name, code=1)
    assert desk.ask("confirm", name, "--anyway")[0]["result"] == "applied"


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
