"""Tasks over HTTP, without a script."""

import re

import pytest
from tests.support.proposals import propose
from tests.web.visitor import ITEM, PROPOSED, TASK, Visitor

from lottisync.agents.task_agent import agent_for_task
from lottisync.device import clock
from lottisync.journal import tasks
from lottisync.review.precedence import PERSON
from lottisync.store.forgetting import MIN_AGE
from lottisync.store.instant import iso
from lottisync.web import clock_field, words
from lottisync.web.task_verbs import SAID, VERBS


def page_of(visitor: Visitor) -> tasks.TaskPage:
    with visitor.home.journal.reading() as reader:
        return tasks.page(reader, TASK)


def test_web_30_everything_about_a_task_can_be_changed(visitor: Visitor) -> None:
    at = f"/tasks/{TASK}"
    visitor.post(at, verb="title", value="Boiler")
    visitor.post(at, verb="status", value="BLOCKED", reason="The fitter is away.")
    visitor.post(at, verb="priority", value="P1")
    visitor.post(at, verb="due", value="2026-12-01")
    visitor.post(at, verb="estimate", value="45")
    visitor.post(at, verb="add-item", value="Call the fitter")
    visitor.post(at, verb="tick", item=ITEM)
    visitor.post(at, verb="note", value="He took an hour.", minutes="60")
    held = page_of(visitor)
    assert (held.task.title, held.task.status, held.task.status_reason) == ("Boiler", "BLOCKED", "The fitter is away.")
    assert (held.task.priority, held.task.due, held.task.estimate) == ("P1", "2026-12-01", 45)
    assert [(item.title, item.is_checked) for item in held.items] == [
        ("Find the manual", True),
        ("Call the fitter", False),
    ]
    assert held.minutes_spent == 60
    visitor.post(at, verb="due", value="")
    visitor.post(at, verb="rename-item", item=ITEM, value="Find the manual and the log")
    visitor.post(at, verb="untick", item=ITEM)
    visitor.post(at, verb="move", steps="1", item=ITEM)
    held = page_of(visitor)
    assert held.task.due is None
    assert [item.title for item in held.items] == ["Call the fitter", "Find the manual and the log"]
    visitor.post(at, verb="move", steps="-1", item=ITEM)
    visitor.post(at, verb="remove-item", item=ITEM)
    assert [item.title for item in page_of(visitor).items] == ["Call the fitter"]
    visitor.post(at, verb="delete")
    assert f'/tasks/{TASK}"' not in visitor.get("/tasks")
    assert "This task was deleted." in visitor.get(at, 404)


def test_web_30_a_value_that_breaks_a_rule_is_said_and_changes_nothing(visitor: Visitor) -> None:
    for verb, value, said in (
        ("title", " ", "A title has 1 to 400 characters"),
        ("status", "BLOCKED", "needs a reason"),
        ("due", "tomorrow", "A due date is a day like"),
        ("estimate", "much", "minutes are a whole number"),
        ("fly", "", "nothing called"),
    ):
        before = page_of(visitor)
        assert said.lower() in visitor.post(f"/tasks/{TASK}", 400, verb=verb, value=value).lower()
        assert page_of(visitor) == before


def test_web_31_a_task_shows_its_proposals_between_report_and_links(visitor: Visitor) -> None:
    """S1-33, S2-16, S1-40: the compact card, which leads to the whole one."""
    propose(visitor.home, *PROPOSED)
    page = visitor.get(f"/tasks/{TASK}")
    assert "7 proposals wait" in page
    assert re.search(r'href="/inbox#card-[^"]+">Review details', page)
    [(item, shown), *_] = visitor.rows(page)
    after = visitor.decide(item, shown, "confirm", back=TASK)
    assert "What was proposed, and what became of it" in after


def test_web_32_tasks_are_found_filtered_and_added(visitor: Visitor) -> None:
    visitor.post("/tasks", title="Water the plants")
    assert "Water the plants" in visitor.get("/tasks?q=PLANTS")
    assert "boiler service" not in visitor.get("/tasks?q=PLANTS")
    assert "No task fits." in visitor.get("/tasks?show=done")
    visitor.post(f"/tasks/{TASK}", verb="status", value="DONE")
    assert "boiler service" in visitor.get("/tasks?show=done")
    propose(visitor.home, ("update_task_estimate", {"minutes": 90}))
    assert "1 proposal" in visitor.get("/tasks?show=waiting")


def test_web_32_a_page_has_fifty_tasks_and_goes_on_behind_the_last(visitor: Visitor) -> None:
    with visitor.home.journal.transaction(visitor.now(), 1) as tx:
        for number in range(60):
            tasks.add_task(tx, f"many{number:03}", f"Task number {number:03}")
    first = visitor.get("/tasks")
    assert first.count('<li id="task-') == 50
    [more] = re.findall(r'href="(/tasks\?[^"]*after=[^"]+)"', first)
    second = visitor.get(more.replace("&amp;", "&"))
    assert second.count('<li id="task-') == 11


def test_web_32_pages_follow_each_other_by_key(visitor: Visitor) -> None:
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        for number in range(60):
            tasks.add_task(tx, f"p{number:02}", f"Pearl {number:02}")
    first = visitor.get("/tasks?q=pEARL")
    assert "60 tasks" in first
    assert first.count('class="title"') == 50
    [after] = re.findall(r"after=([^\"]+)", first)
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.edit_task(tx, "p00", {"status": "DONE"})  # what leaves a page before moves nothing on the next one
    second = visitor.get(f"/tasks?q=pearl&after={after}")
    assert second.count('class="title"') == 10
    assert "More</a>" not in second
    assert "59 tasks" in second


def test_web_461_every_verb_has_words_for_the_act_that_it_is() -> None:
    """WEB-461"""
    assert SAID.keys() | {"status"} == VERBS.keys()
    assert not any("-" in str(said) for said in SAID.values())


def labels_shown(page: str) -> list[str]:
    """The labels on a task's page that each have a button to take them away."""
    part = page.partition('id="labels"')[2].partition("</ul>")[0]
    return re.findall(r'<span>([^<]+)</span>.*?aria-label="Take away: \1"', part)


def test_web_501_a_task_is_labelled_and_a_label_is_taken_away(visitor: Visitor) -> None:
    """WEB-501, WEB-30"""
    at = f"/tasks/{TASK}"
    visitor.post(at, verb="label", value="house")
    assert sorted(labels_shown(visitor.post(at, verb="label", value="winter"))) == ["house", "winter"]
    assert labels_shown(visitor.post(at, verb="unlabel", value="house")) == ["winter"]
    assert len(page_of(visitor).labels) == 1


def links_shown(page: str) -> list[tuple[str, str]]:
    """The relations and titles of the linked tasks on a task's page that each have a form to take them away."""
    part = page.partition('id="linked"')[2].partition("</ul>")[0]
    found = re.findall(r'<span class="faint">([^<]+)</span> <a href="[^"]+">([^<]+)</a>.*?value="(unlink)"', part)
    return [(relation, title) for relation, title, _ in found]


def test_web_5010_a_task_is_linked_and_a_link_is_taken_away(visitor: Visitor) -> None:
    """WEB-5010, WEB-30: the other task is named by a piece of its title."""
    at = f"/tasks/{TASK}"
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.add_task(tx, "t2", "Order the filter")
    assert links_shown(visitor.post(at, verb="link", relation="blocks", other="the filter")) == [
        ("blocks", "Order the filter")
    ]
    assert "There is no task" in visitor.post(at, 400, verb="link", relation="blocks", other="nothing like it")
    assert links_shown(visitor.post(at, verb="unlink", relation="blocks", other="t2")) == []


def test_web_5011_a_link_is_seen_and_taken_away_from_the_other_end(visitor: Visitor) -> None:
    """WEB-5011: it is gone from both."""
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.add_task(tx, "t2", "Order the filter")
    visitor.post(f"/tasks/{TASK}", verb="link", relation="blocks", other="the filter")
    assert links_shown(visitor.get("/tasks/t2")) == [("is blocked by", visitor.task.title)]
    assert links_shown(visitor.post("/tasks/t2", verb="unlink", relation="is_blocked_by", other=TASK)) == []
    assert links_shown(visitor.get(f"/tasks/{TASK}")) == []


def test_web_502_the_history_of_a_field_says_who_wrote_what_and_what_it_replaced(visitor: Visitor) -> None:
    page = visitor.post(f"/tasks/{TASK}", verb="estimate", value="45")
    [line] = re.findall(r"<li><b>Estimate</b> <del>30 min</del>.*?</li>", page)
    assert "45 min" in line
    assert "you, laptop" in line
    assert "is so now" in line


def test_web_1061_what_became_of_proposals_is_said_in_the_readers_language(visitor: Visitor) -> None:
    """WEB-1061: it said "Set estimate to 90 minutes" and "pending" on a German page."""
    propose(visitor.home, PROPOSED[2])
    for language, said in (("de", ("Aufwand auf 90 Minuten setzen", "wartet")), ("en", ("estimate to 90", "waits"))):
        visitor.client.headers["accept-language"] = language
        records = visitor.get(f"/tasks/{TASK}").partition('id="records"')[2].partition("</ul>")[0]
        assert all(word in records for word in said)
        assert "pending" not in records


def test_web_503_an_item_is_moved_by_a_number_of_places(visitor: Visitor) -> None:
    at = f"/tasks/{TASK}"
    for title in ("Second", "Third"):
        visitor.post(at, verb="add-item", value=title)
    titles = re.findall(r'class="text">([^<]+)', visitor.post(at, verb="move", steps="2", item=ITEM))
    assert titles == ["Second", "Third", "Find the manual"]
    for steps in ("", "x", "1.5", "99999", "--1"):
        visitor.post(at, 400, verb="move", steps=steps, item=ITEM)


# -- reminders and repetition


def test_web_613_a_reminder_is_set_by_the_clock_of_the_browser_and_listed_once_it_is_over(visitor: Visitor) -> None:
    """WEB-613, WEB-6131, WEB-6133: `task remind`."""
    at, listed = 1_764_590_400_000, f'id="task-{TASK}"'  # 2025-12-01, 12:00 UTC
    visitor.now = lambda: at
    visitor.client.cookies.set("zone", "Asia%2FTokyo", domain=visitor.access.door.host)
    page = visitor.post(f"/tasks/{TASK}", verb="remind", value="2025-12-01T23:30")
    assert visitor.task.remind_at == "2025-12-01T14:30:00.000Z"
    assert "Mon 1 Dec 2025, 23:30" in page
    assert 'value="2025-12-01T23:30"' in page
    assert "reminds you on 2025-12-01 23:30" in page
    assert listed not in visitor.get("/tasks?show=reminders")
    visitor.now = lambda: at + 3 * 3_600_000
    assert listed in visitor.get("/tasks?show=reminders")
    assert "without a reminder" in visitor.post(f"/tasks/{TASK}", verb="remind", value="")
    assert ">nothing</summary>" in visitor.get(f"/tasks/{TASK}")
    assert listed not in visitor.get("/tasks?show=reminders")


NO_REMINDERS = (
    *("tomorrow", "2025-12-01", "2025-13-01T10:00", "2025-12-01T10:00Z"),
    "\N{ARABIC-INDIC DIGIT TWO}025-12-01T10:00",
)


@pytest.mark.parametrize("value", NO_REMINDERS)
def test_web_6131_what_is_not_a_reminder_changes_nothing_and_is_said(visitor: Visitor, value: str) -> None:
    """WEB-6131, WEB-30"""
    visitor.client.cookies.set("zone", "Asia%2FTokyo", domain=visitor.access.door.host)
    assert "Write a day and a time" in visitor.post(f"/tasks/{TASK}", 400, verb="remind", value=value)
    assert visitor.task.remind_at is None


def test_web_6132_a_task_repeats_and_to_finish_it_makes_the_next(visitor: Visitor) -> None:
    """WEB-6132, WEB-6130: `task repeat`, from the day on which it is due."""
    page = visitor.post(f"/tasks/{TASK}", verb="repeat", every="2", value="week")
    assert visitor.task.repeat == "R/2026-11-30/P2W"
    assert "repeats every 2 weeks" in page
    assert "<summary>every 2 weeks</summary>" in page
    visitor.post(f"/tasks/{TASK}", verb="status", value="DONE")
    assert "Mon 14 Dec 2026" in visitor.get("/tasks")
    assert "does not repeat" in visitor.post(f"/tasks/{TASK}", verb="repeat", every="2", value="")
    assert visitor.task.repeat is None


@pytest.mark.parametrize(
    ("every", "value"), [("0", "week"), ("-1", "week"), ("1.5", "day"), ("1000", "day"), ("1", "hour"), ("x", "day")]
)
def test_web_6132_what_is_not_a_rule_changes_nothing_and_is_said(visitor: Visitor, every: str, value: str) -> None:
    """WEB-6132, WEB-30"""
    assert "A task repeats daily" in visitor.post(f"/tasks/{TASK}", 400, verb="repeat", every=every, value=value)
    assert visitor.task.repeat is None


def test_web_621_what_is_not_here_is_said_once(visitor: Visitor) -> None:
    """WEB-621: no empty notice stands above it."""
    for path in ("/tasks/nothing", "/agents/nobody"):
        page = visitor.get(path, 404)
        assert "Not here" in page
        assert "failed" not in page.partition("<main")[2]
    assert 'class="said failed"' in visitor.post(f"/tasks/{TASK}", 400, verb="estimate", value="x")


def test_web_622_a_task_is_put_into_a_category_and_out_of_it(visitor: Visitor) -> None:
    """WEB-622: `task category`; one that is not there is made, and one name is one category."""
    page = visitor.post(f"/tasks/{TASK}", verb="category", value="  The <house> ")
    assert "<summary>The &lt;house&gt;</summary>" in page
    assert "in The &lt;house&gt;" in page
    first = visitor.task.category_id
    visitor.post(f"/tasks/{TASK}", verb="category", value="")
    assert visitor.task.category_id is None
    visitor.post(f"/tasks/{TASK}", verb="category", value="the <HOUSE>")
    assert visitor.task.category_id == first
    page = visitor.get(f"/tasks/{TASK}").partition('id="written"')[2]
    assert "Category" in page
    assert str(first) not in page
    assert "categoryId" not in page


# -- put away, timers, language, deleted tasks, agents


def test_web_722_an_item_is_put_away_and_put_back(visitor: Visitor) -> None:
    """WEB-722, WEB-30: `task item archive`."""
    at = f"/tasks/{TASK}"
    page = visitor.post(at, verb="archive-item", item=ITEM)
    assert [item.id for item in page_of(visitor).archived] == [ITEM]
    assert "1 archived item" in page
    assert f'id="item-{ITEM}"' not in page
    assert "Put back on the checklist: Find the manual" in page
    page = visitor.post(at, verb="put-back", item=ITEM)
    assert "archived item" not in page
    assert [item.id for item in page_of(visitor).items] == [ITEM]
    assert "There is no checklist item nothing" in visitor.post(at, 400, verb="archive-item", item="nothing")


def test_web_723_a_timer_is_started_stopped_and_its_time_taken_away(visitor: Visitor) -> None:
    """WEB-723, WEB-30: `task time`. The timer that ran is stopped."""
    at, now = f"/tasks/{TASK}", visitor.now()
    visitor.now = lambda: now
    assert "The timer runs." in visitor.post(at, verb="start-timer", value="")
    visitor.now = lambda: now + 25 * 60_000
    page = visitor.post(at, verb="start-timer", value="On the phone with the fitter")
    assert page.count("The timer runs.") == 1
    assert page_of(visitor).minutes_spent == 25
    visitor.now = lambda: now + 30 * 60_000
    first, second = page_of(visitor).times
    page = visitor.post(at, verb="stop-timer", item=second.id)
    assert "The timer runs." not in page
    assert "30 min in all" in page
    visitor.post(at, verb="remove-time", item=first.id)
    assert [(each.text, each.minutes) for each in page_of(visitor).times] == [("On the phone with the fitter", 5)]
    assert "is a note" in visitor.post(at, 400, verb="stop-timer", item="n1")


def test_web_724_the_language_of_a_task_is_the_persons(visitor: Visitor) -> None:
    """WEB-724, WEB-30: `task language`."""
    at = f"/tasks/{TASK}"
    page = visitor.post(at, verb="language", value=" DE ")
    assert (visitor.task.language_code, visitor.task.language_source) == ("de", "user")
    assert '<h1 lang="de"' in page
    assert "language: de" in page
    assert "A language is a code of ISO 639-1" in visitor.post(at, 400, verb="language", value="xx")
    assert "without a language" in visitor.post(at, verb="language", value="")
    assert visitor.task.language_code is None


def test_web_725_a_deleted_task_is_listed_and_brought_back(visitor: Visitor) -> None:
    """WEB-725, WEB-30: `task list --deleted`, `task undelete`."""
    now = visitor.now() + 60_000
    visitor.now = lambda: now
    until = words.day(iso(now + MIN_AGE)[:10])
    assert f'id="task-{TASK}"' not in visitor.get("/tasks?show=deleted")
    visitor.post(f"/tasks/{TASK}", verb="delete")
    listed = visitor.get("/tasks?show=deleted")
    assert f'id="task-{TASK}"' in listed
    assert f"kept until {until}" in listed
    gone = visitor.get(f"/tasks/{TASK}", 404)
    assert "Bring this task back" in gone
    assert until in gone
    page = visitor.post(f"/tasks/{TASK}", verb="undelete")
    assert '<h1 lang="" id="task-title" data-live>Book the yearly' in page
    assert [item.id for item in page_of(visitor).items] == [ITEM]
    assert "There is no deleted task" in visitor.post(f"/tasks/{TASK}", 400, verb="undelete")
    assert "Bring this task back" not in visitor.get("/tasks/nothing", 404)


def test_web_726_an_agent_is_made_for_a_task(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    """WEB-726, WEB-30: `agent create`."""
    monkeypatch.setenv("LOTTISYNC_MODEL", "small")
    at = f"/tasks/{TASK}"
    assert "Let an agent mind this task" in visitor.get(at)
    assert "name has 1 to" in visitor.post(at, 400, verb="create-agent", name=" ")
    page = visitor.post(at, verb="create-agent", name="Mina", model="")
    assert "Mina minds this task." in page
    assert "Let an agent mind this task" not in page
    with visitor.home.agent.reading() as reader:
        made = agent_for_task(reader, TASK)
    assert made is not None
    assert (made.home_device, made.config["model"]) == (visitor.home.key.device_id, "small")
    assert "There is no task" in visitor.post("/tasks/nothing", 404, verb="create-agent", name="Mina")


# -- time by the clock, several checklists


def test_web_870_a_time_entry_is_changed_and_written_down_by_the_clock(visitor: Visitor) -> None:
    """WEB-870, WEB-8700, WEB-30, WEB-508: `task time edit`, `task time add --from --to`, where the browser is."""
    at = f"/tasks/{TASK}"
    visitor.now = lambda: 1_764_597_600_000  # 2025-12-01, 14:00 UTC
    visitor.client.cookies.set("zone", "Asia%2FTokyo", domain=visitor.access.door.host)
    page = visitor.post(at, verb="add-time", value="", begin="2025-12-01T20:00", end="2025-12-01T20:25")
    [entry] = page_of(visitor).times
    assert (entry.text, entry.at, entry.end) == ("Time spent", "2025-12-01T11:00:00.000Z", "2025-12-01T11:25:00.000Z")
    assert 'value="2025-12-01T20:25"' in page
    changed = {"item": entry.id, "value": "Walked there", "begin": "2025-12-01T19:40", "end": "2025-12-01T20:25"}
    page = visitor.post(at, verb="edit-time", **changed)
    [entry] = page_of(visitor).times
    assert (entry.text, entry.at, entry.minutes) == ("Walked there", "2025-12-01T10:40:00.000Z", 45)
    assert "changed" in page
    for begin, end in (("2025-12-01T20:00", "2025-12-01T19:00"), ("2025-11-01T20:00", "2025-12-01T19:00"), ("x", "y")):
        visitor.post(at, 400, verb="edit-time", item=entry.id, value="Walked", begin=begin, end=end)
        visitor.post(at, 400, verb="add-time", value="Walked", begin=begin, end=end)
    visitor.post(at, 400, verb="edit-time", item="n1", value="Walked", begin="", end="")
    assert page_of(visitor).times == [entry]


def test_web_8701_a_time_that_was_not_touched_stays_to_the_millisecond(visitor: Visitor) -> None:
    """WEB-8701: a browser's field holds minutes. A timer whose end is left empty runs on."""
    at, now = f"/tasks/{TASK}", 1_764_597_612_345
    visitor.now = lambda: now
    visitor.post(at, verb="start-timer", value="On the phone")
    [entry] = page_of(visitor).times
    [typed] = re.findall(r'name="begin" type="datetime-local" required value="([^"]+)"', visitor.get(at))
    visitor.post(at, verb="edit-time", item=entry.id, value="On the phone\r\nwith the fitter", begin=typed, end="")
    [entry] = page_of(visitor).times
    assert (entry.text, entry.at, entry.runs) == ("On the phone\nwith the fitter", iso(now), True)
    visitor.now = lambda: now + 3_600_000
    later = clock_field.shown(iso(now + 3_600_000))
    visitor.post(at, verb="edit-time", item=entry.id, value=entry.text, begin=typed, end=later)
    [entry] = page_of(visitor).times
    assert (entry.at, entry.end) == (iso(now), iso(now // 60_000 * 60_000 + 3_600_000))


def test_web_871_a_task_has_several_checklists(visitor: Visitor) -> None:
    """WEB-871, WEB-8710, WEB-30: `task checklist add | rename`, `task item add --to`."""
    at = f"/tasks/{TASK}"
    assert "<h3>" not in visitor.get(at).partition('id="checklist"')[2].partition("</section>")[0]
    visitor.post(at, verb="add-checklist", value="Cellar")
    first, second = page_of(visitor).checklists
    visitor.post(at, verb="rename-checklist", checklist=second.id, value="Attic <above>")
    page = visitor.post(at, verb="add-item", value="Look for mice", checklist=second.id)
    assert [(item.title, item.checklist_id) for item in page_of(visitor).items if item.id != ITEM] == [
        ("Look for mice", second.id)
    ]
    shown = page.partition('id="checklist"')[2].partition('id="archived"')[0]
    assert re.findall(r"<h3>([^<]+)", shown) == [first.title, "Attic &lt;above&gt;"]
    assert re.findall(r'class="text">([^<]+)', shown) == ["Find the manual", "Look for mice"]
    assert "checklist renamed" in visitor.post(at, verb="rename-checklist", checklist=first.id, value="Kitchen")
    assert "checklists of the task are called" in visitor.post(at, 400, verb="add-item", value="x", checklist="none")


def test_web_8711_an_item_is_moved_to_another_checklist_and_to_another_task(visitor: Visitor) -> None:
    """WEB-8711, WEB-30: `task item move --to`, `--task`."""
    at = f"/tasks/{TASK}"
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.add_task(tx, "t2", "Order the filter")
    visitor.post(at, verb="add-checklist", value="Cellar")
    cellar = page_of(visitor).checklists[1].id
    visitor.post(at, verb="move-to", item=ITEM, checklist=cellar)
    assert [(item.id, item.checklist_id) for item in page_of(visitor).items] == [(ITEM, cellar)]
    assert "moved" in visitor.post(at, verb="move-to", item=ITEM, other="the filter")
    assert page_of(visitor).items == []
    assert 'class="text">Find the manual' in visitor.get("/tasks/t2")
    assert "There is no task" in visitor.post("/tasks/t2", 400, verb="move-to", item=ITEM, other="nothing like it")


def test_web_871_an_item_whose_checklist_is_gone_is_shown(visitor: Visitor) -> None:
    """WEB-871, WEB-8711: another device deleted the checklist; the item can be moved into one that is there."""
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tx.delete(tasks.page(tx, TASK).checklists[0].id)
    assert 'class="text">Find the manual' in visitor.get(f"/tasks/{TASK}")
    visitor.post(f"/tasks/{TASK}", verb="add-checklist", value="Cellar")
    [cellar] = page_of(visitor).checklists
    page = visitor.post(f"/tasks/{TASK}", verb="move-to", item=ITEM, checklist=cellar.id)
    assert [item.checklist_id for item in page_of(visitor).items] == [cellar.id]
    assert 'class="text">Find the manual' in page


def test_web_874_a_note_of_several_lines_holds_line_feeds_alone(visitor: Visitor) -> None:
    """WEB-874: browsers send `\\r\\n` with a form."""
    visitor.post(f"/tasks/{TASK}", verb="note", value="One.\r\nTwo.")
    assert page_of(visitor).entries[-1].text == "One.\nTwo."


def test_web_30_what_a_task_is_linked_with_is_shown_and_taken_away(visitor: Visitor) -> None:
    with visitor.home.journal.transaction(clock.now(), PERSON) as tx:
        tasks.add_task(tx, "other", "Order the valve")
        tasks.set_link(tx, TASK, "blocks", "other")
    shown = visitor.get(f"/tasks/{TASK}")
    assert "Order the valve" in shown
    assert "Take away: Order the valve" in shown
    visitor.post(f"/tasks/{TASK}", verb="unlink", relation="blocks", other="other")
    assert "Order the valve" not in visitor.get(f"/tasks/{TASK}")


def test_web_968_a_refused_value_is_named_as_pages_name_it(visitor: Visitor) -> None:
    """WEB-968: in the reader's language, and by the clock of the browser."""
    visitor.client.headers["accept-language"] = "de"
    visitor.client.cookies.set("zone", "Europe%2FBerlin")
    at = f"/tasks/{TASK}"
    assert "Status Blockiert " in visitor.post(at, 400, verb="status", value="BLOCKED", reason="")
    wrong = {"value": "Called", "begin": "2026-07-01T09:10", "end": "2026-07-01T08:30"}
    page = visitor.post(at, 400, verb="add-time", **wrong)
    assert "Mi 1. Juli 2026, 09:10" in page
    assert "2026-07-01T" not in page


def test_web_968_who_set_the_language_is_named_as_people_are(visitor: Visitor) -> None:
    visitor.post(f"/tasks/{TASK}", verb="language", value="de")
    [said] = re.findall(r"<b>Language set by</b>(.*?)<span class=\"faint\">", visitor.get(f"/tasks/{TASK}"))
    assert said.endswith("you ")
