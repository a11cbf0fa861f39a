"""Conflicts, devices and activity over HTTP."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.command_line import run_here
from tests.support.proposals import propose
from tests.support.rounds import send
from tests.web.visitor import ITEM, PROPOSED, TASK, TITLE, Visitor

from lottisync.agents import switch
from lottisync.daemon.home import TaskHome
from lottisync.device.clock import now
from lottisync.device.home import Home
from lottisync.entities.schema import EntityType, schema
from lottisync.journal import names, tasks
from lottisync.language import speaking
from lottisync.review.change import ChangeDecision
from lottisync.review.precedence import PERSON
from lottisync.web import clock_field
from lottisync.web.device_page import TRACK, track_of
from lottisync.web.difference import differing
from lottisync.web.rows import verdict_word
from lottisync.web.site import DeviceLine


def disagree(home: TaskHome, path: Path, title: str) -> None:
    """Another device has written the task's title at the same time."""
    other = TaskHome.create(path, "phone")
    send(home.journal, other.journal)
    with other.journal.transaction(now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"title": title})
    with home.journal.transaction(now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"title": "Mine"})
    send(other.journal, home.journal)
    other.close()


def fields(page: str) -> dict[str, Any]:
    return dict(re.findall(r'name="(store|entity|path|seen)" value="([^"]*)"', page))


def test_web_33_a_conflict_is_settled_by_a_choice(visitor: Visitor, tmp_path: Path) -> None:
    disagree(visitor.home, tmp_path / "other", "Theirs")
    page = visitor.get("/conflicts")
    assert "Mine" in page
    assert "Theirs" in page
    shown_first = re.findall(r'class="side">([^<]+)<', page)[0]
    page = visitor.post("/conflicts", **fields(page), keep="2")
    assert "No two devices disagree." in page
    assert {shown_first, visitor.task.title} == {"Mine", "Theirs"}


def test_web_33_a_choice_among_values_that_have_changed_is_refused(visitor: Visitor, tmp_path: Path) -> None:
    disagree(visitor.home, tmp_path / "other", "Theirs")
    page = visitor.get("/conflicts")
    with visitor.home.journal.transaction(now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"title": "Later"})
    answer = visitor.post("/conflicts", 409, **fields(page), keep="2")
    assert "This changed while you looked. Nothing was done." in answer
    assert visitor.task.title == "Later"
    visitor.client.headers["accept-language"] = "de"
    assert "Nichts wurde getan." in visitor.post("/conflicts", 409, **fields(page), keep="2")
    for keep in ("0", "3", "x", "\N{SUPERSCRIPT TWO}"):
        visitor.post("/conflicts", 409, **fields(page), keep=keep)


def differ(home: TaskHome, path: Path, ident: str, theirs: dict[str, Any], mine: dict[str, Any]) -> None:
    """Another device has written to an entity of the journal, neither having seen the other. Mine is the later write:
    in the same millisecond, chance would say which value is shown."""
    other = TaskHome.create(path, "phone")
    send(home.journal, other.journal)
    at = now()
    for store, when, fields in ((other.journal, at, theirs), (home.journal, at + 1, mine)):
        with store.transaction(when, PERSON) as tx:
            entity = tx.entity(ident)
            assert entity is not None
            tx.put(ident, entity.type, fields)
    send(other.journal, home.journal)
    other.close()


@pytest.mark.parametrize(
    ("ident", "path", "theirs", "mine", "kind", "typed", "stored"),
    [
        (TASK, "title", "Theirs", "Mine", 'type="text"', " Mine and\ttheirs ", "Mine and theirs"),
        ("n1", "text", "Theirs", "Mine\n<b>", "textarea", "Mine\r\n<b>\r\ntheirs", "Mine\n<b>\ntheirs"),
        (ITEM, "title", "Theirs", "Mine", 'type="text"', "Both", "Both"),
    ],
)
def test_web_1020_one_value_is_written_out_of_both(
    visitor: Visitor, tmp_path: Path, ident: str, path: str, theirs: Any, mine: Any, kind: str, typed: str, stored: Any
) -> None:
    """WEB-1020: without a script, too; as its verb on the task's page stores it."""
    differ(visitor.home, tmp_path / "other", ident, {path: theirs}, {path: mine})
    page = visitor.get("/conflicts")
    form = page.partition("Write one out of both")[2].partition("</form>")[0]
    assert kind in form
    assert 'name="value"' in form
    page = visitor.post("/conflicts", **fields(page), keep="both", value=typed)
    assert "Settled, on every device." in page
    assert "No two devices disagree." in page
    held = visitor.home.journal.read(ident)
    assert held is not None
    assert held.value(path) == stored


def test_web_10200_the_field_begins_with_the_value_that_is_shown(visitor: Visitor, tmp_path: Path) -> None:
    """WEB-10200: whole, and as text."""
    differ(visitor.home, tmp_path / "other", "n1", {"text": "a"}, {"text": "\n<b>one</b>\n & two"})
    page = visitor.get("/conflicts")
    assert '<textarea name="value" rows="6">\n\n&lt;b&gt;one&lt;/b&gt;\n &amp; two</textarea>' in page


@pytest.mark.parametrize("typed", ["", " ", "x" * 401])
def test_web_10202_a_value_that_breaks_a_rule_settles_nothing(visitor: Visitor, tmp_path: Path, typed: str) -> None:
    """WEB-10202: the rule is said."""
    disagree(visitor.home, tmp_path / "other", "Theirs")
    page = visitor.get("/conflicts")
    answer = visitor.post("/conflicts", 400, **fields(page), keep="both", value=typed)
    assert "A title has 1 to 400 characters" in answer
    assert "1 field was written" in answer


@pytest.mark.parametrize("keep", ["1", "2", "both"])
def test_web_10201_nothing_is_settled_that_was_not_shown(visitor: Visitor, tmp_path: Path, keep: str) -> None:
    """WEB-10201, WEB-33: the other device has written again, and is still in conflict."""
    other = TaskHome.create(tmp_path / "other", "phone")
    send(visitor.home.journal, other.journal)
    for store, title in ((other.journal, "Theirs"), (visitor.home.journal, "Mine")):
        with store.transaction(now(), PERSON) as tx:
            tasks.edit_task(tx, TASK, {"title": title})
    send(other.journal, visitor.home.journal)
    page = visitor.get("/conflicts")
    with other.journal.transaction(now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"title": "Theirs again"})
    send(other.journal, visitor.home.journal)
    other.close()
    answer = visitor.post("/conflicts", 409, **fields(page), keep=keep, value="Both")
    assert "This changed while you looked. Nothing was done." in answer
    assert "Theirs again" in answer
    assert "1 field was written on two devices at once." in answer


SETTINGS: tuple[tuple[str, Any, Any, str, dict[str, str], Any, dict[str, str]], ...] = (
    ("status", "GROOMED", "OPEN", "<select", {"value": "DONE"}, "DONE", {"value": "ON HOLD"}),
    ("statusReason", "a", "b", "<select", {"value": "BLOCKED", "reason": "c"}, "c", {"value": "SOON"}),
    ("priority", "P0", "P1", "<select", {"value": "P3"}, "P3", {"value": "P9"}),
    ("due", "2026-12-01", "2026-12-03", "date", {"value": "2026-12-02"}, "2026-12-02", {"value": "soon"}),
    ("due", "2026-12-01", "2026-12-03", "date", {"value": ""}, None, {"value": "2026-02-30"}),
    ("estimate", 30, 60, "number", {"value": "45"}, 45, {"value": "1441"}),
    *(
        ("remindAt", "2026-12-01T09:00:00.000Z", None, "datetime-local", {"value": typed}, stored, {"value": "x"})
        for typed, stored in (("", None), ("2026-12-24T09:00", clock_field.instant("2026-12-24T09:00")))
    ),
    *(
        ("repeat", "R/2026-12-01/P1W", None, "<select", typed, stored, {"value": "moon"})
        for typed, stored in (({"value": "month", "every": "2"}, "R/2026-11-30/P2M"), ({"value": ""}, None))
    ),
    ("categoryId", "a", "b", "text", {"value": ""}, None, {"value": "x" * 401}),
    ("languageCode", "de", "en", "text", {"value": "fr"}, "fr", {"value": "qq"}),
)
"""A path, the two values, the field for a third one, what is typed and what is stored, and what is not a value of
it."""


@pytest.mark.parametrize(("path", "theirs", "mine", "kind", "typed", "stored", "refused"), SETTINGS)
def test_web_1060_what_is_chosen_or_set_may_be_set_to_a_third_value(
    visitor: Visitor,
    tmp_path: Path,
    path: str,
    theirs: Any,
    mine: Any,
    kind: str,
    typed: dict[str, str],
    stored: Any,
    refused: dict[str, str],
) -> None:
    """WEB-1060, WEB-10601, WEB-10602: without a script, too; what is not a value of the field settles nothing, and the
    reason is said."""
    differ(visitor.home, tmp_path / "other", TASK, {path: theirs}, {path: mine})
    page = visitor.get("/conflicts")
    form = page.partition("Set another one")[2].partition("</form>")[0]
    assert kind in form
    answer = visitor.post("/conflicts", 400, **fields(page), keep="both", **refused)
    assert "1 field was written" in answer
    assert re.search(r'id="said"[^>]*>[A-Z][^<]{20}', answer)
    page = visitor.post("/conflicts", **fields(page), keep="both", **typed)
    assert "No two devices disagree." in page
    held = visitor.home.journal.read(TASK)
    assert held is not None
    assert held.value(path) == stored


@pytest.mark.parametrize(
    ("path", "theirs", "mine", "fact"),
    [
        ("status", "GROOMED", "OPEN", "status"),
        ("statusReason", "a", "b", "status"),
        ("priority", "P0", "P1", "priority"),
        ("due", "2026-12-01", "2026-12-03", "due"),
        ("estimate", 30, 60, "estimate"),
        ("remindAt", "2026-12-01T09:00:00.000Z", None, "remind"),
        ("repeat", "R/2026-12-01/P1W", None, "repeat"),
        ("categoryId", "a", "b", "category"),
        ("languageCode", "de", "en", "language"),
    ],
)
def test_web_10600_a_third_value_is_typed_into_the_field_of_its_own_page(
    visitor: Visitor, tmp_path: Path, path: str, theirs: Any, mine: Any, fact: str
) -> None:
    """WEB-10600: of the same kind, with the same limits and the same choices."""
    differ(visitor.home, tmp_path / "other", TASK, {path: theirs}, {path: mine})

    def typed_into(page: str, begins: str) -> list[str]:
        form = page.partition(begins)[2].partition("</form>")[0]
        found = re.findall(r'<(?:input|select|textarea) name="(?:value|reason|every)"[^>]*>|<option[^>]*>', form)
        return [re.sub(' value=""| selected', "", each) for each in found]

    here = typed_into(visitor.get("/conflicts"), "Set another one")
    assert here
    assert here == typed_into(visitor.get(f"/tasks/{TASK}"), f'<details id="fact-{fact}"')


@pytest.mark.parametrize(("path", "theirs", "mine"), [("status", "GROOMED", "OPEN"), ("statusReason", "a", "b")])
def test_web_10603_a_status_goes_with_its_reason(
    visitor: Visitor, tmp_path: Path, path: str, theirs: str, mine: str
) -> None:
    """WEB-10603: whichever of the two is in conflict, both are set."""
    differ(visitor.home, tmp_path / "other", TASK, {path: theirs}, {path: mine})
    page = visitor.get("/conflicts")
    visitor.post("/conflicts", **fields(page), keep="both", value="BLOCKED", reason="no pump")
    assert (visitor.task.status, visitor.task.status_reason) == ("BLOCKED", "no pump")


def test_web_10604_a_category_is_named_and_made(visitor: Visitor, tmp_path: Path) -> None:
    """WEB-10604: by its name, never by what is stored."""
    differ(visitor.home, tmp_path / "other", TASK, {"categoryId": "a"}, {"categoryId": "b"})
    visitor.post("/conflicts", **fields(visitor.get("/conflicts")), keep="both", value="Garden")
    with visitor.home.journal.reading() as reader:
        assert visitor.task.category_id == names.find_known(reader, "category", "Garden")


def test_web_1060_the_limit_of_all_agents_may_be_another_one(visitor: Visitor, tmp_path: Path) -> None:
    """WEB-1060, WEB-10602: it is in the store of the agents, and is called as people do; what stands now may be typed,
    too."""
    other = TaskHome.create(tmp_path / "other", "phone")
    for store, limit in ((other.agent, 10_000), (visitor.home.agent, 20_000)):
        with store.transaction(now(), PERSON) as tx:
            switch.limit(tx, limit)
    send(other.agent, visitor.home.agent)
    other.close()
    page = visitor.get("/conflicts")
    assert ">Tokens a day<" in page
    assert "A limit is a number of tokens" in visitor.post("/conflicts", 400, **fields(page), keep="both", value="x")
    [held] = re.findall(r'type="number" min="1" value="(\d+)"', page)
    assert "No two devices disagree." in visitor.post("/conflicts", **fields(page), keep="both", value=held)


def test_web_1060_a_value_of_another_kind_breaks_no_page(visitor: Visitor, tmp_path: Path) -> None:
    """WEB-1060: a device that is not ours may have written it."""
    strange = {name: [1, "x"] for name in ("repeat", "remindAt", "estimate", "categoryId", "due", "status")}
    differ(visitor.home, tmp_path / "other", TASK, strange, dict.fromkeys(strange, 5))
    assert visitor.get("/conflicts").count("Set another one") == len(strange)


def test_web_1020_what_has_no_field_of_its_own_is_not_written(visitor: Visitor, tmp_path: Path) -> None:
    """WEB-1020, WEB-1060: of two values there is no third one."""
    differ(visitor.home, tmp_path / "other", TASK, {"neverSend": True}, {"neverSend": False})
    page = visitor.get("/conflicts")
    assert 'name="value"' not in page
    answer = visitor.post("/conflicts", 400, **fields(page), keep="both", value="x")
    assert "Never sent cannot be written here: keep one of its values" in answer


@pytest.mark.parametrize(("word", "there"), [("Delete it after all", False), ("Keep the task", True)])
def test_web_1021_a_deletion_against_an_edit_is_settled_by_what_comes_of_it(
    visitor: Visitor, tmp_path: Path, word: str, *, there: bool
) -> None:
    """WEB-1021"""
    other = TaskHome.create(tmp_path / "other", "phone")
    send(visitor.home.journal, other.journal)
    with other.journal.transaction(now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"title": "Theirs"})
    with visitor.home.journal.transaction(now(), PERSON) as tx:
        tasks.delete_task(tx, TASK)
    send(other.journal, visitor.home.journal)
    other.close()
    page = visitor.get("/conflicts")
    assert "Keep the one of" not in page
    [number] = re.findall(rf'name="keep" value="(\d)" aria-label="{word} · [^"]+">{word}<', page)
    assert "No two devices disagree." in visitor.post("/conflicts", **fields(page), keep=number)
    visitor.get(f"/tasks/{TASK}", 200 if there else 404)


def test_web_1022_each_button_of_a_conflict_names_its_value(visitor: Visitor, tmp_path: Path) -> None:
    """WEB-1022"""
    disagree(visitor.home, tmp_path / "other", 'Their "own" <b>')
    page = visitor.get("/conflicts")
    found = re.findall(r'<button name="keep" value="\d" aria-label="([^"]+)">([^<]+)<', page)
    assert {name.partition(" · ")[::2] for name, _ in found} == {
        ("Keep the one of laptop", "Mine"),
        ("Keep the one of another device", "Their &#34;own&#34; &lt;b&gt;"),
    }
    assert all(name.startswith(word) for name, word in found)


def test_web_26_what_became_of_proposals_is_listed(visitor: Visitor) -> None:
    propose(visitor.home, *PROPOSED)
    assert "Set estimate to 90 minutes" in visitor.get("/activity")
    assert "this device" in visitor.get("/devices")


def test_web_506_one_time_line_says_who_did_what_on_which_device(visitor: Visitor) -> None:
    propose(visitor.home, *PROPOSED)
    page = visitor.get("/activity")
    for text in ("proposed: Set estimate to 90 minutes", "Found the manual!", 'href="/activity?by=laptop"'):
        assert text in page
    assert ">Laura</span>" not in visitor.get("/activity?by=you")
    there = re.findall(r'<span class="faint">([^<]+)</span><br>', visitor.get("/activity?by=laptop"))
    assert set(there) == {"laptop"}
    assert set(re.findall(r'<p><span class="(\w+)">', visitor.get("/activity?by=agents"))) == {"pencil"}


def test_cli_1400_what_an_undo_deleted_was_deleted_by_you(visitor: Visitor) -> None:
    assert run_here("task", "add", "Bake bread", home=visitor.home.path).code == 0
    assert run_here("undo", home=visitor.home.path).code == 0
    assert "Bake bread · Deleted" in visitor.get("/activity?by=you")
    assert "Bake bread" not in visitor.get("/activity?by=agents")


def test_a_device_in_step_stands_at_the_line_and_the_others_left_of_it() -> None:
    def line(lacks: dict[str, int]) -> DeviceLine:
        return DeviceLine("phone", "id", "active", this=False, connected=True, lacks=lacks, seen=None)

    assert [mark.x for mark in track_of(line({"journal": 0})).marks] == [TRACK]
    far, farther = track_of(line({"journal": 20, "agent": 2000})).marks
    assert 0 < farther.x < far.x < TRACK
    assert track_of(line({"journal": 10**9})).marks[0].x == 0
    assert track_of(line({"journal": 20})).said == "Lacks changes: tasks 20."


def test_web_619_activity_calls_things_as_people_do(visitor: Visitor) -> None:
    """WEB-619, WEB-6190: a link by both its ends, time without a note by its task; neither by the name of its type."""
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.add_task(tx, "t2", "Sweep the chimney")
        tasks.set_link(tx, TASK, "blocks", "t2")
        tasks.add_entry(tx, "n3", TASK, {"kind": "time", "text": "", "minutes": 30}, "user")
    page = visitor.get("/activity")
    for said in (f"Linked tasks: {TITLE} → Sweep the chimney", f"Time: {TITLE}"):
        assert f'href="/tasks/{TASK}">{said}</a>' in page
    for word in ("entryLink", "entry", "checklistItem"):
        assert word not in page.partition("<main")[2]


def test_web_6191_activity_says_what_is_new_and_which_field_was_changed(visitor: Visitor) -> None:
    """WEB-6191, WEB-6192, WEB-6193: a sentence of a person is followed by no colon."""
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.add_task(tx, "t2", "Sweep the chimney")
        tasks.add_note(tx, "n4", TASK, "He calls back")
    made = visitor.get("/activity")
    for task, said in (
        (TASK, f"New task: {TITLE}"),
        (TASK, "New item: Find the manual"),
        (TASK, "New note: He calls back"),
        ("t2", "New task: Sweep the chimney"),
    ):
        assert f'href="/tasks/{task}">{said}</a>' in made
    with visitor.home.journal.transaction(visitor.now() + 1, PERSON) as tx:
        tasks.edit_task(tx, "t2", {"title": "Sweep the chimney!"})
        tx.put("n4", "entry", {"text": "He calls back."})
    page = visitor.get("/activity")
    assert 'href="/tasks/t2">Sweep the chimney! · Title</a></p>' in page
    assert f'href="/tasks/{TASK}">He calls back. · Text</a>' in page
    assert "New task: Sweep" not in page
    assert "New note: He" not in page


def test_web_6194_a_line_of_activity_that_does_not_name_its_task_is_followed_by_it(visitor: Visitor) -> None:
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.add_note(tx, "n4", TASK, "He calls back.")
        tasks.add_entry(tx, "n3", TASK, {"kind": "time", "text": "", "minutes": 30}, "user")
    page = visitor.get("/activity")
    assert f'New note: He calls back.</a><span class="faint"> · {TITLE}</span></p>' in page
    assert f"Time: {TITLE}</a></p>" in page


def test_web_622_two_categories_that_conflict_are_called_by_their_names(visitor: Visitor, tmp_path: Path) -> None:
    """WEB-622"""
    other = TaskHome.create(tmp_path / "other", "phone")
    send(visitor.home.journal, other.journal)
    for store, name in ((other.journal, "Garden"), (visitor.home.journal, "House")):
        with store.transaction(now(), PERSON) as tx:
            tasks.edit_task(tx, TASK, {"categoryId": names.find_or_make(tx, "category", name)})
    send(other.journal, visitor.home.journal)
    other.close()
    page = visitor.get("/conflicts")
    for text in ("Category", '<p class="side">Garden</p>', '<p class="side">House</p>'):
        assert text in page


def test_web_680_each_decision_is_one_conflict_on_every_page(visitor: Visitor, tmp_path: Path) -> None:
    """WEB-680: a status has a reason that goes with it, and a title is another decision about the same task."""
    other = TaskHome.create(tmp_path / "other", "phone")
    send(visitor.home.journal, other.journal)
    for store, title, status in (
        (other.journal, "Theirs", {"status": "BLOCKED", "statusReason": "no pump"}),
        (visitor.home.journal, "Mine", {"status": "ON HOLD", "statusReason": "too cold"}),
    ):
        with store.transaction(now(), PERSON) as tx:
            tasks.edit_task(tx, TASK, {"title": title, **status})
    send(other.journal, visitor.home.journal)
    other.close()
    page = visitor.get("/conflicts")
    assert len(re.findall('<section class="card" id="conflict-', page)) == 2
    assert "2 fields were written on two devices at once." in page
    for each in (page, visitor.get("/inbox")):
        assert ", 2 conflicts<" in each
    shown = run_here("conflicts", "--json", home=visitor.home.path).json
    assert len(shown["conflicts"]) == 2


def test_web_9601_activity_is_of_one_agent(visitor: Visitor) -> None:
    """WEB-9601: a device that is called as an agent is, is another thing."""
    propose(visitor.home, PROPOSED[2])
    assert 'href="/activity?by=agent%3ALaura"' in visitor.get("/activity")
    assert "proposed: Set estimate" in visitor.get("/activity?by=agent:Laura")
    assert "Found the manual!" not in visitor.get("/activity?by=agent:Laura")
    assert "proposed:" not in visitor.get("/activity?by=Laura")


def test_web_1508_activity_says_that_a_verdict_was_taken_back(visitor: Visitor) -> None:
    """WEB-1508: a rejection that was undone was "put off", and a confirmation "taken back by the agent"."""
    propose(visitor.home, PROPOSED[2])
    before = visitor.get("/inbox")
    since = re.findall(r'data-since="(\d+)"', before)[0]
    [(item, shown)] = visitor.rows(before)
    for verdict in ("reject", "undo", "confirm", "undo"):
        shown = dict(visitor.rows(visitor.decide(item, shown, verdict, since=since))).get(item, shown)
    page = visitor.get("/activity")
    assert "took back (rejected): Set estimate" in page
    assert "took back (confirmed): Set estimate" in page
    assert "taken back by the agent" not in page
    assert "put off:" not in page


def test_web_1064_of_two_values_that_stand_against_each_other_one_is_so_now(visitor: Visitor, tmp_path: Path) -> None:
    """WEB-1064: the one that is shown; both said so."""
    disagree(visitor.home, tmp_path / "other", "Theirs")
    written = visitor.get(f"/tasks/{TASK}").partition('id="written"')[2].partition("</ul>")[0]
    titles = [line for line in written.split("<li>") if line.startswith("<b>Title</b>")]
    assert [f"</span> {visitor.task.title} " in line for line in titles if "is so now" in line] == [True]
    assert len(titles) == 3


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (("Water the plants", "Water the two plants"), ["Water the plants", "Water the [two ]plants"]),
        (("a b c", "a x c", "a b y"), ["a [b] [c]", "a [x] c", "a b [y]"]),
        (("Open", "Groomed"), ["Open", "Groomed"]),
        (("a b", "x y"), ["a b", "x y"]),
        (("", "x"), ["", "x"]),
        (("a\n<b>", "a\n<i>"), ["a\n[<b>]", "a\n[<i>]"]),
        (("a " * 500 + "b", "a " * 500 + "c"), ["a " * 500 + "b", "a " * 500 + "c"]),
    ],
)
def test_web_961_the_words_that_differ_are_marked(texts: tuple[str, ...], shown: list[str]) -> None:
    """WEB-961: only where there are some in common, and where it does not take long."""
    found = ["".join(f"[{part.text}]" if part.differs else part.text for part in one) for one in differing(texts)]
    assert found == shown


def test_web_961_a_mark_holds_text(visitor: Visitor, tmp_path: Path) -> None:
    disagree(visitor.home, tmp_path / "other", "Mine <b>")
    page = visitor.get("/conflicts")
    assert "<mark> &lt;b&gt;</mark>" in page
    assert visitor.post("/conflicts", **fields(page), keep="2")


def test_web_962_what_was_edited_is_said_in_the_readers_language() -> None:
    """WEB-962: what this version cannot read is said in the words that were stored."""
    stored = ChangeDecision("d1", human_summary="Set status to GROOMED", edited=True, verdict="confirmed")
    known = replace(stored, tool_name="set_task_status", args={"status": "DONE", "reason": "x"})
    with speaking("de"):
        assert verdict_word(known) == "bestätigt als: Status auf erledigt setzen"
        assert verdict_word(replace(stored, tool_name="?")) == "bestätigt als: Set status to GROOMED"


JOBS = schema("jobs", [EntityType("task")])


@pytest.fixture
def other(visitor: Visitor, tmp_path: Path) -> Iterator[TaskHome]:
    """Another device with a store of some program's own, which the visitor's home has too."""
    Home.open(visitor.home.path, [JOBS]).close()
    visitor.home.look_for_stores()
    with closing(TaskHome.create(tmp_path / "other", "phone", [JOBS])) as home:
        yield home


def disagree_on_estimate(visitor: Visitor, other: TaskHome, ours: Any, theirs: Any) -> None:
    for device, estimate in ((other, theirs), (visitor.home, ours)):
        with device.store("jobs").transaction(now(), PERSON) as tx:
            tx.put("j1", "task", {"estimate": estimate})
    send(other.store("jobs"), visitor.home.store("jobs"))


def test_web_33_a_programs_own_store_is_shown_as_it_is(visitor: Visitor, other: TaskHome) -> None:
    """WEB-33, STORE-34: its fields may have the names of ours; they were shown, called and written as those of a
    task."""
    disagree_on_estimate(visitor, other, 30, 90)
    page = visitor.get("/conflicts")
    assert sorted(re.findall(r'class="side">([^<]+)<', page)) == ["30", "90"]
    assert re.findall(r'-field">([^<]+)<', page) == ["estimate"]
    assert 'name="value"' not in page
    answer = visitor.post("/conflicts", 400, **fields(page), keep="both", value="60")
    assert "Estimate cannot be written here: keep one of its values" in answer
    assert "No two devices disagree." in visitor.post("/conflicts", **fields(page), keep="2")


def test_web_33_nothing_and_an_empty_text_are_seen(visitor: Visitor, other: TaskHome) -> None:
    """STORE-34: the one in a word, the other in quotation marks."""
    disagree_on_estimate(visitor, other, None, "")
    assert sorted(re.findall(r'class="side">([^<]*)<', visitor.get("/conflicts"))) == ["&#34;&#34;", "none"]


def test_web_33_what_another_program_calls_a_task_is_not_called_so(visitor: Visitor, other: TaskHome) -> None:
    """WEB-33, STORE-34: deleted on one device and edited on the other."""
    theirs, ours = other.store("jobs"), visitor.home.store("jobs")
    with theirs.transaction(now(), PERSON) as tx:
        tx.put("j1", "task", {"name": "Weld"})
    send(theirs, ours)
    with theirs.transaction(now(), PERSON) as tx:
        tx.delete("j1")
    with ours.transaction(now(), PERSON) as tx:
        tx.put("j1", "task", {"name": "Weld twice"})
    send(theirs, ours)
    page = visitor.get("/conflicts")
    assert ">Keep it<" in page
    assert "Keep the task" not in page
