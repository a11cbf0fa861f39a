"""What a page costs beside a plain SQLite query and a template of the same rows.

Ours is the whole page: gate, session, frame, navigation with its counts, forms. The plain one is what a small program
would answer: one query for the count, one or two for the rows, one template with the values and buttons of those rows,
and no gate. Both are answers of Starlette to one client in this process, without a socket, so both times contain what
it costs to serve anything (`an icon`, which is measured with them).
"""

import secrets
import sqlite3
import statistics
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial

from jinja2 import Environment
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from lottisync.daemon.home import TaskHome
from lottisync.daemon.pages import Configured, device_lines
from lottisync.device import clock
from lottisync.device.pairing import LOOPBACK
from lottisync.entities.entity import LOW
from lottisync.journal.actions.add_checklist_item import AddChecklistItem
from lottisync.journal.tasks import TaskLine
from lottisync.journal.toolbox import ACTIONS
from lottisync.journal.types import Task
from lottisync.review.builder import Builder
from lottisync.review.inbox import Inbox
from lottisync.review.precedence import PERSON
from lottisync.review.verdict import Verdicts
from lottisync.web.access import Access
from lottisync.web.admission import Browsers
from lottisync.web.application import application
from lottisync.web.pairing import Pairing
from lottisync.web.site import Site
from tools.bench.devices import fill
from tools.bench.figure import Figure, alternately, at_most
from tools.bench.setting import Setting

PER_PAGE = 50
PLAIN = """<!doctype html><html lang="en"><title>Tasks</title><p>{{ count }} tasks</p><ul>
{% for id, title, status, priority, due in rows %}<li id="task-{{ id }}">
<a href="/tasks/{{ id }}"><span>{{ title }}</span>
<span>{{ status }}</span> <span>{{ priority }}</span> <span>{{ due }}</span></a></li>{% endfor %}</ul>"""


PLAIN_INBOX = """<!doctype html><html lang="en"><title>Inbox</title><p>{{ count }} wait</p><ul>
{% for id, title, waiting in folded %}<li><a href="/tasks/{{ id }}">{{ title }}</a> {{ waiting }}</li>
{% endfor %}</ul><ul>{% for id, summary, before, after, reason in rows %}<li id="row-{{ id }}"><p>{{ summary }}</p>
<del>{{ before }}</del>
<ins>{{ after }}</ins><p>{{ reason }}</p><form method="post" action="/decide"><input type="hidden" name="item"
value="{{ id }}"><button name="verdict" value="reject">Reject</button>
<button name="verdict" value="confirm">Confirm</button>
</form></li>{% endfor %}</ul>"""
PLAINLY = "plain query and template, served alike"
VERDICTS = 30
PROPOSALS, A_TASK = 1_000, 5
"""Proposals in the inbox, and how many of them are for one task."""


def pages(setting: Setting) -> list[Figure]:
    """A page of many tasks, the most urgent first, with their number; and the inbox of a thousand proposals."""
    home = TaskHome.create(setting.folder / "pages", "a")
    setting.doing("tasks for the pages", setting.sizes.many)
    fill(home, range(setting.sizes.many), setting.done)
    setting.doing("proposals for the pages", PROPOSALS)
    propose(home)
    client = visitor(home)
    assert f"{PROPOSALS:,} wait" in client.get("/inbox").text
    with closing(plain(setting, home)) as held:
        beside = TestClient(Starlette(routes=[Route("/tasks", bare_tasks(held)), Route("/inbox", bare_inbox(held))]))
        figures = [
            _figure(f"page of {setting.sizes.many:,} tasks", "/tasks", client, beside),
            _figure(f"inbox of {PROPOSALS:,} proposals", "/inbox", client, beside),
            _after_a_verdict(f"inbox of {PROPOSALS:,} proposals, after a verdict", home, client, beside),
            Figure("an icon, as what it costs to serve anything", _icon(client) * 1e3, "ms"),
        ]
    home.close()
    return figures


def _figure(name: str, path: str, client: TestClient, beside: TestClient) -> Figure:
    def get(number: int, visitor: TestClient) -> str:
        return visitor.get(path).raise_for_status().text

    get(0, client)  # builds the index
    ours, theirs = alternately(partial(get, visitor=client), partial(get, visitor=beside), 30)
    return Figure(name, ours * 1e3, "ms", theirs * 1e3, PLAINLY, at_most(3))


def _after_a_verdict(name: str, home: TaskHome, client: TestClient, beside: TestClient) -> Figure:
    """The page that follows a verdict: whatever is held of the inbox has to be looked at again."""
    verdicts = Verdicts(*(home.journal, home.agent, ACTIONS), device_id=home.key.device_id, new_id=clock.new_id)
    inbox = Inbox(home.journal, home.agent, ACTIONS)
    items = [item for one in inbox.open_sets(clock.now())[:VERDICTS] for item in one.items[:1]]
    seconds: tuple[list[float], list[float]] = ([], [])
    for item in items:
        verdicts.reject(item.id, clock.now())
        for visitor, took in zip((client, beside), seconds, strict=True):
            started = time.perf_counter()
            visitor.get("/inbox").raise_for_status()
            took.append(time.perf_counter() - started)
    ours, theirs = map(statistics.median, seconds)
    return Figure(name, ours * 1e3, "ms", theirs * 1e3, PLAINLY, at_most(3))


def _icon(client: TestClient) -> float:
    took = []
    for _ in range(30):
        started = time.perf_counter()
        client.get("/icon.svg").raise_for_status()
        took.append(time.perf_counter() - started)
    return statistics.median(took)


def bare_tasks(held: sqlite3.Connection) -> Callable[[Request], Response]:
    template = Environment(autoescape=True).from_string(PLAIN)

    def answer(request: Request) -> Response:
        [(count,)] = held.execute("select count(*) from tasks where open = 1").fetchall()
        rows = held.execute(
            "select id, title, status, priority, due from tasks where open = 1 order by priority, due, id limit ?",
            (PER_PAGE,),
        ).fetchall()
        return HTMLResponse(template.render(rows=rows, count=count))

    return answer


def bare_inbox(held: sqlite3.Connection) -> Callable[[Request], Response]:
    """What the page shows: twenty cards in a line each, and the rows of the first one."""
    template = Environment(autoescape=True).from_string(PLAIN_INBOX)

    def answer(request: Request) -> Response:
        [(count,)] = held.execute("select count(*) from proposals").fetchall()
        folded = held.execute(
            "select task, tasks.title, count(*) from proposals join tasks on tasks.id = task group by task limit 20"
        ).fetchall()
        rows = held.execute(
            "select id, summary, before, after, reason from proposals where task = ? order by id", (folded[0][0],)
        ).fetchall()
        return HTMLResponse(template.render(rows=rows, folded=folded, count=count))

    return answer


def propose(home: TaskHome) -> None:
    """Wakes that propose something for one task each."""
    with home.journal.reading() as reader:
        knowledge, found = reader.knowledge(), reader.views("task", Task)[0]
    allowed = {one.category_id: True for one in found if one.category_id}
    with home.agent.transaction(clock.now(), PERSON) as tx:
        tx.put("agent", "agent", {"agentId": "agent", "displayName": "Laura", "allowedCategoryIds": allowed})
    for number, one in enumerate(found[: PROPOSALS // A_TASK]):
        wake = Builder(
            *(home.journal, home.agent),
            agent_id="agent",
            task_id=one.id,
            run_key=f"run{number}",
            thread_id=f"thread{number}",
            actions=ACTIONS,
            context_knowledge=knowledge,
        )
        for step in range(A_TASK):
            wake.propose(AddChecklistItem(title=f"Step {step} of {number}"), clock.now())
        with home.agent.transaction(clock.now(), LOW) as tx:
            wake.build(tx, clock.now())


def visitor(home: TaskHome) -> TestClient:
    """A browser that was let in."""
    access = Access(home.path, 22080, clock.now, lambda: secrets.token_hex(32))
    browsers = Browsers(home.path, clock.now, lambda: secrets.token_hex(32))
    site = Site(
        *(home, clock.now, clock.new_id, lambda: device_lines(home, None), browsers, lambda: access.door),
        *(Pairing(home, LOOPBACK, discover=False), Configured(home.path)),
    )
    client = TestClient(application(site, access), base_url=access.door.origin)
    client.post("/enter", data={"token": access.door.token}, headers={"origin": access.door.origin}).raise_for_status()
    return client


def plain(setting: Setting, home: TaskHome) -> sqlite3.Connection:
    """A database that holds what the page shows of each task, and nothing else."""
    held = sqlite3.connect(setting.folder / "plain.sqlite", check_same_thread=False)
    held.execute("create table tasks(id text primary key, title, status, priority, due, open)")
    held.execute("create index by_priority on tasks(open, priority, due, id)")
    with home.journal.reading() as reader:
        found, _ = reader.views("task", TaskLine)
    held.executemany(
        "insert into tasks values (?, ?, ?, ?, ?, 1)",
        ((one.id, one.title, one.status, one.priority, one.due) for one in found),
    )
    held.execute("create table proposals(id text primary key, task, summary, before, after, reason)")
    held.execute("create index by_task on proposals(task)")
    held.executemany(
        "insert into proposals values (?, ?, ?, '', ?, '')",
        (
            (f"{one.id}.{step}", one.id, f"Add item: Step {step} of {number}", f"Step {step} of {number}")
            for number, one in enumerate(found[: PROPOSALS // A_TASK])
            for step in range(A_TASK)
        ),
    )
    held.commit()
    return held
