"""The inbox over HTTP, without a script: every verdict is a form, and says what was seen."""

import re
from typing import Any

import pytest
from tests.support.proposals import propose, wake_on
from tests.web.visitor import AGENT, PROPOSED, TASK, TITLE, Visitor

from lottisync.device import clock
from lottisync.entities.entity import LOW
from lottisync.journal import names, tasks
from lottisync.review.precedence import PERSON
from lottisync.store.instant import iso


def estimate_waits(visitor: Visitor) -> tuple[str, str]:
    """An estimate of 90 minutes awaits a verdict: the row's name, and the digest of what it shows."""
    propose(visitor.home, ("update_task_estimate", {"minutes": 90}))
    [row] = visitor.rows(visitor.get("/inbox"))
    return row


def test_web_20_each_task_and_each_agent_has_a_card(visitor: Visitor) -> None:
    """WEB-20: two agents on one task have two cards, one agent on two tasks as well."""
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.add_task(tx, "t2", "Order the filter")
    with visitor.home.agent.transaction(visitor.now(), PERSON) as tx:
        tx.put("mina", "agent", {"agentId": "mina", "displayName": "Mina"})
    for task, agent, tool, args in (
        (TASK, AGENT, "update_task_priority", {"priority": "P1"}),
        (TASK, AGENT, "update_task_estimate", {"minutes": 90}),
        ("t2", AGENT, "update_task_priority", {"priority": "P1"}),
        (TASK, "mina", "update_task_priority", {"priority": "P0"}),
    ):
        woken = wake_on(visitor.home.journal, visitor.home.agent, run=f"{task} {agent} {tool}", task=task, agent=agent)
        woken.queue(tool, args, visitor.now())
        with visitor.home.agent.transaction(visitor.now(), LOW) as tx:
            woken.build(tx, visitor.now())
    cards = visitor.get("/inbox").split(" data-card>")[1:]
    heads = [re.findall(r'<a href="/tasks/(\w+)">.*?</svg>(\w+) suggests (\d) ', card, re.DOTALL)[0] for card in cards]
    assert sorted(heads) == [(TASK, "Laura", "2"), (TASK, "Mina", "1"), ("t2", "Laura", "1")]


def groups_on(page: str) -> list[tuple[str, str]]:
    """The groups of the cards on a page, each with the number beside it."""
    return re.findall(r'<span>([^<]+)</span> <span class="number" id="card-[^>]*>(\d+)<', page)


def test_web_200_a_card_has_its_groups_in_their_order(visitor: Visitor) -> None:
    """WEB-200, S1-41: each holds what is of its kind."""
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tx.put("house", "label", {"name": "House"})
    propose(
        visitor.home,
        ("create_follow_up_task", {"title": "Order the filter"}),
        ("assign_task_labels", {"labels": [{"id": "house", "confidence": "high"}]}),
        *PROPOSED,
    )
    page = visitor.get("/inbox")
    assert [name for name, _ in groups_on(page)] == [
        *("Status and title", "Checklist", "Estimates and dates", "Labels", "Follow-ups and links"),
    ]
    for part, words in zip(
        page.split('<details class="group"')[1:],
        ("log book", "Call the fitter", "90", "House", "Order the filter"),
        strict=True,
    ):
        assert words in part


def test_web_201_a_card_counts_what_waits_in_its_groups_and_the_title_all_of_it(visitor: Visitor) -> None:
    """WEB-201, WEB-202, S1-41, S1-35, S1-69: what is decided waits no more."""
    propose(visitor.home, *PROPOSED)
    page = visitor.get("/inbox")
    assert groups_on(page) == [("Status and title", "2"), ("Checklist", "3"), ("Estimates and dates", "2")]
    item, shown = visitor.rows(page)[0]
    since = re.findall(r'data-since="(\d+)"', page)[0]
    decided = visitor.decide(item, shown, "reject", since=since)
    assert groups_on(decided)[0] == ("Status and title", "1")
    assert "<title>(6) Inbox</title>" in decided
    assert "7 wait" in page
    assert "<title>(7) Inbox</title>" in page
    assert ", 7 wait</span>" in page


def test_web_26_all_that_would_be_written_is_on_the_row(visitor: Visitor) -> None:
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.check_item(tx, "i1", checked=True)
        tasks.check_item(tx, "i1", checked=False)
    with visitor.home.journal.transaction(visitor.now() + 1000, PERSON) as tx:
        tasks.add_note(tx, "n2", TASK, "It lay in the kitchen drawer.")
    propose(
        visitor.home,
        ("set_task_status", {"status": "BLOCKED", "reason": "The fitter is away until Monday."}),
        (
            "create_follow_up_task",
            {
                "title": "Order the filter",
                "dueDate": "2026-12-04",
                "priority": "P1",
                "description": "Type 7, two of them.",
            },
        ),
        (
            "suggest_checklist_completion",
            {"items": [{"id": "i1", "reason": "A note says that it turned up.", "evidenceEntryIds": ["n2"]}]},
        ),
    )
    page = visitor.get("/inbox")
    for text in (
        "Blocked",
        "The fitter is away until Monday.",
        "Order the filter",
        "Fri 4 Dec 2026",
        "P1",
        "Type 7, two of them.",
        "It lay in the kitchen drawer.",
    ):
        assert text in page


def test_rev480_what_was_deleted_and_brought_back_is_said_in_words(visitor: Visitor) -> None:
    """REV-480: the values that are proposed stay on the row, and no button offers to keep, or to set, nothing."""
    propose(visitor.home, ("update_task_estimate", {"minutes": 90}))
    for change in (tasks.delete_task, tasks.undelete_task):
        with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
            change(tx, TASK)
    page = visitor.get("/inbox")
    for text in ("This was deleted and brought back since", "1 h 30 min", "Confirm anyway"):
        assert text in page
    for text in ("Keep nothing", "Set nothing"):
        assert text not in page
    [(item, shown)] = visitor.rows(page)
    visitor.decide(item, shown, "confirm-anyway")
    assert visitor.task.estimate == 90


def test_web_21_a_confirmed_row_keeps_its_place_and_can_be_undone(visitor: Visitor) -> None:
    propose(
        visitor.home, ("update_task_estimate", {"minutes": 90}), ("update_task_due_date", {"dueDate": "2026-12-01"})
    )
    before = visitor.get("/inbox")
    [(item, shown), _] = visitor.rows(before)
    since = re.findall(r'data-since="(\d+)"', before)[0]
    page = visitor.decide(item, shown, "confirm", since=since)
    assert visitor.task.estimate == 90
    assert "Confirmed: " in page
    assert next(ident for ident, _ in visitor.rows(page)) == item
    fresh = dict(visitor.rows(page))[item]
    page = visitor.decide(item, fresh, "undo", since=since)
    assert visitor.task.estimate == 30


def test_web_21_the_last_decided_row_stays_until_the_page_is_left(visitor: Visitor) -> None:
    propose(visitor.home, ("update_task_estimate", {"minutes": 90}))
    before = visitor.get("/inbox")
    since = re.findall(r'data-since="(\d+)"', before)[0]
    [(item, shown)] = visitor.rows(before)
    page = visitor.decide(item, shown, "reject", since=since, reason="It took two days last year.")
    assert "Your reason: It took two days last year." in page
    assert "All decided." in page
    visitor.now = lambda: int(since) + 60_000
    assert "Nothing waits for you." in visitor.get("/inbox")


def test_web_1068_an_empty_page_says_so_once(visitor: Visitor) -> None:
    """WEB-1068: and the inbox how an agent comes to a task, as long as none minds one."""
    page = visitor.get("/inbox")
    assert page.count("Nothing waits for you.") == 1
    assert "What agents propose on any of your devices comes here." in page
    with visitor.home.agent.transaction(visitor.now() + 1, PERSON) as tx:
        tx.put(AGENT, "agent", {"lifecycle": "destroyed"})
    page = visitor.get("/inbox")
    assert "No agent minds a task. On the page of a task: Let an agent mind this task" in page
    assert "What agents propose" not in page
    conflicts = visitor.get("/conflicts")
    assert conflicts.count("No two devices disagree.") == 1
    assert 'class="card' not in conflicts


def test_web_1505_an_empty_inbox_says_how_many_agents_mind_tasks_and_when_one_woke(visitor: Visitor) -> None:
    """WEB-1505: one that is ended minds nothing, and what it did is not a sign of life."""
    assert "1 agent minds a task." in visitor.get("/inbox")
    assert "Last awake" not in visitor.get("/inbox")
    now = visitor.now()
    with visitor.home.agent.transaction(now, PERSON) as tx:
        for agent, ago in ((AGENT, 12), ("mina", 60 * 24), ("gone", 1)):
            lifecycle = "destroyed" if agent == "gone" else "active"
            tx.put(agent, "agent", {"agentId": agent, "displayName": agent.title(), "lifecycle": lifecycle})
            tx.put(f"state-{agent}", "agentState", {"agentId": agent, "lastWakeAt": iso(now - ago * 60_000)})
    visitor.now = lambda: now
    page = visitor.get("/inbox")
    assert "2 agents mind tasks." in page
    assert re.search(r">Last awake: 12 min ago\.</time>", page)


def test_web_1504_a_card_and_the_page_of_its_task_say_how_many_items_are_done(visitor: Visitor) -> None:
    """WEB-1504: what was put away does not count."""
    assert '<p class="soft" id="progress" data-live>0 of 1 done</p>' in visitor.get(f"/tasks/{TASK}")
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        for number in (2, 3):
            tasks.add_item(tx, f"i{number}", TASK, f"Item {number}")
        tasks.check_item(tx, "i2", checked=True)
        tx.put("i3", "checklistItem", {"isArchived": True})
    propose(visitor.home, ("update_task_estimate", {"minutes": 90}))
    assert "1 of 2 done" not in visitor.get("/inbox")
    propose(visitor.home, PROPOSED[-1])
    assert visitor.get("/inbox").count("1 of 2 done") == 1
    assert visitor.get(f"/tasks/{TASK}").count("1 of 2 done") == 1


def test_web_22_a_verdict_on_what_has_changed_is_refused_with_a_fresh_picture(visitor: Visitor) -> None:
    item, shown = estimate_waits(visitor)
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"estimate": 45})
    page = visitor.decide(item, shown, "confirm", 409)
    assert "This changed while you looked. Nothing was done." in page
    assert visitor.task.estimate == 45
    assert "Keep 45 min" in page
    assert "Set 1 h 30 min" in page
    [(item, fresh)] = visitor.rows(page)
    visitor.decide(item, fresh, "confirm-anyway")
    assert visitor.task.estimate == 90


def test_web_22_what_is_refused_is_said_in_the_readers_language(visitor: Visitor) -> None:
    item, shown = estimate_waits(visitor)
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"estimate": 45})
    visitor.client.headers["accept-language"] = "de"
    page = visitor.decide(item, shown, "confirm", 409)
    assert "Hat sich geändert, während du es angesehen hast. Nichts wurde getan." in page
    assert "Nothing was done." not in page


def test_web_22_a_verdict_without_a_digest_is_refused(visitor: Visitor) -> None:
    item, _ = estimate_waits(visitor)
    for verdict in ("confirm", "reject", "defer", "edit", "undo", "keep"):
        visitor.decide(item, "", verdict, 409)
    assert visitor.task.estimate == 30


def test_web_23_an_edited_proposal_is_confirmed_as_edited(visitor: Visitor) -> None:
    item, shown = estimate_waits(visitor)
    visitor.decide(item, shown, "edit", arg_minutes="120")
    assert visitor.task.estimate == 120


def test_jour_600_a_status_is_edited_to_done(visitor: Visitor) -> None:
    """JOUR-600: the form has every status to choose from, in the reader's words."""
    propose(visitor.home, ("set_task_status", {"status": "IN PROGRESS", "reason": "Time was spent."}))
    page = visitor.get("/inbox")
    [(item, shown)] = visitor.rows(page)
    assert '<option value="DONE">Done</option>' in page
    assert '<option value="IN PROGRESS" selected>In progress</option>' in page
    visitor.decide(item, shown, "edit", arg_status="DONE")
    assert (visitor.task.status, visitor.task.status_reason) == ("DONE", None)


def test_web_23_an_edit_that_the_tool_does_not_take_changes_nothing(visitor: Visitor) -> None:
    item, shown = estimate_waits(visitor)
    page = visitor.decide(item, shown, "edit", 409, arg_minutes="a while")
    assert "Could not be done" in page
    assert visitor.task.estimate == 30


def test_web_24_what_is_put_off_is_set_apart(visitor: Visitor) -> None:
    item, shown = estimate_waits(visitor)
    visitor.decide(item, shown, "defer")
    visitor.now = lambda real=visitor.now: real() + 60_000  # type: ignore[misc]
    page = visitor.get("/inbox")
    assert re.search(r'Put off until later</span> <span class="number">1<', page)


@pytest.mark.parametrize(("verdict", "estimate"), [("confirm", 90), ("reject", 30)])
def test_web_25_what_is_decided_at_once_is_what_was_shown(visitor: Visitor, verdict: str, estimate: int) -> None:
    """WEB-25, WEB-250, WEB-251, WEB-252, S1-43: what came since is not among it, what changed is left and said."""
    propose(visitor.home, ("update_task_priority", {"priority": "P1"}), ("update_task_estimate", {"minutes": 90}))
    seen = re.findall(r'name="seen" value="([^"]+)"', visitor.get("/inbox"))
    assert len(seen) == 2
    propose(visitor.home, ("update_task_due_date", {"dueDate": "2026-12-09"}), run="r2")
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"priority": "P3"})
    page = visitor.post("/decide-all", 409, seen=seen, verdict=verdict)
    assert "1 done. 1 changed while you looked, and waits." in page
    task = visitor.task
    assert (task.estimate, task.priority, task.due) == (estimate, "P3", "2026-11-30")
    page = visitor.get("/inbox")
    assert "<title>(2) Inbox</title>" in page
    assert re.findall(r'aria-label="Undo: ([^"]+)"', page) == ["Set estimate to 90 minutes"]


def test_web_253_what_needs_a_look_is_not_decided_along_with_others(visitor: Visitor) -> None:
    """WEB-253: what it would change was changed since it was proposed."""
    propose(visitor.home, ("update_task_priority", {"priority": "P1"}), ("update_task_estimate", {"minutes": 90}))
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"priority": "P3"})
    page = visitor.get("/inbox")
    assert len(visitor.rows(page)) == 2
    [seen] = re.findall(r'name="seen" value="([^"]+)"', page)
    visitor.post("/decide-all", seen=[seen], verdict="confirm")
    assert (visitor.task.estimate, visitor.task.priority) == (90, "P3")


def test_web_25_the_rest_is_dismissed_in_one_act(visitor: Visitor) -> None:
    """S1-44"""
    propose(visitor.home, *PROPOSED)
    seen = re.findall(r'name="seen" value="([^"]+)"', visitor.get("/inbox"))
    page = visitor.post("/decide-all", seen=seen, verdict="reject", since="1")
    assert page.count("<b>rejected</b>") == len(seen)
    assert visitor.task.estimate == 30


def many(visitor: Visitor, count: int) -> None:
    for number in range(count):
        with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
            tasks.add_task(tx, f"m{number}", f"Task number {number}")
        estimate, priority = ("update_task_estimate", {"minutes": 15}), ("update_task_priority", {"priority": "P1"})
        propose(visitor.home, estimate, priority, run=f"m{number}", task=f"m{number}")


def test_web_87_a_large_inbox_opens_one_card_and_lists_the_others(visitor: Visitor) -> None:
    many(visitor, 21)
    page = visitor.get("/inbox")
    assert "42 wait" in page
    assert page.count("data-card>") == 1
    assert page.count("/inbox?since=") == 19
    assert "Task number 0<" not in page  # the oldest is on the next page
    assert "Task number 0<" in visitor.get("/inbox?page=1")
    assert "Next page" not in visitor.get("/inbox?page=1")


def test_web_1503_the_line_of_a_card_says_how_much_waits_in_each_group(visitor: Visitor) -> None:
    """WEB-1503: it had one number for all."""
    many(visitor, 15)
    propose(visitor.home, *PROPOSED)
    visitor.now = lambda: clock.now() + 60_000
    page = visitor.get("/inbox?open=card-m3-laura")
    [line] = re.findall(rf'<li><a href="[^"]*#card-{TASK}-{AGENT}">(.*?)</a>', page)
    assert re.findall(r"<span>([A-Z][^<]*?)(?:\u00a0·)?</span>", line) == [
        "Status and title 2",
        "Checklist 3",
        "Estimates and dates 2",
    ]
    assert '<span class="number">7<' in line


def test_web_87_the_card_that_was_opened_stays_open_after_a_verdict(visitor: Visitor) -> None:
    many(visitor, 17)
    opened = "/inbox?open=card-m3-laura"
    page = visitor.get(opened)
    assert page.count("data-card>") == 1
    (item, shown), other = visitor.rows(page)
    page = visitor.decide(item, shown, "confirm", since=visitor.now(), open="card-m3-laura")
    assert 'id="card-m3-laura"' in page
    assert "confirmed" in page
    assert visitor.rows(page)[1][0] == other[0]
    page = visitor.decide(*other, "reject", since=0, open="card-m3-laura")
    assert 'id="card-m3-laura"' in page


@pytest.mark.parametrize("query", ["page=x", "page=-1", "page=99999999999", "open=../x", "page=5"])
def test_web_87_a_page_that_is_not_there_is_answered(visitor: Visitor, query: str) -> None:
    many(visitor, 16)
    visitor.get(f"/inbox?{query}")


def test_agent155_what_goes_to_the_archive_is_not_called_done(visitor: Visitor) -> None:
    """AGENT-155: an item that is put away keeps its tick."""
    propose(visitor.home, ("update_checklist_items", {"items": [{"id": "i1", "isArchived": True}]}))
    page = visitor.get("/inbox")
    assert "not archived" in page
    assert "not done" not in page


def decided_elsewhere(visitor: Visitor, **differently: Any) -> None:
    """Another device has decided on the one item that was decided on here, at the same time."""
    with visitor.home.agent.reading() as reader:
        [decision] = reader.by_type("changeDecision")
        document = reader.document(decision.id)
    assert document is not None
    other = {**document.document(), "device": "another", "seen": [], **differently}
    fields = {name: value for name, value in other.items() if name not in ("id", "type", "updatedAt", "deletedAt")}
    with visitor.home.agent.transaction(visitor.now(), PERSON) as tx:
        tx.put("elsewhere", "changeDecision", fields)


def test_web_504_a_contested_row_says_what_each_device_decided(visitor: Visitor) -> None:
    item, shown = estimate_waits(visitor)
    visitor.decide(item, shown, "confirm")
    decided_elsewhere(visitor, verdict="rejected", reason="It takes longer.")
    page = visitor.get("/inbox")
    assert "decided differently on two devices" in page
    assert re.search(r"<dt>laptop</dt><dd><b>confirmed</b>", page)
    assert re.search(r"<dt>another device</dt><dd><b>rejected</b>.*It takes longer\.", page)


@pytest.mark.parametrize(
    ("call", "kept", "before"),
    [
        (("update_task_estimate", {"minutes": 90}), "Keep 1 h 30 min · Estimate", "Back to 30 min · Estimate"),
        (
            ("set_task_title", {"title": "Book the boiler service, and find the log book"}),
            "Keep Book the boiler service, and find the log book · Title",
            f"Back to {TITLE} · Title",
        ),
        (
            ("add_multiple_checklist_items", {"items": [{"title": "Call the fitter"}]}),
            "Keep it · Add: &#34;Call the fitter&#34;",
            "Back to before · Add: &#34;Call the fitter&#34;",
        ),
        (
            (
                "create_time_entry",
                {
                    "startTime": "2026-11-20T08:00:00+01:00",
                    "endTime": "2026-11-20T09:00:00+01:00",
                    "summary": "shopping",
                },
            ),
            "Keep it · Time: 60 min, &#34;shopping&#34;",
            "Back to before · Time: 60 min, &#34;shopping&#34;",
        ),
    ],
)
def test_web_1022_the_buttons_of_a_contested_row_name_what_they_stand_for(
    visitor: Visitor, call: tuple[str, dict[str, Any]], kept: str, before: str
) -> None:
    """WEB-1022: the value that took effect, and the one from before. What is created is kept whole: the button named
    the start of a time entry alone."""
    propose(visitor.home, call)
    [(item, shown)] = visitor.rows(visitor.get("/inbox"))
    visitor.decide(item, shown, "confirm")
    decided_elsewhere(visitor, verdict="rejected")
    found = re.findall(
        r'<button name="verdict" value="(keep|undo)" aria-label="([^"]+)">([^<]+)<', visitor.get("/inbox")
    )
    assert [(word, name) for word, name, _ in found] == [("keep", kept), ("undo", before)]
    assert all(name.startswith(text.removesuffix("...")) for _, name, text in found)


def test_web_1022_a_contested_row_keeps_the_value_that_was_typed(visitor: Visitor) -> None:
    """WEB-1022: an edit took effect, and another device confirmed what was proposed."""
    item, shown = estimate_waits(visitor)
    visitor.decide(item, shown, "edit", arg_minutes="120")
    decided_elsewhere(visitor, edited=False, **{"args/minutes": 90})
    page = visitor.get("/inbox")
    assert ">Keep 2 h<" in page
    [(item, shown)] = visitor.rows(page)
    visitor.decide(item, shown, "keep")
    assert visitor.task.estimate == 120


def test_web_1027_what_is_contested_counts_as_what_waits(visitor: Visitor) -> None:
    """WEB-1027: in its group and at the foot of its card, as in the title."""
    item, shown = estimate_waits(visitor)
    visitor.decide(item, shown, "confirm")
    decided_elsewhere(visitor, verdict="rejected", reason="It takes longer.")
    page = visitor.get("/inbox")
    assert "<title>(1) Inbox</title>" in page
    assert re.findall(r'-count" data-live>(\d+)<', page) == ["1"]
    assert "1 needs a look." in page
    assert "All decided." not in page
    assert page.count("It takes longer.") == 1


def test_web_1062_what_cannot_be_confirmed_needs_a_look_wherever_that_is_said(visitor: Visitor) -> None:
    """WEB-1062, WEB-1063: the agent may not work in the task's category any more. The head counted no such row, and
    the row called the task by its id."""
    propose(visitor.home, *PROPOSED[2:4])
    with visitor.home.journal.transaction(visitor.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"categoryId": names.find_or_make(tx, "category", "House")})
    page = visitor.get("/inbox")
    assert "2 of them need a look" in page
    assert "2 need a look." in page
    refused = set(re.findall(r'<p class="stop">([^<]+)</p>', page))
    assert [why for why in refused if TASK not in why and TITLE in why] == list(refused) != []


def test_web_1024_a_decided_row_says_the_value_that_took_effect(visitor: Visitor) -> None:
    """WEB-1024: an edit is confirmed as edited; what was proposed took no effect. Activity and the task's page say the
    same."""
    item, shown = estimate_waits(visitor)
    page = visitor.decide(item, shown, "edit", arg_minutes="120", since=visitor.now())
    said = re.findall(r'<p id="said"[^>]*>([^<]+)<', page)
    assert said == ["Confirmed: Set estimate to 120 minutes"]
    row = page.partition('class="row confirmed')[2].partition("</li>")[0]
    assert ">2 h</ins>" in row
    assert "1 h 30 min" not in row
    assert "90 minutes" not in row
    for path in ("/activity", f"/tasks/{TASK}"):
        shown = visitor.get(path)
        assert "Set estimate to 120 minutes" in shown, path


def test_web_505_the_icon_says_how_many_wait(visitor: Visitor) -> None:
    propose(visitor.home, *PROPOSED)
    [address] = re.findall(r'rel="icon" [^>]*href="([^"]+)"', visitor.get("/inbox"))
    assert ">7</text>" in visitor.get(address)
    assert ">99+</text>" in visitor.get("/icon.svg?waiting=12345")
    for count in ("0", "", "-1", "<b>", "9" * 40):
        assert "</text>" not in visitor.client.get("/icon.svg", params={"waiting": count}).text


def test_web_24_what_was_put_off_just_now_stands_once_on_the_page(visitor: Visitor) -> None:
    """WEB-24, WEB-21: in its place in the card until the page is left; two rows would have one id."""
    propose(visitor.home, *PROPOSED)
    item, shown = visitor.rows(visitor.get("/inbox"))[0]
    page = visitor.decide(item, shown, "defer", since=str(visitor.now() - 1_000))
    rows = re.findall(r'<li id="(row-[^"]+)"', page)
    assert len(rows) == len(set(rows))
    assert re.search(r'Put off until later</span> <span class="number">0<', page)


def test_web_252_what_was_decided_at_once_is_said(visitor: Visitor) -> None:
    """WEB-252: for those who hear the page, and do not see its rows."""
    propose(visitor.home, *PROPOSED)
    page = visitor.get("/inbox")
    seen = [f"{item} {shown}" for item, shown in visitor.rows(page)]
    page = visitor.post("/decide-all", verdict="confirm", seen=seen, card="")
    assert re.search(r'id="said"[^>]*>Confirmed: \d proposals</p>', page)
