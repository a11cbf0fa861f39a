"""A home in which every page has something to show: each state of a row, conflicts, an agent that failed and asks."""

from functools import partial
from pathlib import Path
from typing import Any

import anyio
from tests.support.proposals import propose
from tests.support.rounds import send
from tests.support.scripted_model import ScriptedModel, Step, call, say
from tests.web.visitor import ITEM, PROPOSED, TASK, furnish

from lottisync.agents import task_agent
from lottisync.agents.model import ModelError, TokenUsage
from lottisync.agents.run_key import user_initiated
from lottisync.agents.wake import wake
from lottisync.daemon.home import TaskHome
from lottisync.device import clock
from lottisync.journal import checklist, names, task_values, tasks, time_entry
from lottisync.journal.toolbox import ACTIONS
from lottisync.problem import Problem
from lottisync.review.inbox import Inbox
from lottisync.review.item_view import ItemView
from lottisync.review.precedence import PERSON
from lottisync.review.verdict import Verdicts
from lottisync.store.instant import iso

OTHER, GONE = "t2", "t4"
LONG = "Donaudampfschifffahrtsgesellschaftskapitänswitwenrentenauszahlungsstelle"
DAY = 24 * 3_600_000
REPORT: dict[str, Any] = {
    "title": "The boiler",
    "tldr": "All is known but the day.",
    "goal": "A warm winter.",
    "achieved": ["The fitter calls back."],
    "remaining": [f"A day for the {LONG}."],
    "learnings": ["He closes at noon."],
}


def fill(path: Path) -> str:
    """Furnish a home that was just made; the id of its agent."""
    home = TaskHome.open(path)
    agent_id = furnish_wholly(home)
    home.close()
    return agent_id


def furnish_wholly(home: TaskHome) -> str:
    """The same, of an open home."""
    furnish(home)
    _add_tasks(home)
    _propose(home)
    _decide(home)
    _disagree(home, home.path.with_name(f"{home.path.name}-other"))
    return _let_an_agent_mind(home)


def _add_tasks(home: TaskHome) -> None:
    with home.journal.transaction(clock.now(), PERSON) as tx:
        tasks.add_task(tx, OTHER, f"Ask the {LONG} for the form", {"due": "2026-12-09", "estimate": 45})
        tasks.add_task(tx, "t3", "Water the plants")
        tasks.add_item(tx, "i2", OTHER, f"Call the {LONG}")
        tasks.check_item(tx, "i2", checked=True)
        tasks.set_link(tx, TASK, "blocks", OTHER)
        tasks.edit_task(tx, TASK, task_values.language_fields("en"))
        tasks.add_item(tx, "i3", TASK, f"Ask the {LONG} again")
        checklist.archive_item(tx, "i3")
        time_entry.start(tx, "e1", TASK, f"On the phone with the {LONG}", iso(tx.now))
        tasks.add_task(tx, GONE, f"Write to the {LONG}")
    with home.journal.transaction(clock.now(), PERSON) as tx:
        tasks.delete_task(tx, GONE)
    with home.journal.transaction(clock.now(), PERSON) as tx:
        names.label_task(tx, TASK, [names.find_or_make(tx, "label", "household")])


def _propose(home: TaskHome) -> None:
    with home.journal.transaction(clock.now(), PERSON) as tx:
        tasks.check_item(tx, ITEM, checked=True)
        tasks.check_item(tx, ITEM, checked=False)
    with home.journal.transaction(clock.now() + 1_000, PERSON) as tx:
        tasks.add_note(tx, "n2", TASK, "It lay in the kitchen drawer.")
    ticked = {"id": ITEM, "reason": "A note says that it turned up.", "evidenceEntryIds": ["n2"]}
    propose(
        home,
        *PROPOSED[:-1],
        ("suggest_checklist_completion", {"items": [ticked]}),
        ("create_follow_up_task", {"title": f"Order from the {LONG}", "dueDate": "2026-12-04", "priority": "P1"}),
        ("assign_task_labels", {"labels": [{"id": "no-such-label", "confidence": "high"}]}),
    )
    calls = (
        *(("update_task_estimate", {"minutes": 60}), ("update_task_priority", {"priority": "P1"})),
        *(
            ("set_task_title", {"title": "Ask for the form"}),
            ("set_task_status", {"status": "GROOMED", "reason": "All is there."}),
        ),
        ("add_multiple_checklist_items", {"items": [{"title": title} for title in ("A stamp", "An envelope")]}),
    )
    propose(home, *calls, run="r2", task=OTHER)


def _decide(home: TaskHome) -> None:
    """One confirmed, one rejected with a reason, one put off, one decided otherwise elsewhere; one is stale."""
    verdicts = Verdicts(home.journal, home.agent, ACTIONS, device_id=home.key.device_id, new_id=clock.new_id)
    items = {item.tool: item for item in _items(home, OTHER)}
    verdicts.confirm(items["update_task_estimate"].id, clock.now())
    verdicts.reject_selected([items["update_task_priority"].id], clock.now(), "It can wait.")
    verdicts.defer_selected([items["set_task_status"].id], clock.now() + DAY, clock.now())
    with home.agent.reading() as reader:
        [confirmed] = [one for one in reader.by_type("changeDecision") if one.value("verdict") == "confirmed"]
        document = reader.document(confirmed.id)
    assert document is not None
    kept = {
        name: value
        for name, value in document.document().items()
        if name not in ("id", "type", "updatedAt", "deletedAt")
    }
    with home.agent.transaction(clock.now(), PERSON) as tx:
        elsewhere = {"verdict": "rejected", "reason": "It takes longer.", "device": "another", "seen": []}
        tx.put("elsewhere", "changeDecision", kept | elsewhere)
    with home.journal.transaction(clock.now(), PERSON) as tx:
        tasks.edit_task(tx, TASK, {"due": "2026-12-09"})


def _items(home: TaskHome, task_id: str) -> list[ItemView]:
    shown = Inbox(home.journal, home.agent, ACTIONS).open_sets(clock.now(), task_id)
    return [item for one in shown for item in one.items]


def _disagree(home: TaskHome, path: Path) -> None:
    """Another device has written two fields of a task at the same time."""
    other = TaskHome.create(path, "phone")
    send(home.journal, other.journal)
    for store, title, status in (
        (other.journal, f"Water the {LONG}", "GROOMED"),
        (home.journal, "Water them", "IN PROGRESS"),
    ):
        with store.transaction(clock.now(), PERSON) as tx:
            tasks.edit_task(tx, "t3", {"title": title, "status": status})
    send(other.journal, home.journal)
    other.close()


def _let_an_agent_mind(home: TaskHome) -> str:
    """It asks for attention, has a report, and has failed once."""
    agent_id = task_agent.create_task_agent(
        home.journal, home.agent, "t3", name="Mina", home_device=home.key.device_id, model="scripted", now=clock.now()
    )
    asked = call("request_attention", rationale=f"The {LONG} closes on Friday.", minutes=5, urgency=5)
    usage = TokenUsage(1_200, 340)
    _wake(
        home,
        agent_id,
        "1",
        say("I looked at it.", asked, call("update_report", **REPORT), usage=usage),
        say("Done.", usage=usage),
    )
    try:
        _wake(home, agent_id, "2", ModelError("model-rejected", "the <model> is away"))
    except Problem:
        return agent_id
    raise AssertionError("the wake did not fail")


def _wake(home: TaskHome, agent_id: str, turn: str, *script: Step) -> None:
    key = user_initiated(agent_id, "session", turn)
    go = partial(wake, home.journal, home.agent, ScriptedModel(*script), key)
    anyio.run(partial(go, agent_id=agent_id, device=home.key.device_id, now=clock.now, new_id=clock.new_id))
